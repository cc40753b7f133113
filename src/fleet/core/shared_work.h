/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/shared_work.h — work of minutes that runs in a lane once for all calls that await it.
 *
 * Work has a key. The first call with the key queues the work; later calls await the same work
 * while it waits or runs. A call that may park fails with an error that awaits the key; its
 * repetition gets the outcome. The thread of any other call waits. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct arena;
struct fleet;
struct fleet_awaited;
struct work_lane;

struct shared_work {
	char key[ERROR_AWAITS_MAX]; /* from awaited_key */
	const char *project_id;
	const char *what; /* "sandbox 'x' is being archived", for errors of waiting calls */
	struct work_lane *lane;
	/* Called on a thread of the lane. `arena` lives as long as the outcome. */
	int (*run)(struct fleet *f, struct arena *arena, const struct shared_work *work,
	           const char **ret_text, struct error *err);
	/* Arguments of `run`, copied; NULL stays NULL. */
	const char *texts[5];
};
/* `awaited` NULL: the thread waits. *ret_text: the text that `run` has returned, in `a`. */
MUST_CHECK int shared_work_do(struct fleet *f, struct arena *a, const struct shared_work *work,
                              const struct fleet_awaited *awaited, const char **ret_text,
                              struct error *err);
/* Joins work with this key if there is any: true, with *ret_result and `err` as of shared_work_do.
 */
bool shared_work_join(struct fleet *f, const char *key, const struct fleet_awaited *awaited,
                      int *ret_result, struct error *err);
/* Queues the work unless work with its key waits or runs; no call needs the outcome. */
MUST_CHECK int shared_work_begin(struct fleet *f, const struct shared_work *work,
                                 struct error *err);
/* Call it after the lanes have ended. */
void shared_works_free(struct fleet *f);
