/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/zip_out.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/walk.h"
#include "base/path.h"

#define READ_SIZE (64 * 1024)
#define WHOLE_32 UINT32_MAX /* "see the ZIP64 field" */
#define WHOLE_16 UINT16_MAX
#define VERSION 45 /* with ZIP64 */
#define MADE_ON_UNIX (3 << 8 | VERSION)
#define FLAG_DESCRIPTOR (1 << 3) /* checksum and sizes follow the bytes */
#define FLAG_UTF8 (1 << 11)

struct zip_out {
	struct files *files;
	struct buf directory;
	uint64_t offset, count; /* of bytes sent; of entries */
	uint32_t crc_table[256];
};

struct zip_entry {
	const char *name;
	uint32_t crc, mode, flags;
	uint64_t size, offset;
	uint16_t date, time;
};

static void zip_out_done(struct zip_out *z)
{
	buf_done(&z->directory);
}

static void fill_crc_table(uint32_t table[256])
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t value = i;

		for (unsigned bit = 0; bit < 8; bit++)
			value = value & 1 ? value >> 1 ^ 0xedb88320 : value >> 1;
		table[i] = value;
	}
}

static uint32_t add_to_crc(const struct zip_out *z, uint32_t crc, struct span bytes)
{
	for (size_t i = 0; i < bytes.size; i++)
		crc = crc >> 8 ^ z->crc_table[(crc ^ (unsigned char)bytes.data[i]) & 0xff];
	return crc;
}

static void put_number(struct buf *out, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		buf_add_byte(out, (char)(value >> 8 * i));
}

static void send_bytes(struct zip_out *z, struct span bytes)
{
	files_add_data(z->files, bytes);
	z->offset += bytes.size;
}

/* The format counts two-second steps from 1980 to 2107. */
static void set_time(struct zip_entry *e, time_t modified)
{
	struct tm t;

	e->date = 1 << 5 | 1;
	e->time = 0;
	if (!gmtime_r(&modified, &t) || t.tm_year < 80 || t.tm_year > 207)
		return;
	e->date = (uint16_t)((t.tm_year - 80) << 9 | (t.tm_mon + 1) << 5 | t.tm_mday);
	e->time = (uint16_t)(t.tm_hour << 11 | t.tm_min << 5 | t.tm_sec / 2);
}

static struct zip_entry describe_entry(const struct zip_out *z, const char *name,
                                       const struct stat *status)
{
	struct zip_entry e = {
	        .name = name, .mode = status->st_mode, .flags = FLAG_UTF8, .offset = z->offset};

	set_time(&e, status->st_mtim.tv_sec);
	return e;
}

static void put_common(struct buf *out, const struct zip_entry *e, bool is_large)
{
	put_number(out, VERSION, 2);
	put_number(out, e->flags, 2);
	put_number(out, 0, 2); /* stored */
	put_number(out, e->time, 2);
	put_number(out, e->date, 2);
	put_number(out, e->crc, 4);
	put_number(out, is_large ? WHOLE_32 : e->size, 4);
	put_number(out, is_large ? WHOLE_32 : e->size, 4);
	put_number(out, strlen(e->name), 2);
}

/* Before the bytes; with FLAG_DESCRIPTOR, checksum and size are not known yet. */
static void send_header(struct zip_out *z, struct zip_entry e, bool is_large)
{
	AUTO(buf_done) struct buf out = BUF(PATH_SIZE_MAX + 128);

	if (e.flags & FLAG_DESCRIPTOR) {
		e.crc = 0;
		e.size = 0;
	}
	put_number(&out, 0x04034b50, 4);
	put_common(&out, &e, is_large);
	put_number(&out, is_large ? 20 : 0, 2);
	buf_add_text(&out, e.name);
	if (is_large) {
		put_number(&out, 1, 2);
		put_number(&out, 16, 2);
		put_number(&out, 0, 8);
		put_number(&out, 0, 8);
	}
	send_bytes(z, buf_span(&out));
}

static void send_descriptor(struct zip_out *z, const struct zip_entry *e, bool is_large)
{
	AUTO(buf_done) struct buf out = BUF(64);

	put_number(&out, 0x08074b50, 4);
	put_number(&out, e->crc, 4);
	put_number(&out, e->size, is_large ? 8 : 4);
	put_number(&out, e->size, is_large ? 8 : 4);
	send_bytes(z, buf_span(&out));
}

static int add_to_directory(struct zip_out *z, const struct zip_entry *e, struct error *err)
{
	bool is_large = e->size >= WHOLE_32 || e->offset >= WHOLE_32;
	struct buf *out = &z->directory;

	put_number(out, 0x02014b50, 4);
	put_number(out, MADE_ON_UNIX, 2);
	put_common(out, e, is_large);
	put_number(out, is_large ? 28 : 0, 2);
	put_number(out, 0, 2); /* comment */
	put_number(out, 0, 2); /* disk */
	put_number(out, 0, 2); /* internal attributes */
	put_number(out, (uint64_t)e->mode << 16, 4);
	put_number(out, is_large ? WHOLE_32 : e->offset, 4);
	buf_add_text(out, e->name);
	if (is_large) {
		put_number(out, 1, 2);
		put_number(out, 24, 2);
		put_number(out, e->size, 8);
		put_number(out, e->size, 8);
		put_number(out, e->offset, 8);
	}
	if (out->overflowed || ++z->count > ZIP_ENTRIES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "a zip has more than %d entries: use tar",
		            ZIP_ENTRIES_MAX);
	return 0;
}

/* Sends exactly e->size bytes, even if the file changes meanwhile. */
static int send_content(struct zip_out *z, int fd, struct zip_entry *e, struct error *err)
{
	uint32_t crc = UINT32_MAX;
	char bytes[READ_SIZE];
	uint64_t left = e->size;

	while (left) {
		size_t want = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
		ssize_t got = read(fd, bytes, want);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return FAIL_ERRNO(err, "read '%s'", e->name);
		if (got == 0) {
			memset(bytes, 0, want);
			got = (ssize_t)want;
		}
		crc = add_to_crc(z, crc, (struct span){bytes, (size_t)got});
		send_bytes(z, (struct span){bytes, (size_t)got});
		left -= (uint64_t)got;
	}
	e->crc = ~crc;
	return 0;
}

static int add_file(struct zip_out *z, int fd, const char *name, struct error *err)
{
	struct zip_entry e;
	struct stat status;
	bool is_large;

	if (fstat(fd, &status) < 0)
		return FAIL_ERRNO(err, "stat '%s'", name);
	if (!S_ISREG(status.st_mode))
		return 0;
	e = describe_entry(z, name, &status);
	e.flags |= FLAG_DESCRIPTOR;
	e.size = (uint64_t)status.st_size;
	is_large = e.size >= WHOLE_32;
	send_header(z, e, is_large);
	if (send_content(z, fd, &e, err) < 0)
		return -1;
	send_descriptor(z, &e, is_large);
	return add_to_directory(z, &e, err);
}

static int add_opened(struct zip_out *z, const struct walk_entry *entry, struct error *err)
{
	AUTO_CLOSE int fd = openat(entry->folder, entry->name,
	                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		return add_file(z, fd, entry->path, err);
	/* It vanished, or became a link. */
	return errno == ENOENT || errno == ELOOP ? 0 : FAIL_ERRNO(err, "open '%s'", entry->path);
}

/* A folder, or a link, whose bytes are its target. */
static int add_small(struct zip_out *z, const struct walk_entry *entry, const char *name,
                     const char *content, struct error *err)
{
	struct zip_entry e = describe_entry(z, name, &entry->status);

	e.size = strlen(content);
	e.crc = ~add_to_crc(z, UINT32_MAX, span_of(content));
	send_header(z, e, false);
	send_bytes(z, span_of(content));
	return add_to_directory(z, &e, err);
}

static int add_entry(struct walk *w, const struct walk_entry *entry, struct error *err)
{
	struct zip_out *z = w->context;
	AUTO(arena_done) struct arena a = {0};
	int result = 0;

	if (S_ISREG(entry->status.st_mode))
		result = add_opened(z, entry, err);
	else if (S_ISDIR(entry->status.st_mode))
		result = add_small(z, entry, arena_format(&a, "%s/", entry->path), "", err);
	else if (S_ISLNK(entry->status.st_mode))
		result = add_small(z, entry, entry->path, file_link(&a, entry->folder, entry->name),
		                   err);
	return result < 0 ? -1 : WALK_ON;
}

static void put_end(struct buf *out, const struct zip_out *z, uint64_t start)
{
	bool is_large = z->count >= WHOLE_16 || start >= WHOLE_32;

	if (is_large) {
		put_number(out, 0x06064b50, 4);
		put_number(out, 44, 8);
		put_number(out, MADE_ON_UNIX, 2);
		put_number(out, VERSION, 2);
		put_number(out, 0, 8); /* disks */
		put_number(out, z->count, 8);
		put_number(out, z->count, 8);
		put_number(out, z->directory.size, 8);
		put_number(out, start, 8);
		put_number(out, 0x07064b50, 4);
		put_number(out, 0, 4);
		put_number(out, start + z->directory.size, 8);
		put_number(out, 1, 4);
	}
	put_number(out, 0x06054b50, 4);
	put_number(out, 0, 4); /* disks */
	put_number(out, is_large ? WHOLE_16 : z->count, 2);
	put_number(out, is_large ? WHOLE_16 : z->count, 2);
	put_number(out, z->directory.size, 4);
	put_number(out, is_large ? WHOLE_32 : start, 4);
	put_number(out, 0, 2); /* comment */
}

static void send_end(struct zip_out *z)
{
	AUTO(buf_done) struct buf end = BUF(256);

	put_end(&end, z, z->offset);
	send_bytes(z, buf_span(&z->directory));
	send_bytes(z, buf_span(&end));
	files_flush(z->files);
	files_send_done(z->files, z->count);
}

int zip_out_send(struct files *f, int fd, const char *name, struct error *err)
{
	AUTO(zip_out_done) struct zip_out z = {.files = f, .directory = BUF(ZIP_DIRECTORY_MAX)};
	struct walk walk = {.on_entry = add_entry, .context = &z};
	struct stat status;

	fill_crc_table(z.crc_table);
	if (fstat(fd, &status) < 0)
		return FAIL_ERRNO(err, "stat '%s'", name);
	if (S_ISDIR(status.st_mode) ? walk_run(&walk, fd, err) < 0
	                            : add_file(&z, fd, path_last(name), err) < 0)
		return -1;
	send_end(&z);
	return 1;
}
