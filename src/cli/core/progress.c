/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/core/text_out.h"

void progress_show(struct progress_line *p, struct arena *a, const char *text)
{
	if (strncmp(p->shown, text, sizeof(p->shown) - 1) == 0)
		return;
	(void)snprintf(p->shown, sizeof(p->shown), "%s", text);
	text = text_out_safe(a, p->shown);
	if (isatty(STDERR_FILENO)) {
		(void)fprintf(stderr, "\r\033[K%s", text);
		p->is_open = true;
	} else {
		(void)fprintf(stderr, "%s\n", text);
	}
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
