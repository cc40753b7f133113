/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/work_lane.h — a lane for work that takes minutes: builds, imports, pulls, backups. Part of
 * the fleet's contract, see fleet.h.
 *
 * A lane has threads of its own, so that such work never takes a worker that serves calls. Projects
 * take turns: the next task is that of the project that has waited longest for its turn. A project
 * has at most `at_once` tasks running, and so have all together; but LANE_SPARE more threads are
 * kept for projects that have none running, so that projects with a hundred slow pulls do not stop
 * another project's only build. */
#pragma once

#include "base/id.h"
#include "base/list.h"
#include "worker/worker.h"

#define LANE_SPARE 4

struct work_lane;
struct work_lane_options {
	unsigned at_once;             /* ..LANE_AT_ONCE_MAX; 0 = 1 */
	unsigned waiting_max;         /* tasks that wait */
	unsigned waiting_project_max; /* of one project */
	const char *what;             /* "builds", for errors */
};
#define LANE_AT_ONCE_MAX 128
/* Its threads start with its first task. */
struct work_lane *work_lane_new(const struct work_lane_options *options);
/* Returns when nothing runs or waits; NULL is fine. */
void work_lane_wait(struct work_lane *lane);
/* The same, and ends. NULL is fine. */
void work_lane_free(struct work_lane *lane);

/* Embedded in its owner's struct, which lives until `run` has been called; run may free it. */
struct work_lane_project;
struct work_lane_task {
	void (*run)(struct work_lane_task *task);
	/* the lane's own: */
	struct worker_task task;
	struct list item;
	struct work_lane *lane;
	struct work_lane_project *project;
};
/* Any thread. ERROR_UNAVAILABLE when too much waits; the task is then untouched. */
MUST_CHECK int work_lane_submit(struct work_lane *lane, struct work_lane_task *task,
                                const char *project_id, struct error *err);

struct work_lane_load {
	unsigned running, waiting;
};
struct work_lane_load work_lane_load_get(struct work_lane *lane);
