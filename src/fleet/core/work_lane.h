/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/work_lane.h — a lane for work that takes minutes: builds, imports, pulls, backups.
 *
 * A lane has its own threads, so that such work never blocks a worker that serves calls. The next
 * task is that of the project that has waited longest. A project runs at most `at_once` tasks, and
 * so do all projects together. LANE_SPARE more threads are reserved for projects that run none: a
 * hundred slow pulls of one project do not block the only build of another. */
#pragma once

#include "base/list.h"
#include "worker/worker.h"

struct work_lane;
struct work_lane_project;

#define LANE_SPARE 4

struct work_lane_options {
	unsigned at_once;             /* ..LANE_AT_ONCE_MAX; 0 = 1 */
	unsigned waiting_max;         /* waiting tasks */
	unsigned waiting_project_max; /* waiting tasks of one project */
	const char *what;             /* "builds", for errors */
};
#define LANE_AT_ONCE_MAX 128
/* The threads start with the first task. */
struct work_lane *work_lane_new(const struct work_lane_options *options);
/* Returns when no task runs or waits; NULL is fine. */
void work_lane_wait(struct work_lane *lane);
/* Waits in the same way, then ends the threads. NULL is fine. */
void work_lane_free(struct work_lane *lane);

/* Embedded in the struct of its owner, which must live until `run` is called; `run` may free it. */
struct work_lane_task {
	void (*run)(struct work_lane_task *task);
	/* set by the lane: */
	struct worker_task task;
	struct list item;
	struct work_lane *lane;
	struct work_lane_project *project;
};
/* Any thread. ERROR_UNAVAILABLE if too many tasks wait; the task is then untouched. */
MUST_CHECK int work_lane_submit(struct work_lane *lane, struct work_lane_task *task,
                                const char *project_id, struct error *err);

struct work_lane_load {
	unsigned running, waiting;
};
struct work_lane_load work_lane_load_get(struct work_lane *lane);
