/* SPDX-License-Identifier: Apache-2.0 */
/* cli/progress.h — long work, told on stderr: one line that changes on a terminal, a line per news
 * elsewhere. Private to this folder. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

struct progress {
	char shown[256];
	bool is_open; /* a line without its end is on the terminal */
};
void progress_tell(struct progress *p, struct arena *a, const char *text);
/* Only where the line can change: news that are old at once. */
void progress_tell_passing(struct progress *p, struct arena *a, const char *text);
void progress_end(struct progress *p);
