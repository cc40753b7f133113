/* SPDX-License-Identifier: Apache-2.0 */
/* TAR_IN: a folder from a tar stream. The stream is hostile: names must be relative and without
 * "..", each folder on the way is opened below the target without following a link, and files
 * appear whole or not at all. Owners are restored only on request; else all files belong to the
 * worker's user or to the user that the message names. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/replace.h"
#include "agent/tar.h"
#include "agent/user.h"
#include "base/fd.h"
#include "base/path.h"

#define READ_SIZE (64 * 1024)

struct tar_in {
	struct files *files;
	struct tar_reader reader;
	int target;
	bool no_replace, sets_owners, has_owner;
	struct user owner; /* of all; has_owner */
	int64_t since_ms;  /* files changed after this time are kept beside; 0 = none is */
	mode_t mode;       /* of files; 0 = as in the archive */
	struct span frame; /* the rest of the last DATA */
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

/* The next DATA, or the end. A client that stops or sends another message counts as gone. */
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
			span_skip(&t->frame, piece);
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

	return fd_open_by(target, folder[0] ? folder : ".", &how);
}

/* For the entry that has just been made. */
static int give_to_owner(const struct tar_in *t, int folder, const char *name)
{
	if (!t->has_owner)
		return 0;
	return fchownat(folder, name, t->owner.uid, t->owner.gid, AT_SYMLINK_NOFOLLOW);
}

/* Opens, and makes where missing, each part in turn. */
static int make_below(const struct tar_in *t, const char *folder)
{
	AUTO_CLOSE int at = open_below(t->target, ".");
	struct span rest = span_of(folder), part;
	bool more = true;

	while (at >= 0 && more) {
		char name[PATH_NAME_MAX + 1] = "";
		int next;

		more = span_split(&rest, '/', &part);
		memcpy(name, part.data, part.size);
		if (mkdirat(at, name, 0755) == 0 ? give_to_owner(t, at, name) < 0 : errno != EEXIST)
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
		ret->folder = make_below(t, folder);
	if (ret->folder >= 0)
		return 0;
	if (errno == ELOOP)
		return FAIL(err, ERROR_FORBIDDEN, "tar: '%s' leads through a link", name);
	return FAIL_ERRNO(err, "tar: open the folder of '%s'", name);
}

/* A change of owner clears set-uid bits, so the mode is set last. */
static int set_owner(const struct tar_in *t, const struct tar_entry *entry, const struct spot *to,
                     struct error *err)
{
	if (!t->sets_owners)
		return 0;
	if (fchownat(to->folder, to->name, entry->uid, entry->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "tar: give away '%s'", entry->name);
	if (entry->type != TAR_SYMLINK &&
	    fchmodat(to->folder, to->name, entry->mode, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "tar: set the mode of '%s'", entry->name);
	return 0;
}

#define KEEP_TRIES 100

/* A file that was changed meanwhile gets another name: NAME.conflict-20261121T101500. */
static int keep_beside(const struct spot *to, const char *old, struct error *err)
{
	char stamp[32], beside[PATH_NAME_MAX + 1];
	time_t now = time(NULL);
	struct tm parts;
	int result = -1;

	(void)gmtime_r(&now, &parts);
	(void)strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &parts);
	errno = EEXIST;
	for (int i = 0; result < 0 && errno == EEXIST && i < KEEP_TRIES; i++) {
		(void)snprintf(beside, sizeof(beside), "%.200s.conflict-%s", to->name, stamp);
		if (i > 0)
			(void)snprintf(beside, sizeof(beside), "%.200s.conflict-%s-%d", to->name,
			               stamp, i);
		result = renameat2(to->folder, old, to->folder, beside, RENAME_NOREPLACE);
	}
	return result < 0 && errno != ENOENT ? FAIL_ERRNO(err, "keep '%s' beside", to->name) : 0;
}

static bool has_changed(const struct tar_in *t, const struct stat *s)
{
	return (int64_t)s->st_ctim.tv_sec * 1000 + s->st_ctim.tv_nsec / 1000000 >= t->since_ms;
}

/* The new file takes the name by an exchange. The old file is then checked once more under a name
 * that no other process knows, so that a late write to it is not lost. */
static int commit_keeping(const struct tar_in *t, struct replacement *new, const struct spot *to,
                          const struct replacement_options *options, struct error *err)
{
	const char *moved;
	struct stat old;

	if (!t->since_ms || fstatat(to->folder, to->name, &old, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(old.st_mode))
		return replacement_commit(new, options, err);
	moved = replacement_exchange(new, err);
	if (moved && !has_changed(t, &old) && fd_file_is_still(to->folder, moved, &old))
		return unlinkat(to->folder, moved, 0) < 0
		               ? FAIL_ERRNO(err, "remove the old '%s'", to->name)
		               : 0;
	if (moved)
		return keep_beside(to, moved, err);
	if (err->code != ERROR_UNSUPPORTED && err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	if (has_changed(t, &old) && keep_beside(to, to->name, err) < 0)
		return -1;
	return replacement_commit(new, options, err);
}

static int unpack_file(struct tar_in *t, const struct tar_entry *entry, const struct spot *to,
                       struct error *err)
{
	struct replacement_options options = {.mode = t->mode ? t->mode : entry->mode,
	                                      .no_replace = t->no_replace};
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
	if ((t->sets_owners || t->has_owner) &&
	    (fchown(new.fd, t->has_owner ? t->owner.uid : entry->uid,
	            t->has_owner ? t->owner.gid : entry->gid) < 0 ||
	     fchmod(new.fd, options.mode) < 0))
		return FAIL_ERRNO(err, "tar: give away '%s'", entry->name);
	(void)futimens(new.fd, times);
	return commit_keeping(t, &new, to, &options, err);
}

/* The owner's rights stay; otherwise the folder's content could not be written after it. */
static int unpack_folder(const struct tar_in *t, const struct tar_entry *entry,
                         const struct spot *to, struct error *err)
{
	/* A user with read permission may enter, too. */
	mode_t mode = t->mode ? t->mode | (t->mode & 0444) >> 2 : entry->mode;
	struct stat status;

	if (mkdirat(to->folder, to->name, mode | 0700) == 0) {
		if (give_to_owner(t, to->folder, to->name) < 0)
			return FAIL_ERRNO(err, "tar: give away '%s'", entry->name);
		return set_owner(t, entry, to, err);
	}
	if (errno != EEXIST || fstatat(to->folder, to->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "tar: make folder '%s'", entry->name);
	if (!S_ISDIR(status.st_mode))
		return FAIL(err, ERROR_CONFLICT, "tar: '%s' exists and is no folder", entry->name);
	return set_owner(t, entry, to, err);
}

static int link_once(struct tar_in *t, const struct tar_entry *entry, const struct spot *from,
                     const struct spot *to)
{
	if (entry->type == TAR_SYMLINK)
		return symlinkat(entry->link, to->folder, to->name) < 0
		               ? -1
		               : give_to_owner(t, to->folder, to->name);
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
		return set_owner(t, entry, to, err);
	if (errno == EEXIST && !t->no_replace && unlinkat(to->folder, to->name, 0) == 0 &&
	    link_once(t, entry, &from, to) == 0)
		return set_owner(t, entry, to, err);
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
		return unpack_folder(t, entry, &to, err);
	case TAR_SYMLINK:
	case TAR_HARDLINK:
		return unpack_link(t, entry, &to, err);
	}
	return 0;
}

static int unpack_entries(struct tar_in *t, struct error *err)
{
	struct tar_entry entry;
	int result;

	while ((result = tar_next(&t->reader, &entry, err)) > 0)
		if (unpack_entry(t, &entry, err) < 0)
			return -1;
	return result;
}

static int ignore_bytes(UNUSED void *context, UNUSED struct span bytes, UNUSED struct error *err)
{
	return 0;
}

/* Drops the bytes that the client sends after the end of the archive or after a failure. */
static void drop_rest(struct tar_in *t)
{
	struct files_sink sink = {ignore_bytes, NULL, 0, 0};

	if (!t->ended)
		(void)!files_receive(t->files, &sink);
}

/* A change of owner, which the kernel grants to root alone. */
static int find_owner(struct tar_in *t, const struct agent_path *m, struct error *err)
{
	if (!*m->target)
		return 0;
	if (t->files->no_users)
		return FAIL(err, ERROR_UNSUPPORTED, "there is one user here, so no other owner");
	t->has_owner = true;
	return user_find(m->target, &t->owner, err);
}

static int open_target(struct tar_in *t, const struct agent_path *m, struct error *err)
{
	struct files *f = t->files;
	AUTO(base_dir_done) struct base_dir place = {0};
	AUTO(spot_done) struct spot spot = {.folder = -1};

	if (base_dir_open(&place, &f->rules, m, err) < 0)
		return -1;
	if (base_dir_find(&place, m->path, O_RDONLY | O_DIRECTORY, &t->target, err) == 0)
		return find_owner(t, m, err);
	if (err->sys_errno != ENOENT || !(m->flags & AGENT_PATH_PARENTS) ||
	    find_owner(t, m, err) < 0 ||
	    spot_open(&place, &f->arena, m->path, SPOT_MAKE_PARENTS, &spot, err) < 0)
		return -1;
	if (mkdirat(spot.folder, spot.name, 0755) == 0
	            ? give_to_owner(t, spot.folder, spot.name) < 0
	            : errno != EEXIST)
		return FAIL_ERRNO(err, "make folder '%s'", m->path);
	return base_dir_find(&place, m->path, O_RDONLY | O_DIRECTORY, &t->target, err);
}

int files_tar_in(struct files *f, const struct agent_path *m, struct error *err)
{
	AUTO(tar_in_done) struct tar_in t = {.files = f,
	                                     .target = -1,
	                                     .size_max = m->size_max,
	                                     .mode = m->mode & 07777,
	                                     .since_ms = (int64_t)m->offset,
	                                     .no_replace = (m->flags & AGENT_PATH_NO_REPLACE) != 0,
	                                     .sets_owners = (m->flags & AGENT_PATH_OWNERS) != 0};

	if (open_target(&t, m, err) < 0)
		return -1;
	t.reader = (struct tar_reader){.read = read_frames, .context = &t};
	files_send(f, AGENT_READY, NULL, NULL);
	if (unpack_entries(&t, err) < 0) {
		files_send_failed(f, err);
		drop_rest(&t);
		return 1;
	}
	drop_rest(&t);
	files_send_done(f, t.count);
	return 1;
}
