/* SPDX-License-Identifier: Apache-2.0 */
/* TAR_OUT: a folder (or one file) as a tar stream. TAR_IN: back.
 *
 * What comes in is hostile: names are relative and without "..", every folder on the way is opened
 * below the target without passing through a link, and files appear whole or not at all. Owners are
 * not restored: all belongs to the user of the worker. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/replace.h"
#include "agent/tar.h"
#include "agent/walk.h"
#include "base/fd.h"
#include "base/path.h"

#define READ_SIZE (64 * 1024)
#define LINKED_MAX 65536 /* files with several names that are remembered */

/* ---- out ---- */

/* A file with more than one name, under the first. */
struct linked {
	dev_t device;
	ino_t inode;
	const char *name;
};

struct tar_out {
	struct files *files;
	struct linked *linked;
	size_t linked_count, linked_capacity;
	uint64_t count;
};

static void tar_out_done(struct tar_out *t)
{
	free(t->linked);
}

/* The name under which the file went out before, or NULL; then this is the one. */
static const char *first_name(struct tar_out *t, const struct stat *status, const char *name)
{
	for (size_t i = 0; i < t->linked_count; i++)
		if (t->linked[i].inode == status->st_ino && t->linked[i].device == status->st_dev)
			return t->linked[i].name;
	if (t->linked_count == LINKED_MAX)
		return NULL;
	if (t->linked_count == t->linked_capacity) {
		t->linked_capacity = t->linked_capacity ? 2 * t->linked_capacity : 64;
		t->linked = realloc(t->linked, t->linked_capacity * sizeof(*t->linked));
		if (!t->linked)
			abort();
	}
	t->linked[t->linked_count++] =
	        (struct linked){status->st_dev, status->st_ino, arena_text(&t->files->arena, name)};
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

/* Exactly the size that the header tells, whatever the file does meanwhile. */
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
	first = status.st_nlink > 1 ? first_name(t, &status, name) : NULL;
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

static int add_opened(struct tar_out *t, const struct walk_entry *entry, struct error *err)
{
	AUTO_CLOSE int fd = openat(entry->folder, entry->name,
	                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP
		               ? 0
		               : FAIL_ERRNO(err, "open '%s'", entry->path);
	return add_file(t, fd, entry->path, err);
}

static int pack_entry(struct walk *w, const struct walk_entry *entry, struct error *err)
{
	struct tar_out *t = w->context;
	struct tar_entry out = entry_of(&entry->status, entry->path);
	AUTO(arena_done) struct arena a = {0};

	if (strlen(entry->path) >= TAR_NAME_MAX - 1)
		return FAIL(err, ERROR_INVALID, "a path is longer than %d bytes", TAR_NAME_MAX - 2);
	switch (file_type_of(&entry->status)) {
	case AGENT_FILE_REGULAR:
		return add_opened(t, entry, err) < 0 ? -1 : WALK_ON;
	case AGENT_FILE_FOLDER:
		out.type = TAR_FOLDER;
		out.name = arena_format(&a, "%s/", entry->path);
		add_header(t, &out);
		return WALK_ON;
	case AGENT_FILE_SYMLINK:
		out.type = TAR_SYMLINK;
		out.link = file_link(&a, entry->folder, entry->name);
		add_header(t, &out);
		return WALK_ON;
	default:
		return WALK_ON; /* sockets, devices: they mean nothing elsewhere */
	}
}

static int pack(struct tar_out *t, int fd, const char *path, struct error *err)
{
	struct walk walk = {.on_entry = pack_entry, .context = t};
	AUTO(buf_done) struct buf end = BUF(2 * TAR_BLOCK);
	struct stat status;

	if (fstat(fd, &status) < 0)
		return FAIL_ERRNO(err, "stat '%s'", path);
	if (S_ISDIR(status.st_mode) ? walk_run(&walk, fd, err) < 0
	                            : add_file(t, fd, path_last(path), err) < 0)
		return -1;
	tar_add_end(&end);
	files_add_data(t->files, buf_span(&end));
	files_flush(t->files);
	files_send_done(t->files, t->count);
	return 1;
}

int files_tar_out(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(tar_out_done) struct tar_out t = {.files = f};
	AUTO(place_done) struct place place = {0};
	AUTO_CLOSE int look = -1, fd = -1;
	struct stat status;

	if (place_open(&place, &f->rules, m, err) < 0 ||
	    place_find(&place, m->path, O_PATH, &look, err) < 0)
		return -1;
	if (fstat(look, &status) < 0)
		return FAIL_ERRNO(err, "stat '%s'", m->path);
	if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return FAIL(err, ERROR_CONFLICT, "'%s' is neither a file nor a folder", m->path);
	if (place_find(&place, m->path, O_RDONLY, &fd, err) < 0)
		return -1;
	files_send(f, AGENT_READY, NULL, NULL);
	return pack(&t, fd, m->path, err); /* NOLINT(clang-analyzer-unix.Malloc): AUTO frees */
}

/* ---- in ---- */

struct tar_in {
	struct files *files;
	struct tar_reader reader;
	int target;
	bool no_replace;
	struct span frame; /* what is left of the last DATA */
	bool ended;        /* DATA_END has come */
	uint64_t size, size_max;
	uint64_t count;
	struct arena arena; /* of one entry */
};

static void tar_in_done(struct tar_in *t)
{
	tar_reader_done(&t->reader);
	arena_done(&t->arena);
	auto_close(&t->target);
}

/* The next DATA, or the end. A client that breaks off or says something else is gone for us. */
static int next_frame(struct tar_in *t, struct error *err)
{
	uint16_t type;

	if (files_next(t->files, &type, &t->frame, err) <= 0 ||
	    (type != AGENT_DATA && type != AGENT_DATA_END))
		return FAIL(err, ERROR_UNAVAILABLE, "the stream broke off");
	t->ended = type == AGENT_DATA_END;
	t->size += t->frame.size;
	if (t->size_max && t->size > t->size_max)
		return FAIL(err, ERROR_TOO_LARGE, "more than %lu bytes",
		            (unsigned long)t->size_max);
	return 0;
}

static ssize_t read_frames(void *context, char *out, size_t size, struct error *err)
{
	struct tar_in *t = context;
	size_t got = 0;

	while (got < size) {
		size_t piece = t->frame.size < size - got ? t->frame.size : size - got;

		if (piece) {
			memcpy(out + got, t->frame.data, piece);
			t->frame.data += piece;
			t->frame.size -= piece;
			got += piece;
		} else if (t->ended) {
			break;
		} else if (next_frame(t, err) < 0) {
			return -1;
		}
	}
	return (ssize_t)got;
}

/* Without "." and empty parts; "" is the target itself. */
static int clean_name(struct arena *a, const char *name, const char **ret, struct error *err)
{
	AUTO(buf_done) struct buf clean = BUF(TAR_NAME_MAX);
	struct span rest = span_of(name), part;
	bool more = true;

	if (name[0] == '/')
		return FAIL(err, ERROR_FORBIDDEN, "tar: '%s' is an absolute path", name);
	while (more) {
		more = span_split(&rest, '/', &part);
		if (part.size == 0 || span_equals_text(part, "."))
			continue;
		if (!path_name_is_valid(part))
			return FAIL(err, ERROR_FORBIDDEN, "tar: '%s' is no path to write to", name);
		if (clean.size)
			buf_add_byte(&clean, '/');
		buf_add_span(&clean, part);
	}
	*ret = arena_copy(a, buf_span(&clean));
	return 0;
}

static int open_below(int target, const char *folder)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	                       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};

	return (int)syscall(SYS_openat2, target, folder[0] ? folder : ".", &how, sizeof(how));
}

/* Opens, and makes where missing, each part in turn. */
static int make_below(int target, const char *folder)
{
	AUTO_CLOSE int at = open_below(target, ".");
	struct span rest = span_of(folder), part;
	bool more = true;

	while (at >= 0 && more) {
		char name[PATH_NAME_MAX + 1] = "";
		int next;

		more = span_split(&rest, '/', &part);
		memcpy(name, part.data, part.size);
		if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
			return -1;
		next = open_below(at, name);
		(void)close(at);
		at = next;
	}
	return TAKE_FD(at);
}

/* `name` is clean and not "". */
static int spot_below(struct tar_in *t, const char *name, bool make, struct spot *ret,
                      struct error *err)
{
	const char *last = path_last(name);
	const char *folder = arena_copy(
	        &t->arena, (struct span){name, last == name ? 0 : (size_t)(last - name) - 1});

	ret->name = last;
	ret->folder = open_below(t->target, folder);
	if (ret->folder < 0 && errno == ENOENT && make)
		ret->folder = make_below(t->target, folder);
	if (ret->folder >= 0)
		return 0;
	if (errno == ELOOP)
		return FAIL(err, ERROR_FORBIDDEN, "tar: '%s' leads through a link", name);
	return FAIL_ERRNO(err, "tar: open the folder of '%s'", name);
}

static int unpack_file(struct tar_in *t, const struct tar_entry *entry, const struct spot *to,
                       struct error *err)
{
	struct replacement_options options = {.mode = entry->mode, .no_replace = t->no_replace};
	struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = entry->modified_s}};
	AUTO(replacement_done) struct replacement new = {.open = false};
	char bytes[READ_SIZE];
	ssize_t got;

	if (replacement_open(&new, to, &options, err) < 0)
		return -1;
	while ((got = tar_read(&t->reader, bytes, sizeof(bytes), err)) > 0)
		if (fd_write_all(new.fd, bytes, (size_t)got, err) < 0)
			return -1;
	if (got < 0)
		return -1;
	(void)futimens(new.fd, times);
	return replacement_commit(&new, &options, err);
}

/* The owner's own rights stay, or what is in the folder could not be written after it. */
static int unpack_folder(const struct tar_entry *entry, const struct spot *to, struct error *err)
{
	struct stat status;

	if (mkdirat(to->folder, to->name, entry->mode | 0700) == 0)
		return 0;
	if (errno != EEXIST || fstatat(to->folder, to->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "tar: make folder '%s'", entry->name);
	if (!S_ISDIR(status.st_mode))
		return FAIL(err, ERROR_CONFLICT, "tar: '%s' exists and is no folder", entry->name);
	return 0;
}

static int link_once(struct tar_in *t, const struct tar_entry *entry, const struct spot *from,
                     const struct spot *to)
{
	(void)t;
	if (entry->type == TAR_SYMLINK)
		return symlinkat(entry->link, to->folder, to->name);
	return linkat(from->folder, from->name, to->folder, to->name, 0);
}

static int unpack_link(struct tar_in *t, const struct tar_entry *entry, const struct spot *to,
                       struct error *err)
{
	AUTO(spot_done) struct spot from = {.folder = -1};
	const char *target;

	if (entry->type == TAR_HARDLINK && (clean_name(&t->arena, entry->link, &target, err) < 0 ||
	                                    spot_below(t, target, false, &from, err) < 0))
		return -1;
	if (link_once(t, entry, &from, to) == 0)
		return 0;
	if (errno == EEXIST && !t->no_replace && unlinkat(to->folder, to->name, 0) == 0 &&
	    link_once(t, entry, &from, to) == 0)
		return 0;
	return FAIL_ERRNO(err, "tar: make link '%s'", entry->name);
}

static int unpack_entry(struct tar_in *t, const struct tar_entry *entry, struct error *err)
{
	AUTO(spot_done) struct spot to = {.folder = -1};
	const char *name;

	arena_reset(&t->arena);
	if (clean_name(&t->arena, entry->name, &name, err) < 0)
		return -1;
	if (name[0] == '\0')
		return 0;
	if (spot_below(t, name, true, &to, err) < 0)
		return -1;
	t->count++;
	switch (entry->type) {
	case TAR_FILE:
		return unpack_file(t, entry, &to, err);
	case TAR_FOLDER:
		return unpack_folder(entry, &to, err);
	case TAR_SYMLINK:
	case TAR_HARDLINK:
		return unpack_link(t, entry, &to, err);
	}
	return 0;
}

static int unpack(struct tar_in *t, struct error *err)
{
	struct tar_entry entry;
	int result;

	while ((result = tar_next(&t->reader, &entry, err)) > 0)
		if (unpack_entry(t, &entry, err) < 0)
			return -1;
	return result;
}

static int ignore_bytes(void *context, struct span bytes, struct error *err)
{
	(void)context;
	(void)bytes;
	(void)err;
	return 0;
}

/* What the client still sends behind the end of the archive, or after a failure. */
static void drop_rest(struct tar_in *t)
{
	struct files_sink sink = {ignore_bytes, NULL, 0, 0};

	if (!t->ended)
		(void)!files_receive(t->files, &sink);
}

static int open_target(struct files *f, const struct agent_path *m, int *ret_fd, struct error *err)
{
	AUTO(place_done) struct place place = {0};
	AUTO(spot_done) struct spot spot = {.folder = -1};

	if (place_open(&place, &f->rules, m, err) < 0)
		return -1;
	if (place_find(&place, m->path, O_RDONLY | O_DIRECTORY, ret_fd, err) == 0)
		return 0;
	if (err->sys_errno != ENOENT || !(m->flags & AGENT_PATH_PARENTS) ||
	    spot_open(&place, &f->arena, m->path, SPOT_MAKE_PARENTS, &spot, err) < 0)
		return -1;
	if (mkdirat(spot.folder, spot.name, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make folder '%s'", m->path);
	return place_find(&place, m->path, O_RDONLY | O_DIRECTORY, ret_fd, err);
}

int files_tar_in(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(tar_in_done) struct tar_in t = {.files = f,
	                                     .target = -1,
	                                     .size_max = m->size_max,
	                                     .no_replace = (m->flags & AGENT_PATH_NO_REPLACE) != 0};

	if (open_target(f, m, &t.target, err) < 0)
		return -1;
	t.reader = (struct tar_reader){.read = read_frames, .context = &t};
	files_send(f, AGENT_READY, NULL, NULL);
	if (unpack(&t, err) < 0) {
		files_send_failed(f, err);
		drop_rest(&t);
		return 1;
	}
	drop_rest(&t);
	files_send_done(f, t.count);
	return 1;
}
