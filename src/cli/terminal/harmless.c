/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/harmless.h"

#include <string.h>

#define ESC '\033'

static void hold_byte(struct harmless *h, char c)
{
	if (h->size < sizeof(h->held))
		h->held[h->size++] = c;
	else
		h->is_long = true;
}

static void begin_state(struct harmless *h, enum harmless_state state)
{
	h->state = state;
	h->size = 0;
	h->is_long = false;
}

static void end_sequence(struct harmless *h, bool passes, struct buf *out)
{
	if (passes && !h->is_long)
		buf_add(out, h->held, h->size);
	begin_state(h, HARMLESS_TEXT);
}

/* Only modes of the screen pass. Modes of keys, mouse, focus and paste would outlast the
 * recording. */
static bool modes_draw(const struct harmless *h)
{
	static const int private[] = {3, 5, 6, 7, 12, 25, 40, 45, 47, 1047, 1048, 1049};
	bool is_private = h->held[2] == '?';
	size_t i = is_private ? 3 : 2;

	while (i + 1 < h->size) {
		bool is_known = false;
		int number = 0;

		for (; h->held[i] >= '0' && h->held[i] <= '9' && number < 10000; i++)
			number = 10 * number + h->held[i] - '0';
		for (size_t k = 0; is_private && k < COUNT_OF(private); k++)
			is_known = is_known || private[k] == number;
		if (!is_known && (is_private || number != 4))
			return false;
		if (i + 1 < h->size && h->held[i] != ';')
			return false;
		i++;
	}
	return true;
}

/* Only sequences that draw pass: cursor, erasing, scrolling, modes, colours, margins. Sequences
 * that terminals answer (n c x, $p, "t" of windows) and rare ones do not. */
static bool csi_draws(const struct harmless *h)
{
	char last = h->held[h->size - 1];

	if (!strchr("@ABCDEFGHIJKLMPSTXZ`abdefghlmrsu", last))
		return false;
	for (size_t i = 2; i + 1 < h->size; i++)
		if (!strchr("0123456789;:?", h->held[i]))
			return false;
	if (last == 'h' || last == 'l')
		return modes_draw(h);
	/* Keyboard modes (>, <, =) and "?u", which terminals answer, do not pass. */
	return last != 'u' || h->size == 3;
}

/* Character sets, cursor, tabs and reset pass. */
static bool escape_draws(const struct harmless *h)
{
	if (h->size == 2)
		return h->held[1] && strchr("78DEHMc>", h->held[1]);
	return h->size == 3 && strchr("()*+", h->held[1]) && h->held[2] &&
	       strchr("0AB", h->held[2]);
}

static void take_escape(struct harmless *h, char c, struct buf *out)
{
	if (h->size == 1 && c == '[') {
		hold_byte(h, c);
		h->state = HARMLESS_CSI;
	} else if (h->size == 1 && c && strchr("]P_^X", c)) {
		begin_state(h, HARMLESS_STRING);
	} else if (c >= 0x20 && c < 0x30) {
		hold_byte(h, c);
	} else {
		hold_byte(h, c);
		end_sequence(h, escape_draws(h), out);
	}
}

/* Handles a control U+0080 to U+009F, which means ESC and `c` - 0x40 in seven bits. */
static void take_c1(struct harmless *h, unsigned char c)
{
	if (strchr("\x90\x98\x9d\x9e\x9f", (int)c)) {
		begin_state(h, HARMLESS_STRING);
		return;
	}
	begin_state(h, c == 0x9b ? HARMLESS_CSI : HARMLESS_TEXT);
	if (c != 0x9b)
		return;
	hold_byte(h, ESC);
	hold_byte(h, '[');
}

static void take_text(struct harmless *h, unsigned char c, struct buf *out)
{
	if (c == ESC) {
		begin_state(h, HARMLESS_ESCAPE);
		hold_byte(h, (char)c);
	} else if (c == 0xc2) {
		h->state = HARMLESS_C2;
	} else if (c >= 0x20 ? c != 0x7f : strchr("\a\b\t\n\v\f\r\016\017", c) && c) {
		buf_add_byte(out, (char)c);
	}
}

static void take_c2(struct harmless *h, unsigned char c, struct buf *out)
{
	h->state = HARMLESS_TEXT;
	if (c >= 0x80 && c < 0xa0) {
		take_c1(h, c);
		return;
	}
	/* A lone 0xc2 is not a character; dropped bytes after it must not complete it. */
	if (c >= 0xa0 && c < 0xc0)
		buf_add_byte(out, (char)0xc2);
	take_text(h, c, out);
}

/* BEL or ST (ESC \ or U+009C) ends a string; another sequence aborts it. */
static void take_string(struct harmless *h, unsigned char c, struct buf *out)
{
	bool was_c2 = h->state == HARMLESS_STRING_C2;

	if (h->state == HARMLESS_STRING_ESCAPE && c != '\\' && c != ESC) {
		begin_state(h, HARMLESS_ESCAPE);
		hold_byte(h, ESC);
		take_escape(h, (char)c, out);
		return;
	}
	if (c == '\a' || c == 0x18 || c == 0x1a || h->state == HARMLESS_STRING_ESCAPE ||
	    (was_c2 && c == 0x9c)) {
		begin_state(h, c == ESC ? HARMLESS_ESCAPE : HARMLESS_TEXT);
		if (c == ESC)
			hold_byte(h, ESC);
		return;
	}
	h->state = HARMLESS_STRING;
	if (c == ESC)
		h->state = HARMLESS_STRING_ESCAPE;
	else if (c == 0xc2)
		h->state = HARMLESS_STRING_C2;
}

/* Within a sequence, ESC begins another one, CAN and SUB abort it. */
static bool is_aborted_by(struct harmless *h, unsigned char c)
{
	if (c == ESC) {
		begin_state(h, HARMLESS_ESCAPE);
		hold_byte(h, ESC);
		return true;
	}
	if (c != 0x18 && c != 0x1a)
		return false;
	begin_state(h, HARMLESS_TEXT);
	return true;
}

static void take_byte(struct harmless *h, unsigned char c, struct buf *out)
{
	switch (h->state) {
	case HARMLESS_TEXT:
		take_text(h, c, out);
		break;
	case HARMLESS_C2:
		take_c2(h, c, out);
		break;
	case HARMLESS_ESCAPE:
		if (!is_aborted_by(h, c))
			take_escape(h, (char)c, out);
		break;
	case HARMLESS_CSI:
		if (is_aborted_by(h, c))
			break;
		hold_byte(h, (char)c);
		if (c >= 0x40 && c < 0x7f)
			end_sequence(h, csi_draws(h), out);
		else if (c < 0x20 || c >= 0x7f)
			h->is_long = true; /* terminals differ in how they handle it */
		break;
	case HARMLESS_STRING:
	case HARMLESS_STRING_ESCAPE:
	case HARMLESS_STRING_C2:
		take_string(h, c, out);
		break;
	}
}

void harmless_take(struct harmless *h, struct span in, struct buf *out)
{
	for (size_t i = 0; i < in.size; i++)
		take_byte(h, (unsigned char)in.data[i], out);
}
