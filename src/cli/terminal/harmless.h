/* SPDX-License-Identifier: Apache-2.0 */
/* cli/terminal/harmless.h — terminal output that only draws. Private to this folder.
 *
 * What was recorded in a sandbox may be meant for the terminal of whoever looks at it: it can ask
 * the terminal for an answer, which is typed into his shell, or write his clipboard, his title, his
 * files. What moves, colours and clears goes through, all else that begins with ESC does not. */
#pragma once

#include "base/buf.h"
#include "base/span.h"

enum harmless_state {
	HARMLESS_TEXT,
	HARMLESS_C2,     /* the first byte of U+0080 to U+00BF, of which some are controls */
	HARMLESS_ESCAPE, /* ESC, and bytes between it and its last one */
	HARMLESS_CSI,
	HARMLESS_STRING, /* OSC, DCS, APC, PM, SOS */
	HARMLESS_STRING_ESCAPE,
	HARMLESS_STRING_C2,
};
/* Zeroed to begin with. */
struct harmless {
	enum harmless_state state;
	char held[64]; /* of a sequence that is not whole yet */
	size_t size;
	bool is_long; /* more than there is room for */
};
/* Pieces of any size. */
void harmless_take(struct harmless *h, struct span in, struct buf *out);
