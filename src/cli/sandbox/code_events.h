/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/code_events.h — events of a running block of code, as NDJSON; see docs/use/code.md.
 *
 * Output and texts of results are written unchanged, like those of a local program. Other forms of
 * results become files result-1.png, result-2.html … in `folder`. Only the kind of form decides on
 * the file's name, never data from the sandbox. */
#pragma once

#include "cli/core/event_lines.h"

struct code_events {
	struct event_lines lines;
	unsigned results;
	bool has_ended;
	int status;              /* exit status; 124 after a timeout */
	int folder;              /* owned; -1 = write no files */
	const char *folder_name; /* in messages */
	int out_fd, err_fd;      /* where output goes */
};
void code_events_init(struct code_events *e);
void code_events_done(struct code_events *e);
/* Processes a piece of NDJSON; for server_stream. `context` is a struct code_events. */
MUST_CHECK int code_events_add(void *context, struct span bytes, struct error *err);
