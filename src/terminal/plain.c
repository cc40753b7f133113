/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/plain.h"

#include <stdlib.h>

#define LINE_MAX_CELLS ((size_t)16 * 1024) /* longer ones are broken */
#define NOT_A_CHARACTER 0xFFFDu

enum plain_state {
	PLAIN_TEXT,
	PLAIN_ESCAPE,
	PLAIN_CSI,
	PLAIN_STRING,
	PLAIN_STRING_ESCAPE,
	PLAIN_CHARSET
};

struct plain {
	struct buf *out;
	enum plain_state state;
	uint32_t *cells; /* of the current line */
	size_t count, at;
	unsigned parameter;
	uint32_t rune; /* an incomplete character */
	unsigned left; /* bytes of it so far */
	uint32_t least;
};

static void add_rune(struct buf *out, uint32_t c)
{
	char bytes[4];
	size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char heads[] = {0, 0, 0xC0, 0xE0, 0xF0};

	for (size_t i = size; i-- > 1; c >>= 6)
		bytes[i] = (char)(0x80 | (c & 0x3F));
	bytes[0] = (char)(heads[size] | c);
	buf_add(out, bytes, size);
}

static void end_line(struct plain *p, bool is_whole)
{
	size_t count = p->count;

	while (is_whole && count > 0 && p->cells[count - 1] == ' ')
		count--;
	for (size_t i = 0; i < count; i++)
		add_rune(p->out, p->cells[i]);
	if (is_whole)
		buf_add_byte(p->out, '\n');
	p->count = p->at = 0;
}

static void put_character(struct plain *p, uint32_t c)
{
	if (p->at >= LINE_MAX_CELLS)
		end_line(p, true);
	while (p->count <= p->at)
		p->cells[p->count++] = ' ';
	p->cells[p->at++] = c;
}

static void put_byte(struct plain *p, unsigned char byte)
{
	if (p->left > 0 && (byte & 0xC0) == 0x80) {
		p->rune = p->rune << 6 | (byte & 0x3Fu);
		if (--p->left > 0)
			return;
		/* Controls above U+0080 would be interpreted by a terminal that prints this text.
		 * */
		if (p->rune < p->least || p->rune < 0xA0 || p->rune > 0x10FFFF ||
		    (p->rune >= 0xD800 && p->rune < 0xE000))
			p->rune = NOT_A_CHARACTER;
		put_character(p, p->rune);
		return;
	}
	if (p->left > 0)
		put_character(p, NOT_A_CHARACTER);
	p->left = 0;
	if (byte < 0x80) {
		put_character(p, byte);
	} else if (byte >= 0xC2 && byte < 0xF5) {
		p->left = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
		p->least = p->left == 1 ? 0x80 : p->left == 2 ? 0x800 : 0x10000;
		p->rune = byte & (p->left == 1 ? 0x1Fu : p->left == 2 ? 0x0Fu : 0x07u);
	} else {
		put_character(p, NOT_A_CHARACTER);
	}
}

static void on_control(struct plain *p, char c)
{
	if (c == '\n')
		end_line(p, true);
	else if (c == '\r')
		p->at = 0;
	else if (c == '\b')
		p->at -= p->at > 0;
	else if (c == '\t')
		do
			put_character(p, p->at < p->count ? p->cells[p->at] : ' ');
		while (p->at % 8 != 0);
	else if (c == '\033')
		p->state = PLAIN_ESCAPE;
}

/* The few sequences that programs use within a line: erase, move. */
static void on_csi(struct plain *p, char final)
{
	size_t by = p->parameter ? p->parameter : 1;

	if (final == 'K' && p->parameter == 0 && p->count > p->at)
		p->count = p->at;
	else if (final == 'K' && p->parameter == 2)
		p->count = 0;
	else if (final == 'G')
		p->at = by - 1 < LINE_MAX_CELLS ? by - 1 : LINE_MAX_CELLS - 1;
	else if (final == 'D')
		p->at -= by < p->at ? by : p->at;
	else if (final == 'C')
		p->at = p->at + by < LINE_MAX_CELLS ? p->at + by : LINE_MAX_CELLS - 1;
	p->state = PLAIN_TEXT;
}

static void on_escape(struct plain *p, char c)
{
	p->parameter = 0;
	if (c == '[')
		p->state = PLAIN_CSI;
	else if (c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X')
		p->state = PLAIN_STRING;
	else if (c == '(' || c == ')' || c == '*' || c == '+' || c == '#' || c == '%' || c == ' ')
		p->state = PLAIN_CHARSET;
	else
		p->state = PLAIN_TEXT;
}

static void take_byte(struct plain *p, char c)
{
	switch (p->state) {
	case PLAIN_TEXT:
		if ((unsigned char)c < ' ')
			on_control(p, c);
		else if (c != '\x7f')
			put_byte(p, (unsigned char)c);
		return;
	case PLAIN_ESCAPE:
		on_escape(p, c);
		return;
	case PLAIN_CSI:
		if (c >= '0' && c <= '9' && p->parameter < 100000)
			p->parameter = p->parameter * 10 + (unsigned)(c - '0');
		else if (c >= '@' && c <= '~')
			on_csi(p, c);
		else if (c == '\033')
			p->state = PLAIN_ESCAPE;
		return;
	case PLAIN_STRING:
		if (c == '\a')
			p->state = PLAIN_TEXT;
		else if (c == '\033')
			p->state = PLAIN_STRING_ESCAPE;
		return;
	case PLAIN_STRING_ESCAPE:
		p->state = c == '\\' ? PLAIN_TEXT : PLAIN_STRING;
		return;
	case PLAIN_CHARSET:
		p->state = PLAIN_TEXT;
		return;
	}
}

void plain_write(struct buf *out, struct span raw)
{
	struct plain p = {.out = out, .cells = memory_array(LINE_MAX_CELLS, sizeof(*p.cells))};

	for (size_t i = 0; i < raw.size; i++)
		take_byte(&p, raw.data[i]);
	end_line(&p, false);
	free(p.cells);
}
