/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/user.h"
#include "base/fd.h"
#include "base/bytes.h"
#include "base/path.h"

#define ATTEMPTS 64 /* openat2 returns EAGAIN while folders are renamed */
#define LINKS_MAX 40
#define OPEN_ALWAYS (O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

int base_dir_fail(const char *what, const char *path, struct error *err)
{
	if (errno != EXDEV)
		return FAIL_ERRNO(err, "%s '%s'", what, path);
	error_set(err, ERROR_FORBIDDEN, EXDEV, HERE, "path '%s' leaves the workspace", path);
	return FAIL_HINT(err,
	                 "paths are relative to the workspace, without links that lead out of it");
}

const char *base_dir_own_path(const char *host, const char *path)
{
	size_t size = host ? strlen(host) : 0;

	if (size == 0 || strncmp(path, host, size) != 0)
		return path;
	if (path[size] == '\0')
		return "/";
	return path[size] == '/' ? path + size : path;
}

static int open_beneath(int folder, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {.resolve = resolve | RESOLVE_NO_MAGICLINKS};
	long fd;

	/* O_PATH refuses flags that have no meaning for it. */
	how.flags = (uint64_t)(flags | (flags & O_PATH ? O_CLOEXEC : OPEN_ALWAYS));
	for (int i = 0; i < ATTEMPTS; i++) {
		fd = fd_open_by(folder, path, &how);
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return (int)fd;
}

static int is_within_limits(const struct agent_path *m, struct error *err)
{
	if (strlen(m->root) + strlen(m->path) >= PATH_SIZE_MAX - 1 ||
	    strlen(m->root) + strlen(m->target) >= PATH_SIZE_MAX - 1)
		return FAIL(err, ERROR_INVALID, "path is longer than %d bytes", PATH_SIZE_MAX - 2);
	return 0;
}

int base_dir_open(struct base_dir *p, const struct base_dir_rules *rules,
                  const struct agent_path *m, struct error *err)
{
	struct base_dir place = {.folder = rules->root,
	                         .resolve = rules->resolve,
	                         .host = rules->host,
	                         .owner = rules->owner,
	                         .beneath = (m->flags & AGENT_PATH_BENEATH) != 0,
	                         .root = m->root[0] ? m->root : "/"};

	if (is_within_limits(m, err) < 0)
		return -1;
	if (place.beneath) {
		place.folder =
		        open_beneath(rules->root, place.root, O_PATH | O_DIRECTORY, rules->resolve);
		if (place.folder < 0)
			return base_dir_fail("open workspace", place.root, err);
		place.owned = true;
		place.resolve = RESOLVE_BENEATH;
	}
	*p = place;
	return 0;
}

void base_dir_done(struct base_dir *p)
{
	if (p->owned)
		(void)close(p->folder);
	p->owned = false;
}

/* The path, joined with its root. */
struct path_text {
	char text[PATH_SIZE_MAX];
};

static int join_root(const struct base_dir *p, const char *path, struct path_text *ret,
                     struct error *err)
{
	bool alone = p->beneath || path[0] == '/';
	int size;

	path = p->beneath ? path : base_dir_own_path(p->host, path);
	size = snprintf(ret->text, sizeof(ret->text), "%s%s%s", alone ? "" : p->root,
	                alone ? "" : "/", path[0] ? path : ".");

	if (size < 0 || (size_t)size >= sizeof(ret->text))
		return FAIL(err, ERROR_INVALID, "path is longer than %d bytes", PATH_SIZE_MAX - 1);
	return 0;
}

int base_dir_find(const struct base_dir *p, const char *path, int flags, int *ret_fd,
                  struct error *err)
{
	struct path_text full;
	int fd;

	if (join_root(p, path, &full, err) < 0)
		return -1;
	fd = open_beneath(p->folder, full.text, flags, p->resolve);
	if (fd < 0)
		return base_dir_fail("open", path, err);
	*ret_fd = fd;
	return 0;
}

void spot_done(struct spot *s)
{
	if (s->folder >= 0)
		(void)close(s->folder);
	s->folder = -1;
}

/* Opens the folder text[0..size-1]; a NUL ends the text there during the call. */
static int open_prefix(const struct base_dir *p, char *text, size_t size)
{
	char cut = text[size];
	int fd;

	text[size] = '\0';
	fd = open_beneath(p->folder, size ? text : ".", O_PATH | O_DIRECTORY, p->resolve);
	text[size] = cut;
	return fd;
}

static int give_to_owner(const struct base_dir *p, int folder, const char *name)
{
	return p->owner ? fchownat(folder, name, p->owner->uid, p->owner->gid,
	                           AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)
	                : 0;
}

int base_dir_give(const struct base_dir *p, int folder, const char *name, struct error *err)
{
	return give_to_owner(p, folder, name) < 0
	               ? FAIL_ERRNO(err, "give a file to user '%s'", p->owner->name)
	               : 0;
}

/* Makes each missing folder of the path in the folder that the kernel resolved for the parts
 * before it. Links on the way follow the usual rules. */
static int make_parents(const struct base_dir *p, struct path_text *full, int *ret_fd)
{
	size_t size = full->text[0] == '/' ? 1 : 0, whole = strlen(full->text);
	AUTO_CLOSE int folder = open_prefix(p, full->text, size);

	while (folder >= 0 && size < whole) {
		size_t start = size + strspn(full->text + size, "/");
		size_t end = start + strcspn(full->text + start, "/");
		char *name = full->text + start, cut = full->text[end];
		int next = open_prefix(p, full->text, end);

		if (next < 0 && errno == ENOENT) {
			full->text[end] = '\0';
			if ((mkdirat(folder, name, 0755) < 0 ? errno != EEXIST
			                                     : give_to_owner(p, folder, name) < 0))
				return -1;
			full->text[end] = cut;
			next = open_prefix(p, full->text, end);
		}
		(void)close(folder);
		folder = next;
		size = end;
	}
	if (folder < 0)
		return -1;
	*ret_fd = TAKE_FD(folder);
	return 0;
}

/* Cuts the last name off `full`, so that `full` is the folder. */
static int cut_name(struct path_text *full, struct arena *a, const char **ret, struct error *err)
{
	size_t size = strlen(full->text);
	struct span name;
	char *slash;

	while (size > 1 && full->text[size - 1] == '/')
		full->text[--size] = '\0';
	slash = strrchr(full->text, '/');
	name = span_of(slash ? slash + 1 : full->text);
	if (!path_name_is_valid(name))
		return FAIL(err, ERROR_INVALID, "'%s' does not name a file or folder", full->text);
	*ret = arena_copy(a, name);
	if (!slash)
		memcpy(full->text, ".", 2);
	else
		slash[slash == full->text ? 1 : 0] = '\0';
	return 0;
}

static int open_once(const struct base_dir *p, struct arena *a, const char *path, unsigned flags,
                     struct spot *ret, struct error *err)
{
	struct path_text full;

	if (join_root(p, path, &full, err) < 0 || cut_name(&full, a, &ret->name, err) < 0)
		return -1;
	ret->folder = open_beneath(p->folder, full.text, O_PATH | O_DIRECTORY, p->resolve);
	if (ret->folder < 0 && errno == ENOENT && flags & SPOT_MAKE_PARENTS &&
	    make_parents(p, &full, &ret->folder) < 0)
		return base_dir_fail("make the folder of", path, err);
	if (ret->folder < 0)
		return base_dir_fail("open the folder of", path, err);
	return 0;
}

/* The target of the link, as a path of the same base directory; NULL if the file is no link. */
static const char *follow_link(struct arena *a, const struct spot *s, const char *path)
{
	char target[PATH_SIZE_MAX];
	ssize_t size = readlinkat(s->folder, s->name, target, sizeof(target));
	const char *slash = strrchr(path, '/');

	if (size <= 0 || size == sizeof(target))
		return NULL;
	if (target[0] == '/' || !slash)
		return arena_format(a, "%.*s", (int)size, target);
	return arena_format(a, "%.*s/%.*s", (int)(slash - path), path, (int)size, target);
}

int spot_open(const struct base_dir *p, struct arena *a, const char *path, unsigned flags,
              struct spot *ret, struct error *err)
{
	for (int links = 0; links < LINKS_MAX; links++) {
		const char *next;

		if (open_once(p, a, path, flags, ret, err) < 0)
			return -1;
		next = flags & SPOT_FOLLOW ? follow_link(a, ret, path) : NULL;
		if (!next)
			return 0;
		spot_done(ret);
		path = next;
	}
	errno = ELOOP;
	return base_dir_fail("follow", path, err);
}
