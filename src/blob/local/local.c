/* SPDX-License-Identifier: Apache-2.0 */
#include "blob/local/local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/log.h"
#include "blob/local/pump.h"

#define PARTIAL ".new-"
#define PARTIAL_SIZE (sizeof(PARTIAL) + ID_SIZE)
/* Free space to keep: a full disk stops more than blobs. */
#define SPACE_MIN (INT64_C(64) << 20)
#define NAMES_MAX 1000000
#define UNLOCKED_S 10 /* at least, from the creation of a file to its lock */

struct local {
	struct blob_store store;
	int folder;
};

struct local_writer {
	struct blob_writer writer;
	char partial[PARTIAL_SIZE], name[BLOB_NAME_MAX + 1];
};

static struct local *local_of(struct blob_store *store)
{
	return (struct local *)(void *)store;
}

static bool is_older(int fd, int64_t age_s)
{
	struct stat st;

	return age_s == 0 || (fstat(fd, &st) == 0 && time(NULL) - st.st_mtime > age_s);
}

static void remove_if_abandoned(int folder, const char *name, int64_t age_s)
{
	AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && is_older(fd, age_s) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    unlinkat(folder, name, 0) == 0)
		log_info("incomplete blob removed", TEXT("name", name));
}

static void remove_abandoned_files(int folder, int64_t age_s)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		fd_forget(&fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (strncmp(entry->d_name, PARTIAL, strlen(PARTIAL)) == 0)
			remove_if_abandoned(folder, entry->d_name, age_s);
	(void)closedir(dir);
}

static int open_local(const char *location, struct blob_store **ret, struct error *err)
{
	AUTO_CLOSE int fd = open(location, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct local *l;

	if (fd < 0)
		return FAIL_ERRNO(err, "open the blob store '%.150s'", location);
	if (faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0) {
		(void)FAIL_ERRNO(err, "write to the blob store '%.150s'", location);
		return FAIL_HINT(err, "it must belong to the user that the server runs as");
	}
	remove_abandoned_files(fd, 0);
	l = memory_new(sizeof(*l));
	*l = (struct local){.store = {.ops = &blob_local}, .folder = TAKE_FD(fd)};
	*ret = &l->store;
	return 0;
}

static void close_local(struct blob_store *store)
{
	struct local *l = local_of(store);

	(void)close(l->folder);
	free(l);
}

static int check_space(int folder, int64_t wanted, struct error *err)
{
	struct statvfs disk;

	if (fstatvfs(folder, &disk) < 0)
		return FAIL_ERRNO(err, "look at the blob store's disk");
	if ((uint64_t)disk.f_bavail * disk.f_frsize >= (uint64_t)(wanted + SPACE_MIN))
		return 0;
	return FAIL(err, ERROR_NO_SPACE, "the blob store's disk has no room for %lld MiB",
	            (long long)(wanted >> 20));
}

static int check_free(const struct local *l, const char *name, struct error *err)
{
	if (faccessat(l->folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return FAIL(err, ERROR_CONFLICT, "blob '%s' exists already", name);
	return 0;
}

static int put_local(struct blob_store *store, const struct blob_put *put, struct blob_writer **ret,
                     struct error *err)
{
	const struct local *l = local_of(store);
	struct id id = id_new();
	struct local_writer *w;
	char partial[PARTIAL_SIZE];
	int fd;

	(void)snprintf(partial, sizeof(partial), PARTIAL "%s", id.text);
	if (check_free(l, put->name, err) < 0 || check_space(l->folder, put->size_hint, err) < 0)
		return -1;
	fd = openat(l->folder, partial, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return FAIL_ERRNO(err, "make a blob");
	(void)flock(fd, LOCK_EX | LOCK_NB);
	w = memory_new(sizeof(*w));
	w->writer = (struct blob_writer){store, fd, put->size_max};
	(void)snprintf(w->partial, sizeof(w->partial), "%s", partial);
	(void)snprintf(w->name, sizeof(w->name), "%s", put->name);
	*ret = &w->writer;
	return 0;
}

/* Creates the folders of a name and brings each to the disk. */
static int make_parents(int folder, const char *name, struct error *err)
{
	char path[BLOB_NAME_MAX + 1];

	(void)snprintf(path, sizeof(path), "%s", name);
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(folder, path, 0700) < 0 && errno != EEXIST)
			return FAIL_ERRNO(err, "make the folder '%s' of blobs", path);
		*slash = '/';
	}
	return 0;
}

static int sync_parent(int folder, const char *name, struct error *err)
{
	char path[BLOB_NAME_MAX + 3];
	AUTO_CLOSE int fd = -1;
	char *slash;

	(void)snprintf(path, sizeof(path), "./%s", name);
	slash = strrchr(path, '/');
	*slash = '\0';
	fd = openat(folder, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0 || fsync(folder) < 0)
		return FAIL_ERRNO(err, "bring the name of blob '%s' to the disk", name);
	return 0;
}

static int give_name(const struct local *l, const struct local_writer *w, struct error *err)
{
	struct stat status;

	if (fsync(w->writer.fd) < 0)
		return FAIL_ERRNO(err, "bring blob '%s' to the disk", w->name);
	if (fstat(w->writer.fd, &status) < 0)
		return FAIL_ERRNO(err, "look at blob '%s'", w->name);
	if (status.st_size > w->writer.size_max)
		return FAIL(err, ERROR_TOO_LARGE, "blob '%s' has more than %lld bytes", w->name,
		            (long long)w->writer.size_max);
	if (make_parents(l->folder, w->name, err) < 0)
		return -1;
	if (linkat(l->folder, w->partial, l->folder, w->name, 0) < 0)
		return FAIL_ERRNO(err, "name blob '%s'", w->name);
	fault_point("api", "blob-named");
	return sync_parent(l->folder, w->name, err);
}

static void abort_local(struct blob_writer *writer)
{
	struct local_writer *w = CONTAINER_OF(writer, struct local_writer, writer);

	(void)unlinkat(local_of(writer->store)->folder, w->partial, 0);
	(void)close(writer->fd);
	free(w);
}

static int commit_local(struct blob_writer *writer, int64_t *ret_size, struct error *err)
{
	struct local_writer *w = CONTAINER_OF(writer, struct local_writer, writer);
	const struct local *l = local_of(writer->store);
	int status = give_name(l, w, err);
	struct stat file;

	if (status == 0 && fstat(writer->fd, &file) == 0)
		*ret_size = file.st_size;
	abort_local(writer);
	return status;
}

static int open_blob(const struct local *l, const char *name, int *ret_fd, struct stat *ret,
                     struct error *err)
{
	const struct fd_open_options options = {.flags = O_RDONLY};

	if (fd_open_beneath(l->folder, name, &options, ret_fd, err) < 0)
		return -1;
	if (fstat(*ret_fd, ret) < 0)
		return FAIL_ERRNO(err, "look at blob '%s'", name);
	return S_ISREG(ret->st_mode) ? 0 : FAIL(err, ERROR_NOT_FOUND, "no blob '%s'", name);
}

static int get_local(struct blob_store *store, const char *name, struct blob_range range,
                     int *ret_fd, int64_t *ret_size, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	struct stat status;

	if (open_blob(local_of(store), name, &fd, &status, err) < 0)
		return FAIL_CONTEXT(err, "blob '%s'", name);
	if (range.offset > status.st_size)
		return FAIL(err, ERROR_INVALID, "blob '%s' has %lld bytes", name,
		            (long long)status.st_size);
	if (range.size < 0 || range.size > status.st_size - range.offset)
		range.size = status.st_size - range.offset;
	if (pump_start(&(struct pump){TAKE_FD(fd), range.offset, range.size}, ret_fd, err) < 0)
		return -1;
	*ret_size = range.size;
	return 0;
}

static int stat_local(struct blob_store *store, const char *name, struct blob_stat *ret,
                      struct error *err)
{
	AUTO_CLOSE int fd = -1;
	struct stat status;

	if (open_blob(local_of(store), name, &fd, &status, err) < 0)
		return FAIL_CONTEXT(err, "blob '%s'", name);
	*ret = (struct blob_stat){name, status.st_size, status.st_mtime * INT64_C(1000)};
	return 0;
}

struct blob_names {
	struct arena *arena;
	const char **items;
	size_t count, capacity;
};

static void names_add(struct blob_names *n, const char *name)
{
	n->items = memory_grow(n->items, n->count, &n->capacity, sizeof(*n->items));
	n->items[n->count++] = arena_text(n->arena, name);
}

/* Collects all names below `path` ("" or "a/b/"), unordered. */
static int collect_names(int folder, const char *path, struct blob_names *names, struct error *err)
{
	int fd =
	        openat(folder, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int status = 0;

	if (!dir) {
		fd_forget(&fd);
		return errno == ENOENT ? 0 : FAIL_ERRNO(err, "list the blobs");
	}
	while (status == 0 && (entry = readdir(dir))) {
		char below[BLOB_NAME_MAX + NAME_MAX + 2];
		struct stat st;

		(void)snprintf(below, sizeof(below), "%s%s", path, entry->d_name);
		if (blob_name_check(below, &(struct error){0}) < 0 ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode))
			names_add(names, below);
		if (names->count > NAMES_MAX)
			status = FAIL(err, ERROR_TOO_LARGE, "more than %d blobs", NAMES_MAX);
		if (S_ISDIR(st.st_mode)) {
			(void)snprintf(below, sizeof(below), "%s%s/", path, entry->d_name);
			status = collect_names(folder, below, names, err);
		}
	}
	(void)closedir(dir);
	return status;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void cut_page(struct blob_store *store, struct blob_names *names,
                     const struct blob_filter *filter, struct blob_list *ret)
{
	qsort(names->items, names->count, sizeof(*names->items), compare_names);
	*ret = (struct blob_list){
	        .items = ARENA_ARRAY(names->arena, struct blob_stat, filter->limit)};
	for (size_t i = 0; i < names->count; i++) {
		if (filter->after && strcmp(names->items[i], filter->after) <= 0)
			continue;
		if (ret->count == filter->limit) {
			ret->next_after = ret->items[ret->count - 1].name;
			return;
		}
		/* Skips a blob that was deleted meanwhile. */
		if (stat_local(store, names->items[i], &ret->items[ret->count],
		               &(struct error){0}) == 0)
			ret->count++;
	}
}

static int list_local(struct blob_store *store, struct arena *a, const struct blob_filter *filter,
                      struct blob_list *ret, struct error *err)
{
	struct blob_names names = {.arena = a};
	int status = collect_names(local_of(store)->folder, filter->prefix, &names, err);

	if (status == 0 && names.count > 0)
		cut_page(store, &names, filter, ret);
	else
		*ret = (struct blob_list){.count = 0};
	free(names.items);
	return status;
}

static int remove_local(struct blob_store *store, const char *name, struct error *err)
{
	if (unlinkat(local_of(store)->folder, name, 0) < 0 && errno != ENOENT)
		return FAIL_ERRNO(err, "remove blob '%s'", name);
	return 0;
}

static void tidy_local(struct blob_store *store)
{
	remove_abandoned_files(local_of(store)->folder, UNLOCKED_S);
}

const struct blob_ops blob_local = {
        .name = "local",
        .open = open_local,
        .close = close_local,
        .put = put_local,
        .commit = commit_local,
        .abort = abort_local,
        .get = get_local,
        .stat = stat_local,
        .list = list_local,
        .remove = remove_local,
        .tidy = tidy_local,
};
