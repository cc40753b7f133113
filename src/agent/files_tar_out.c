/* SPDX-License-Identifier: Apache-2.0 */
/* TAR_OUT: a folder, a file or named entries of a folder as a tar stream; or as a ZIP stream. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tar.h"
#include "agent/tar_out.h"
#include "agent/zip_out.h"
#include "base/path.h"

#define READ_SIZE (64 * 1024)
#define LINKED_MAX 65536 /* files with several names that are remembered */

void tar_out_done(struct tar_out *t)
{
	free(t->linked);
}

/* The name under which the file was sent before; NULL if it is sent now. */
static const char *first_name(struct tar_out *t, const struct stat *status, const char *name)
{
	for (size_t i = 0; i < t->linked_count; i++)
		if (t->linked[i].inode == status->st_ino && t->linked[i].device == status->st_dev)
			return t->linked[i].name;
	if (t->linked_count == LINKED_MAX)
		return NULL;
	t->linked =
	        memory_grow(t->linked, t->linked_count, &t->linked_capacity, sizeof(*t->linked));
	t->linked[t->linked_count++] = (struct tar_linked){status->st_dev, status->st_ino,
	                                                   arena_text(&t->files->arena, name)};
	return NULL;
}

static void add_header(struct tar_out *t, const struct tar_entry *entry)
{
	AUTO(buf_done) struct buf header = BUF(8 * TAR_NAME_MAX);

	tar_add_header(&header, entry);
	files_add_data(t->files, buf_span(&header));
	t->count++;
}

static struct tar_entry entry_of(const struct stat *status, const char *name)
{
	return (struct tar_entry){.name = name,
	                          .link = "",
	                          .mode = status->st_mode & 07777,
	                          .uid = status->st_uid,
	                          .gid = status->st_gid,
	                          .modified_s = status->st_mtim.tv_sec};
}

/* Sends exactly the header's size, even if the file changes meanwhile. */
static int add_content(struct tar_out *t, int fd, uint64_t size, struct error *err)
{
	static const char zeros[TAR_BLOCK];
	char bytes[READ_SIZE];
	uint64_t left = size;

	while (left) {
		size_t want = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
		ssize_t got = read(fd, bytes, want);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return FAIL_ERRNO(err, "read");
		if (got == 0) {
			memset(bytes, 0, want);
			got = (ssize_t)want;
		}
		files_add_data(t->files, (struct span){bytes, (size_t)got});
		left -= (uint64_t)got;
	}
	files_add_data(t->files, (struct span){zeros, (size_t)tar_padding(size)});
	return 0;
}

static int add_file(struct tar_out *t, int fd, const char *name, struct error *err)
{
	struct tar_entry entry;
	struct stat status;
	const char *first;

	if (fstat(fd, &status) < 0)
		return FAIL_ERRNO(err, "stat '%s'", name);
	if (!S_ISREG(status.st_mode))
		return 0;
	entry = entry_of(&status, name);
	first = status.st_nlink > 1 && !t->by_name ? first_name(t, &status, name) : NULL;
	if (first) {
		entry.type = TAR_HARDLINK;
		entry.link = first;
		add_header(t, &entry);
		return 0;
	}
	entry.type = TAR_FILE;
	entry.size = (uint64_t)status.st_size;
	add_header(t, &entry);
	return add_content(t, fd, entry.size, err);
}

/* Entries that vanished or became links are skipped. So are named entries that do not exist or
 * cannot be read; the others are sent. */
static bool is_left_out(const struct tar_out *t, int code)
{
	return code == ENOENT || code == ELOOP ||
	       (t->by_name && (code == ENOTDIR || code == EACCES || code == EPERM));
}

static int add_opened(struct tar_out *t, const struct walk_entry *entry, struct error *err)
{
	AUTO_CLOSE int fd = openat(entry->folder, entry->name,
	                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return is_left_out(t, errno) ? 0 : FAIL_ERRNO(err, "open '%s'", entry->path);
	return add_file(t, fd, entry->path, err);
}

int tar_out_add(struct tar_out *t, const struct walk_entry *entry, struct error *err)
{
	struct tar_entry out = entry_of(&entry->status, entry->path);
	AUTO(arena_done) struct arena a = {0};

	if (strlen(entry->path) >= TAR_NAME_MAX - 1)
		return FAIL(err, ERROR_INVALID, "a path is longer than %d bytes", TAR_NAME_MAX - 2);
	switch (file_type_of(&entry->status)) {
	case AGENT_FILE_REGULAR:
		return add_opened(t, entry, err);
	case AGENT_FILE_FOLDER:
		out.type = TAR_FOLDER;
		out.name = arena_format(&a, "%s/", entry->path);
		add_header(t, &out);
		return 0;
	case AGENT_FILE_SYMLINK:
		out.type = TAR_SYMLINK;
		out.link = file_link(&a, entry->folder, entry->name);
		add_header(t, &out);
		return 0;
	default:
		return 0; /* sockets and devices have no meaning elsewhere */
	}
}

static int pack_entry(struct walk *w, const struct walk_entry *entry, struct error *err)
{
	return tar_out_add(w->context, entry, err) < 0 ? -1 : WALK_ON;
}

void tar_out_end(struct tar_out *t)
{
	AUTO(buf_done) struct buf end = BUF(2 * TAR_BLOCK);

	tar_add_end(&end);
	files_add_data(t->files, buf_span(&end));
	files_flush(t->files);
	files_send_done(t->files, t->count);
}

static int pack_path(struct tar_out *t, int fd, const char *path, struct error *err)
{
	struct walk walk = {.on_entry = pack_entry, .context = t};
	struct stat status;

	if (fstat(fd, &status) < 0)
		return FAIL_ERRNO(err, "stat '%s'", path);
	if (S_ISDIR(status.st_mode) ? walk_run(&walk, fd, err) < 0
	                            : add_file(t, fd, path_last(path), err) < 0)
		return -1;
	tar_out_end(t);
	return 1;
}

static int take_names(void *context, struct span bytes, UNUSED struct error *err)
{
	buf_add_span(context, bytes);
	return 0;
}

static int split_names(struct arena *a, struct span rest, const char **names, struct error *err)
{
	struct span name;
	size_t count = 0;

	while (span_split(&rest, '\0', &name)) {
		if (count == AGENT_NAMES_MAX)
			return FAIL(err, ERROR_TOO_LARGE, "more than %d names", AGENT_NAMES_MAX);
		if (name.size > TAR_NAME_MAX - 2)
			return FAIL(err, ERROR_INVALID, "a name is longer than %d bytes",
			            TAR_NAME_MAX - 2);
		if (path_check_relative(a, name, &names[count], err) < 0)
			return -1;
		if (strcmp(names[count++], ".") == 0)
			return FAIL(err, ERROR_INVALID,
			            "a name is the folder itself, not what is in it");
	}
	if (name.size > 0)
		return FAIL(err, ERROR_INVALID, "the last name has no end");
	names[count] = NULL;
	return 0;
}

static int pack_name(struct tar_out *t, const struct base_dir *folder, const char *name,
                     struct error *err)
{
	AUTO(spot_done) struct spot spot = {.folder = -1};
	struct walk_entry entry = {.path = name};
	struct error why = {0};

	if (spot_open(folder, &t->files->arena, name, 0, &spot, &why) < 0) {
		if (is_left_out(t, why.sys_errno))
			return 0;
		*err = why;
		return -1;
	}
	entry.folder = spot.folder;
	entry.name = spot.name;
	if (fstatat(spot.folder, spot.name, &entry.status, AT_SYMLINK_NOFOLLOW) < 0)
		return is_left_out(t, errno) ? 0 : FAIL_ERRNO(err, "stat '%s'", name);
	return tar_out_add(t, &entry, err);
}

static int pack_names(struct tar_out *t, const struct agent_path *m, const char *const *names,
                      struct error *err)
{
	/* Never goes up or through a link, even if folders change meanwhile. */
	struct base_dir folder = {.beneath = true,
	                          .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	AUTO(base_dir_done) struct base_dir place = {0};
	AUTO_CLOSE int fd = -1;

	if (base_dir_open(&place, &t->files->rules, m, err) < 0 ||
	    base_dir_find(&place, m->path, O_RDONLY | O_DIRECTORY, &fd, err) < 0)
		return -1;
	folder.folder = fd;
	files_send(t->files, AGENT_READY, NULL, NULL);
	for (; *names; names++)
		if (pack_name(t, &folder, *names, err) < 0)
			return -1;
	tar_out_end(t);
	return 1;
}

/* Reads all names before any failure, because the next request follows them. */
static int tar_out_names(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(buf_done) struct buf bytes = BUF(AGENT_NAMES_BYTES_MAX);
	struct files_sink sink = {take_names, &bytes, AGENT_NAMES_BYTES_MAX, 0};
	struct tar_out t = {.files = f, .by_name = true};
	const char **names = ARENA_ARRAY(&f->arena, const char *, AGENT_NAMES_MAX + 1);

	if (!files_receive(f, &sink))
		return 1;
	if (split_names(&f->arena, buf_span(&bytes), names, err) < 0)
		return -1;
	return pack_names(&t, m, names, err);
}

int files_tar_out(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(tar_out_done) struct tar_out t = {.files = f};
	AUTO(base_dir_done) struct base_dir place = {0};
	AUTO_CLOSE int look = -1, fd = -1;
	struct stat status;

	if (m->flags & AGENT_PATH_NAMES)
		return tar_out_names(f, m, err);
	if (base_dir_open(&place, &f->rules, m, err) < 0 ||
	    base_dir_find(&place, m->path, O_PATH, &look, err) < 0)
		return -1;
	if (fstat(look, &status) < 0)
		return FAIL_ERRNO(err, "stat '%s'", m->path);
	if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return FAIL(err, ERROR_CONFLICT, "'%s' is neither a file nor a folder", m->path);
	if (base_dir_find(&place, m->path, O_RDONLY, &fd, err) < 0)
		return -1;
	files_send(f, AGENT_READY, NULL, NULL);
	if (m->flags & AGENT_PATH_ZIP)
		return zip_out_send(f, fd, m->path, err);
	return pack_path(&t, fd, m->path, err); /* NOLINT(clang-analyzer-unix.Malloc): AUTO frees */
}
