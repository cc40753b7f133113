/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/progress.h — progress on stderr: one changing line on a terminal, a line per message
 * elsewhere. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

struct progress_line {
	char shown[256];
	bool is_open; /* the terminal's cursor is on an unfinished line */
};
void progress_show(struct progress_line *p, struct arena *a, const char *text);
/* Shows a message that is soon outdated: only on a terminal, where it is replaced. */
void progress_show_passing(struct progress_line *p, struct arena *a, const char *text);
void progress_end(struct progress_line *p);
