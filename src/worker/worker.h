/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker.h — a limited pool of threads for blocking calls, divided into lanes.
 *
 * Fast tasks only use the store. Slow tasks wait for providers, images and other machines. Files
 * tasks copy, read or remove whole trees; their time depends on the tenant's files. Agent tasks
 * wait for a sandbox's agent, which its tenant may control; long tasks may wait for it for minutes.
 * Each lane has threads of its own, so tasks of one lane never use up another's. Threads beyond the
 * first `threads` are started when needed and end after an idle time.
 *
 * A task runs under up to three shares: its project's, its key's and its sandbox's. A lane serves
 * the projects round-robin. Inside a project the oldest task whose other shares have room comes
 * first. A share limits running tasks and waiting tasks in each lane. The fewer threads are free,
 * the fewer a project may use, so several projects together leave some threads free. The pool wakes
 * the idle thread that worked last. */
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
	/* Called by worker_expire in place of `run` when the task waited too long in the agent or
	 * long lane. NULL: the task waits without limit. */
	void (*expire)(struct worker_task *task);
	uint64_t shares[WORKER_SHARES]; /* see worker_share_id; 0 = none: a task of the server
	                                   itself */
	/* Used by the pool while the task waits. */
	struct worker_share *held[WORKER_SHARES];
	int64_t queued_ms;
	bool is_waiting;
};

/* Added to the nice value of the starting thread. */
#define WORKER_NICE_STEP 10

struct worker_pool;
struct worker_options {
	unsigned threads; /* 2..256; limit of running fast tasks, and twice the limit of slow tasks
	                   */
	unsigned queue_max; /* waiting tasks per lane; a project may have a quarter of them */
	/* Optional lanes. With 0 threads their tasks run as slow (files), fast (agent) and agent
	 * (long) tasks. */
	unsigned files_threads, agent_threads, long_threads;
	/* Running tasks of a share in the agent and long lanes; 0 = no limit, but seven eighths for
	 * a project. */
	unsigned agent_share_max[WORKER_SHARES];
	int64_t agent_wait_ms; /* see worker_expire; 0 = no limit */
};
MUST_CHECK int worker_pool_start(const struct worker_options *options, struct worker_pool **ret,
                                 struct error *err);
/* Runs the queued tasks, then joins the threads. NULL is fine. */
void worker_pool_stop(struct worker_pool *pool);
/* The id of a share, from the name of a project, key or sandbox; never 0. */
uint64_t worker_share_id(const char *name);
/* Any thread. Fails with ERROR_UNAVAILABLE when the lane is full, and with ERROR_LIMIT and the
 * share's name when the share has too many waiting tasks; the task is then untouched. */
MUST_CHECK int worker_submit(struct worker_pool *pool, struct worker_task *task, struct error *err);
/* Removes a waiting task; true when no thread has started it. The task must not have been freed. */
bool worker_take_back(struct worker_pool *pool, struct worker_task *task);
/* Like worker_take_back, but only for tasks that wait in the agent or long lane. */
bool worker_abandon(struct worker_pool *pool, struct worker_task *task);
/* On the thread of a task: moves the running task to another lane and shares. False when the lane
 * or a share has no room; then the task must be submitted to that lane. A task that is already in
 * the lane keeps its shares. */
bool worker_change_lane(struct worker_pool *pool, enum worker_lane lane,
                        const uint64_t shares[WORKER_SHARES]);
/* Like worker_change_lane, to the slow lane, with the task's shares. */
bool worker_change_to_slow(struct worker_pool *pool);
/* Calls `expire`, on the caller's thread, for tasks that waited longer than agent_wait_ms in the
 * agent or long lane. */
void worker_expire(struct worker_pool *pool);
/* Runs a task that no caller waits for. On a worker thread it runs after the thread's current task;
 * on other threads it runs at once. Keeps the order; ignores the lane. */
void worker_afterwards(struct worker_task *task);

/* Counts by lane. */
struct worker_load {
	unsigned running[WORKER_LANES], waiting[WORKER_LANES];
	int64_t longest_wait_ms[WORKER_LANES];            /* of the waiting tasks */
	uint64_t refused[WORKER_LANES];                   /* the lane was full */
	uint64_t refused_by[WORKER_LANES][WORKER_SHARES]; /* a share was full */
	uint64_t expired[WORKER_LANES];
	unsigned threads; /* current threads of the pool */
};
struct worker_load worker_load_get(struct worker_pool *pool);
const char *worker_lane_name(enum worker_lane lane);
const char *worker_share_name(enum worker_share_kind kind);
