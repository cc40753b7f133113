/* SPDX-License-Identifier: Apache-2.0 */
/* Tars for tests, hostile ones too: written header by header, so that they may say anything. */
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct tar_row {
	const char *name;
	unsigned type; /* AE_IF*; 0 = a hard link */
	const char *link, *data;
	mode_t mode;
	const char *attribute; /* an extended attribute, with the value "y" */
};

static inline void tar_add(struct archive *a, const struct tar_row *row)
{
	struct archive_entry *e = archive_entry_new();
	size_t size = row->data ? strlen(row->data) : 0;

	archive_entry_set_pathname(e, row->name);
	archive_entry_set_filetype(e, row->type ? row->type : AE_IFREG);
	archive_entry_set_perm(e, row->mode ? row->mode : 0644);
	archive_entry_set_size(e, (int64_t)size);
	/* Set-uid bits are kept only with the owner that they are meant for. */
	archive_entry_set_uid(e, geteuid());
	archive_entry_set_gid(e, getegid());
	if (row->type == AE_IFLNK)
		archive_entry_set_symlink(e, row->link);
	if (!row->type)
		archive_entry_set_hardlink(e, row->link);
	if (row->type == AE_IFCHR || row->type == AE_IFBLK)
		archive_entry_set_rdev(e, 0x103);
	if (row->attribute)
		archive_entry_xattr_add_entry(e, row->attribute, "y", 1);
	assert_true(archive_write_header(a, e) >= ARCHIVE_WARN);
	if (size > 0)
		assert_int_equal(archive_write_data(a, row->data, size), (ssize_t)size);
	archive_entry_free(e);
}

/* A descriptor of the tar, at its start. `rows` ends with a NULL name. */
static inline int tar_new(const struct tar_row *rows, int (*filter)(struct archive *))
{
	int fd = memfd_create("tar", MFD_CLOEXEC);
	struct archive *a = archive_write_new();

	assert_true(fd >= 0);
	assert_int_equal(archive_write_set_format_pax(a), ARCHIVE_OK);
	if (filter)
		assert_true(filter(a) >= ARCHIVE_WARN);
	assert_int_equal(archive_write_open_fd(a, fd), ARCHIVE_OK);
	for (; rows->name; rows++)
		tar_add(a, rows);
	assert_int_equal(archive_write_close(a), ARCHIVE_OK);
	archive_write_free(a);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}
