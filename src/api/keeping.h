/* SPDX-License-Identifier: Apache-2.0 */
/* api/keeping.h — files that a command left, kept as artifacts before its call is answered. Private
 * to this folder.
 *
 * The loop collects their names, a worker keeps them, the loop goes on. All but the worker's part
 * is on the loop's thread. A call that breaks off meanwhile forgets it; what is begun is kept. */
#pragma once

#include "base/span.h"
#include "fleet/artifacts.h"

struct api;
struct keeping;

#define KEEPING_MAX FLEET_ARTIFACTS_MADE_MAX
struct keeping_options {
	struct api *api;
	const char *project_id, *key_id, *sandbox_id;
	const char *run; /* NULL = none */
	const char *root, *user;
};
/* Copies all of it. */
struct keeping *keeping_new(const struct keeping_options *options);
void keeping_free(struct keeping *k); /* one that was not started; NULL is fine */
/* A file below the root; those after KEEPING_MAX are not kept. */
void keeping_add(struct keeping *k, const char *path);
/* False when there is nothing to keep, or nobody to do it: on_done is not called then. */
bool keeping_start(struct keeping *k, uint64_t process, void (*on_done)(void *context),
                   void *context);
/* Of one that was started: on_done is not called any more. */
void keeping_forget(struct keeping *k);
/* In on_done: the i-th artifact as JSON, {NULL, 0} behind the last one. */
struct span keeping_json(const struct keeping *k, size_t i);
