/* SPDX-License-Identifier: Apache-2.0 */
/* COPY: a file, a link, or a folder with its content. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/replace.h"
#include "agent/walk.h"
#include "base/fd.h"

#define COPY_SIZE (1024 * 1024)
#define BUFFER_SIZE (64 * 1024)

struct copy {
	int target;         /* the new folder */
	struct stat itself; /* names the new folder, which may lie below the copied one */
	bool no_replace;
	uint64_t count;
};

static int copy_by_hand(int from, int to, struct error *err)
{
	char bytes[BUFFER_SIZE];
	ssize_t got;

	while ((got = read(from, bytes, sizeof(bytes))) != 0) {
		if (got < 0 && errno != EINTR)
			return FAIL_ERRNO(err, "read");
		if (got > 0 && fd_write_all(to, bytes, (size_t)got, err) < 0)
			return -1;
	}
	return 0;
}

static int copy_bytes(int from, int to, struct error *err)
{
	ssize_t copied;

	while ((copied = copy_file_range(from, NULL, to, NULL, COPY_SIZE, 0)) != 0) {
		if (copied < 0 &&
		    (errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS))
			return copy_by_hand(from, to, err);
		if (copied < 0 && errno != EINTR)
			return FAIL_ERRNO(err, "copy");
	}
	return 0;
}

static int copy_file(int from, const struct spot *to, bool no_replace, struct error *err)
{
	AUTO(replacement_done) struct replacement new = {.open = false};
	struct replacement_options options = {.no_replace = no_replace};
	struct stat status;

	if (fstat(from, &status) < 0)
		return FAIL_ERRNO(err, "stat");
	options.mode = status.st_mode & 07777;
	if (replacement_open(&new, to, &options, err) < 0 || copy_bytes(from, new.fd, err) < 0)
		return -1;
	return replacement_commit(&new, &options, err);
}

/* copy_file_range refuses O_APPEND. */
static int append_file(int from, const struct base_dir *place, const struct spot *to,
                       struct error *err)
{
	AUTO_CLOSE int fd =
	        openat(to->folder, to->name,
	               O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
	struct stat source, target;

	if (fd < 0 || fstat(fd, &target) < 0 || fstat(from, &source) < 0)
		return FAIL_ERRNO(err, "open '%s'", to->name);
	if (!S_ISREG(target.st_mode))
		return FAIL(err, ERROR_CONFLICT, "'%s' is not a regular file", to->name);
	if (target.st_ino == source.st_ino && target.st_dev == source.st_dev)
		return FAIL(err, ERROR_INVALID, "'%s' would be added to itself", to->name);
	if (base_dir_give(place, fd, "", err) < 0)
		return -1;
	if (lseek(fd, 0, SEEK_END) < 0)
		return FAIL_ERRNO(err, "seek in '%s'", to->name);
	return copy_bytes(from, fd, err);
}

static int copy_regular(const struct copy *c, const struct walk_entry *entry, const struct spot *to,
                        struct error *err)
{
	AUTO_CLOSE int from = openat(entry->folder, entry->name,
	                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (from < 0 || fstat(from, &status) < 0)
		return FAIL_ERRNO(err, "open '%s'", entry->path);
	if (!S_ISREG(status.st_mode))
		return 0; /* changed during the copy; skipped like other special files */
	return copy_file(from, to, c->no_replace, err);
}

static int copy_link(const struct copy *c, const struct walk_entry *entry, const struct spot *to,
                     struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	const char *target = file_link(&a, entry->folder, entry->name);

	if (symlinkat(target, to->folder, to->name) == 0)
		return 0;
	if (errno == EEXIST && !c->no_replace && unlinkat(to->folder, to->name, 0) == 0 &&
	    symlinkat(target, to->folder, to->name) == 0)
		return 0;
	return FAIL_ERRNO(err, "make link '%s'", entry->path);
}

static int copy_folder(const struct walk_entry *entry, const struct spot *to, struct error *err)
{
	struct stat status;

	if (mkdirat(to->folder, to->name, entry->status.st_mode & 07777) == 0)
		return 0;
	if (errno == EEXIST && fstatat(to->folder, to->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(status.st_mode))
		return 0;
	return FAIL_ERRNO(err, "make folder '%s'", entry->path);
}

/* The folder of `path` below the target; no link is followed there. */
static int open_target_folder(const struct copy *c, const char *path, struct error *err)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	                       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	const char *slash = strrchr(path, '/');
	AUTO(arena_done) struct arena a = {0};
	const char *folder =
	        slash ? arena_copy(&a, (struct span){path, (size_t)(slash - path)}) : ".";
	long fd = fd_open_by(c->target, folder, &how);

	return fd < 0 ? FAIL_ERRNO(err, "open the copy of '%s'", folder) : (int)fd;
}

static int copy_entry(struct walk *w, const struct walk_entry *entry, struct error *err)
{
	struct copy *c = w->context;
	AUTO(spot_done) struct spot to = {.name = entry->name, .folder = -1};
	int result = 0;

	if (entry->status.st_ino == c->itself.st_ino && entry->status.st_dev == c->itself.st_dev)
		return WALK_SKIP;
	to.folder = open_target_folder(c, entry->path, err);
	if (to.folder < 0)
		return -1;
	if (S_ISDIR(entry->status.st_mode))
		result = copy_folder(entry, &to, err);
	else if (S_ISREG(entry->status.st_mode))
		result = copy_regular(c, entry, &to, err);
	else if (S_ISLNK(entry->status.st_mode))
		result = copy_link(c, entry, &to, err);
	c->count++;
	return result < 0 ? -1 : WALK_ON;
}

static int copy_tree(int from, const struct spot *to, const struct agent_path *m,
                     uint64_t *ret_count, struct error *err)
{
	struct copy copy = {.no_replace = (m->flags & AGENT_PATH_NO_REPLACE) != 0, .count = 1};
	struct walk walk = {.on_entry = copy_entry, .context = &copy};
	AUTO_CLOSE int target = -1;
	struct stat status;

	if (!(m->flags & AGENT_PATH_RECURSIVE))
		return FAIL(err, ERROR_CONFLICT, "'%s' is a folder", m->path);
	if (fstat(from, &status) < 0)
		return FAIL_ERRNO(err, "stat '%s'", m->path);
	if (mkdirat(to->folder, to->name, status.st_mode & 07777) < 0 &&
	    (errno != EEXIST || copy.no_replace))
		return FAIL_ERRNO(err, "make folder '%s'", m->target);
	target = openat(to->folder, to->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (target < 0 || fstat(target, &copy.itself) < 0)
		return FAIL_ERRNO(err, "open folder '%s'", m->target);
	copy.target = target;
	if (walk_run(&walk, from, err) < 0)
		return -1;
	*ret_count = copy.count;
	return 0;
}

static int open_source(const struct base_dir *p, const char *path, struct stat *ret_status,
                       int *ret_fd, struct error *err)
{
	AUTO_CLOSE int look = -1;

	if (base_dir_find(p, path, O_PATH, &look, err) < 0)
		return -1;
	if (fstat(look, ret_status) < 0)
		return FAIL_ERRNO(err, "stat '%s'", path);
	if (!S_ISREG(ret_status->st_mode) && !S_ISDIR(ret_status->st_mode))
		return FAIL(err, ERROR_CONFLICT, "'%s' is neither a file nor a folder", path);
	return base_dir_find(p, path, O_RDONLY, ret_fd, err);
}

static int copy_source(int from, const struct base_dir *place, const struct spot *to,
                       const struct agent_path *m, uint64_t *count, struct error *err)
{
	struct stat status;

	if (fstat(from, &status) < 0)
		return FAIL_ERRNO(err, "stat '%s'", m->path);
	if (S_ISDIR(status.st_mode))
		return copy_tree(from, to, m, count, err);
	if (m->flags & AGENT_PATH_APPEND)
		return append_file(from, place, to, err);
	return copy_file(from, to, (m->flags & AGENT_PATH_NO_REPLACE) != 0, err);
}

int files_copy(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(base_dir_done) struct base_dir place = {0};
	AUTO(spot_done) struct spot to = {.folder = -1};
	AUTO_CLOSE int from = -1;
	struct stat status;
	uint64_t count = 1;

	if (base_dir_open(&place, &f->rules, m, err) < 0 ||
	    open_source(&place, m->path, &status, &from, err) < 0 ||
	    spot_open(&place, &f->arena, m->target, files_parents_flag(m), &to, err) < 0 ||
	    copy_source(from, &place, &to, m, &count, err) < 0)
		return -1;
	if (fstatat(to.folder, to.name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "stat '%s'", m->target);
	files_send_file(f, m->target, &status, "");
	files_send_done(f, count);
	return 1;
}
