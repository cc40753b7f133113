/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/folder_names.h"
#include "agent/walk.h"
#include "base/fd.h"
#include "base/path.h"

#define LINK_SIZE 4096
#define READ_SIZE (64 * 1024)

/* These folders belong to the kernel, to memory filesystems or to Atoll, whatever the layers hold
 * there. */
static const char *const foreign[] = {
        "dev", "proc", "run", "sys", "tmp", "etc/hostname", "etc/hosts", "etc/resolv.conf",
};

void tree_folders_close(struct tree_folders *f)
{
	for (unsigned i = 0; i < TREE_COUNT; i++)
		fd_forget(&f->fds[i]);
}

/* -1 if it is no folder. */
static void open_below(const struct tree_folders *parent, const char *name,
                       struct tree_folders *ret)
{
	for (unsigned i = 0; i < TREE_COUNT; i++)
		ret->fds[i] = parent->fds[i] < 0
		                      ? -1
		                      : openat(parent->fds[i], name,
		                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_there(int folder, const char *name, struct stat *ret)
{
	if (folder >= 0 && fstatat(folder, name, ret, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	*ret = (struct stat){0};
	return false;
}

/* An entry of both trees can differ only if a layer of a single tree holds it. */
static bool may_differ(const struct tree_folders *f, const char *name)
{
	struct stat ignored;

	return is_there(f->fds[TREE_OVER_0], name, &ignored) ||
	       is_there(f->fds[TREE_OVER_1], name, &ignored);
}

static bool may_hold_differences(const struct tree_folders *f)
{
	return f->fds[TREE_BASE] < 0 || f->fds[TREE_NOW] < 0 || f->fds[TREE_OVER_0] >= 0 ||
	       f->fds[TREE_OVER_1] >= 0;
}

static ssize_t read_whole(int fd, char *out, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = read(fd, out + got, size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

static OWN_FRAME bool files_differ(struct compare *c, const struct difference *d)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	AUTO_CLOSE int base = -1, now = -1;
	char a[READ_SIZE], b[READ_SIZE];

	if (d->status[TREE_BASE].st_size != d->status[TREE_NOW].st_size ||
	    (uint64_t)d->status[TREE_NOW].st_size > c->read_max)
		return true;
	base = openat(d->folders->fds[TREE_BASE], d->name, flags);
	now = openat(d->folders->fds[TREE_NOW], d->name, flags);
	if (base < 0 || now < 0)
		return true;
	for (;;) {
		ssize_t got = read_whole(base, a, sizeof(a));

		if (got < 0 || read_whole(now, b, sizeof(b)) != got ||
		    memcmp(a, b, (size_t)got) != 0 || (uint64_t)got > c->read_max)
			return true;
		c->read_max -= (uint64_t)got;
		if ((size_t)got < sizeof(a))
			return false;
	}
}

static OWN_FRAME bool links_differ(const struct difference *d)
{
	char targets[2][LINK_SIZE];
	ssize_t sizes[2];

	for (unsigned i = 0; i < 2; i++)
		sizes[i] = readlinkat(d->folders->fds[i], d->name, targets[i], LINK_SIZE);
	return sizes[0] < 0 || sizes[0] != sizes[1] ||
	       memcmp(targets[0], targets[1], (size_t)sizes[0]) != 0;
}

static bool contents_differ(struct compare *c, const struct difference *d)
{
	if (S_ISREG(d->status[0].st_mode))
		return files_differ(c, d);
	if (S_ISLNK(d->status[0].st_mode))
		return links_differ(d);
	return !S_ISDIR(d->status[0].st_mode) && d->status[0].st_rdev != d->status[1].st_rdev;
}

/* The mode of a link has no meaning. */
static bool attributes_differ(const struct difference *d)
{
	const struct stat *a = &d->status[0], *b = &d->status[1];

	return a->st_uid != b->st_uid || a->st_gid != b->st_gid ||
	       (!S_ISLNK(a->st_mode) && a->st_mode != b->st_mode);
}

/* The start of a sandbox in gVisor makes this file, as the place of one in memory. While it is
 * empty it changes nothing. */
static bool is_made_by_start(const struct difference *d)
{
	const struct stat *now = &d->status[TREE_NOW];

	return strcmp(d->path, "etc/ld.so.preload") == 0 && S_ISREG(now->st_mode) &&
	       now->st_size == 0;
}

/* False when nothing differs. */
static bool find_difference(struct compare *c, struct difference *d)
{
	bool was = d->status[TREE_BASE].st_mode != 0, is = d->status[TREE_NOW].st_mode != 0;

	if (!was && (!is || is_made_by_start(d)))
		return false;
	if (!was || !is)
		d->kind = was ? AGENT_DELETED : AGENT_ADDED;
	else if ((d->status[0].st_mode ^ d->status[1].st_mode) & S_IFMT)
		d->kind = AGENT_RETYPED;
	else if (contents_differ(c, d))
		d->kind = AGENT_CONTENT;
	else if (attributes_differ(d))
		d->kind = AGENT_ATTRIBUTES;
	else
		return false;
	return true;
}

static int compare_folder(struct compare *c, const struct tree_folders *folders, const char *after,
                          struct error *err);

static int go_into(struct compare *c, const struct tree_folders *parent, const char *name,
                   const char *after, struct error *err)
{
	AUTO(tree_folders_close) struct tree_folders below;
	int result;

	open_below(parent, name, &below);
	/* Skips a layer's folder that neither tree shows. */
	if ((below.fds[TREE_BASE] < 0 && below.fds[TREE_NOW] < 0) || !may_hold_differences(&below))
		return 0;
	c->depth++;
	result = compare_folder(c, &below, after, err);
	c->depth--;
	return result;
}

/* Deeper paths would not fit into a message, and descriptors would run out. */
static bool is_too_deep(const struct compare *c)
{
	return c->depth >= WALK_DEPTH_MAX || c->path.size >= PATH_SIZE_MAX - 2 - PATH_NAME_MAX;
}

/* `after`: NULL reports the entry; else the entry was reported, and only its content after this
 * path is reported. */
static int compare_entry(struct compare *c, const struct tree_folders *folders, const char *name,
                         const char *after, struct error *err)
{
	struct difference d = {.path = buf_text(&c->path), .name = name, .folders = folders};
	bool is_folder;
	int result = 0;

	for (unsigned i = 0; i < 2; i++)
		(void)is_there(folders->fds[i], name, &d.status[i]);
	is_folder = S_ISDIR(d.status[0].st_mode) || S_ISDIR(d.status[1].st_mode);
	d.is_cut = is_folder && is_too_deep(c);
	if (!after && (find_difference(c, &d) || d.is_cut)) {
		if (d.is_cut && d.status[0].st_mode && d.status[1].st_mode)
			d.kind = AGENT_CONTENT;
		result = c->on_difference(c, &d, err);
	}
	if (result != 0 || !is_folder || d.is_cut)
		return result;
	return go_into(c, folders, name, after ? after : "", err);
}

/* The part of c->path that names this folder. */
static bool is_foreign(const struct compare *c)
{
	for (unsigned i = 0; i < COUNT_OF(foreign); i++)
		if (strcmp(buf_text(&c->path), foreign[i]) == 0)
			return true;
	return false;
}

static void path_push(struct compare *c, const char *name)
{
	if (c->path.size)
		buf_add_byte(&c->path, '/');
	buf_add_text(&c->path, name);
}

static void path_cut(struct compare *c, size_t size)
{
	c->path.size = size;
	if (c->path.data)
		c->path.data[size] = '\0';
}

/* Compares a name with the first part of `after`. */
static int compare_with_first(const char *name, const char *after)
{
	size_t size = strcspn(after, "/");
	int order = strncmp(name, after, size);

	return order != 0 ? order : name[size] != '\0';
}

static int compare_name(struct compare *c, const struct tree_folders *folders, const char *name,
                        const char *after, struct error *err)
{
	int order = *after ? compare_with_first(name, after) : 1;
	size_t start = c->path.size;
	const char *rest = NULL;
	int result;

	if (order < 0)
		return 0;
	if (order == 0) {
		rest = after + strlen(name);
		rest += *rest == '/';
	}
	path_push(c, name);
	result = is_foreign(c) ? 0 : compare_entry(c, folders, name, rest, err);
	path_cut(c, start);
	return result;
}

static int read_names(int folder, struct folder_names *ret, struct error *err)
{
	return folder < 0 ? 0 : folder_names_read(ret, folder, err);
}

/* The names of both folders, each once. */
static int compare_folder(struct compare *c, const struct tree_folders *folders, const char *after,
                          struct error *err)
{
	AUTO(folder_names_done) struct folder_names base = {0}, now = {0};
	size_t i = 0, j = 0;
	int result = 0;

	if (read_names(folders->fds[TREE_BASE], &base, err) < 0 ||
	    read_names(folders->fds[TREE_NOW], &now, err) < 0)
		return FAIL_CONTEXT(err, "'%.100s'", buf_text(&c->path));
	while (result == 0 && (i < base.count || j < now.count)) {
		int order = i == base.count  ? 1
		            : j == now.count ? -1
		                             : strcmp(base.list[i], now.list[j]);
		const char *name = order <= 0 ? base.list[i] : now.list[j];

		i += order <= 0;
		j += order >= 0;
		if (order != 0 || may_differ(folders, name))
			result = compare_name(c, folders, name, after, err);
	}
	return result;
}

/* One folder on the way down to the start of the comparison; the last folder is compared. */
static int compare_below(struct compare *c, const struct tree_folders *folders, const char *path,
                         const char *after, struct error *err)
{
	char name[PATH_NAME_MAX + 1];
	size_t size = strcspn(path, "/"), start = c->path.size;
	AUTO(tree_folders_close) struct tree_folders below = {{-1, -1, -1, -1}};
	struct stat status;
	int result;

	if (!path_name_is_valid((struct span){path, size}))
		return FAIL(err, ERROR_INVALID, "'%.100s' is no path in the sandbox", path);
	memcpy(name, path, size);
	name[size] = '\0';
	path_push(c, name);
	if (is_foreign(c))
		return FAIL(err, ERROR_INVALID, "'%s' is no part of what a sandbox keeps",
		            buf_text(&c->path));
	if (!is_there(folders->fds[TREE_BASE], name, &status) &&
	    !is_there(folders->fds[TREE_NOW], name, &status))
		return FAIL(err, ERROR_NOT_FOUND, "neither the base nor the sandbox has '%.100s'",
		            path);
	if (path[size] == '\0') {
		path_cut(c, start);
		return compare_name(c, folders, name, after, err);
	}
	open_below(folders, name, &below);
	c->depth++;
	after = *after && compare_with_first(name, after) == 0 && after[size] == '/'
	                ? after + size + 1
	                : "";
	result = compare_below(c, &below, path + size + 1, after, err);
	c->depth--;
	return result;
}

int compare_run(struct compare *c, const struct tree_folders *roots, const char *path,
                const char *after, struct error *err)
{
	int result;

	c->path = BUF(2 * PATH_SIZE_MAX);
	c->depth = 0;
	result = *path ? compare_below(c, roots, path, after, err)
	               : compare_folder(c, roots, after, err);
	buf_done(&c->path);
	return result;
}
