/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "worker/worker.h"

struct job {
	struct worker_task task;
	sem_t *started, *may_end;
};

static atomic_uint done_count;

static void run_job(struct worker_task *task)
{
	struct job *job = CONTAINER_OF(task, struct job, task);

	if (job->started)
		(void)sem_post(job->started);
	if (job->may_end)
		(void)sem_wait(job->may_end);
	atomic_fetch_add(&done_count, 1);
}

static struct worker_pool *start_pool(unsigned threads, unsigned queue_max)
{
	struct worker_options options = {.threads = threads, .queue_max = queue_max};
	struct worker_pool *pool = NULL;
	struct error err;

	atomic_store(&done_count, 0);
	assert_int_equal(worker_pool_start(&options, &pool, &err), 0);
	return pool;
}

static struct job job_in(enum worker_lane lane)
{
	return (struct job){.task = {.lane = lane, .run = run_job}};
}

TEST(a_pool_needs_a_sensible_number_of_threads)
{
	struct worker_pool *pool = NULL;
	struct error err;

	assert_int_equal(worker_pool_start(&(struct worker_options){.threads = 1}, &pool, &err),
	                 -1);
	assert_int_equal(worker_pool_start(&(struct worker_options){.threads = 257}, &pool, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_null(pool);
	worker_pool_stop(NULL);
}

TEST(everything_queued_is_run_before_the_pool_stops)
{
	struct worker_pool *pool = start_pool(4, 1000);
	static struct job jobs[1000];
	struct error err;

	for (unsigned i = 0; i < 1000; i++) {
		jobs[i] = job_in(i % 2 ? WORKER_FAST : WORKER_SLOW);
		assert_int_equal(worker_submit(pool, &jobs[i].task, &err), 0);
	}
	worker_pool_stop(pool);
	assert_int_equal(atomic_load(&done_count), 1000);
}

TEST(slow_work_leaves_half_of_the_threads_to_fast_work)
{
	struct worker_pool *pool = start_pool(4, 10);
	struct job slow[3], fast = job_in(WORKER_FAST);
	sem_t started, fast_started, may_end;
	struct worker_load load;
	struct error err;

	(void)sem_init(&started, 0, 0);
	(void)sem_init(&fast_started, 0, 0);
	(void)sem_init(&may_end, 0, 0);
	for (unsigned i = 0; i < 3; i++) {
		slow[i] = job_in(WORKER_SLOW);
		slow[i].started = &started;
		slow[i].may_end = &may_end;
		assert_int_equal(worker_submit(pool, &slow[i].task, &err), 0);
	}
	(void)sem_wait(&started);
	(void)sem_wait(&started);
	fast.started = &fast_started;
	assert_int_equal(worker_submit(pool, &fast.task, &err), 0);
	(void)sem_wait(&fast_started);
	load = worker_load_get(pool);
	assert_int_equal(load.running[WORKER_SLOW], 2);
	assert_int_equal(load.waiting[WORKER_SLOW], 1);
	for (unsigned i = 0; i < 3; i++)
		(void)sem_post(&may_end);
	worker_pool_stop(pool);
	assert_int_equal(atomic_load(&done_count), 4);
}

struct turning {
	struct worker_task task;
	struct worker_pool *pool;
	sem_t *turned, *may_end;
	bool has_turned;
};

static void run_turning(struct worker_task *task)
{
	struct turning *t = CONTAINER_OF(task, struct turning, task);

	t->has_turned = worker_change_to_slow(t->pool);
	(void)sem_post(t->turned);
	(void)sem_wait(t->may_end);
}

TEST(a_fast_task_can_become_a_slow_one_while_that_lane_has_room)
{
	struct worker_pool *pool = start_pool(4, 10);
	struct turning tasks[3];
	sem_t turned, may_end;
	struct worker_load load;
	struct error err;

	(void)sem_init(&turned, 0, 0);
	(void)sem_init(&may_end, 0, 0);
	for (unsigned i = 0; i < 3; i++) {
		tasks[i] = (struct turning){.task = {.lane = WORKER_FAST, .run = run_turning},
		                            .pool = pool,
		                            .turned = &turned,
		                            .may_end = &may_end};
		assert_int_equal(worker_submit(pool, &tasks[i].task, &err), 0);
		(void)sem_wait(&turned);
	}
	assert_true(tasks[0].has_turned && tasks[1].has_turned);
	assert_false(tasks[2].has_turned);
	load = worker_load_get(pool);
	assert_int_equal(load.running[WORKER_SLOW], 2);
	assert_int_equal(load.running[WORKER_FAST], 1);
	for (unsigned i = 0; i < 3; i++)
		(void)sem_post(&may_end);
	worker_pool_stop(pool);
}

TEST(what_nobody_has_begun_can_be_taken_back)
{
	struct worker_pool *pool = start_pool(2, 10);
	struct job holder = job_in(WORKER_SLOW), waiting[3];
	sem_t started, may_end;
	struct error err;

	(void)sem_init(&started, 0, 0);
	(void)sem_init(&may_end, 0, 0);
	holder.started = &started;
	holder.may_end = &may_end;
	assert_int_equal(worker_submit(pool, &holder.task, &err), 0);
	(void)sem_wait(&started);
	assert_false(worker_take_back(pool, &holder.task));
	for (unsigned i = 0; i < 3; i++) {
		waiting[i] = job_in(WORKER_SLOW);
		assert_int_equal(worker_submit(pool, &waiting[i].task, &err), 0);
	}
	/* from the middle, from the end, and what is queued behind is run all the same */
	assert_true(worker_take_back(pool, &waiting[1].task));
	assert_true(worker_take_back(pool, &waiting[2].task));
	assert_false(worker_take_back(pool, &waiting[2].task));
	assert_int_equal(worker_submit(pool, &waiting[1].task, &err), 0);
	assert_int_equal(worker_load_get(pool).waiting[WORKER_SLOW], 2);
	(void)sem_post(&may_end);
	worker_pool_stop(pool);
	assert_int_equal(atomic_load(&done_count), 3);
}

TEST(a_full_lane_refuses_and_the_other_still_takes)
{
	struct worker_pool *pool = start_pool(2, 1);
	struct job running = job_in(WORKER_SLOW), waiting = job_in(WORKER_SLOW),
	           refused = job_in(WORKER_SLOW), fast = job_in(WORKER_FAST);
	sem_t started, may_end;
	struct error err;

	(void)sem_init(&started, 0, 0);
	(void)sem_init(&may_end, 0, 0);
	running.started = &started;
	running.may_end = &may_end;
	assert_int_equal(worker_submit(pool, &running.task, &err), 0);
	(void)sem_wait(&started);
	assert_int_equal(worker_submit(pool, &waiting.task, &err), 0);
	assert_int_equal(worker_submit(pool, &refused.task, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_int_equal(worker_submit(pool, &fast.task, &err), 0);
	(void)sem_post(&may_end);
	worker_pool_stop(pool);
	assert_int_equal(atomic_load(&done_count), 3);
}

/* A task that leaves more for afterwards, and what that sees. */
struct leaver {
	struct worker_task task, first, second;
	unsigned order[3], count;
};

static void run_first(struct worker_task *task)
{
	struct leaver *l = CONTAINER_OF(task, struct leaver, first);

	l->order[l->count++] = 1;
	worker_afterwards(&l->second);
}

static void run_second(struct worker_task *task)
{
	struct leaver *l = CONTAINER_OF(task, struct leaver, second);

	l->order[l->count++] = 2;
}

static void run_leaver(struct worker_task *task)
{
	struct leaver *l = CONTAINER_OF(task, struct leaver, task);

	worker_afterwards(&l->first);
	l->order[l->count++] = 0;
}

TEST(what_is_left_for_afterwards_is_run_when_the_task_has_ended)
{
	struct worker_pool *pool = start_pool(2, 10);
	struct leaver leavers[4];
	struct error err;

	for (unsigned i = 0; i < COUNT_OF(leavers); i++) {
		leavers[i] = (struct leaver){.task = {.lane = WORKER_FAST, .run = run_leaver},
		                             .first = {.run = run_first},
		                             .second = {.run = run_second}};
		assert_int_equal(worker_submit(pool, &leavers[i].task, &err), 0);
	}
	worker_pool_stop(pool);
	for (unsigned i = 0; i < COUNT_OF(leavers); i++) {
		assert_int_equal(leavers[i].count, 3);
		for (unsigned at = 0; at < 3; at++)
			assert_int_equal(leavers[i].order[at], at);
	}
}

TEST(on_other_threads_afterwards_is_at_once)
{
	struct leaver l = {.first = {.run = run_first}, .second = {.run = run_second}};

	worker_afterwards(&l.first);
	assert_int_equal(l.count, 2);
}

struct witness {
	struct worker_task task;
	pthread_t thread;
};

static void run_witness(struct worker_task *task)
{
	CONTAINER_OF(task, struct witness, task)->thread = pthread_self();
}

/* The pool counts a task as running until its thread is in the list of idle threads. */
static void wait_until_idle(struct worker_pool *pool)
{
	struct worker_load load;
	unsigned tasks;

	do {
		(void)sched_yield();
		load = worker_load_get(pool);
		tasks = 0;
		for (unsigned lane = 0; lane < WORKER_LANES; lane++)
			tasks += load.running[lane] + load.waiting[lane];
	} while (tasks > 0);
}

/* A pool with 4 threads may start 2 more for slow tasks. With as many tasks at once as it may have
 * threads, each of its threads has begun; one that begins later would be the last to rest. */
TEST(the_thread_that_rested_last_runs_the_next_task)
{
	struct worker_pool *pool = start_pool(4, 10);
	struct job jobs[6];
	struct witness first = {.task = {.lane = WORKER_FAST, .run = run_witness}};
	sem_t started, may_end;
	struct error err;

	(void)sem_init(&started, 0, 0);
	(void)sem_init(&may_end, 0, 0);
	for (unsigned i = 0; i < COUNT_OF(jobs); i++) {
		jobs[i] = job_in(i < 4 ? WORKER_FAST : WORKER_SLOW);
		jobs[i].started = &started;
		jobs[i].may_end = &may_end;
		assert_int_equal(worker_submit(pool, &jobs[i].task, &err), 0);
	}
	for (unsigned i = 0; i < COUNT_OF(jobs); i++)
		(void)sem_wait(&started);
	for (unsigned i = 0; i < COUNT_OF(jobs); i++)
		(void)sem_post(&may_end);
	wait_until_idle(pool);
	assert_int_equal(worker_load_get(pool).threads, COUNT_OF(jobs));
	assert_int_equal(worker_submit(pool, &first.task, &err), 0);
	wait_until_idle(pool);
	for (unsigned i = 0; i < 20; i++) {
		struct witness next = {.task = {.lane = WORKER_FAST, .run = run_witness}};

		assert_int_equal(worker_submit(pool, &next.task, &err), 0);
		wait_until_idle(pool);
		assert_true(pthread_equal(first.thread, next.thread) != 0);
	}
	worker_pool_stop(pool);
	(void)sem_destroy(&started);
	(void)sem_destroy(&may_end);
}

int main(void)
{
	return RUN(CASE(a_pool_needs_a_sensible_number_of_threads),
	           CASE(everything_queued_is_run_before_the_pool_stops),
	           CASE(slow_work_leaves_half_of_the_threads_to_fast_work),
	           CASE(a_fast_task_can_become_a_slow_one_while_that_lane_has_room),
	           CASE(what_nobody_has_begun_can_be_taken_back),
	           CASE(a_full_lane_refuses_and_the_other_still_takes),
	           CASE(what_is_left_for_afterwards_is_run_when_the_task_has_ended),
	           CASE(on_other_threads_afterwards_is_at_once),
	           CASE(the_thread_that_rested_last_runs_the_next_task));
}
