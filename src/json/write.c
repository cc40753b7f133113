/* SPDX-License-Identifier: Apache-2.0 */
#include "json/write.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "json/base64.h"
#include "json/json.h"

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

		span_skip(&text, size);
		if (p.size > sizeof(p.bytes) - WRITTEN_SIZE_MAX - 1) {
			buf_add(out, p.bytes, p.size);
			p.size = 0;
		}
	}
	p.bytes[p.size++] = '"';
	buf_add(out, p.bytes, p.size);
}

void json_write_number(struct buf *out, double number)
{
	char text[32] = "null";

	for (int digits = 15; isfinite(number) && digits <= 17; digits++) {
		double back;

		snprintf(text, sizeof(text), "%.*g", digits, number);
		back = strtod(text, NULL);
		if (back >= number && back <= number)
			break;
	}
	buf_add_text(out, text);
}

/* A value ends in a quote, a bracket, a digit, or a letter of null, true or false. */
static bool ends_value(const struct buf *out)
{
	unsigned char last = out->size > 0 ? (unsigned char)out->data[out->size - 1] : ' ';

	return last == '"' || last == '}' || last == ']' || isalnum(last);
}

void json_add_name(struct buf *out, const char *name)
{
	if (ends_value(out))
		buf_add_byte(out, ',');
	if (!name)
		return;
	json_write_text(out, span_of(name));
	buf_add_byte(out, ':');
}

void json_begin_object(struct buf *out, const char *name)
{
	json_add_name(out, name);
	buf_add_byte(out, '{');
}

void json_end_object(struct buf *out)
{
	buf_add_byte(out, '}');
}

void json_begin_list(struct buf *out, const char *name)
{
	json_add_name(out, name);
	buf_add_byte(out, '[');
}

void json_end_list(struct buf *out)
{
	buf_add_byte(out, ']');
}

void json_add_text(struct buf *out, const char *name, const char *text)
{
	json_add_name(out, name);
	if (text)
		json_write_text(out, span_of(text));
	else
		buf_add_text(out, "null");
}

void json_add_span(struct buf *out, const char *name, struct span text)
{
	json_add_name(out, name);
	json_write_text(out, text);
}

void json_add_bytes(struct buf *out, const char *name, struct span bytes)
{
	json_add_name(out, name);
	buf_add_byte(out, '"');
	base64_encode(out, bytes);
	buf_add_byte(out, '"');
}

void json_add_whole(struct buf *out, const char *name, int64_t whole)
{
	json_add_name(out, name);
	buf_addf(out, "%lld", (long long)whole);
}

void json_add_number(struct buf *out, const char *name, double number)
{
	json_add_name(out, name);
	json_write_number(out, number);
}

void json_add_bool(struct buf *out, const char *name, bool truth)
{
	json_add_name(out, name);
	buf_add_text(out, truth ? "true" : "false");
}

void json_add_null(struct buf *out, const char *name)
{
	json_add_name(out, name);
	buf_add_text(out, "null");
}

void json_add_epoch_time(struct buf *out, const char *name, int64_t unix_ms)
{
	json_add_name(out, name);
	buf_add_byte(out, '"');
	clock_format(out, unix_ms);
	buf_add_byte(out, '"');
}

void json_add_time(struct buf *out, const char *name, int64_t unix_ms)
{
	if (unix_ms == 0)
		json_add_null(out, name);
	else
		json_add_epoch_time(out, name, unix_ms);
}

void json_add_raw(struct buf *out, const char *name, struct span json)
{
	/* A comma after it is found by its last byte. */
	while (json.size > 0 && strchr(" \t\r\n", json.data[json.size - 1]))
		json.size--;
	json_add_name(out, name);
	buf_add_span(out, json.size > 0 ? json : SPAN("null"));
}

void json_add_value(struct buf *out, const char *name, const struct json_value *value)
{
	json_add_name(out, name);
	json_print(out, value, 0);
}

void json_add_texts(struct buf *out, const char *name, const char *const *texts)
{
	json_begin_list(out, name);
	for (size_t i = 0; texts && texts[i]; i++)
		json_add_text(out, NULL, texts[i]);
	json_end_list(out);
}

void json_add_map(struct buf *out, const char *name, const struct json_map *map)
{
	json_begin_object(out, name);
	for (size_t i = 0; i < map->count; i++)
		json_add_span(out, map->pairs[i].key, span_of(map->pairs[i].value));
	json_end_object(out);
}

void json_add_struct(struct buf *out, const char *name, const struct json_shape *shape,
                     const void *in)
{
	json_add_name(out, name);
	json_write(out, shape, in);
}

void json_add_structs(struct buf *out, const char *name, const struct json_shape *shape,
                      const struct json_list *list)
{
	json_begin_list(out, name);
	for (size_t i = 0; i < list->count; i++)
		json_add_struct(out, NULL, shape, (const char *)list->items + i * shape->size);
	json_end_list(out);
}

const char *json_format_texts(struct arena *a, const char *const *texts)
{
	AUTO(buf_done) struct buf out = BUF(SIZE_MAX / 2);

	json_add_texts(&out, NULL, texts);
	return arena_copy(a, buf_span(&out));
}

const char *json_format_map(struct arena *a, const struct json_map *map)
{
	AUTO(buf_done) struct buf out = BUF(SIZE_MAX / 2);

	json_add_map(&out, NULL, map);
	return arena_copy(a, buf_span(&out));
}
