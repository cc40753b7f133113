/* SPDX-License-Identifier: Apache-2.0 */
/* provider/template_progress.h — parses the progress lines of the template builder (atoll-image):
 * "PERCENT text", "size BYTES", and, last, when it failed: "error CODE text\thint".
 */
#pragma once

#include "base/bytes.h"

#define TEMPLATE_LINE_MAX 1024 /* longer lines are cut */

struct template_progress {
	void (*on_progress)(void *context, int percent, const char *text); /* or NULL */
	void (*on_size)(void *context, int64_t bytes);                     /* or NULL */
	void *context;
	struct buf line;
	struct error failure; /* set by an "error" line */
};
#define TEMPLATE_PROGRESS(on_progress_, context_)                                                  \
	((struct template_progress){.on_progress = (on_progress_),                                 \
	                            .context = (context_),                                         \
	                            .line = BUF(TEMPLATE_LINE_MAX)})

void template_progress_done(struct template_progress *p);
/* Lines may come in any pieces; malformed ones are ignored. */
void template_progress_take(struct template_progress *p, struct span bytes);
