/* SPDX-License-Identifier: Apache-2.0 */
/* calls/artifact_saver.h — stores files that a command left as artifacts before its call is
 * answered.
 *
 * A worker stores the files, and the loop writes the answer. All functions are called on the loop's
 * thread, but for artifact_saver_new. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct activity_note;
struct artifact_saver;
struct request;

struct artifact_saver_options {
	const char *sandbox_id, *root, *user; /* copied */
	/* The files are stored, or the log says why not. */
	void (*on_done)(void *context);
	void *context;
};
struct artifact_saver *artifact_saver_new(const struct request *rq,
                                          const struct artifact_saver_options *options);
/* on_done is not called any more. A worker that has begun still stores all. NULL is fine. */
void artifact_saver_free(struct artifact_saver *s);
/* Stores the files below the root that have changed since a time (unix ms), and then calls on_done.
 * False: no worker is free; on_done is not called. */
bool artifact_saver_start(struct artifact_saver *s, uint64_t process, int64_t since);
/* In on_done: the i-th artifact as JSON; {NULL, 0} behind the last one. */
struct span artifact_saver_json(const struct artifact_saver *s, size_t i);
/* In on_done: adds the artifacts to the note. */
void artifact_saver_note(const struct artifact_saver *s, struct activity_note *note);
