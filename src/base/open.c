/* SPDX-License-Identifier: Apache-2.0 */
/* fd_open_by: openat2(2), also where the kernel lacks it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"

#define DEPTH_MAX 64
#define LINKS_MAX 40

/* A walk that never leaves its first folder. It keeps every folder on its way open, so that ".."
 * leads back to where it came from, whatever is renamed meanwhile. */
struct open_walk {
	const struct open_how *how;
	int folders[DEPTH_MAX + 1]; /* the first one is the caller's */
	unsigned depth, links;
	char rest[2 * PATH_MAX]; /* of the path */
};

static void open_walk_done(struct open_walk *w)
{
	while (w->depth > 0)
		(void)close(w->folders[w->depth--]);
}

static int fail_walk(int number)
{
	errno = number;
	return -1;
}

/* The next name; "" at the end. A path from the root leaves the folder. */
static int take_name(struct open_walk *w, char name[NAME_MAX + 1], bool *ret_is_last)
{
	const char *rest = w->rest;
	size_t size = strcspn(rest, "/");

	if (*rest == '/')
		return fail_walk(EXDEV);
	if (size > NAME_MAX)
		return fail_walk(ENAMETOOLONG);
	memcpy(name, rest, size);
	name[size] = '\0';
	rest += size;
	rest += strspn(rest, "/");
	*ret_is_last = !*rest;
	memmove(w->rest, rest, strlen(rest) + 1);
	return 0;
}

/* 1: `name` was a link, and the walk goes on with its target; 0: it is none. */
static int follow_link(struct open_walk *w, const char *name)
{
	char target[PATH_MAX];
	ssize_t size = readlinkat(w->folders[w->depth], name, target, sizeof(target));
	size_t rest = strlen(w->rest);

	if (size < 0)
		return 0;
	if ((w->how->resolve & RESOLVE_NO_SYMLINKS) || ++w->links > LINKS_MAX)
		return fail_walk(ELOOP);
	if ((size_t)size + rest + 2 > sizeof(w->rest) || (size_t)size == sizeof(target))
		return fail_walk(ENAMETOOLONG);
	memmove(w->rest + size + (rest > 0), w->rest, rest + 1);
	memcpy(w->rest, target, (size_t)size);
	if (rest > 0)
		w->rest[size] = '/';
	return 1;
}

static int enter_folder(struct open_walk *w, const char *name)
{
	int fd;

	if (strcmp(name, ".") == 0 || !*name)
		return 0;
	if (strcmp(name, "..") == 0) {
		if (w->depth == 0)
			return fail_walk(EXDEV);
		(void)close(w->folders[w->depth--]);
		return 0;
	}
	if (w->depth == DEPTH_MAX)
		return fail_walk(ENAMETOOLONG);
	fd = openat(w->folders[w->depth], name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	w->folders[++w->depth] = fd;
	return 0;
}

static int open_last(const struct open_walk *w, const char *name)
{
	return openat(w->folders[w->depth], name, (int)w->how->flags | O_NOFOLLOW,
	              (mode_t)w->how->mode);
}

static int open_beneath(int folder, const char *path, const struct open_how *how)
{
	AUTO(open_walk_done) struct open_walk w = {.how = how, .folders = {folder}};
	char name[NAME_MAX + 1];
	bool is_last = false;

	if (!*path)
		return fail_walk(ENOENT);
	if (strlen(path) >= PATH_MAX)
		return fail_walk(ENAMETOOLONG);
	memcpy(w.rest, path, strlen(path) + 1);
	while (!is_last) {
		bool is_kept;
		int link;

		if (take_name(&w, name, &is_last) < 0)
			return -1;
		is_kept = is_last && (how->flags & O_NOFOLLOW);
		link = is_kept ? 0 : follow_link(&w, name);
		if (link < 0)
			return -1;
		if (link > 0)
			is_last = false;
		else if (is_last && strcmp(name, "..") != 0)
			return open_last(&w, *name ? name : ".");
		else if (enter_folder(&w, name) < 0)
			return -1;
	}
	return open_last(&w, ".");
}

int fd_open_by(int folder, const char *path, const struct open_how *how)
{
	long fd = syscall(SYS_openat2, folder, path, how, sizeof(*how));

	if (fd >= 0 || errno != ENOSYS || (how->resolve & RESOLVE_IN_ROOT))
		return (int)fd;
	if (how->resolve & RESOLVE_BENEATH)
		return open_beneath(folder, path, how);
	return openat(folder, path, (int)how->flags, (mode_t)how->mode);
}
