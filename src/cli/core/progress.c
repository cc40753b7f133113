/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/core/display.h"
#include "cli/core/text_out.h"

#define LOG_GAP_MS 5000 /* after the first line of a log; doubles with each line */

/* An hour of progress is ten lines of a log. */
static bool may_log(struct progress_line *p)
{
	int64_t now = clock_monotonic_ms();

	if (now < p->quiet_until)
		return false;
	p->gap_ms = p->gap_ms ? p->gap_ms * 2 : LOG_GAP_MS;
	p->quiet_until = now + p->gap_ms;
	return true;
}

void progress_show(struct progress_line *p, struct arena *a, const char *text)
{
	unsigned width = display_width(STDERR_FILENO);

	if (strncmp(p->shown, text, sizeof(p->shown) - 1) == 0)
		return;
	if (width == 0 && !may_log(p))
		return;
	(void)snprintf(p->shown, sizeof(p->shown), "%s", text);
	text = text_out_safe(a, p->shown);
	if (width == 0) {
		(void)fprintf(stderr, "%s\n", text);
		return;
	}
	/* A longer line would wrap, and its first row could not be erased. The last column stays
	 * free, because some terminals wrap when it is written. */
	(void)fprintf(stderr, "\r\033[K%s", display_cut(a, text, width - 1));
	p->is_open = true;
}

void progress_show_passing(struct progress_line *p, struct arena *a, const char *text)
{
	if (isatty(STDERR_FILENO))
		progress_show(p, a, text);
}

void progress_end(struct progress_line *p)
{
	if (p->is_open)
		(void)fputs("\r\033[K", stderr);
	p->is_open = false;
}
