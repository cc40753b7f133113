/* SPDX-License-Identifier: Apache-2.0 */
/* calls/artifact_saver.h — stores files that a command left as artifacts before its call is
 * answered.
 *
 * The loop collects the files' names, a worker stores the files, and the loop writes the answer.
 * All functions are called on the loop's thread. When the call breaks off, the worker still stores
 * what it has begun. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct api;
struct artifact_saver;

#define ARTIFACT_SAVER_MAX FLEET_ARTIFACTS_MADE_MAX
struct artifact_saver_options {
	struct api *api;
	const char *project_id, *key_id, *sandbox_id;
	const char *run; /* NULL: no agent run */
	const char *root, *user;
};
/* Copies the options' texts. */
struct artifact_saver *artifact_saver_new(const struct artifact_saver_options *options);
/* Before artifact_saver_start only. NULL is fine. */
void artifact_saver_free(struct artifact_saver *s);
/* Adds a file below the root. Files after the first ARTIFACT_SAVER_MAX are ignored. */
void artifact_saver_add(struct artifact_saver *s, const char *path);
/* Stores the files and then calls on_done, after which the saver frees itself. False: there is no
 * file to store, or no worker; on_done is not called. */
bool artifact_saver_start(struct artifact_saver *s, uint64_t process,
                          void (*on_done)(void *context), void *context);
/* After artifact_saver_start: on_done is not called any more. */
void artifact_saver_forget(struct artifact_saver *s);
/* In on_done: the i-th artifact as JSON; {NULL, 0} behind the last one. */
struct span artifact_saver_json(const struct artifact_saver *s, size_t i);
