/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/display.h — the width and the colours of the terminal that shows the output. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

#define DISPLAY_NORMAL "\x1B[0m"
#define DISPLAY_BOLD "\x1B[1m"

struct display {
	unsigned width; /* of standard output in columns; 0 = no terminal: nothing is cut */
	bool has_color;
};
/* `color` is the value of --color: always, never, auto, or NULL for auto. With auto, NO_COLOR turns
 * colours off, CLICOLOR_FORCE turns them on; else a terminal has them unless TERM is "dumb". */
MUST_CHECK int display_find(const char *color, struct display *ret, struct error *err);
/* Columns of the terminal: of COLUMNS or the kernel. 0 if the descriptor is not a terminal. */
unsigned display_width(int fd);

/* Columns that a text takes. Needs LC_CTYPE=C.UTF-8, which cli_main sets. */
unsigned display_columns(const char *text);
/* The longest start of the text that fits into so many columns, with "…" for the rest. */
const char *display_cut(struct arena *a, const char *text, unsigned columns);
