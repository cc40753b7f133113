/* SPDX-License-Identifier: Apache-2.0 */
#include "image/layers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

int layers_open(struct layers *l, int folder, const char *ids, struct error *err)
{
	struct span rest = span_of(ids), id;
	char path[64];

	l->count = 0;
	while (rest.size > 0) {
		(void)span_split(&rest, ' ', &id);
		(void)snprintf(path, sizeof(path), "%.*s", (int)id.size, id.data);
		if (id.size != ID_SIZE || !id_is_valid(path) || l->count == LAYERS_MAX)
			return FAIL(err, ERROR_INVALID, "'%.60s' is no list of layers", ids);
		(void)snprintf(path, sizeof(path), "%.*s/upper", ID_SIZE, id.data);
		l->fds[l->count] = openat(folder, path, FOLDER_FLAGS);
		if (l->fds[l->count] < 0)
			return FAIL_ERRNO(err, "open layer '%s'", path);
		l->count++;
	}
	return l->count > 0 ? 0 : FAIL(err, ERROR_INVALID, "no layer is named");
}

void layers_init(struct layers *l, int fd)
{
	*l = (struct layers){.fds = {fd}, .count = 1};
}

void layers_done(struct layers *l)
{
	for (unsigned i = 0; i < l->count; i++)
		(void)close(l->fds[i]);
	free(l->opaque);
	*l = (struct layers){.count = 0};
}

static int compare_inodes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct layers_inode));
}

static struct layers_inode inode_of(const struct stat *status)
{
	return (struct layers_inode){status->st_dev, status->st_ino};
}

static bool is_opaque(const struct layers *l, const struct stat *status)
{
	struct layers_inode wanted = inode_of(status);

	return l->opaque_count > 0 &&
	       bsearch(&wanted, l->opaque, l->opaque_count, sizeof(wanted), compare_inodes) != NULL;
}

static int add_opaque(struct layers *l, const struct stat *status, struct error *err)
{
	if (l->opaque_count == LAYERS_OPAQUE_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "more than %d folders hide one of the template",
		            LAYERS_OPAQUE_MAX);
	l->opaque =
	        memory_grow(l->opaque, l->opaque_count, &l->opaque_capacity, sizeof(*l->opaque));
	l->opaque[l->opaque_count++] = inode_of(status);
	return 0;
}

static int note_folder(struct layers *l, int fd, unsigned depth, struct error *err);

static int note_entry(struct layers *l, int folder, const char *name, unsigned depth,
                      struct error *err)
{
	struct stat status;
	char value;
	int fd;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "look at '%s'", name);
	if (!S_ISDIR(status.st_mode))
		return 0;
	fd = openat(folder, name, FOLDER_FLAGS);
	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", name);
	if (fgetxattr(fd, LAYERS_OPAQUE, &value, 1) == 1 && value == 'y' &&
	    add_opaque(l, &status, err) < 0) {
		(void)close(fd);
		return -1;
	}
	return note_folder(l, fd, depth + 1, err);
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The descriptor is closed. */
static int note_folder(struct layers *l, int fd, unsigned depth, struct error *err)
{
	DIR *folder = depth > LAYERS_DEPTH_MAX ? NULL : fdopendir(fd);
	struct dirent *entry;
	int status = 0;

	if (!folder) {
		(void)close(fd);
		/* A walk that reaches this entry fails; a higher layer may hide it. */
		return depth > LAYERS_DEPTH_MAX ? 0 : FAIL_ERRNO(err, "list a folder");
	}
	while (status == 0 && (entry = readdir(folder)))
		if (!is_dots(entry->d_name) && entry->d_type != DT_REG && entry->d_type != DT_LNK)
			status = note_entry(l, dirfd(folder), entry->d_name, depth, err);
	(void)closedir(folder);
	return status;
}

int layers_note_opaque(struct layers *l, struct error *err)
{
	for (unsigned i = 0; i < l->count; i++) {
		int fd = openat(l->fds[i], ".", FOLDER_FLAGS);

		if (fd < 0)
			return FAIL_ERRNO(err, "open a layer");
		if (note_folder(l, fd, 0, err) < 0)
			return -1;
	}
	if (l->opaque_count > 0)
		qsort(l->opaque, l->opaque_count, sizeof(*l->opaque), compare_inodes);
	return 0;
}

struct layer_walk {
	const struct layers *layers;
	const struct layers_walk *options;
	unsigned entries, depth;
	char path[PATH_SIZE_MAX];
	size_t path_size;
};

/* The same folder in the layers that contribute to it, newest first. */
struct folder_layers {
	int fds[LAYERS_MAX];
	unsigned count;
};

static void stack_done(struct folder_layers *s)
{
	for (unsigned i = 0; i < s->count; i++)
		(void)close(s->fds[i]);
	s->count = 0;
}

static int push_folder(struct folder_layers *s, int folder, const char *name, struct error *err)
{
	s->fds[s->count] = openat(folder, name, FOLDER_FLAGS);
	if (s->fds[s->count] < 0)
		return FAIL_ERRNO(err, "open '%s'", name);
	s->count++;
	return 0;
}

/* The content of the folder `name` of layer `at`, and whether it hides the folders below all
 * layers. */
static int gather_folder(const struct layer_walk *w, const struct folder_layers *in, unsigned at,
                         struct layers_entry *entry, struct folder_layers *ret, struct error *err)
{
	struct stat status = entry->status;

	for (;;) {
		if (push_folder(ret, in->fds[at], entry->name, err) < 0)
			return -1;
		entry->is_opaque = is_opaque(w->layers, &status);
		if (entry->is_opaque)
			return 0;
		do {
			if (++at == in->count)
				return 0;
		} while (fstatat(in->fds[at], entry->name, &status, AT_SYMLINK_NOFOLLOW) < 0);
		if (!S_ISDIR(status.st_mode)) {
			entry->is_opaque = true;
			return 0;
		}
	}
}

static int report_entry(struct layer_walk *w, const struct layers_entry *entry, struct error *err)
{
	if (++w->entries > LAYERS_ENTRIES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "more than %d files", LAYERS_ENTRIES_MAX);
	return w->options->on_entry(w->options->context, entry, err);
}

static int walk_stack(struct layer_walk *w, const struct folder_layers *in, struct error *err);

static int walk_folder(struct layer_walk *w, const struct folder_layers *in, unsigned at,
                       struct layers_entry *entry, struct error *err)
{
	AUTO(stack_done) struct folder_layers below = {.count = 0};
	int status;

	if (w->depth == LAYERS_DEPTH_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "folders lie more than %d deep",
		            LAYERS_DEPTH_MAX);
	if (gather_folder(w, in, at, entry, &below, err) < 0 || report_entry(w, entry, err) < 0)
		return -1;
	w->depth++;
	status = walk_stack(w, &below, err);
	w->depth--;
	return status;
}

static bool is_covered(const struct folder_layers *in, unsigned at, const char *name)
{
	struct stat status;

	for (unsigned i = 0; i < at; i++)
		if (fstatat(in->fds[i], name, &status, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	return false;
}

static int walk_entry(struct layer_walk *w, const struct folder_layers *in, unsigned at,
                      const char *name, struct error *err)
{
	size_t before = w->path_size, size = strlen(name);
	struct layers_entry entry = {.folder = in->fds[at], .name = name, .path = w->path};
	int status;

	if (is_covered(in, at, name))
		return 0;
	if (before + size + 2 > sizeof(w->path))
		return FAIL(err, ERROR_TOO_LARGE, "a path is longer than %zu bytes",
		            sizeof(w->path));
	if (fstatat(in->fds[at], name, &entry.status, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "look at '%s'", name);
	if (before > 0)
		w->path[w->path_size++] = '/';
	memcpy(w->path + w->path_size, name, size + 1);
	w->path_size += size;
	entry.is_whiteout = S_ISCHR(entry.status.st_mode) && entry.status.st_rdev == 0;
	status = S_ISDIR(entry.status.st_mode) ? walk_folder(w, in, at, &entry, err)
	                                       : report_entry(w, &entry, err);
	w->path_size = before;
	w->path[before] = '\0';
	return status;
}

static int walk_layer(struct layer_walk *w, const struct folder_layers *in, unsigned at,
                      struct error *err)
{
	int fd = openat(in->fds[at], ".", FOLDER_FLAGS);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int status = 0;

	if (!folder) {
		fd_forget(&fd);
		return FAIL_ERRNO(err, "list a folder");
	}
	while (status == 0 && (entry = readdir(folder)))
		if (!is_dots(entry->d_name))
			status = walk_entry(w, in, at, entry->d_name, err);
	(void)closedir(folder);
	return status;
}

static int walk_stack(struct layer_walk *w, const struct folder_layers *in, struct error *err)
{
	for (unsigned i = 0; i < in->count; i++)
		if (walk_layer(w, in, i, err) < 0)
			return -1;
	return 0;
}

int layers_walk(const struct layers *l, const struct layers_walk *walk, struct error *err)
{
	struct layer_walk w = {.layers = l, .options = walk};
	struct layers_entry top = {.folder = l->fds[0], .name = ".", .path = ""};
	struct folder_layers all = {.count = l->count};

	memcpy(all.fds, l->fds, l->count * sizeof(all.fds[0]));
	if (fstat(l->fds[0], &top.status) < 0)
		return FAIL_ERRNO(err, "look at a layer");
	return report_entry(&w, &top, err) < 0 ? -1 : walk_stack(&w, &all, err);
}
