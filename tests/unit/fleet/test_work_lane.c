/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes for work of minutes: what runs at once, and whose turn it is. */
#include <pthread.h>
#include <string.h>

#include "fleet/core/work_lane.h"
#include "unit.h"

#define TASKS (10 + LANE_SPARE + 1)

struct work {
	struct work_lane_task task;
	char project;
	bool may_end, runs, has_ended;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct work works[TASKS];

static void run_template_work(struct work_lane_task *task)
{
	struct work *w = CONTAINER_OF(task, struct work, task);

	pthread_mutex_lock(&mutex);
	w->runs = true;
	pthread_cond_broadcast(&changed);
	while (!w->may_end)
		pthread_cond_wait(&changed, &mutex);
	w->has_ended = true;
	pthread_mutex_unlock(&mutex);
}

static int submit(struct work_lane *lane, unsigned number, char project, struct error *err)
{
	const char id[] = {project, '\0'};

	works[number] = (struct work){.task = {.run = run_template_work}, .project = project};
	return work_lane_submit(lane, &works[number].task, id, err);
}

static void end_work(unsigned number)
{
	pthread_mutex_lock(&mutex);
	works[number].may_end = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void await_start(unsigned number)
{
	pthread_mutex_lock(&mutex);
	while (!works[number].runs)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void end_all(void)
{
	for (unsigned i = 0; i < TASKS; i++)
		end_work(i);
}

static struct work_lane *open_lane(void)
{
	return work_lane_new(&(struct work_lane_options){
	        .at_once = 2, .waiting_max = 10, .waiting_project_max = 8, .what = "tests"});
}

TEST(a_project_with_ten_tasks_does_not_stop_anothers_only_one)
{
	struct work_lane *lane = open_lane();
	struct error err = {0};

	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(submit(lane, i, 'a', &err), 0);
	await_start(0);
	await_start(1);
	assert_int_equal(work_lane_load_get(lane).running, 2);
	for (unsigned i = 0; i < LANE_SPARE; i++) {
		assert_int_equal(submit(lane, 10 + i, (char)('b' + i), &err), 0);
		await_start(10 + i);
	}
	assert_int_equal(work_lane_load_get(lane).running, 2 + LANE_SPARE);
	/* The spare threads are taken: the next project comes first all the same. */
	assert_int_equal(submit(lane, TASKS - 1, 'z', &err), 0);
	assert_false(works[TASKS - 1].runs);
	end_work(0);
	await_start(TASKS - 1);
	assert_false(works[2].runs);
	end_all();
	work_lane_free(lane);
	for (unsigned i = 0; i < TASKS; i++)
		assert_true(works[i].has_ended);
}

TEST(a_project_alone_has_no_more_than_its_bound)
{
	struct work_lane *lane = open_lane();
	struct error err = {0};

	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(submit(lane, i, 'a', &err), 0);
	assert_int_equal(submit(lane, 10, 'a', &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "8 of them this project's"));
	await_start(1);
	assert_int_equal(work_lane_load_get(lane).running, 2);
	assert_int_equal(work_lane_load_get(lane).waiting, 8);
	end_all();
	work_lane_free(lane);
}

TEST(tasks_of_a_project_run_in_order)
{
	struct work_lane *lane = open_lane();
	struct error err = {0};

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(submit(lane, i, 'a', &err), 0);
	await_start(0);
	await_start(1);
	end_work(1);
	await_start(2);
	assert_false(works[3].runs);
	end_all();
	work_lane_free(lane);
}

int main(void)
{
	return RUN(CASE(a_project_with_ten_tasks_does_not_stop_anothers_only_one),
	           CASE(a_project_alone_has_no_more_than_its_bound),
	           CASE(tasks_of_a_project_run_in_order));
}
