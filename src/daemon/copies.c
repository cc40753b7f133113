/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/copies.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"

#define PLACE_MAX 4096
#define TRIES_MAX 100

static int refuse_copy(int fd, const char *data_dir, const struct id *node, struct error *err)
{
	AUTO(buf_done) struct buf place = BUF(PLACE_MAX);

	if (fd_read_to_end(fd, &place, &(struct error){0}) < 0)
		buf_reset(&place);
	(void)FAIL(err, ERROR_CONFLICT,
	           "'%.80s' is a copy of '%.80s', whose server runs: both are node '%s'", data_dir,
	           buf_text(&place), node->text);
	return FAIL_HINT(err, "stop that server first; another server needs a data folder of its "
	                      "own, which its first start makes");
}

/* For people and for the message above; only the lock decides. */
static void write_place(int fd, const char *data_dir)
{
	size_t size = strlen(data_dir);

	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, data_dir, size < PLACE_MAX ? size : PLACE_MAX - 1, 0);
}

/* Whether the path still leads to the open file. An ending server may remove it between open and
 * lock, and a lock on an unnamed file excludes no other server. */
static bool is_named(int folder, const char *name, int fd)
{
	struct stat open_one, named;

	return fstat(fd, &open_one) == 0 &&
	       fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

static int lock_file(int folder, const struct copies_options *o, int *ret_fd, struct error *err)
{
	for (unsigned i = 0; i < TRIES_MAX; i++) {
		AUTO_CLOSE int fd = openat(folder, o->node->text,
		                           O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0)
			return FAIL_ERRNO(err, "open '%s/%s'", o->folder, o->node->text);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK
			               ? refuse_copy(fd, o->data_dir, o->node, err)
			               : FAIL_ERRNO(err, "lock '%s/%s'", o->folder, o->node->text);
		if (!is_named(folder, o->node->text, fd))
			continue;
		write_place(fd, o->data_dir);
		*ret_fd = TAKE_FD(fd);
		return 0;
	}
	return FAIL(err, ERROR_UNAVAILABLE, "'%s/%s' was removed %d times while it was locked",
	            o->folder, o->node->text, TRIES_MAX);
}

/* Removes the file of a killed server: no process holds its lock. It is removed while locked here,
 * so that a server that opened it meanwhile notices by the name. */
static void remove_stale(int folder, const char *name)
{
	AUTO_CLOSE int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_named(folder, name, fd))
		(void)unlinkat(folder, name, 0);
}

static void sweep_stale(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!list) {
		fd_forget(&fd);
		return;
	}
	while ((entry = readdir(list)))
		if (id_is_valid(entry->d_name))
			remove_stale(folder, entry->d_name);
	(void)closedir(list);
}

static int open_folder(const char *path, int *ret_fd, struct error *err)
{
	char parent[PLACE_MAX];
	char *slash;

	(void)snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (slash)
		*slash = '\0';
	if ((slash && mkdir(parent, 0755) < 0 && errno != EEXIST) ||
	    (mkdir(path, 0700) < 0 && errno != EEXIST))
		return FAIL_ERRNO(err, "make the folder '%s'", path);
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the folder '%s'", path) : 0;
}

int copies_lock(const struct copies_options *o, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int folder = -1;

	if (open_folder(o->folder, &folder, err) < 0 || lock_file(folder, o, ret_fd, err) < 0)
		return -1;
	/* The own file is locked and stays. */
	sweep_stale(folder);
	return 0;
}

void copies_unlock(const struct copies_options *o, int *fd)
{
	AUTO_CLOSE int folder = *fd < 0 ? -1 : open(o->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (folder >= 0 && is_named(folder, o->node->text, *fd))
		(void)unlinkat(folder, o->node->text, 0);
	fd_forget(fd);
}
