/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"

#define BLOCK_SIZE (64 * 1024)
#define NAME_SIZE_MAX (32 * 1024)

static void free_reader(struct archive **a)
{
	(void)archive_read_free(*a);
}

static void free_writer(struct archive **a)
{
	(void)archive_write_free(*a);
}

static void free_entry(struct archive_entry **e)
{
	archive_entry_free(*e);
}

static int fail_archive(struct archive *a, const char *what, struct error *err)
{
	const char *why = archive_error_string(a);

	return FAIL(err, error_code_of(archive_errno(a)), "%s: %s", what, why ? why : "failed");
}

static int copy_data(struct archive *from, struct archive *to, struct error *err)
{
	char room[BLOCK_SIZE];

	for (;;) {
		la_ssize_t got = archive_read_data(from, room, sizeof(room));

		if (got < 0)
			return fail_archive(from, "read", err);
		if (got == 0)
			return 0;
		if (archive_write_data(to, room, (size_t)got) < 0)
			return fail_archive(to, "write", err);
	}
}

/* The path below `root`; "" for the root itself. */
static const char *relative_name(const char *name, const char *root)
{
	name += strlen(root);
	while (*name == '/')
		name++;
	return name;
}

/* Removes everything that identifies the local user. */
static void make_anonymous(struct archive_entry *entry)
{
	archive_entry_set_uid(entry, 0);
	archive_entry_set_gid(entry, 0);
	archive_entry_copy_uname(entry, NULL);
	archive_entry_copy_gname(entry, NULL);
	archive_entry_xattr_clear(entry);
	archive_entry_acl_clear(entry);
}

static bool is_plain(const struct archive_entry *entry)
{
	mode_t type = archive_entry_filetype((struct archive_entry *)(uintptr_t)entry);

	return type == AE_IFREG || type == AE_IFDIR || type == AE_IFLNK;
}

static int pack_entry(struct archive *disk, struct archive *tar, struct archive_entry *entry,
                      const char *root, struct error *err)
{
	AUTO(buf_done) struct buf name = BUF(NAME_SIZE_MAX);

	buf_add_text(&name, relative_name(archive_entry_pathname(entry), root));
	if (name.size == 0 || !is_plain(entry)) /* skips sockets, devices and the like */
		return 0;
	archive_entry_copy_pathname(entry, name.data);
	make_anonymous(entry);
	if (archive_write_header(tar, entry) < ARCHIVE_WARN)
		return fail_archive(tar, "pack", err);
	if (archive_entry_filetype(entry) == AE_IFREG && archive_entry_size(entry) > 0)
		return copy_data(disk, tar, err);
	return 0;
}

static int pack_entries(struct archive *disk, struct archive *tar, const char *path,
                        struct error *err)
{
	AUTO(free_entry) struct archive_entry *entry = archive_entry_new();
	int result;

	while ((result = archive_read_next_header2(disk, entry)) == ARCHIVE_OK ||
	       result == ARCHIVE_WARN) {
		if (archive_entry_filetype(entry) == AE_IFDIR)
			(void)archive_read_disk_descend(disk);
		if (pack_entry(disk, tar, entry, path, err) < 0)
			return FAIL_CONTEXT(err, "'%s'", path);
		archive_entry_clear(entry);
	}
	if (result != ARCHIVE_EOF)
		return fail_archive(disk, "read the folder", err);
	if (archive_write_close(tar) != ARCHIVE_OK)
		return fail_archive(tar, "finish the archive", err);
	return 0;
}

int archive_pack(const char *path, int out_fd, struct error *err)
{
	AUTO(free_reader) struct archive *disk = archive_read_disk_new();
	AUTO(free_writer) struct archive *tar = archive_write_new();

	if (!disk || !tar)
		abort();
	(void)archive_read_disk_set_symlink_physical(disk);
	(void)archive_read_disk_set_behavior(disk,
	                                     ARCHIVE_READDISK_NO_XATTR | ARCHIVE_READDISK_NO_ACL);
	(void)archive_write_set_format_pax_restricted(tar);
	if (archive_write_open_fd(tar, out_fd) != ARCHIVE_OK)
		return fail_archive(tar, "begin the archive", err);
	if (archive_read_disk_open(disk, path) != ARCHIVE_OK)
		return fail_archive(disk, path, err);
	return pack_entries(disk, tar, path, err);
}

static int pack_bytes(struct archive *tar, int folder, const struct archive_item *item,
                      struct error *err)
{
	const struct fd_open_options options = {.flags = O_RDONLY | O_NOCTTY};
	AUTO_CLOSE int fd = -1;
	char room[BLOCK_SIZE];
	int64_t left = item->size;
	ssize_t got = 1;

	if (fd_open_beneath(folder, item->path, &options, &fd, err) < 0)
		return -1;
	while (left > 0 && got > 0) {
		size_t want = left < BLOCK_SIZE ? (size_t)left : BLOCK_SIZE;

		got = read(fd, room, want);
		if (got > 0 && archive_write_data(tar, room, (size_t)got) < 0)
			return fail_archive(tar, "pack", err);
		left -= got > 0 ? got : 0;
	}
	return left == 0 ? 0
	                 : FAIL(err, ERROR_CONFLICT, "'%s' changed while it was read", item->path);
}

static int pack_item(struct archive *tar, int folder, const struct archive_item *item,
                     struct error *err)
{
	AUTO(free_entry) struct archive_entry *entry = archive_entry_new();

	if (!entry)
		abort();
	archive_entry_copy_pathname(entry, item->name);
	archive_entry_set_mode(entry, item->mode);
	archive_entry_set_size(entry, S_ISREG(item->mode) ? item->size : 0);
	archive_entry_set_mtime(entry, item->modified_s, 0);
	if (S_ISLNK(item->mode))
		archive_entry_copy_symlink(entry, item->link);
	if (archive_write_header(tar, entry) < ARCHIVE_WARN)
		return fail_archive(tar, "pack", err);
	return S_ISREG(item->mode) && item->size > 0 ? pack_bytes(tar, folder, item, err) : 0;
}

int archive_pack_items(const struct archive_items *items, int out_fd, struct error *err)
{
	AUTO(free_writer) struct archive *tar = archive_write_new();

	if (!tar)
		abort();
	(void)archive_write_set_format_pax_restricted(tar);
	if (archive_write_open_fd(tar, out_fd) != ARCHIVE_OK)
		return fail_archive(tar, "begin the archive", err);
	for (size_t i = 0; i < items->count; i++)
		if (pack_item(tar, items->folder, &items->items[i], err) < 0)
			return FAIL_CONTEXT(err, "'%s'", items->items[i].path);
	return archive_write_close(tar) == ARCHIVE_OK
	               ? 0
	               : fail_archive(tar, "finish the archive", err);
}

static int set_place(struct archive_entry *entry, const char *path, struct error *err)
{
	AUTO(buf_done) struct buf name = BUF(NAME_SIZE_MAX), link = BUF(NAME_SIZE_MAX);
	const char *inside = archive_entry_pathname(entry);
	const char *linked = archive_entry_hardlink(entry);

	if (!inside || inside[0] == '/' || (linked && linked[0] == '/'))
		return FAIL(err, ERROR_FORBIDDEN, "the archive has an absolute name");
	buf_addf(&name, "%s/%s", path, inside);
	if (linked)
		buf_addf(&link, "%s/%s", path, linked);
	if (name.overflowed || link.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the archive has a name that is too long");
	archive_entry_copy_pathname(entry, name.data);
	if (linked)
		archive_entry_copy_hardlink(entry, link.data);
	archive_entry_set_perm(entry, archive_entry_perm(entry) & 0777);
	return 0;
}

static int unpack_entry(struct archive *tar, struct archive *disk, struct archive_entry *entry,
                        const char *path, struct error *err)
{
	if (!is_plain(entry) && !archive_entry_hardlink(entry))
		return 0;
	if (set_place(entry, path, err) < 0)
		return -1;
	if (archive_write_header(disk, entry) < ARCHIVE_WARN)
		return fail_archive(disk, "unpack", err);
	if (archive_entry_size(entry) > 0 && copy_data(tar, disk, err) < 0)
		return -1;
	if (archive_write_finish_entry(disk) < ARCHIVE_WARN)
		return fail_archive(disk, "unpack", err);
	return 0;
}

/* `path` may contain links, below it none is followed. libarchive checks whole names, so it gets
 * the resolved path. */
int archive_unpack(int in_fd, const char *path, struct error *err)
{
	AUTO(free_reader) struct archive *tar = archive_read_new();
	AUTO(free_writer) struct archive *disk = archive_write_disk_new();
	AUTO_FREE char *resolved = realpath(path, NULL);
	struct archive_entry *entry;
	int result;

	if (!tar || !disk)
		abort();
	if (!resolved)
		return FAIL_ERRNO(err, "open '%s'", path);
	(void)archive_read_support_format_tar(tar);
	(void)archive_write_disk_set_options(disk, ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
	                                                   ARCHIVE_EXTRACT_SECURE_SYMLINKS |
	                                                   ARCHIVE_EXTRACT_SECURE_NODOTDOT);
	if (archive_read_open_fd(tar, in_fd, BLOCK_SIZE) != ARCHIVE_OK)
		return fail_archive(tar, "read the archive", err);
	while ((result = archive_read_next_header(tar, &entry)) == ARCHIVE_OK ||
	       result == ARCHIVE_WARN) {
		if (unpack_entry(tar, disk, entry, resolved, err) < 0)
			return -1;
	}
	if (result != ARCHIVE_EOF)
		return fail_archive(tar, "read the archive", err);
	if (archive_write_close(disk) != ARCHIVE_OK)
		return fail_archive(disk, "finish unpacking", err);
	return 0;
}

static int take_data(struct archive *tar, int to, struct error *err)
{
	char room[BLOCK_SIZE];
	la_ssize_t got;

	while ((got = archive_read_data(tar, room, sizeof(room))) > 0)
		if (fd_write_all(to, room, (size_t)got, err) < 0)
			return -1;
	return got < 0 ? fail_archive(tar, "read", err) : 0;
}

static int take_entry(struct archive *tar, struct archive_entry *entry,
                      const struct archive_taker *taker, struct error *err)
{
	const char *name = archive_entry_pathname(entry);
	int fd = -1;

	if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) || !name)
		return 0;
	if (strncmp(name, "./", 2) == 0)
		name += 2;
	if (taker->begin(taker->context, name, archive_entry_size(entry), &fd, err) < 0)
		return -1;
	if (fd < 0)
		return 0;
	return take_data(tar, fd, err) < 0 ? -1 : taker->end(taker->context, err);
}

int archive_take(int in_fd, const struct archive_taker *taker, struct error *err)
{
	AUTO(free_reader) struct archive *tar = archive_read_new();
	struct archive_entry *entry;
	int result;

	if (!tar)
		abort();
	(void)archive_read_support_format_tar(tar);
	if (archive_read_open_fd(tar, in_fd, BLOCK_SIZE) != ARCHIVE_OK)
		return fail_archive(tar, "read the archive", err);
	while ((result = archive_read_next_header(tar, &entry)) == ARCHIVE_OK ||
	       result == ARCHIVE_WARN)
		if (take_entry(tar, entry, taker, err) < 0)
			return -1;
	return result == ARCHIVE_EOF ? 0 : fail_archive(tar, "read the archive", err);
}

static void *run_thread(void *argument)
{
	struct archive_thread *t = argument;

	t->result = t->run(t->context, t->fd, &t->err);
	(void)close(t->fd);
	return NULL;
}

int archive_thread_start(struct archive_thread *t, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return FAIL_ERRNO(err, "make a pipe");
	t->fd = ends[!t->reads];
	t->other_fd = ends[t->reads];
	errno = pthread_create(&t->thread, NULL, run_thread, t);
	if (!errno)
		return 0;
	(void)close(ends[0]);
	(void)close(ends[1]);
	return FAIL_ERRNO(err, "start a thread");
}

int archive_thread_end(struct archive_thread *t, int result, struct error *err)
{
	(void)close(t->other_fd); /* ends a thread that still reads or writes */
	(void)pthread_join(t->thread, NULL);
	if (result < 0 || t->result == 0)
		return result;
	*err = t->err;
	return -1;
}
