/* SPDX-License-Identifier: Apache-2.0 */
/* calls/code_notes.h — private: what a block of code leaves in the activity, and its recording.
 * Loop thread, but for code_note_begin and code_recorder_new. */
#pragma once

#include "code/code.h"
#include "edge/activity.h"

struct code_event;
struct code_outcome;
struct command_recorder;
struct request;

/* `code` NULL: it is not known yet. */
struct activity_note *code_note_begin(const struct request *rq, const struct api_target *t,
                                      enum code_language language, const char *code);
/* Output, results as text, and errors; `r` may be NULL. */
void code_note_event(struct activity_note *n, struct command_recorder *r,
                     const struct code_event *event);
void code_note_end(struct activity_note *n, const struct code_outcome *o);

/* Blocks; see command_recorder_new. */
MUST_CHECK int code_recorder_new(struct request *rq, const struct api_target *t, const char *code,
                                 struct command_recorder **ret, struct error *err);
/* The block has begun: the recording's id; NULL without a recorder. */
const char *code_recorder_started(struct command_recorder *r, uint64_t process);
/* Stores the recording of a block that has begun. NULL is fine. */
void code_recorder_end(struct command_recorder *r);
