/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker.h — a bounded pool of threads for blocking calls, in lanes that tenants share.
 *
 * Fast work touches only the store. Slow work waits for providers, images and other machines. Files
 * work copies, reads or removes whole trees, which takes as long as a tenant has files. Agent work
 * waits for a sandbox's agent, which its tenant may have taken over; long work may do so for
 * minutes. Each lane has threads of its own: tasks of one lane never use up another's. Threads past
 * the first `threads` are made when they are needed and end when they have been idle for a while.
 *
 * A task runs under up to three shares: its project's, its key's and its sandbox's. A lane takes
 * its next task from the projects in turn. Inside a project the oldest task whose other shares have
 * room comes first. A share has two bounds in each lane: tasks that run, and tasks that wait. The
 * fewer threads are free, the fewer a project may have: several projects together leave some. Of
 * the threads that rest, the pool wakes the one that has worked last. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum worker_lane { WORKER_FAST, WORKER_SLOW, WORKER_FILES, WORKER_AGENT, WORKER_LONG };
#define WORKER_LANES 5

enum worker_share_kind { WORKER_PROJECT, WORKER_KEY, WORKER_SANDBOX };
#define WORKER_SHARES 3

struct worker_share;
struct worker_task {
	struct worker_task *next;
	enum worker_lane lane;
	void (*run)(struct worker_task *task); /* may free the task */
	/* In place of `run`, by worker_expire: the task has waited for too long in the agents' or
	 * the long lane. NULL: it may wait for as long as it takes. */
	void (*expire)(struct worker_task *task);
	uint64_t shares[WORKER_SHARES]; /* see worker_share_id; 0 = none: the server's own work */
	/* The pool's own, while the task waits. */
	struct worker_share *held[WORKER_SHARES];
	int64_t queued_ms;
	bool is_waiting;
};

/* The pool's threads are nicer than the thread that starts it by so much. */
#define WORKER_NICE_STEP 10

struct worker_pool;
struct worker_options {
	unsigned threads;   /* 2..256; as many fast tasks run at once, and half as many slow ones */
	unsigned queue_max; /* waiting tasks per lane; a project's may be a quarter of them */
	/* Lanes that a pool need not have. Without threads, their tasks are slow (files), fast
	 * (agent) and agent's ones (long). */
	unsigned files_threads, agent_threads, long_threads;
	/* That run at once, in the agents' and in the long lane; 0 = no bound, and of a project
	 * seven eighths. */
	unsigned agent_share_max[WORKER_SHARES];
	int64_t agent_wait_ms; /* see worker_expire; 0 = for ever */
};
MUST_CHECK int worker_pool_start(const struct worker_options *options, struct worker_pool **ret,
                                 struct error *err);
/* Runs what is queued, then joins the threads. NULL is fine. */
void worker_pool_stop(struct worker_pool *pool);
/* The number of a share, from the name of a project, key or sandbox; never 0. */
uint64_t worker_share_id(const char *name);
/* Any thread. Fails with ERROR_UNAVAILABLE when the lane is full, and with ERROR_LIMIT and the
 * share's name when a share has as much waiting as it may; the task is then untouched. */
MUST_CHECK int worker_submit(struct worker_pool *pool, struct worker_task *task, struct error *err);
/* True when no thread has begun it, and none will. For a task that has not been freed. */
bool worker_take_back(struct worker_pool *pool, struct worker_task *task);
/* The same, for a task that waits in the agents' or the long lane; elsewhere it goes on. */
bool worker_abandon(struct worker_pool *pool, struct worker_task *task);
/* On the thread of a task: from now on the task is one of that lane under these shares, as if it
 * had been taken from there. False when the lane or a share has no room: the task must then be
 * submitted there. A task that is in the lane already stays under the shares that it has. */
bool worker_turn(struct worker_pool *pool, enum worker_lane lane,
                 const uint64_t shares[WORKER_SHARES]);
/* The same for the slow lane, under the shares that the task has. */
bool worker_turn_slow(struct worker_pool *pool);
/* Calls `expire`, on the caller's thread, for the tasks that have waited in the agents' or the long
 * lane for agent_wait_ms. */
void worker_expire(struct worker_pool *pool);
/* For what nobody waits for: on a worker's thread it is run when the task of that thread has ended,
 * before it takes another one; elsewhere at once. In the order given; the lane means nothing. */
void worker_afterwards(struct worker_task *task);

/* By lane. */
struct worker_load {
	unsigned running[WORKER_LANES], waiting[WORKER_LANES];
	int64_t longest_wait_ms[WORKER_LANES];            /* of what waits now */
	uint64_t refused[WORKER_LANES];                   /* because the lane was full */
	uint64_t refused_by[WORKER_LANES][WORKER_SHARES]; /* because a share was */
	uint64_t expired[WORKER_LANES];
	unsigned threads; /* all of the pool's, now */
};
struct worker_load worker_load_get(struct worker_pool *pool);
const char *worker_lane_name(enum worker_lane lane);
const char *worker_share_name(enum worker_share_kind kind);
