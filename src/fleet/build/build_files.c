/* SPDX-License-Identifier: Apache-2.0 */
/* Files for copy steps: DATA/builds/PROJECT-HASH, each a tar that only the agent in a sandbox
 * unpacks. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "compression/decompress.h"
#include "config/config.h"
#include "fleet/build/build_parts.h"
#include "fleet/core/fleet_state.h"

#define KEPT_S (24 * 3600)
#define PROJECT_BYTES_MAX (INT64_C(8) << 30)

int build_files_check(const char *hash, struct error *err)
{
	if (!hash || strlen(hash) != BUILD_FILES_HASH_SIZE ||
	    hash[strspn(hash, "0123456789abcdef")] != '\0')
		return FAIL(err, ERROR_INVALID, "%d hexadecimal digits in lower case",
		            BUILD_FILES_HASH_SIZE);
	return 0;
}

static int open_folder(const struct fleet *f, int *ret_fd, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *path = arena_format(&arena, "%s/builds", f->config->data_dir);

	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open '%s'", path) : 0;
}

static const char *name_of(struct arena *a, const char *project_id, const char *hash)
{
	return arena_format(a, "%s-%s", project_id, hash);
}

int fleet_build_files_find(struct fleet *fleet, const char *project_id, const char *hash,
                           bool *ret_found, int64_t *ret_size, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *name = name_of(&arena, project_id, hash);
	AUTO_CLOSE int folder = -1;
	struct stat status;

	if (build_files_check(hash, err) < 0 || open_folder(fleet, &folder, err) < 0)
		return -1;
	*ret_found = utimensat(folder, name, NULL, AT_SYMLINK_NOFOLLOW) == 0 &&
	             fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
	*ret_size = *ret_found ? status.st_size : 0;
	return 0;
}

struct build_files {
	struct fleet *fleet;
	struct decompressor *decompressor;
	int fd;
};

static int on_bytes(void *context, struct span bytes, struct error *err)
{
	const struct build_files *files = context;

	return fd_write_all(files->fd, bytes.data, bytes.size, err) < 0
	               ? FAIL_CONTEXT(err, "keep the files")
	               : 0;
}

int fleet_build_files_new(struct fleet *fleet, struct build_files **ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct build_files *files;
	int fd = open(arena_format(&arena, "%s/builds", fleet->config->data_dir),
	              O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return FAIL_ERRNO(err, "make a file for a build");
	files = memory_new(sizeof(*files));
	files->fleet = fleet;
	files->fd = fd;
	files->decompressor = decompressor_new(&(struct decompressor_options){
	        .size_max = BUILD_FILES_MAX, .on_bytes = on_bytes, .context = files});
	*ret = files;
	return 0;
}

int fleet_build_files_write(struct build_files *files, struct span bytes, struct error *err)
{
	return decompressor_write(files->decompressor, bytes, err) < 0
	               ? FAIL_CONTEXT(err, "files of a copy step")
	               : 0;
}

void fleet_build_files_free(struct build_files *files)
{
	if (!files)
		return;
	decompressor_free(files->decompressor);
	auto_close(&files->fd);
	free(files);
}

typedef void visit_file(int folder, const char *name, const struct stat *status, void *context);

static int each_file(struct fleet *f, visit_file *visit, void *context, struct error *err)
{
	struct dirent *entry;
	struct stat status;
	int folder;
	DIR *listing;

	if (open_folder(f, &folder, err) < 0)
		return -1;
	listing = fdopendir(folder);
	if (!listing) {
		(void)close(folder);
		return FAIL_ERRNO(err, "list the files of builds");
	}
	while ((entry = readdir(listing)))
		if (entry->d_name[0] != '.' &&
		    fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
			visit(folder, entry->d_name, &status, context);
	(void)closedir(listing);
	return 0;
}

struct file_tally {
	const char *prefix;
	int64_t bytes;
};

static void add_size(UNUSED int folder, const char *name, const struct stat *status, void *context)
{
	struct file_tally *tally = context;

	if (strncmp(name, tally->prefix, strlen(tally->prefix)) == 0)
		tally->bytes += status->st_size;
}

static int check_room(struct fleet *f, const char *project_id, int64_t size, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct file_tally tally = {.prefix = arena_format(&arena, "%s-", project_id)};

	if (each_file(f, add_size, &tally, err) < 0)
		return -1;
	if (tally.bytes + size <= PROJECT_BYTES_MAX)
		return 0;
	(void)FAIL(err, ERROR_LIMIT, "the project has more than %d GiB of files for builds",
	           (int)(PROJECT_BYTES_MAX >> 30));
	return FAIL_HINT(err, "they go a day after they were last used");
}

int fleet_build_files_keep(struct build_files *files, const char *project_id, const char *hash,
                           int64_t *ret_size, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *name = name_of(&arena, project_id, hash);
	AUTO_CLOSE int folder = -1;
	struct stat status;
	char path[64];

	if (decompressor_end(files->decompressor, err) < 0)
		return FAIL_CONTEXT(err, "files of a copy step");
	if (fstat(files->fd, &status) < 0)
		return FAIL_ERRNO(err, "look at a file of a build");
	if (build_files_check(hash, err) < 0 ||
	    check_room(files->fleet, project_id, status.st_size, err) < 0 ||
	    open_folder(files->fleet, &folder, err) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", files->fd);
	if (linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "keep the files of a build");
	*ret_size = status.st_size;
	return 0;
}

int build_files_open(const struct build *b, const char *hash, int *ret_fd, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO_CLOSE int folder = -1;

	if (open_folder(b->fleet, &folder, err) < 0)
		return -1;
	*ret_fd = openat(folder, name_of(&arena, b->record.project_id, hash),
	                 O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd >= 0)
		return 0;
	if (errno != ENOENT)
		return FAIL_ERRNO(err, "open the files '%.12s…'", hash);
	(void)FAIL(err, ERROR_NOT_FOUND, "the files '%.12s…' are not on this server", hash);
	return FAIL_HINT(err, "put them first: PUT /api/sandbox/templates/builds/files/HASH");
}

static void remove_old(int folder, const char *name, const struct stat *status,
                       UNUSED void *context)
{
	if (status->st_mtime < clock_unix_ms() / 1000 - KEPT_S && unlinkat(folder, name, 0) < 0)
		log_warning("files of a build are left", TEXT("file", name));
}

void build_files_tidy(struct fleet *f)
{
	struct error err = {0};

	if (each_file(f, remove_old, NULL, &err) < 0)
		log_debug("files of builds are not looked at", FAILURE(&err));
}
