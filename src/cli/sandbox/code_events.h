/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/code_events.h — events of a running block of code, as NDJSON; see docs/use/code.md.
 *
 * Output and texts of results are written unchanged, like those of a local program. Other forms of
 * results become files result-1.png, result-2.html … in `folder`. Only the kind of form decides on
 * the file's name, never data from the sandbox. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

struct json_value;
struct code_events {
	struct arena arena; /* of the current line */
	struct buf pending; /* an incomplete line */
	unsigned results;
	bool has_ended, has_failed;
	int status;              /* exit status; 124 after a timeout */
	struct error failure;    /* set with has_failed */
	int folder;              /* owned; -1 = write no files */
	const char *folder_name; /* in messages */
	int out_fd, err_fd;      /* where output goes */
};
void code_events_init(struct code_events *e);
void code_events_done(struct code_events *e);
MUST_CHECK int code_events_add(struct code_events *e, struct span bytes, struct error *err);
/* Of an "exit" event or of a complete answer. */
int code_exit_status(const struct json_value *v);
