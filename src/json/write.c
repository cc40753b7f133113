/* SPDX-License-Identifier: Apache-2.0 */
#include "json/write.h"

#include <string.h>

#include "base/clock.h"
#include "json/base64.h"
#include "json/shape.h"

/* How a byte is written inside quotes: a letter stands for a backslash and that letter. */
enum { BYTE_PLAIN, BYTE_CONTROL, BYTE_HIGH };
static const unsigned char byte_forms[256] = {
        [0x00] = BYTE_HIGH /* U+FFFD stands for it */,
        [0x01 ... 0x07] = BYTE_CONTROL,
        ['\b'] = 'b',
        ['\t'] = 't',
        ['\n'] = 'n',
        [0x0b] = BYTE_CONTROL,
        ['\f'] = 'f',
        ['\r'] = 'r',
        [0x0e ... 0x1f] = BYTE_CONTROL,
        ['"'] = '"',
        ['\\'] = '\\',
        [0x7f] = BYTE_CONTROL,
        [0x80 ... 0xff] = BYTE_HIGH,
};

/* Size of the well-formed UTF-8 sequence at the front; 0 when there is none. */
static size_t sequence_size(struct span text)
{
	unsigned char lead = (unsigned char)text.data[0];
	size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;

	return lead && size <= text.size && span_is_utf8((struct span){text.data, size}) ? size : 0;
}

/* The text of a command's output passes here byte by byte: it is collected in pieces, since a call
 * for each byte takes ten times as long. */
struct piece {
	size_t size;
	char bytes[1024];
};
#define WRITTEN_SIZE_MAX 6 /* of one byte: \u001f */

static void add_hex_escape(struct piece *p, unsigned char byte)
{
	static const char digits[] = "0123456789abcdef";
	const char escape[] = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};

	memcpy(p->bytes + p->size, escape, sizeof(escape));
	p->size += sizeof(escape);
}

/* Returns how many bytes of the text it has written. */
static size_t add_sequence(struct piece *p, struct span text)
{
	size_t size = sequence_size(text);
	struct span written = size > 0 ? (struct span){text.data, size} : SPAN("\xef\xbf\xbd");

	memcpy(p->bytes + p->size, written.data, written.size);
	p->size += written.size;
	return size > 0 ? size : 1;
}

static size_t add_piece(struct piece *p, struct span text)
{
	unsigned char byte = (unsigned char)text.data[0], form = byte_forms[byte];

	if (form == BYTE_HIGH)
		return add_sequence(p, text);
	if (form == BYTE_CONTROL) {
		add_hex_escape(p, byte);
		return 1;
	}
	if (form != BYTE_PLAIN)
		p->bytes[p->size++] = '\\';
	p->bytes[p->size++] = (char)(form == BYTE_PLAIN ? byte : form);
	return 1;
}

void json_write_text(struct buf *out, struct span text)
{
	struct piece p;

	p.size = 0;
	p.bytes[p.size++] = '"';
	while (text.size > 0) {
		size_t size = add_piece(&p, text);

		text = (struct span){text.data + size, text.size - size};
		if (p.size > sizeof(p.bytes) - WRITTEN_SIZE_MAX - 1) {
			buf_add(out, p.bytes, p.size);
			p.size = 0;
		}
	}
	p.bytes[p.size++] = '"';
	buf_add(out, p.bytes, p.size);
}

static void write_text(struct buf *out, const struct json_member *m, const void *slot)
{
	(void)m;
	json_write_text(out, span_of(*(const char *const *)slot));
}

static void write_bytes(struct buf *out, const struct json_member *m, const void *slot)
{
	(void)m;
	buf_add_byte(out, '"');
	base64_encode(out, *(const struct span *)slot);
	buf_add_byte(out, '"');
}

static void write_whole(struct buf *out, const struct json_member *m, const void *slot)
{
	(void)m;
	buf_addf(out, "%lld", (long long)*(const int64_t *)slot);
}

static void write_double(struct buf *out, const struct json_member *m, const void *slot)
{
	(void)m;
	write_number(out, *(const double *)slot);
}

static void write_bool(struct buf *out, const struct json_member *m, const void *slot)
{
	(void)m;
	buf_add_text(out, *(const bool *)slot ? "true" : "false");
}

static void write_choice(struct buf *out, const struct json_member *m, const void *slot)
{
	json_write_text(out, span_of(m->choices[*(const int *)slot]));
}

static void write_text_list(struct buf *out, const struct json_member *m, const void *slot)
{
	const char *const *texts = *(const char *const *const *)slot;

	(void)m;
	buf_add_byte(out, '[');
	for (size_t i = 0; texts && texts[i]; i++) {
		if (i > 0)
			buf_add_byte(out, ',');
		json_write_text(out, span_of(texts[i]));
	}
	buf_add_byte(out, ']');
}

static void write_text_map(struct buf *out, const struct json_member *m, const void *slot)
{
	const struct json_map *map = slot;
	bool first = true;

	(void)m;
	buf_add_byte(out, '{');
	for (size_t i = 0; i < map->count; i++) {
		write_name(out, map->pairs[i].key, &first);
		json_write_text(out, span_of(map->pairs[i].value));
	}
	buf_add_byte(out, '}');
}

static void write_object(struct buf *out, const struct json_member *m, const void *slot)
{
	json_write(out, m->of, slot);
}

static void write_list(struct buf *out, const struct json_member *m, const void *slot)
{
	const struct json_list *list = slot;

	buf_add_byte(out, '[');
	for (size_t i = 0; i < list->count; i++) {
		if (i > 0)
			buf_add_byte(out, ',');
		json_write(out, m->of, (const char *)list->items + i * m->of->size);
	}
	buf_add_byte(out, ']');
}

static void write_raw(struct buf *out, const struct json_member *m, const void *slot)
{
	const struct span *text = slot;

	(void)m;
	buf_add_span(out, text->size > 0 ? *text : SPAN("null"));
}

static void write_time(struct buf *out, const struct json_member *m, const void *slot)
{
	int64_t ms = *(const int64_t *)slot;

	(void)m;
	if (ms == 0) {
		buf_add_text(out, "null");
		return;
	}
	buf_add_byte(out, '"');
	clock_format(out, ms);
	buf_add_byte(out, '"');
}

static bool is_empty_text(const struct json_member *m, const void *slot)
{
	const char *text = *(const char *const *)slot;

	return !text || (m->flags & JSON_OMIT_EMPTY && text[0] == '\0');
}

static bool is_empty_span(const struct json_member *m, const void *slot)
{
	(void)m;
	return ((const struct span *)slot)->size == 0;
}

static bool is_empty_whole(const struct json_member *m, const void *slot)
{
	(void)m;
	return *(const int64_t *)slot == 0;
}

static bool is_empty_double(const struct json_member *m, const void *slot)
{
	double number = *(const double *)slot;

	(void)m;
	return number >= 0 && number <= 0;
}

static bool is_empty_bool(const struct json_member *m, const void *slot)
{
	(void)m;
	return !*(const bool *)slot;
}

static bool is_empty_choice(const struct json_member *m, const void *slot)
{
	(void)m;
	return *(const int *)slot < 0;
}

static bool is_empty_text_list(const struct json_member *m, const void *slot)
{
	const char *const *texts = *(const char *const *const *)slot;

	return !texts || (m->flags & JSON_OMIT_EMPTY && !texts[0]);
}

static bool is_empty_text_map(const struct json_member *m, const void *slot)
{
	const struct json_map *map = slot;

	return map->count == 0 && (!map->present || m->flags & JSON_OMIT_EMPTY);
}

static bool is_empty_list(const struct json_member *m, const void *slot)
{
	const struct json_list *list = slot;

	return list->count == 0 && (!list->present || m->flags & JSON_OMIT_EMPTY);
}

static bool is_empty_object(const struct json_member *m, const void *slot);

/* How a kind is written, when it counts as empty, and what stands for an empty one. Kinds without
 * `instead` have no value of their own for "absent": a zero is a zero. */
static const struct {
	void (*write)(struct buf *out, const struct json_member *m, const void *slot);
	bool (*is_empty)(const struct json_member *m, const void *slot);
	const char *instead;
} kinds[] = {
        [JSON_TEXT] = {write_text, is_empty_text, "\"\""},
        [JSON_BYTES] = {write_bytes, is_empty_span, "\"\""},
        [JSON_WHOLE] = {write_whole, is_empty_whole, NULL},
        [JSON_NUMBER] = {write_double, is_empty_double, NULL},
        [JSON_BOOL] = {write_bool, is_empty_bool, NULL},
        [JSON_CHOICE] = {write_choice, is_empty_choice, "null"},
        [JSON_TEXT_LIST] = {write_text_list, is_empty_text_list, "[]"},
        [JSON_TEXT_MAP] = {write_text_map, is_empty_text_map, "{}"},
        [JSON_OBJECT] = {write_object, is_empty_object, NULL},
        [JSON_LIST] = {write_list, is_empty_list, "[]"},
        [JSON_RAW] = {write_raw, is_empty_span, "null"},
        [JSON_TIME] = {write_time, is_empty_whole, "null"},
};

static bool is_empty_object(const struct json_member *m, const void *slot)
{
	for (const struct json_member *in = m->of->members; in->kind != JSON_END_OF_SHAPE; in++) {
		if (!kinds[in->kind].is_empty(in, shape_const_slot(in, slot)))
			return false;
	}
	return true;
}

static bool has_bit(const struct json_shape *shape, const struct json_member *m, const void *in)
{
	uint64_t present;

	if (shape->present_offset == SIZE_MAX)
		return false;
	memcpy(&present, (const char *)in + shape->present_offset, sizeof(present));
	return present >> (m - shape->members) & 1;
}

static void write_member(struct buf *out, const struct json_shape *shape,
                         const struct json_member *m, const void *in)
{
	const void *slot = shape_const_slot(m, in);
	bool is_empty = kinds[m->kind].is_empty(m, slot);
	bool is_absent = is_empty && !has_bit(shape, m, in) &&
	                 (kinds[m->kind].instead || m->kind == JSON_OBJECT ||
	                  shape->present_offset != SIZE_MAX);

	if (is_absent && m->flags & JSON_NULLABLE)
		buf_add_text(out, "null");
	else if (is_empty && kinds[m->kind].instead)
		buf_add_text(out, kinds[m->kind].instead);
	else
		kinds[m->kind].write(out, m, slot);
}

void json_write(struct buf *out, const struct json_shape *shape, const void *in)
{
	bool first = true;

	buf_add_byte(out, '{');
	for (const struct json_member *m = shape->members; m->kind != JSON_END_OF_SHAPE; m++) {
		if (m->flags & JSON_OMIT_EMPTY && !has_bit(shape, m, in) &&
		    kinds[m->kind].is_empty(m, shape_const_slot(m, in)))
			continue;
		write_name(out, json_member_name(m), &first);
		write_member(out, shape, m, in);
	}
	buf_add_byte(out, '}');
}

void json_write_base64(struct buf *out, struct span bytes)
{
	base64_encode(out, bytes);
}
