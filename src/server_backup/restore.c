/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/core/text_out.h"
#include "daemon/identity.h"
#include "image/server_archive.h"
#include "image/tree.h"
#include "json/write.h"
#include "server_backup/manifest.h"
#include "server_backup/options.h"

#define TELL_EVERY_MS 200
#define BLOCK_SIZE 4096
/* Beside the data folder, so that a rename puts it in place. */
#define FRESH_END ".restoring"
#define LOCK_END ".restoring.lock"

struct restore {
	struct arena *arena;
	const struct backup_options *options;
	const char *place, *fresh; /* the data folder, and what becomes it */
	int archive, parent, folder, lock;
	struct server_manifest manifest;
	struct server_contents contents;
	const char *now; /* for people */
	int64_t told_ms;
};

static int on_manifest(void *context, struct span text, struct error *err)
{
	struct restore *r = context;

	return server_manifest_parse(r->arena, span_of(arena_copy(r->arena, text)), &r->manifest,
	                             err);
}

static void on_progress(void *context, const struct server_contents *sums)
{
	struct restore *r = context;
	int64_t now = clock_monotonic_ms();
	AUTO(arena_done) struct arena scratch = {0};

	if (r->folder >= 0)
		fault_point("restore", "unpacking");
	if (!isatty(STDERR_FILENO) || now - r->told_ms < TELL_EVERY_MS)
		return;
	r->told_ms = now;
	(void)fprintf(stderr, "\r\033[K%s: %" PRId64 " files, %s", r->now, sums->entries,
	              text_out_bytes(&scratch, (double)sums->bytes));
}

static int read_archive(struct restore *r, const struct identity *owner, struct error *err)
{
	const struct server_reader reader = {
	        .fd = r->archive,
	        .folder = r->folder,
	        .from_uid = (uid_t)r->manifest.uid,
	        .to_uid = owner ? owner->uid : 0,
	        .from_gid = (gid_t)r->manifest.gid,
	        .to_gid = owner ? owner->gid : 0,
	        .on_manifest = on_manifest,
	        .on_progress = on_progress,
	        .context = r,
	};

	if (lseek(r->archive, 0, SEEK_SET) < 0)
		return FAIL_ERRNO(err, "read '%s'", r->options->target);
	return server_archive_read(&reader, &r->contents, err);
}

/* Reads all of it before anything is written. */
static int verify_file(struct restore *r, struct error *err)
{
	r->archive = open(r->options->target, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (r->archive < 0)
		return FAIL_ERRNO(err, "open '%s'", r->options->target);
	r->now = "checking";
	return read_archive(r, NULL, err);
}

static int open_parent(struct restore *r, struct error *err)
{
	const char *last = path_last(r->place);
	const char *parent =
	        last == r->place
	                ? "."
	                : arena_copy(r->arena, (struct span){r->place, (size_t)(last - r->place)});

	r->parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->parent < 0)
		return FAIL_ERRNO(err, "open the folder '%s'", parent);
	r->fresh = arena_format(r->arena, ".%s" FRESH_END, last);
	r->lock = openat(r->parent, arena_format(r->arena, ".%s" LOCK_END, last),
	                 O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (r->lock < 0)
		return FAIL_ERRNO(err, "write to the folder '%s'", parent);
	return flock(r->lock, LOCK_EX | LOCK_NB) < 0
	               ? FAIL(err, ERROR_CONFLICT, "another restore of '%s' runs", r->place)
	               : 0;
}

/* An empty folder may be there, or none. */
static int check_place(struct restore *r, struct error *err)
{
	AUTO_CLOSE int fd = openat(r->parent, path_last(r->place),
	                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO(folder_list_done) DIR *list = fd < 0 ? NULL : folder_list(fd);
	const struct dirent *entry;

	if (fd < 0)
		return errno == ENOENT ? 0 : FAIL_ERRNO(err, "open '%s'", r->place);
	if (!list)
		return FAIL_ERRNO(err, "list '%s'", r->place);
	while ((entry = readdir(list))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		(void)FAIL(err, ERROR_CONFLICT, "the data folder '%s' is not empty", r->place);
		return FAIL_HINT(err, "stop its server, and move the folder away or name another "
		                      "one with --data");
	}
	return 0;
}

/* A file takes whole blocks, and another one for its name and attributes. */
static int check_space(struct restore *r, struct error *err)
{
	int64_t needed =
	        r->contents.bytes + r->contents.entries * 2 * BLOCK_SIZE + BACKUP_SPACE_MIN;
	struct statvfs space;

	if (fstatvfs(r->parent, &space) < 0)
		return FAIL_ERRNO(err, "look for space for '%s'", r->place);
	if ((int64_t)space.f_bavail * (int64_t)space.f_frsize < needed)
		return FAIL(
		        err, ERROR_NO_SPACE, "'%s' needs %s, and %s are free", r->place,
		        text_out_bytes(r->arena, (double)needed),
		        text_out_bytes(r->arena, (double)space.f_bavail * (double)space.f_frsize));
	if (space.f_files > 0 && (int64_t)space.f_favail < r->contents.entries)
		return FAIL(err, ERROR_NO_SPACE,
		            "'%s' needs %" PRId64 " files, and %" PRIu64 " are free", r->place,
		            r->contents.entries, (uint64_t)space.f_favail);
	return 0;
}

static const char *fresh_path(struct restore *r)
{
	return arena_format(r->arena, "/proc/self/fd/%d/%s", r->parent, r->fresh);
}

/* What a killed restore has left is removed first: its lock is free. */
static int make_fresh(struct restore *r, struct error *err)
{
	if (tree_remove(fresh_path(r), true, err) < 0)
		return -1;
	if (mkdirat(r->parent, r->fresh, 0700) < 0)
		return FAIL_ERRNO(err, "make the folder '%s'", r->fresh);
	r->folder = openat(r->parent, r->fresh, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return r->folder < 0 ? FAIL_ERRNO(err, "open the folder '%s'", r->fresh) : 0;
}

static int put_in_place(struct restore *r, struct error *err)
{
	if (syncfs(r->folder) < 0)
		return FAIL_ERRNO(err, "write '%s' to the disk", r->place);
	fault_point("restore", "rename");
	if (renameat(r->parent, r->fresh, r->parent, path_last(r->place)) < 0) {
		(void)FAIL_ERRNO(err, "put '%s' in place", r->place);
		return errno == EBUSY ? FAIL_HINT(err, "a file system is mounted there: name a "
		                                       "folder inside of it with --data")
		                      : -1;
	}
	return fsync(r->parent) < 0 ? FAIL_ERRNO(err, "write the folder of '%s'", r->place) : 0;
}

static int unpack_file(struct restore *r, struct error *err)
{
	struct identity owner;

	if (identity_find(r->options->config->user, &owner, err) < 0 || check_space(r, err) < 0 ||
	    make_fresh(r, err) < 0)
		return -1;
	r->now = "restoring";
	if (read_archive(r, &owner, err) == 0 && put_in_place(r, err) == 0)
		return 0;
	fd_forget(&r->folder);
	(void)!tree_remove(fresh_path(r), true, &(struct error){0});
	return -1;
}

static void write_json_result(struct restore *r, struct buf *out)
{
	json_begin_object(out, NULL);
	json_add_text(out, "data", r->options->check ? NULL : r->place);
	json_add_text(out, "atoll", r->manifest.atoll);
	json_add_time(out, "made_at", r->manifest.made_at);
	json_add_text(out, "node", r->manifest.node);
	json_add_whole(out, "entries", r->contents.entries);
	json_add_whole(out, "bytes", r->contents.bytes);
	json_add_whole(out, "sandboxes", r->manifest.sandboxes);
	json_add_whole(out, "snapshots", r->manifest.snapshots);
	json_add_whole(out, "volumes", r->manifest.volumes);
	json_add_texts(out, "outside", r->manifest.outside);
	json_end_object(out);
	buf_add_byte(out, '\n');
}

static void write_text_result(struct restore *r, struct buf *out)
{
	AUTO(buf_done) struct buf made = BUF(64);

	clock_format(&made, r->manifest.made_at);
	buf_addf(out, "%s: the backup of %s, made by Atoll %s, is whole\n",
	         r->options->check ? r->options->target : r->place, buf_text(&made),
	         text_out_safe(r->arena, r->manifest.atoll ? r->manifest.atoll : "?"));
	buf_addf(out,
	         "%" PRId64 " sandboxes, %" PRId64 " snapshots, %" PRId64 " volumes; %s in "
	         "%" PRId64 " files\n",
	         r->manifest.sandboxes, r->manifest.snapshots, r->manifest.volumes,
	         text_out_bytes(r->arena, (double)r->contents.bytes), r->contents.entries);
	for (const char **at = r->manifest.outside; at && *at; at++)
		buf_addf(out, "not in the backup, put it back yourself: %s\n",
		         text_out_safe(r->arena, *at));
	if (!r->options->check)
		buf_addf(out, "atoll serve --data %s\n", r->place);
}

static int print_result(struct restore *r, struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);

	if (r->told_ms > 0)
		(void)fputs("\r\033[K", stderr);
	if (r->options->json)
		write_json_result(r, &out);
	else
		write_text_result(r, &out);
	return fd_write_all(STDOUT_FILENO, buf_text(&out), out.size, err);
}

static const char *without_slashes(struct arena *a, const char *path)
{
	size_t size = strlen(path);

	while (size > 1 && path[size - 1] == '/')
		size--;
	return arena_copy(a, (struct span){path, size});
}

int restore_server(const struct backup_options *options, struct error *err)
{
	struct restore r = {
	        .arena = options->arena,
	        .options = options,
	        .place = without_slashes(options->arena, options->config->data_dir),
	        .archive = -1,
	        .parent = -1,
	        .folder = -1,
	        .lock = -1,
	};
	int result = 0;

	if (!options->check && (open_parent(&r, err) < 0 || check_place(&r, err) < 0))
		result = -1;
	if (result == 0)
		result = verify_file(&r, err);
	if (result == 0 && !options->check)
		result = unpack_file(&r, err);
	if (result == 0)
		result = print_result(&r, err);
	else if (r.told_ms > 0)
		(void)fputs("\r\033[K", stderr);
	if (r.lock >= 0)
		(void)unlinkat(r.parent, arena_format(r.arena, ".%s" LOCK_END, path_last(r.place)),
		               0);
	auto_close(&r.archive);
	auto_close(&r.folder);
	auto_close(&r.parent);
	auto_close(&r.lock);
	return result;
}
