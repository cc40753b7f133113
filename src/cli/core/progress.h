/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/progress.h — progress on stderr: one changing line on a terminal, few lines in a
 * log: after each line the next one waits twice as long. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct progress_line {
	char shown[256];
	int64_t quiet_until, gap_ms; /* of a log */
	bool is_open;                /* the terminal's cursor is on an unfinished line */
};
void progress_show(struct progress_line *p, struct arena *a, const char *text);
/* Shows a message that is soon outdated: only on a terminal, where it is replaced. */
void progress_show_passing(struct progress_line *p, struct arena *a, const char *text);
void progress_end(struct progress_line *p);
