/* SPDX-License-Identifier: Apache-2.0 */
/* Copies an upper layer as it is: whiteouts, overlay's marks, owners, hard links. The filesystem
 * shares the data where it can (xfs, btrfs). The processes that wrote the layer are held, so names
 * do not change; links are never followed all the same. */
#include "task/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/map.h"

#define DEPTH_MAX 500 /* a descriptor pair each */
#define NAMES_MAX (64 * 1024)
#define VALUE_MAX (64 * 1024)
#define CHUNK_MAX (64 << 20)
#define PATH_BYTES_MAX (64 * 1024)
#define LOOK_EVERY 64 /* entries between two looks at the clock */

struct copying {
	int to; /* the new layer */
	int64_t deadline;
	unsigned count, depth;
	struct map links;    /* inode number of a file with several names -> path below `to` */
	struct arena *arena; /* of those paths */
	struct buf path;     /* below `to`, of what is being copied */
	char names[NAMES_MAX], value[VALUE_MAX];
};

struct copy_entry {
	int from, to; /* folders */
	const char *name;
	struct stat status;
};

static int copy_entries(struct copying *c, int from, int to, struct error *err);

static int copy_attributes(struct copying *c, int from, int to, struct error *err)
{
	ssize_t size = flistxattr(from, c->names, sizeof(c->names));

	if (size < 0)
		return errno == EOPNOTSUPP ? 0 : FAIL_ERRNO(err, "list attributes");
	for (const char *name = c->names; name < c->names + size; name += strlen(name) + 1) {
		ssize_t got = fgetxattr(from, name, c->value, sizeof(c->value));

		if (got < 0 || fsetxattr(to, name, c->value, (size_t)got, 0) < 0)
			return FAIL_ERRNO(err, "copy the attribute '%s'", name);
	}
	return 0;
}

/* Called last, because writing changes times, and chown clears set-uid bits. */
static int finish_entry(const struct copy_entry *e, struct error *err)
{
	const struct timespec times[] = {e->status.st_atim, e->status.st_mtim};

	if (fchownat(e->to, e->name, e->status.st_uid, e->status.st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (!S_ISLNK(e->status.st_mode) &&
	     fchmodat(e->to, e->name, e->status.st_mode & 07777, 0) < 0) ||
	    utimensat(e->to, e->name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "set the owner of '%s'", e->name);
	return 0;
}

static int check_time(const struct copying *c, struct error *err)
{
	if (clock_monotonic_ms() <= c->deadline)
		return 0;
	return FAIL(err, ERROR_TIMEOUT,
	            "the files cannot be copied in the time that a sandbox may stand still");
}

static int copy_data(const struct copying *c, int from, int to, struct error *err)
{
	for (;;) {
		ssize_t done = copy_file_range(from, NULL, to, NULL, CHUNK_MAX, 0);

		if (done == 0)
			return 0;
		if (done < 0)
			return FAIL_ERRNO(err, "copy a file");
		if (done == CHUNK_MAX && check_time(c, err) < 0)
			return -1;
	}
}

static int copy_file(struct copying *c, const struct copy_entry *e, struct error *err)
{
	AUTO_CLOSE int from = openat(e->from, e->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int to =
	        openat(e->to, e->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (from < 0 || to < 0)
		return FAIL_ERRNO(err, "copy the file '%s'", e->name);
	return copy_data(c, from, to, err) < 0 ? -1 : copy_attributes(c, from, to, err);
}

static int copy_folder(struct copying *c, const struct copy_entry *e, struct error *err)
{
	AUTO_CLOSE int from =
	        openat(e->from, e->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int to = -1;

	if (from < 0 || mkdirat(e->to, e->name, 0700) < 0)
		return FAIL_ERRNO(err, "copy the folder '%s'", e->name);
	to = openat(e->to, e->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return FAIL_ERRNO(err, "open the folder '%s'", e->name);
	if (c->depth == DEPTH_MAX)
		return FAIL(err, ERROR_LIMIT, "folders are nested more than %d deep", DEPTH_MAX);
	c->depth++;
	if (copy_entries(c, from, to, err) < 0)
		return -1;
	c->depth--;
	return copy_attributes(c, from, to, err);
}

static int copy_link(const struct copy_entry *e, struct error *err)
{
	char target[4096];
	ssize_t size = readlinkat(e->from, e->name, target, sizeof(target) - 1);

	if (size < 0)
		return FAIL_ERRNO(err, "read the link '%s'", e->name);
	target[size] = '\0';
	return symlinkat(target, e->to, e->name) < 0
	               ? FAIL_ERRNO(err, "copy the link '%s'", e->name)
	               : 0;
}

/* Whiteouts are among them: device 0:0. */
static int copy_node(const struct copy_entry *e, struct error *err)
{
	return mknodat(e->to, e->name, e->status.st_mode & S_IFMT, e->status.st_rdev) < 0
	               ? FAIL_ERRNO(err, "copy '%s'", e->name)
	               : 0;
}

/* 1: the entry is another name of a file that was copied already. */
static int copy_name(struct copying *c, const struct copy_entry *e, struct error *err)
{
	char key[24];
	const char *first;

	if (S_ISDIR(e->status.st_mode) || e->status.st_nlink < 2)
		return 0;
	(void)snprintf(key, sizeof(key), "%llu", (unsigned long long)e->status.st_ino);
	first = map_find(&c->links, key);
	if (!first) {
		(void)map_put(&c->links, key, arena_text(c->arena, buf_text(&c->path)));
		return 0;
	}
	if (linkat(c->to, first, e->to, e->name, 0) == 0)
		return 1;
	return errno == EMLINK ? 0 : FAIL_ERRNO(err, "link '%s'", e->name);
}

static int copy_entry(struct copying *c, struct copy_entry *e, struct error *err)
{
	int status;

	if (fstatat(e->from, e->name, &e->status, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "look at '%s'", e->name);
	status = copy_name(c, e, err);
	if (status != 0)
		return status < 0 ? -1 : 0;
	if (S_ISREG(e->status.st_mode))
		status = copy_file(c, e, err);
	else if (S_ISDIR(e->status.st_mode))
		status = copy_folder(c, e, err);
	else if (S_ISLNK(e->status.st_mode))
		status = copy_link(e, err);
	else
		status = copy_node(e, err);
	return status < 0 ? -1 : finish_entry(e, err);
}

static void truncate_path(struct buf *path, size_t size)
{
	path->size = size;
	if (path->data)
		path->data[size] = '\0';
}

static int copy_entries(struct copying *c, int from, int to, struct error *err)
{
	AUTO(folder_list_done) DIR *folder = folder_list(from);
	size_t size = c->path.size;
	struct dirent *entry;
	int status = 0;

	if (!folder)
		return FAIL_ERRNO(err, "list a folder");
	while (status == 0 && (entry = readdir(folder))) {
		struct copy_entry e = {.from = from, .to = to, .name = entry->d_name};

		if (strcmp(e.name, ".") == 0 || strcmp(e.name, "..") == 0)
			continue;
		buf_addf(&c->path, "%s%s", size > 0 ? "/" : "", e.name);
		if (c->path.overflowed)
			status = FAIL(err, ERROR_LIMIT, "a path is too long to be copied");
		else if (c->count++ % LOOK_EVERY == 0)
			status = check_time(c, err);
		if (status == 0)
			status = copy_entry(c, &e, err);
		truncate_path(&c->path, size);
	}
	return status;
}

int copy_layer(int from, int to, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	static struct copying c; /* large, and this process does it once */
	int status;

	c = (struct copying){
	        .to = to, .deadline = deadline, .arena = &arena, .path = BUF(PATH_BYTES_MAX)};
	status = copy_entries(&c, from, to, err);
	if (status == 0)
		status = copy_attributes(&c, from, to, err);
	map_done(&c.links);
	buf_done(&c.path);
	return status;
}
