/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/cast.h"

#include <inttypes.h>
#include <string.h>

#include "json/write.h"
#include "terminal/terminal.h"

#define PIECE_MAX ((size_t)512 * 1024)
#define REPLACEMENT "\xef\xbf\xbd"

void cast_write_head(struct buf *out, const struct cast_head *head)
{
	json_begin_object(out, NULL);
	json_add_whole(out, "version", 2);
	json_add_whole(out, "width", head->columns);
	json_add_whole(out, "height", head->rows);
	json_add_whole(out, "timestamp", head->started_unix_ms / 1000);
	json_add_text(out, "title", head->title);
	if (head->user)
		json_add_text(out, "user", head->user);
	json_add_whole(out, "process", (int64_t)head->process);
	json_begin_object(out, "env");
	json_add_text(out, "TERM", "xterm-256color");
	json_end_object(out);
	json_end_object(out);
	buf_add_byte(out, '\n');
}

void cast_add_returns(struct buf *out, struct span bytes)
{
	for (size_t i = 0; i < bytes.size; i++) {
		if (bytes.data[i] == '\n' && (i == 0 || bytes.data[i - 1] != '\r'))
			buf_add_byte(out, '\r');
		buf_add_byte(out, bytes.data[i]);
	}
}

/* The size of the character that begins with this byte; 0 = none does. */
static size_t size_of(unsigned char byte)
{
	if (byte < 0x80)
		return 1;
	if (byte < 0xC2 || byte >= 0xF5)
		return 0;
	return byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

static bool is_continuation(struct span bytes)
{
	for (size_t i = 1; i < bytes.size; i++)
		if (((unsigned char)bytes.data[i] & 0xC0) != 0x80)
			return false;
	return true;
}

/* Writes a character or its replacement; 0 = the character is incomplete. */
static size_t add_character(struct buf *out, struct span bytes)
{
	size_t size = size_of((unsigned char)bytes.data[0]);
	struct span character = {bytes.data, size < bytes.size ? size : bytes.size};

	if (bytes.data[0] == '\0')
		return 1; /* terminals ignore it, and some JSON readers refuse it */
	if (size > bytes.size && is_continuation(character))
		return 0;
	if (size == character.size && size > 0 && span_is_utf8(character)) {
		buf_add_span(out, character);
		return size;
	}
	buf_add_text(out, REPLACEMENT);
	return 1;
}

static void write_event(struct buf *out, int64_t at_us, char kind, struct span text)
{
	buf_addf(out, "[%" PRId64 ".%06" PRId64 ",\"%c\",", at_us / 1000000, at_us % 1000000, kind);
	json_add_span(out, NULL, text);
	buf_add_text(out, "]\n");
}

void cast_write_output(struct buf *out, struct cast_text *text, int64_t at_us, struct span bytes)
{
	AUTO(buf_done) struct buf all = BUF(PIECE_MAX), clean = BUF(3 * PIECE_MAX);
	struct span rest;

	buf_add(&all, text->begun, text->size);
	buf_add_span(&all, bytes);
	rest = buf_span(&all);
	while (rest.size > 0) {
		size_t used = add_character(&clean, rest);

		if (used == 0)
			break;
		span_skip(&rest, used);
	}
	text->size = (unsigned)rest.size;
	if (rest.size > 0)
		memcpy(text->begun, rest.data, rest.size);
	if (clean.size > 0)
		write_event(out, at_us, 'o', buf_span(&clean));
}

void cast_write_missing(struct buf *out, struct cast_text *text, int64_t at_us, uint64_t bytes)
{
	AUTO(buf_done) struct buf label = BUF(64);

	buf_addf(&label, "%" PRIu64 " bytes are missing", bytes + text->size);
	text->size = 0;
	write_event(out, at_us, 'm', buf_span(&label));
	write_event(out, at_us, 'o', SPAN(TERMINAL_CANCEL));
}
