/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/filter.h"

#include <string.h>

#define PARAMETERS_MAX 15
#define PARAMETER_MAX 9999
#define REPEATS_MAX 500 /* a line of the widest window */
#define WIDE_MAX 4096   /* limits accents in a row, which would be kept without an end */
#define REPLACEMENT "\xef\xbf\xbd"

static void put_rune(struct filter *f, uint32_t c, struct buf *out)
{
	char *at = f->last;

	if (c < f->least || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
		c = 0xFFFD;
	if (c < 0x800) {
		*at++ = (char)(0xC0 | c >> 6);
	} else if (c < 0x10000) {
		*at++ = (char)(0xE0 | c >> 12);
		*at++ = (char)(0x80 | (c >> 6 & 0x3F));
	} else {
		*at++ = (char)(0xF0 | c >> 18);
		*at++ = (char)(0x80 | (c >> 12 & 0x3F));
		*at++ = (char)(0x80 | (c >> 6 & 0x3F));
	}
	*at++ = (char)(0x80 | (c & 0x3F));
	*at = '\0';
	if (++f->wide % WIDE_MAX == 0)
		buf_add_byte(out, ' ');
	/* Skips eight-bit controls, which are no text. */
	if (c >= 0xA0)
		buf_add_text(out, f->last);
}

static void end_rune(struct filter *f, struct buf *out)
{
	if (f->left > 0)
		buf_add_text(out, REPLACEMENT);
	f->left = 0;
}

static void take_text(struct filter *f, unsigned char byte, struct buf *out)
{
	if (f->left > 0 && (byte & 0xC0) == 0x80) {
		f->rune = f->rune << 6 | (byte & 0x3Fu);
		if (--f->left == 0)
			put_rune(f, f->rune, out);
		return;
	}
	end_rune(f, out);
	if (byte == '\033') {
		f->state = FILTER_ESCAPE;
		f->size = 0;
	} else if (byte < 0x80) {
		f->wide = 0;
		if (byte >= ' ' && byte < 0x7F)
			memcpy(f->last, (char[]){(char)byte, '\0'}, 2);
		buf_add_byte(out, (char)byte);
	} else if (byte >= 0xC2 && byte < 0xF5) {
		f->left = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
		f->least = f->left == 1 ? 0x80 : f->left == 2 ? 0x800 : 0x10000;
		f->rune = byte & (f->left == 1 ? 0x1Fu : f->left == 2 ? 0x0Fu : 0x07u);
	} else {
		buf_add_text(out, REPLACEMENT);
	}
}

static void hold_byte(struct filter *f, char byte)
{
	if (f->size < sizeof(f->held))
		f->held[f->size] = byte;
	f->size += f->size <= sizeof(f->held);
}

static bool is_whole(const struct filter *f)
{
	return f->size <= sizeof(f->held);
}

static void repeat_last(const struct filter *f, unsigned count, struct buf *out)
{
	if (count > REPEATS_MAX)
		count = REPEATS_MAX;
	for (unsigned i = 0; i < count && f->last[0]; i++)
		buf_add_text(out, f->last);
}

static void put_number(unsigned number, unsigned digits, struct buf *out)
{
	if (digits)
		buf_addf(out, "%u", number);
}

/* "?1;2 q" and its final byte: leader, numbers, intermediate. */
static void put_csi(struct filter *f, char final, struct buf *out)
{
	unsigned count = 0, number = 0, first = 0, digits = 0;
	char intermediate = 0;
	size_t begin = out->size;

	buf_add_text(out, "\033[");
	for (unsigned i = 0; i < f->size && count < PARAMETERS_MAX; i++) {
		char c = f->held[i];

		if (c >= '0' && c <= '9') {
			number = number * 10 + (unsigned)(c - '0');
			number = number < PARAMETER_MAX ? number : PARAMETER_MAX;
			digits++;
		} else if (c == ';' || c == ':') {
			put_number(number, digits, out);
			buf_add_byte(out, c);
			first = count++ == 0 ? number : first;
			number = digits = 0;
		} else if (c < '<' || c > '?') {
			intermediate = c;
		} else if (i == 0) {
			buf_add_byte(out, c);
		}
	}
	first = count == 0 ? number : first;
	put_number(number, digits, out);
	if (intermediate)
		buf_add_byte(out, intermediate);
	buf_add_byte(out, final);
	if (final != 'b' || intermediate)
		return;
	out->size = begin;
	if (out->data)
		out->data[begin] = '\0';
	repeat_last(f, first ? first : 1, out);
}

static void take_csi(struct filter *f, char byte, struct buf *out)
{
	if (byte == '\033') {
		f->state = FILTER_ESCAPE;
		f->size = 0;
	} else if ((unsigned char)byte < ' ') {
		if (byte == 0x18 || byte == 0x1A)
			f->state = FILTER_TEXT; /* cancelled */
		else
			buf_add_byte(out, byte); /* works in the middle of a sequence */
	} else if (byte >= '@' && byte <= '~') {
		f->state = FILTER_TEXT;
		if (is_whole(f))
			put_csi(f, byte, out);
	} else if (byte & (char)0x80) {
		f->state = FILTER_TEXT;
	} else {
		hold_byte(f, byte);
	}
}

static void take_escape(struct filter *f, char byte, struct buf *out)
{
	f->state = FILTER_TEXT;
	if (f->size == 0 && byte == '[') {
		f->state = FILTER_CSI;
	} else if (f->size == 0 && byte == ']') {
		f->state = FILTER_TITLE;
	} else if (f->size == 0 && memchr("P_^X", byte, 4)) {
		f->state = FILTER_STRING;
	} else if (byte == '\033') {
		f->state = FILTER_ESCAPE;
		f->size = 0;
	} else if (byte >= ' ' && byte <= '/' && f->size == 0) {
		f->state = FILTER_ESCAPE; /* "ESC ( B" */
		hold_byte(f, byte);
	} else if (byte >= '0' && byte <= '~') {
		buf_add_byte(out, '\033');
		buf_add(out, f->held, f->size);
		buf_add_byte(out, byte);
	}
}

/* "0;TITLE" and "2;TITLE"; other commands are for windows, clipboards and links. */
static void put_title(const struct filter *f, struct buf *out)
{
	struct span title = {f->held, f->size};

	if (!is_whole(f) || f->size < 2 || f->held[1] != ';' ||
	    (f->held[0] != '0' && f->held[0] != '2') || !span_is_utf8(title))
		return;
	buf_add_text(out, "\033]");
	buf_add_span(out, title);
	buf_add_byte(out, '\a');
}

static void take_string(struct filter *f, char byte, struct buf *out)
{
	bool is_title = f->state == FILTER_TITLE;

	if (byte == '\033') {
		f->is_title = is_title;
		f->state = FILTER_STRING_ESCAPE;
	} else if (byte == '\a' && is_title) {
		put_title(f, out);
		f->state = FILTER_TEXT;
	} else if (byte == 0x18 || byte == 0x1A) {
		f->state = FILTER_TEXT;
	} else if (is_title && (unsigned char)byte >= ' ') {
		hold_byte(f, byte);
	}
}

static void take_string_escape(struct filter *f, char byte, struct buf *out)
{
	if (byte == '\\') {
		if (f->is_title)
			put_title(f, out);
		f->state = FILTER_TEXT;
		return;
	}
	f->size = 0;
	take_escape(f, byte, out);
}

void filter_write(struct filter *f, struct span bytes, struct buf *out)
{
	for (size_t i = 0; i < bytes.size; i++) {
		char byte = bytes.data[i];

		switch (f->state) {
		case FILTER_TEXT:
			take_text(f, (unsigned char)byte, out);
			break;
		case FILTER_ESCAPE:
			take_escape(f, byte, out);
			break;
		case FILTER_CSI:
			take_csi(f, byte, out);
			break;
		case FILTER_TITLE:
		case FILTER_STRING:
			take_string(f, byte, out);
			break;
		case FILTER_STRING_ESCAPE:
			take_string_escape(f, byte, out);
			break;
		}
	}
}
