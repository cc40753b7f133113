/* SPDX-License-Identifier: Apache-2.0 */
/* calls/artifact_saver.h — files that a command left, kept as artifacts before its call is
 * answered. Private to this folder.
 *
 * The loop collects their names, a worker keeps them, the loop goes on. All but the worker's part
 * is on the loop's thread. A call that breaks off meanwhile forgets it; what is begun is kept. */
#pragma once

#include "base/span.h"
#include "fleet/artifacts.h"

struct api;
struct artifact_saver;

#define ARTIFACT_SAVER_MAX FLEET_ARTIFACTS_MADE_MAX
struct artifact_saver_options {
	struct api *api;
	const char *project_id, *key_id, *sandbox_id;
	const char *run; /* NULL = none */
	const char *root, *user;
};
/* Copies all of it. */
struct artifact_saver *artifact_saver_new(const struct artifact_saver_options *options);
void artifact_saver_free(struct artifact_saver *k); /* one that was not started; NULL is fine */
/* A file below the root; those after ARTIFACT_SAVER_MAX are not kept. */
void artifact_saver_add(struct artifact_saver *k, const char *path);
/* False when there is nothing to keep, or nobody to do it: on_done is not called then. */
bool artifact_saver_start(struct artifact_saver *k, uint64_t process,
                          void (*on_done)(void *context), void *context);
/* Of one that was started: on_done is not called any more. */
void artifact_saver_forget(struct artifact_saver *k);
/* In on_done: the i-th artifact as JSON, {NULL, 0} behind the last one. */
struct span artifact_saver_json(const struct artifact_saver *k, size_t i);
