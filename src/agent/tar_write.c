/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "agent/tar.h"
#include "agent/tar_block.h"

#define OCTAL_12_MAX 077777777777ULL /* eleven digits */
#define OCTAL_8_MAX 07777777U        /* seven */

static const char type_flags[] = {
        [TAR_FILE] = '0', [TAR_FOLDER] = '5', [TAR_SYMLINK] = '2', [TAR_HARDLINK] = '1'};

/* `size` - 1 octal digits and a NUL; a larger value is in a pax record. */
static void put_octal(char *field, size_t size, uint64_t value)
{
	field[--size] = '\0';
	while (size > 0) {
		field[--size] = (char)('0' + (value & 7));
		value >>= 3;
	}
}

static void put_text(char *field, size_t size, const char *text)
{
	size_t length = strlen(text);

	memcpy(field, text, length < size ? length : size);
}

static void put_checksum(struct tar_block *block)
{
	memset(block->checksum, ' ', sizeof(block->checksum));
	put_octal(block->checksum, sizeof(block->checksum) - 1, tar_checksum(block));
}

static void add_block(struct buf *out, const struct tar_entry *entry, char type_flag)
{
	struct tar_block block = {0};
	uint64_t time = entry->modified_s > 0 ? (uint64_t)entry->modified_s : 0;

	put_text(block.name, sizeof(block.name), entry->name);
	put_octal(block.mode, sizeof(block.mode), entry->mode & 07777);
	put_octal(block.uid, sizeof(block.uid), entry->uid);
	put_octal(block.gid, sizeof(block.gid), entry->gid);
	put_octal(block.size, sizeof(block.size), entry->size);
	put_octal(block.time, sizeof(block.time), time);
	block.type = type_flag;
	put_text(block.link, sizeof(block.link), entry->link);
	memcpy(block.magic, "ustar", sizeof(block.magic));
	memcpy(block.version, "00", sizeof(block.version));
	put_checksum(&block);
	buf_add(out, &block, sizeof(block));
}

static unsigned digits_of(size_t number)
{
	unsigned digits = 1;

	for (; number >= 10; number /= 10)
		digits++;
	return digits;
}

/* "SIZE KEY=VALUE\n", where SIZE counts itself. */
static void add_record(struct buf *out, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3;
	size_t size = rest + digits_of(rest);

	if (digits_of(size) != digits_of(rest))
		size = rest + digits_of(size);
	buf_addf(out, "%zu %s=%s\n", size, key, value);
}

static void add_number_record(struct buf *out, const char *key, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	add_record(out, key, text);
}

static void add_records(struct buf *out, const struct tar_entry *entry)
{
	if (strlen(entry->name) > sizeof(((struct tar_block *)0)->name))
		add_record(out, "path", entry->name);
	if (strlen(entry->link) > sizeof(((struct tar_block *)0)->link))
		add_record(out, "linkpath", entry->link);
	if (entry->size > OCTAL_12_MAX)
		add_number_record(out, "size", entry->size);
	if (entry->modified_s > (int64_t)OCTAL_12_MAX)
		add_number_record(out, "mtime", (uint64_t)entry->modified_s);
	if (entry->uid > OCTAL_8_MAX)
		add_number_record(out, "uid", entry->uid);
	if (entry->gid > OCTAL_8_MAX)
		add_number_record(out, "gid", entry->gid);
}

static void add_zeros(struct buf *out, size_t size)
{
	static const char zeros[2 * TAR_BLOCK];

	buf_add(out, zeros, size);
}

void tar_add_header(struct buf *out, const struct tar_entry *entry)
{
	AUTO(buf_done) struct buf records = BUF(4 * TAR_NAME_MAX);

	add_records(&records, entry);
	if (records.size) {
		struct tar_entry pax = {
		        .name = "././@PaxHeader", .link = "", .mode = 0644, .size = records.size};

		add_block(out, &pax, 'x');
		buf_add_span(out, buf_span(&records));
		add_zeros(out, (size_t)tar_padding(records.size));
	}
	add_block(out, entry, type_flags[entry->type]);
}

void tar_add_end(struct buf *out)
{
	add_zeros(out, (size_t)2 * TAR_BLOCK);
}
