/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker.h — a bounded pool of threads for blocking calls, with a fast and a slow lane.
 *
 * Fast work touches only the store or a running agent; slow work waits for providers, images and
 * other machines. Slow work may hold at most half of the threads, so that the fast lane always
 * moves. Each lane is first in, first out, and has a limit. Of the threads that rest, the one that
 * has worked last is woken. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

enum worker_lane { WORKER_FAST, WORKER_SLOW };

struct worker_task {
	struct worker_task *next;
	enum worker_lane lane;
	void (*run)(struct worker_task *task); /* may free the task */
};

struct worker_pool;
struct worker_options {
	unsigned threads;   /* 2..256 */
	unsigned queue_max; /* waiting tasks per lane */
};
MUST_CHECK int worker_pool_start(const struct worker_options *options, struct worker_pool **ret,
                                 struct error *err);
/* Runs what is queued, then joins the threads. NULL is fine. */
void worker_pool_stop(struct worker_pool *pool);
/* Any thread. Fails with ERROR_UNAVAILABLE when the lane is full; the task is then untouched. */
MUST_CHECK int worker_submit(struct worker_pool *pool, struct worker_task *task, struct error *err);
/* True when nobody has begun it, and nobody will. For a task that has not been freed. */
bool worker_take_back(struct worker_pool *pool, struct worker_task *task);
/* For a task of the fast lane, on its thread: from now on it is one of the slow lane, as if it had
 * been taken from there. False when that has no room: then it has to be submitted there. */
bool worker_turn_slow(struct worker_pool *pool);
/* For what nobody waits for: on a worker's thread it is run when the task of that thread has ended,
 * before it takes another one; elsewhere at once. In the order given; the lane means nothing. */
void worker_afterwards(struct worker_task *task);
struct worker_load {
	unsigned running[2], waiting[2]; /* by lane */
};
struct worker_load worker_load_get(struct worker_pool *pool);
