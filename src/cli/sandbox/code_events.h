/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/code_events.h — what a block of code tells while it runs: NDJSON, see
 * docs/use/code.md. Private to this folder.
 *
 * Output and texts of results are passed on as they are, as those of any program that is run here.
 * Other forms of results become files result-1.png, result-2.html … in `folder`: only what kind a
 * form is decides on a name, nothing that came from the sandbox. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

struct json_value;
struct code_events {
	struct arena arena; /* of the line at hand */
	struct buf pending; /* a begun line */
	unsigned results;
	bool has_ended, has_failed;
	int status;              /* an exit status; 124 after a timeout */
	struct error failure;    /* with has_failed; the caller's */
	int folder;              /* owned; -1 = no files */
	const char *folder_name; /* as it is shown */
	int out_fd, err_fd;      /* where output goes */
};
void code_events_init(struct code_events *e);
void code_events_done(struct code_events *e);
MUST_CHECK int code_events_add(struct code_events *e, struct span bytes, struct error *err);
/* Of an event "exit", or of a whole answer. */
int code_exit_status(const struct json_value *v);
