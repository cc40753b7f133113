/* SPDX-License-Identifier: Apache-2.0 */
/* How many tasks of several projects a lane lets run and wait. No threads: each step is known. */
#include "unit.h"

#include <stdlib.h>

#include "worker/lane.h"

#define TASKS 40 /* of each project */

struct crowd {
	struct lane lane;
	struct worker_task *tasks;
	struct held_shares *held;
	unsigned count, running, projects;
};

static struct worker_task task_of(uint64_t project, unsigned i)
{
	return (struct worker_task){.shares = {project, project * 100 + i % 5, project * 1000 + i}};
}

/* Puts TASKS of each project into the queue and lets run what may. */
static void crowd_open(struct crowd *c, unsigned threads, unsigned bound, unsigned projects)
{
	struct error err;

	*c = (struct crowd){.projects = projects, .count = projects * TASKS};
	c->tasks = calloc(c->count, sizeof(*c->tasks));
	c->held = calloc(c->count, sizeof(*c->held));
	lane_init(&c->lane, threads, 4096);
	lane_bound_projects(&c->lane, bound);
	for (unsigned i = 0; i < c->count; i++) {
		c->tasks[i] = task_of(1000 + i % projects, i / projects);
		assert_int_equal(lane_add(&c->lane, &c->tasks[i], &err), 0);
	}
	while (lane_take(&c->lane, &c->held[c->running]))
		c->running++;
}

static void crowd_close(struct crowd *c)
{
	for (unsigned i = 0; i < c->running; i++)
		lane_leave(&c->lane, &c->held[i]);
	for (unsigned i = 0; i < c->count; i++)
		if (c->tasks[i].is_waiting)
			lane_remove(&c->lane, &c->tasks[i]);
	free(c->tasks);
	free(c->held);
}

static void check_room(unsigned threads, unsigned bound, unsigned projects, unsigned at_least)
{
	struct worker_task quiet[3];
	struct held_shares held;
	struct error err;
	struct crowd c;

	crowd_open(&c, threads, bound, projects);
	assert_in_range(threads - c.running, at_least, threads / 2);
	for (unsigned i = 0; i < COUNT_OF(quiet) && i < at_least; i++) {
		quiet[i] = task_of(7, i);
		assert_int_equal(lane_add(&c.lane, &quiet[i], &err), 0);
		assert_ptr_equal(lane_take(&c.lane, &held), &quiet[i]);
		lane_leave(&c.lane, &held);
	}
	crowd_close(&c);
}

TEST(projects_that_take_all_they_can_leave_threads_free)
{
	check_room(64, 16, 4, 12); /* long calls */
	check_room(64, 16, 20, 3);
	check_room(128, 16, 8, 14); /* calls into sandboxes */
	check_room(128, 16, 40, 3);
	check_room(16, 8, 3, 4); /* work on files */
	check_room(16, 8, 6, 2);
}

TEST(a_project_alone_reaches_its_bound)
{
	static const struct {
		unsigned threads, bound, runs;
	} cases[] = {{16, 14, 14}, {8, 7, 7},      {1, 1, 1},    {2, 2, 2}, {128, 16, 16},
	             {64, 56, 40}, {128, 128, 40}, {16, 99, 16}, {3, 2, 2}};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct crowd c;

		crowd_open(&c, cases[i].threads, cases[i].bound, 1);
		assert_int_equal(c.running, cases[i].runs);
		crowd_close(&c);
	}
}

TEST(a_task_that_ends_makes_room_for_its_project)
{
	struct crowd c;
	unsigned before;

	crowd_open(&c, 64, 16, 4);
	before = c.running;
	for (unsigned i = 0; i < TASKS; i++) {
		struct held_shares first = c.held[i % c.running];

		lane_leave(&c.lane, &first);
		assert_true(lane_is_ready(&c.lane));
		assert_non_null(lane_take(&c.lane, &c.held[i % c.running]));
		while (lane_take(&c.lane, &c.held[c.running]))
			c.running++;
		assert_in_range(c.running, before - 1, 63);
	}
	crowd_close(&c);
}

TEST(projects_together_leave_room_in_a_queue)
{
	struct worker_task tasks[400], quiet = task_of(7, 0);
	struct lane lane;
	struct error err;
	unsigned taken = 0;

	lane_init(&lane, 0, 64);
	lane.share_waiting_max[WORKER_PROJECT] = 16;
	for (unsigned i = 0; i < COUNT_OF(tasks); i++) {
		tasks[i] = task_of(1000 + i % 10, i);
		taken += lane_add(&lane, &tasks[i], &err) == 0;
	}
	assert_in_range(taken, 50, 63);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_int_equal(lane.refused, 0);
	assert_int_equal(lane_add(&lane, &quiet, &err), 0);
	lane_remove(&lane, &quiet);
	for (unsigned i = 0; i < COUNT_OF(tasks); i++)
		if (tasks[i].is_waiting)
			lane_remove(&lane, &tasks[i]);
}

int main(void)
{
	return RUN(CASE(projects_that_take_all_they_can_leave_threads_free),
	           CASE(a_project_alone_reaches_its_bound),
	           CASE(a_task_that_ends_makes_room_for_its_project),
	           CASE(projects_together_leave_room_in_a_queue));
}
