/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "agent/tar.h"
#include "agent/tar_block.h"

#define RECORDS_MAX (64 * 1024) /* of one pax header */
#define HEADERS_MAX 16          /* before one entry */

unsigned tar_checksum(const struct tar_block *block)
{
	const unsigned char *bytes = (const unsigned char *)block;
	size_t from = offsetof(struct tar_block, checksum);
	unsigned sum = 0;

	for (size_t i = 0; i < sizeof(*block); i++)
		sum += i >= from && i < from + sizeof(block->checksum) ? ' ' : bytes[i];
	return sum;
}

static struct span field_text(const char *field, size_t size)
{
	return (struct span){field, strnlen(field, size)};
}

/* Octal between blanks and NULs, or GNU's big-endian number after a byte of 0x80. */
static int parse_number(const char *field, size_t size, uint64_t *ret, struct error *err)
{
	uint64_t value = 0;
	size_t i = 0;

	if ((unsigned char)field[0] == 0x80) {
		for (i = 1; i < size; i++) {
			if (value >> 56)
				return FAIL(err, ERROR_INVALID, "tar: a number is too large");
			value = value << 8 | (unsigned char)field[i];
		}
		*ret = value;
		return 0;
	}
	while (i < size && field[i] == ' ')
		i++;
	for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
		value = value << 3 | (uint64_t)(field[i] - '0');
	if (i < size && field[i] != ' ' && field[i] != '\0')
		return FAIL(err, ERROR_INVALID, "tar: a number is malformed");
	*ret = value;
	return 0;
}

static int parse_id(const char *field, uint32_t *ret, struct error *err)
{
	uint64_t value;

	if (parse_number(field, 8, &value, err) < 0)
		return -1;
	if (value > UINT32_MAX)
		return FAIL(err, ERROR_INVALID, "tar: an id is too large");
	*ret = (uint32_t)value;
	return 0;
}

static int read_exactly(struct tar_reader *r, char *out, size_t size, struct error *err)
{
	ssize_t got = r->read(r->context, out, size, err);

	if (got < 0)
		return -1;
	if ((size_t)got < size)
		return FAIL(err, ERROR_INVALID, "tar ends early");
	return 0;
}

ssize_t tar_read(struct tar_reader *r, char *out, size_t size, struct error *err)
{
	if (size > r->left)
		size = (size_t)r->left;
	if (size == 0)
		return 0;
	if (read_exactly(r, out, size, err) < 0)
		return -1;
	r->left -= size;
	return (ssize_t)size;
}

static int skip_rest(struct tar_reader *r, struct error *err)
{
	char bytes[8 * TAR_BLOCK];

	r->left += r->padding;
	r->padding = 0;
	while (r->left)
		if (tar_read(r, bytes, sizeof(bytes), err) < 0)
			return -1;
	return 0;
}

/* The body of a header that describes the next entry, followed by a NUL. */
static int read_body(struct tar_reader *r, uint64_t size, struct span *ret, struct error *err)
{
	char *text;

	if (size > RECORDS_MAX)
		return FAIL(err, ERROR_INVALID, "tar: an extended header is too large");
	text = arena_alloc(&r->arena, (size_t)size + 1);
	r->left = size;
	r->padding = tar_padding(size);
	if (read_exactly(r, text, (size_t)size, err) < 0)
		return -1;
	r->left = 0;
	*ret = (struct span){text, (size_t)size};
	return skip_rest(r, err);
}

struct extra {
	struct span name, link; /* data is NULL if absent */
	bool has_size, has_time, has_uid, has_gid;
	uint64_t size;
	uint32_t uid, gid;
	int64_t time;
};

static int parse_whole(struct span value, int64_t max, int64_t *ret, struct error *err)
{
	if (span_parse_whole(value, 0, max, ret, err) < 0)
		return FAIL(err, ERROR_INVALID, "tar: a pax number is malformed");
	return 0;
}

static int take_number(struct extra *e, struct span key, struct span value, struct error *err)
{
	int64_t max = span_equals_text(key, "size") ? INT64_MAX : UINT32_MAX, number;

	if (parse_whole(value, max, &number, err) < 0)
		return -1;
	if (span_equals_text(key, "size")) {
		e->size = (uint64_t)number;
		e->has_size = true;
	} else if (span_equals_text(key, "uid")) {
		e->uid = (uint32_t)number;
		e->has_uid = true;
	} else {
		e->gid = (uint32_t)number;
		e->has_gid = true;
	}
	return 0;
}

/* "1700000000.123456789"; a time before 1970 becomes 1970. */
static int take_time(struct extra *e, struct span value, struct error *err)
{
	struct span seconds;

	(void)span_split(&value, '.', &seconds);
	e->has_time = true;
	e->time = 0;
	return span_starts_with(seconds, "-") ? 0 : parse_whole(seconds, INT64_MAX, &e->time, err);
}

static int take_record(struct extra *e, struct span key, struct span value, struct error *err)
{
	if (span_equals_text(key, "path"))
		e->name = value;
	else if (span_equals_text(key, "linkpath"))
		e->link = value;
	else if (span_equals_text(key, "size") || span_equals_text(key, "uid") ||
	         span_equals_text(key, "gid"))
		return take_number(e, key, value, err);
	else if (span_equals_text(key, "mtime"))
		return take_time(e, value, err);
	else if (span_starts_with(key, "GNU.sparse."))
		return FAIL(err, ERROR_UNSUPPORTED, "tar: sparse files are not supported");
	return 0;
}

static int parse_records(struct extra *e, struct span records, struct error *err)
{
	while (records.size) {
		struct span record = records, digits, key;
		int64_t size;

		if (!span_split(&record, ' ', &digits) ||
		    parse_whole(digits, (int64_t)records.size, &size, err) < 0 ||
		    (size_t)size <= digits.size + 1 || records.data[size - 1] != '\n')
			return FAIL(err, ERROR_INVALID, "tar: a pax record is malformed");
		record.size = (size_t)size - digits.size - 2;
		if (!span_split(&record, '=', &key))
			return FAIL(err, ERROR_INVALID, "tar: a pax record is malformed");
		if (take_record(e, key, record, err) < 0)
			return -1;
		span_skip(&records, (size_t)size);
	}
	return 0;
}

static struct span until_nul(struct span text)
{
	return field_text(text.data, text.size);
}

/* True if the header describes the next entry. */
static int take_extension(struct tar_reader *r, const struct tar_block *block, uint64_t size,
                          struct extra *e, struct error *err)
{
	struct span body;

	if (!strchr("xgLK", block->type) || block->type == '\0')
		return 0;
	if (read_body(r, size, &body, err) < 0)
		return -1;
	if (block->type == 'x' && parse_records(e, body, err) < 0)
		return -1;
	if (block->type == 'L')
		e->name = until_nul(body);
	if (block->type == 'K')
		e->link = until_nul(body);
	return 1;
}

static int set_text(struct tar_reader *r, struct span text, const char **ret, struct error *err)
{
	if (text.size > TAR_NAME_MAX - 1)
		return FAIL(err, ERROR_INVALID, "tar: a name is longer than %d bytes",
		            TAR_NAME_MAX - 1);
	if (span_find(text, '\0') >= 0)
		return FAIL(err, ERROR_INVALID, "tar: a name holds a NUL");
	*ret = arena_copy(&r->arena, text);
	return 0;
}

static int set_names(struct tar_reader *r, const struct tar_block *block, const struct extra *e,
                     struct tar_entry *ret, struct error *err)
{
	struct span name = field_text(block->name, sizeof(block->name));
	struct span prefix = field_text(block->prefix, sizeof(block->prefix));
	bool has_prefix = memcmp(block->magic, "ustar", sizeof(block->magic)) == 0 && prefix.size;

	if (set_text(r, e->link.data ? e->link : field_text(block->link, sizeof(block->link)),
	             &ret->link, err) < 0)
		return -1;
	if (e->name.data || !has_prefix)
		return set_text(r, e->name.data ? e->name : name, &ret->name, err);
	ret->name = arena_format(&r->arena, "%.*s/%.*s", (int)prefix.size, prefix.data,
	                         (int)name.size, name.data);
	return 0;
}

static int set_type(const struct tar_block *block, struct tar_entry *ret, struct error *err)
{
	size_t size = strlen(ret->name);

	switch (block->type) {
	case '0':
	case '7':
	case '\0':
		/* Before ustar a folder was a file whose name ends in a slash. */
		ret->type = size && ret->name[size - 1] == '/' ? TAR_FOLDER : TAR_FILE;
		return 0;
	case '1':
		ret->type = TAR_HARDLINK;
		return 0;
	case '2':
		ret->type = TAR_SYMLINK;
		return 0;
	case '5':
		ret->type = TAR_FOLDER;
		return 0;
	default:
		return FAIL(err, ERROR_UNSUPPORTED,
		            "tar: '%s' is neither file, folder nor link (type %d)", ret->name,
		            block->type);
	}
}

static int set_entry(struct tar_reader *r, const struct tar_block *block, const struct extra *e,
                     struct tar_entry *ret, struct error *err)
{
	struct tar_entry entry = {0};
	uint64_t mode, time, size;

	if (parse_number(block->mode, sizeof(block->mode), &mode, err) < 0 ||
	    parse_id(block->uid, &entry.uid, err) < 0 ||
	    parse_id(block->gid, &entry.gid, err) < 0 ||
	    parse_number(block->size, sizeof(block->size), &size, err) < 0 ||
	    parse_number(block->time, sizeof(block->time), &time, err) < 0 ||
	    set_names(r, block, e, &entry, err) < 0 || set_type(block, &entry, err) < 0)
		return -1;
	size = e->has_size ? e->size : size;
	if (size > INT64_MAX - TAR_BLOCK)
		return FAIL(err, ERROR_INVALID, "tar: '%s' is too large", entry.name);
	entry.mode = (uint32_t)(mode & 07777);
	entry.uid = e->has_uid ? e->uid : entry.uid;
	entry.gid = e->has_gid ? e->gid : entry.gid;
	entry.modified_s = e->has_time ? e->time : (int64_t)(time & INT64_MAX);
	entry.size = entry.type == TAR_FILE ? size : 0;
	r->left = entry.size;
	r->padding = tar_padding(entry.size);
	*ret = entry;
	return 0;
}

static bool is_zero(const struct tar_block *block)
{
	static const struct tar_block zero;

	return memcmp(block, &zero, sizeof(zero)) == 0;
}

/* 1 = a header; 0 = the end (an end mark or the end of the bytes). */
static int read_block(struct tar_reader *r, struct tar_block *block, struct error *err)
{
	ssize_t got = r->read(r->context, (char *)block, sizeof(*block), err);
	uint64_t sum;

	if (got <= 0)
		return (int)got;
	if ((size_t)got < sizeof(*block))
		return FAIL(err, ERROR_INVALID, "tar ends early");
	if (is_zero(block))
		return 0;
	if (parse_number(block->checksum, sizeof(block->checksum), &sum, err) < 0)
		return -1;
	if (sum != tar_checksum(block))
		return FAIL(err, ERROR_INVALID, "not a tar: wrong checksum of a header");
	return 1;
}

int tar_next(struct tar_reader *r, struct tar_entry *ret, struct error *err)
{
	struct extra extra = {0};
	struct tar_block block;

	arena_reset(&r->arena);
	if (skip_rest(r, err) < 0)
		return -1;
	for (int i = 0; i < HEADERS_MAX; i++) {
		uint64_t size;
		int result = read_block(r, &block, err);

		if (result <= 0)
			return result;
		if (parse_number(block.size, sizeof(block.size), &size, err) < 0)
			return -1;
		result = take_extension(r, &block, size, &extra, err);
		if (result == 0)
			return set_entry(r, &block, &extra, ret, err) < 0 ? -1 : 1;
		if (result < 0)
			return -1;
	}
	return FAIL(err, ERROR_INVALID, "tar: too many extended headers");
}

void tar_reader_done(struct tar_reader *r)
{
	arena_done(&r->arena);
}
