/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "http/rewrite/rewrite.h"

#define URL_MAX ((size_t)4096) /* a longer address is not the server's and stays unchanged */

static bool is_of_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '\\' || (unsigned char)c >= 0x80;
}

void css_rewriter_done(struct css_rewriter *c)
{
	buf_done(&c->held);
}

/* The last characters in lower case, with runs of blanks as a single blank. */
static void note_byte(struct css_rewriter *c, char byte)
{
	size_t last = sizeof(c->tail) - 1;

	if (rewrite_is_blank(byte))
		byte = ' ';
	if (byte == ' ' && c->tail[last] == ' ')
		return;
	memmove(c->tail, c->tail + 1, last);
	c->tail[last] = byte >= 'A' && byte <= 'Z' ? (char)(byte | 32) : byte;
}

static bool tail_ends_with(const struct css_rewriter *c, const char *word)
{
	size_t size = strlen(word);

	return memcmp(c->tail + sizeof(c->tail) - size, word, size) == 0 &&
	       !is_of_name(c->tail[sizeof(c->tail) - size - 1]);
}

static void begin_url(struct css_rewriter *c, char quote)
{
	c->state = CSS_URL;
	c->quote = quote;
	c->held.size_max = URL_MAX;
	buf_reset(&c->held);
}

static void take_text(struct css_rewriter *c, char byte, struct buf *out)
{
	bool is_quote = byte == '"' || byte == '\'';

	if (byte == '(' && tail_ends_with(c, "url"))
		c->state = CSS_OPEN;
	else if (is_quote && (tail_ends_with(c, "@import") || tail_ends_with(c, "@import ")))
		begin_url(c, byte);
	buf_add_byte(out, byte);
	note_byte(c, byte);
}

static void end_url(struct css_rewriter *c, const struct rewrite_place *place, bool is_whole,
                    struct buf *out)
{
	if (is_whole)
		rewrite_url(out, buf_span(&c->held), place);
	else
		buf_add_span(out, buf_span(&c->held));
	buf_reset(&c->held);
	c->state = CSS_TEXT;
}

/* An escape may stand for any character: an address with an escape stays unchanged. */
static void take_url(struct css_rewriter *c, const struct rewrite_place *place, char byte,
                     struct buf *out)
{
	bool ends = c->quote ? byte == c->quote : byte == ')' || rewrite_is_blank(byte);

	if (ends || byte == '\\' || byte == '\n' || c->held.size == URL_MAX) {
		end_url(c, place, ends, out);
		take_text(c, byte, out);
		return;
	}
	buf_add_byte(&c->held, byte);
}

/* After "url(". */
static void take_open(struct css_rewriter *c, const struct rewrite_place *place, char byte,
                      struct buf *out)
{
	bool is_quote = byte == '"' || byte == '\'';

	if (is_quote || rewrite_is_blank(byte))
		buf_add_byte(out, byte);
	if (is_quote)
		begin_url(c, byte);
	if (is_quote || rewrite_is_blank(byte))
		return;
	begin_url(c, 0);
	take_url(c, place, byte, out);
}

void css_rewriter_take(struct css_rewriter *c, const struct rewrite_place *place, struct span in,
                       struct buf *out)
{
	for (size_t i = 0; i < in.size; i++) {
		switch (c->state) {
		case CSS_TEXT:
			take_text(c, in.data[i], out);
			break;
		case CSS_OPEN:
			take_open(c, place, in.data[i], out);
			break;
		case CSS_URL:
			take_url(c, place, in.data[i], out);
			break;
		}
	}
}

void css_rewriter_end(struct css_rewriter *c, struct buf *out)
{
	buf_add_span(out, buf_span(&c->held));
	buf_reset(&c->held);
	c->state = CSS_TEXT;
	memset(c->tail, 0, sizeof(c->tail));
}
