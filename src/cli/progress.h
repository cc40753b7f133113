/* SPDX-License-Identifier: Apache-2.0 */
/* cli/progress.h — long work, told on stderr: one line that changes on a terminal, a line per news
 * elsewhere. Private to this folder. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

struct progress_line {
	char shown[256];
	bool is_open; /* a line without its end is on the terminal */
};
void progress_show(struct progress_line *p, struct arena *a, const char *text);
/* Only where the line can change: news that are old at once. */
void progress_show_passing(struct progress_line *p, struct arena *a, const char *text);
void progress_end(struct progress_line *p);
