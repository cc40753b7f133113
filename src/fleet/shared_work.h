/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/shared_work.h — work of minutes that runs in a lane, once for all callers that await it.
 * Part of parts.h. Private to this folder.
 *
 * Work has a key. The first call with the key queues the work; calls that come while it waits or
 * runs await the same work. A call that may park fails with an error that awaits the key, and gets
 * the outcome when it is made again. The thread of any other call waits. */
#pragma once

#include "base/arena.h"
#include "fleet/waiting.h"

struct shared_work {
	char key[ERROR_AWAITS_MAX]; /* of awaited_key */
	const char *project_id;
	const char *what; /* "sandbox 'x' is being archived", for those that wait */
	struct work_lane *lane;
	/* On a thread of the lane. `arena` lives as long as the outcome. */
	int (*run)(struct fleet *f, struct arena *arena, const struct shared_work *work,
	           const char **ret_text, struct error *err);
	/* Texts for `run`, copied; NULL ones stay NULL. */
	const char *texts[5];
};
/* `awaited` NULL: the thread waits. *ret_text is what `run` told, in the caller's arena. */
MUST_CHECK int shared_work_do(struct fleet *f, struct arena *a, const struct shared_work *work,
                              const struct fleet_awaited *awaited, const char **ret_text,
                              struct error *err);
/* Whether there is work with this key to join: then *ret_result and `err` are those of
 * shared_work_do. For calls that look for it before anything else. */
bool shared_work_join(struct fleet *f, const char *key, const struct fleet_awaited *awaited,
                      int *ret_result, struct error *err);
/* Queues it, unless work with its key waits or runs; no call asks for the outcome. */
MUST_CHECK int shared_work_begin(struct fleet *f, const struct shared_work *work,
                                 struct error *err);
/* When the lanes have ended. */
void shared_works_free(struct fleet *f);
