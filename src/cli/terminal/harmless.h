/* SPDX-License-Identifier: Apache-2.0 */
/* cli/terminal/harmless.h — filters terminal output so that it only draws.
 *
 * A recording from a sandbox may attack the viewer's terminal. It can request an answer, which
 * appears as typed input in the viewer's shell, or write the clipboard, the title or files.
 * Sequences that move, colour and clear pass; all others that begin with ESC are dropped. */
#pragma once

#include "base/bytes.h"

enum harmless_state {
	HARMLESS_TEXT,
	HARMLESS_C2,     /* after the first byte of U+0080 to U+00BF, some of which are controls */
	HARMLESS_ESCAPE, /* after ESC, before the final byte */
	HARMLESS_CSI,
	HARMLESS_STRING, /* OSC, DCS, APC, PM, SOS */
	HARMLESS_STRING_ESCAPE,
	HARMLESS_STRING_C2,
};
/* Starts zeroed. */
struct harmless {
	enum harmless_state state;
	char held[64]; /* an incomplete sequence */
	size_t size;
	bool is_long; /* the sequence is longer than `held` */
};
/* Filters a piece of any size. */
void harmless_take(struct harmless *h, struct span in, struct buf *out);
