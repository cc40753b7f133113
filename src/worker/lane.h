/* SPDX-License-Identifier: Apache-2.0 */
/* worker/lane.h — the queue of a lane and the shares that limit it.
 *
 * Has no locks: the pool's mutex guards a lane. Each project with waiting tasks has a queue. The
 * projects form a ring; after a task of a project was taken, the project goes to the end. */
#pragma once

#include "base/list.h"
#include "worker/worker.h"

#define LANE_BUCKETS 64

/* A project, key or sandbox with tasks in this lane; freed with its last task. */
struct worker_share {
	struct worker_share *next_in_bucket;
	uint64_t id;
	enum worker_share_kind kind;
	unsigned running, waiting;
	struct worker_task *first, **last_next; /* of a project: its waiting tasks, oldest first */
	struct list ring_item; /* item of lane.ring, of a project with waiting tasks */
};

struct lane {
	struct worker_share *buckets[LANE_BUCKETS];
	struct list ring; /* projects with waiting tasks, next first */
	unsigned waiting, running, waiting_max, running_max;
	unsigned share_running_max[WORKER_SHARES], share_waiting_max[WORKER_SHARES]; /* 0 = none */
	/* A project may take a thread while its running tasks are fewer than this factor times the
	 * free threads; 0 = no limit. */
	unsigned project_weight;
	uint64_t refused, refused_by[WORKER_SHARES], expired;
};

/* The shares that a running task holds: [WORKER_PROJECT] is never NULL. */
struct held_shares {
	struct worker_share *shares[WORKER_SHARES];
};

void lane_init(struct lane *lane, unsigned running_max, unsigned waiting_max);
/* Limits the running tasks of each project; 0 = no limit. */
void lane_bound_projects(struct lane *lane, unsigned running_max);
MUST_CHECK int lane_add(struct lane *lane, struct worker_task *task, struct error *err);
/* Whether lane_take would find a task. */
bool lane_is_ready(const struct lane *lane);
/* Removes the next task and counts it as running. NULL when no task waits or no waiting task has
 * room. */
struct worker_task *lane_take(struct lane *lane, struct held_shares *ret_held);
/* Takes a waiting task out of its queue. */
void lane_remove(struct lane *lane, struct worker_task *task);
/* Counts a task of another lane as running here; false when there is no room. */
bool lane_enter(struct lane *lane, const uint64_t ids[WORKER_SHARES], struct held_shares *ret_held);
void lane_leave(struct lane *lane, const struct held_shares *held);
/* The first task of a queue that was queued before `before_ms` and has `expire`; or NULL. */
struct worker_task *lane_find_expired(const struct lane *lane, int64_t before_ms);
/* When the oldest waiting task was queued; `now_ms` when no task waits. */
int64_t lane_oldest_ms(const struct lane *lane, int64_t now_ms);
