/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lane.h — a lane for work that takes minutes: builds, imports, pulls, backups. Part of the
 * fleet's contract, see fleet.h.
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

struct lane;
struct lane_options {
	unsigned at_once;             /* ..LANE_AT_ONCE_MAX; 0 = 1 */
	unsigned waiting_max;         /* tasks that wait */
	unsigned waiting_project_max; /* of one project */
	const char *what;             /* "builds", for errors */
};
#define LANE_AT_ONCE_MAX 128
/* Its threads start with its first task. */
struct lane *lane_new(const struct lane_options *options);
/* Returns when nothing runs or waits; NULL is fine. */
void lane_wait(struct lane *lane);
/* The same, and ends. NULL is fine. */
void lane_free(struct lane *lane);

/* Embedded in its owner's struct, which lives until `run` has been called; run may free it. */
struct lane_project;
struct lane_task {
	void (*run)(struct lane_task *task);
	/* the lane's own: */
	struct worker_task task;
	struct list item;
	struct lane *lane;
	struct lane_project *project;
};
/* Any thread. ERROR_UNAVAILABLE when too much waits; the task is then untouched. */
MUST_CHECK int lane_submit(struct lane *lane, struct lane_task *task, const char *project_id,
                           struct error *err);

struct lane_load {
	unsigned running, waiting;
};
struct lane_load lane_load_get(struct lane *lane);
