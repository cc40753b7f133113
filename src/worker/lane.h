/* SPDX-License-Identifier: Apache-2.0 */
/* worker/lane.h — the queue of a lane and the shares that bound it. Private to this folder.
 *
 * No locks: the pool's mutex guards a lane. Each project with waiting tasks has a queue; the
 * projects stand in a ring, and a project from which a task was taken goes to its end. */
#pragma once

#include "base/list.h"
#include "worker/worker.h"

#define LANE_BUCKETS 64

/* One project, key or sandbox with tasks in this lane. It lives as long as it has any. */
struct worker_share {
	struct worker_share *next_in_bucket;
	uint64_t id;
	enum worker_share_kind kind;
	unsigned running, waiting;
	struct worker_task *first, **last_next; /* of a project: its waiting tasks, oldest first */
	struct list turn;                       /* of a project that has some */
};

struct lane {
	struct worker_share *buckets[LANE_BUCKETS];
	struct list turns; /* of projects with waiting tasks; the next one first */
	unsigned waiting, running, waiting_max, running_max;
	unsigned share_running_max[WORKER_SHARES], share_waiting_max[WORKER_SHARES]; /* 0 = none */
	/* A project takes a thread while it runs fewer tasks than so many times the threads that
	 * are free; 0 = no such bound. */
	unsigned project_weight;
	uint64_t refused, refused_by[WORKER_SHARES], expired;
};

/* The shares that a running task holds: [WORKER_PROJECT] is never NULL. */
struct held_shares {
	struct worker_share *shares[WORKER_SHARES];
};

void lane_init(struct lane *lane, unsigned running_max, unsigned waiting_max);
/* How many tasks of a project may run at once; 0 = no bound. */
void lane_bound_projects(struct lane *lane, unsigned running_max);
MUST_CHECK int lane_add(struct lane *lane, struct worker_task *task, struct error *err);
/* Whether lane_take would find a task. */
bool lane_is_ready(const struct lane *lane);
/* The next task, which runs from now on; NULL when there is none, or none has room. */
struct worker_task *lane_take(struct lane *lane, struct held_shares *ret_held);
/* Takes a waiting task out of its queue. */
void lane_remove(struct lane *lane, struct worker_task *task);
/* A task that comes from elsewhere runs here from now on; false when there is no room for it. */
bool lane_enter(struct lane *lane, const uint64_t ids[WORKER_SHARES], struct held_shares *ret_held);
void lane_leave(struct lane *lane, const struct held_shares *held);
/* The first task in some queue that was queued before `before_ms` and can expire; or NULL. */
struct worker_task *lane_find_expired(const struct lane *lane, int64_t before_ms);
/* When the task that waits longest was queued; `now_ms` when none waits. */
int64_t lane_oldest_ms(const struct lane *lane, int64_t now_ms);
