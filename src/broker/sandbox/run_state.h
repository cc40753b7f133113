/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/run_state.h — the file "state" in a sandbox's run folder: what the next broker
 * must know to adopt the sandbox. */
#pragma once

#include "base/error.h"

struct sandbox;

/* Writes the file into `folder` and keeps it open in sandbox->state_fd for run_state_update. */
MUST_CHECK int run_state_write(struct sandbox *sandbox, int folder, struct error *err);
/* Overwrites the file in place, the open one or that in the run folder of a running sandbox; every
 * text has the same size as before. */
MUST_CHECK int run_state_update(const struct sandbox *sandbox, struct error *err);
/* Fails when the text is malformed or from another boot, and when the process is gone. */
MUST_CHECK int run_state_read(struct sandbox *sandbox, int folder, struct error *err);
/* Pure: fills the fields of the sandbox from the text. */
MUST_CHECK int run_state_parse(struct sandbox *sandbox, const char *text, char boot_id[64],
                               struct error *err);
