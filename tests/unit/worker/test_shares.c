/* SPDX-License-Identifier: Apache-2.0 */
/* How tenants share a pool: projects in turn, bounds of shares, a lane of its own for agents. */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "worker/worker.h"

enum { QUIET = 1, LOUD = 2, KEY = 10, HOSTILE = 20, CALM = 21 };

struct job {
	struct worker_task task;
	sem_t *started, *may_end;
	unsigned place; /* in which order it began; 0 = it has not */
	bool is_expired;
	bool turns, has_turned; /* from the fast lane over to the agents' */
	struct worker_pool *pool;
	const uint64_t *turn_to;
};

static atomic_uint begun;

static void run_job(struct worker_task *task)
{
	struct job *job = CONTAINER_OF(task, struct job, task);

	job->place = atomic_fetch_add(&begun, 1) + 1;
	if (job->turns)
		job->has_turned = worker_change_lane(job->pool, WORKER_AGENT, job->turn_to);
	if (job->started)
		(void)sem_post(job->started);
	if (job->may_end)
		(void)sem_wait(job->may_end);
}

static void expire_job(struct worker_task *task)
{
	CONTAINER_OF(task, struct job, task)->is_expired = true;
}

struct fixture {
	struct worker_pool *pool;
	sem_t started, may_end;
};

static void fixture_open(struct fixture *f, const struct worker_options *options)
{
	struct error err;

	atomic_store(&begun, 0);
	(void)sem_init(&f->started, 0, 0);
	(void)sem_init(&f->may_end, 0, 0);
	assert_int_equal(worker_pool_start(options, &f->pool, &err), 0);
}

static void fixture_close(struct fixture *f, unsigned running)
{
	for (unsigned i = 0; i < running; i++)
		(void)sem_post(&f->may_end);
	worker_pool_stop(f->pool);
	(void)sem_destroy(&f->started);
	(void)sem_destroy(&f->may_end);
}

static struct job job_of(enum worker_lane lane, uint64_t project, uint64_t key, uint64_t sandbox)
{
	return (struct job){
	        .task = {.lane = lane, .run = run_job, .shares = {project, key, sandbox}}};
}

static void submit(struct fixture *f, struct job *job)
{
	struct error err;

	assert_int_equal(worker_submit(f->pool, &job->task, &err), 0);
}

/* It begins, says so, and goes on until the fixture closes. */
static void submit_holder(struct fixture *f, struct job *job)
{
	job->started = &f->started;
	job->may_end = &f->may_end;
	submit(f, job);
}

TEST(projects_take_turns_in_a_queue)
{
	struct job holder = job_of(WORKER_SLOW, 9, 0, 0), loud[50], quiet[2];
	struct fixture f;

	fixture_open(&f, &(struct worker_options){.threads = 2, .queue_max = 1000});
	submit_holder(&f, &holder);
	(void)sem_wait(&f.started);
	for (unsigned i = 0; i < COUNT_OF(loud); i++) {
		loud[i] = job_of(WORKER_SLOW, LOUD, 0, 0);
		submit(&f, &loud[i]);
	}
	for (unsigned i = 0; i < COUNT_OF(quiet); i++) {
		quiet[i] = job_of(WORKER_SLOW, QUIET, 0, 0);
		submit(&f, &quiet[i]);
	}
	fixture_close(&f, 1);
	/* the holder, a loud one, a quiet one, a loud one, a quiet one */
	assert_int_equal(quiet[0].place, 3);
	assert_int_equal(quiet[1].place, 5);
	assert_true(loud[0].place < loud[1].place);
	assert_int_equal(loud[49].place, 53);
}

TEST(one_project_never_has_all_threads_of_a_lane)
{
	struct job loud[16], quiet = job_of(WORKER_SLOW, QUIET, 0, 0);
	struct fixture f;

	fixture_open(&f, &(struct worker_options){.threads = 32, .queue_max = 1000});
	for (unsigned i = 0; i < COUNT_OF(loud); i++) {
		loud[i] = job_of(WORKER_SLOW, LOUD, 0, 0);
		submit_holder(&f, &loud[i]);
	}
	for (unsigned i = 0; i < 14; i++)
		(void)sem_wait(&f.started);
	quiet.started = &f.started;
	submit(&f, &quiet);
	(void)sem_wait(&f.started);
	assert_int_equal(quiet.place, 15);
	assert_int_equal(worker_load_get(f.pool).running[WORKER_SLOW] <= 15, true);
	fixture_close(&f, COUNT_OF(loud));
}

static bool has_begun(struct fixture *f)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	return sem_timedwait(&f->started, &until) == 0;
}

/* All threads but one are busy with other tasks of the lane, and the last with a slow one. */
TEST(the_end_of_a_task_makes_room_for_two_projects)
{
	struct job slow = job_of(WORKER_SLOW, 9, 0, 0), a[10], c[6], other;
	struct fixture f;
	sem_t first_may_end;

	fixture_open(&f, &(struct worker_options){.threads = 16, .queue_max = 1000});
	(void)sem_init(&first_may_end, 0, 0);
	submit_holder(&f, &slow);
	for (unsigned i = 0; i < COUNT_OF(a); i++)
		a[i] = job_of(WORKER_FAST, LOUD, 0, 0);
	for (unsigned i = 0; i < COUNT_OF(c); i++)
		c[i] = job_of(WORKER_FAST, HOSTILE, 0, 0);
	other = job_of(WORKER_FAST, CALM, 0, 0);
	for (unsigned i = 0; i < 9; i++)
		submit_holder(&f, &a[i]);
	c[0].started = &f.started;
	c[0].may_end = &first_may_end;
	submit(&f, &c[0]);
	for (unsigned i = 1; i < 5; i++)
		submit_holder(&f, &c[i]);
	submit_holder(&f, &other);
	for (unsigned i = 0; i < 16; i++)
		assert_true(has_begun(&f));
	submit_holder(&f, &a[9]);
	submit_holder(&f, &c[5]);
	assert_int_equal(worker_load_get(f.pool).waiting[WORKER_FAST], 2);
	(void)sem_post(&first_may_end);
	assert_true(has_begun(&f));
	assert_true(has_begun(&f));
	fixture_close(&f, 17);
	(void)sem_destroy(&first_may_end);
}

/* The shares of the agents' lane: a sandbox's 2, a key's 3, a project's 4. */
static const struct worker_options agents = {.threads = 2,
                                             .queue_max = 64,
                                             .agent_threads = 12,
                                             .agent_share_max = {4, 3, 2},
                                             .agent_wait_ms = 1};

TEST(a_sandbox_that_hangs_costs_only_its_own_callers)
{
	struct job hung[10], calm = job_of(WORKER_AGENT, LOUD, KEY, CALM),
	                     fast = job_of(WORKER_FAST, LOUD, KEY, 0);
	struct worker_load load;
	struct fixture f;

	fixture_open(&f, &agents);
	for (unsigned i = 0; i < 6; i++) {
		hung[i] = job_of(WORKER_AGENT, LOUD, KEY, HOSTILE);
		submit_holder(&f, &hung[i]);
	}
	(void)sem_wait(&f.started);
	(void)sem_wait(&f.started);
	/* another sandbox of the same key, and the fast lane */
	submit_holder(&f, &calm);
	(void)sem_wait(&f.started);
	submit_holder(&f, &fast);
	(void)sem_wait(&f.started);
	load = worker_load_get(f.pool);
	assert_int_equal(load.running[WORKER_AGENT], 3);
	assert_int_equal(load.waiting[WORKER_AGENT], 4);
	assert_int_equal(load.running[WORKER_FAST], 1);
	fixture_close(&f, 8);
	assert_int_equal(atomic_load(&begun), 8);
}

TEST(keys_and_projects_have_bounds_as_well)
{
	struct job jobs[12];
	struct worker_load load;
	struct fixture f;

	fixture_open(&f, &agents);
	/* each in a sandbox of its own: first of one key, then of others of the same project */
	for (unsigned i = 0; i < COUNT_OF(jobs); i++) {
		jobs[i] =
		        job_of(WORKER_AGENT, i < 10 ? LOUD : QUIET, i < 5 ? KEY : 100 + i, 200 + i);
		submit_holder(&f, &jobs[i]);
	}
	for (unsigned i = 0; i < 6; i++)
		(void)sem_wait(&f.started);
	load = worker_load_get(f.pool);
	assert_int_equal(load.running[WORKER_AGENT], 6);
	assert_true(jobs[2].place && !jobs[3].place && !jobs[4].place); /* the key's three */
	assert_true(jobs[5].place && !jobs[6].place);                   /* the project's fourth */
	assert_true(jobs[10].place && jobs[11].place);
	fixture_close(&f, COUNT_OF(jobs));
	assert_int_equal(atomic_load(&begun), COUNT_OF(jobs));
}

TEST(a_share_that_has_enough_waiting_is_refused_by_its_name)
{
	struct job hung[10], over = job_of(WORKER_AGENT, LOUD, KEY, HOSTILE),
	                     other = job_of(WORKER_AGENT, QUIET, 0, CALM);
	struct fixture f;
	struct error err;

	fixture_open(&f, &agents);
	for (unsigned i = 0; i < COUNT_OF(hung); i++) { /* 2 run, 64 / 8 wait */
		hung[i] = job_of(WORKER_AGENT, LOUD, KEY, HOSTILE);
		submit_holder(&f, &hung[i]);
		if (i < 2)
			(void)sem_wait(&f.started);
	}
	assert_int_equal(worker_submit(f.pool, &over.task, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_non_null(strstr(err.text, "2 requests of this sandbox run and 8 wait"));
	assert_int_equal(worker_load_get(f.pool).refused_by[WORKER_AGENT][WORKER_SANDBOX], 1);
	submit_holder(&f, &other);
	(void)sem_wait(&f.started);
	fixture_close(&f, COUNT_OF(hung) + 1);
}

TEST(a_fast_task_goes_over_to_the_agents_lane_under_its_shares)
{
	static const uint64_t shares[WORKER_SHARES] = {LOUD, KEY, HOSTILE};
	struct job tasks[3], fast = job_of(WORKER_FAST, LOUD, KEY, 0);
	struct worker_load load;
	struct fixture f;

	fixture_open(&f, &agents);
	for (unsigned i = 0; i < COUNT_OF(tasks); i++) {
		tasks[i] = job_of(WORKER_FAST, LOUD, KEY, 0);
		tasks[i].turns = true;
		tasks[i].pool = f.pool;
		tasks[i].turn_to = shares;
		submit_holder(&f, &tasks[i]);
		(void)sem_wait(&f.started);
	}
	assert_true(tasks[0].has_turned && tasks[1].has_turned);
	assert_false(tasks[2].has_turned);
	load = worker_load_get(f.pool);
	assert_int_equal(load.running[WORKER_AGENT], 2);
	assert_int_equal(load.running[WORKER_FAST], 1);
	/* the fast lane has both of its threads but for the one that did not turn */
	submit_holder(&f, &fast);
	(void)sem_wait(&f.started);
	fixture_close(&f, 4);
}

TEST(a_task_that_waits_for_too_long_expires)
{
	struct job hung[3], patient = job_of(WORKER_AGENT, LOUD, KEY, HOSTILE);
	struct fixture f;

	fixture_open(&f, &agents);
	for (unsigned i = 0; i < COUNT_OF(hung); i++) {
		hung[i] = job_of(WORKER_AGENT, LOUD, KEY, HOSTILE);
		hung[i].task.expire = expire_job;
		submit_holder(&f, &hung[i]);
		if (i < 2)
			(void)sem_wait(&f.started);
	}
	submit(&f, &patient);
	while (!hung[2].is_expired) {
		(void)sched_yield();
		worker_expire(f.pool);
	}
	assert_int_equal(worker_load_get(f.pool).waiting[WORKER_AGENT], 1);
	assert_int_equal(worker_load_get(f.pool).expired[WORKER_AGENT], 1);
	assert_false(worker_take_back(f.pool, &hung[2].task));
	fixture_close(&f, 2);
	assert_int_equal(hung[2].place, 0);
	assert_true(patient.place > 0);
}

TEST(a_task_that_is_taken_back_leaves_its_shares)
{
	struct job hung[2], waiting[8], next = job_of(WORKER_AGENT, LOUD, KEY, HOSTILE);
	struct fixture f;

	fixture_open(&f, &agents);
	for (unsigned i = 0; i < COUNT_OF(hung); i++) {
		hung[i] = job_of(WORKER_AGENT, LOUD, KEY, HOSTILE);
		submit_holder(&f, &hung[i]);
		(void)sem_wait(&f.started);
	}
	for (unsigned i = 0; i < COUNT_OF(waiting); i++) {
		waiting[i] = job_of(WORKER_AGENT, LOUD, KEY, HOSTILE);
		submit(&f, &waiting[i]);
	}
	for (unsigned i = COUNT_OF(waiting); i-- > 0;)
		assert_true(worker_take_back(f.pool, &waiting[i].task));
	submit(&f, &next);
	assert_int_equal(worker_load_get(f.pool).waiting[WORKER_AGENT], 1);
	fixture_close(&f, 2);
	assert_int_equal(atomic_load(&begun), 3);
}

/* As the server's defaults: 128 calls, 64 long ones beside them, 16 of a project. */
static const struct worker_options calls = {.threads = 16,
                                            .queue_max = 4096,
                                            .files_threads = 16,
                                            .agent_threads = 128,
                                            .long_threads = 64,
                                            .agent_share_max = {16, 12, 4}};

TEST(long_calls_take_no_thread_of_short_ones)
{
	static const uint64_t shares[WORKER_SHARES] = {LOUD, KEY, HOSTILE};
	struct job jobs[4 * 16], quick = job_of(WORKER_FAST, LOUD, KEY, 0);
	struct fixture f;
	struct worker_load load;

	fixture_open(&f, &calls);
	for (unsigned i = 0; i < COUNT_OF(jobs); i++) {
		jobs[i] = job_of(WORKER_LONG, 1000 + i % 4, 0, 300 + i);
		submit_holder(&f, &jobs[i]);
	}
	for (unsigned i = 0; i < 4 * 12; i++)
		(void)sem_wait(&f.started);
	load = worker_load_get(f.pool);
	assert_true(load.running[WORKER_LONG] < 64);
	assert_int_equal(load.running[WORKER_AGENT] + load.running[WORKER_FAST], 0);
	quick.turns = true;
	quick.pool = f.pool;
	quick.turn_to = shares;
	submit_holder(&f, &quick);
	while (worker_load_get(f.pool).running[WORKER_AGENT] == 0)
		(void)sched_yield();
	fixture_close(&f, COUNT_OF(jobs) + 1);
	assert_true(quick.has_turned);
}

TEST(a_project_alone_has_all_that_its_bound_allows)
{
	static const unsigned expected[WORKER_LANES] = {[WORKER_FAST] = 14,
	                                                [WORKER_SLOW] = 7,
	                                                [WORKER_FILES] = 8,
	                                                [WORKER_AGENT] = 16,
	                                                [WORKER_LONG] = 16};
	struct job jobs[40];
	struct fixture f;

	for (unsigned lane = 0; lane < WORKER_LANES; lane++) {
		fixture_open(&f, &calls);
		for (unsigned i = 0; i < COUNT_OF(jobs); i++) {
			jobs[i] = job_of(lane, LOUD, 0, 300 + i);
			submit_holder(&f, &jobs[i]);
		}
		for (unsigned i = 0; i < expected[lane]; i++)
			(void)sem_wait(&f.started);
		assert_int_equal(worker_load_get(f.pool).running[lane], expected[lane]);
		assert_int_equal(worker_load_get(f.pool).waiting[lane],
		                 COUNT_OF(jobs) - expected[lane]);
		fixture_close(&f, COUNT_OF(jobs));
	}
}

TEST(a_name_has_a_number_that_no_client_can_work_out)
{
	/* FNV-1a, which was used before, of "a" */
	assert_true(worker_share_id("a") == worker_share_id("a"));
	assert_true(worker_share_id("a") != worker_share_id("b"));
	assert_true(worker_share_id("a") != UINT64_C(0xaf63dc4c8601ec8c));
}

TEST(threads_are_made_for_the_agents_lane_when_it_needs_them)
{
	struct job jobs[8];
	struct fixture f;

	fixture_open(&f, &agents);
	assert_int_equal(worker_load_get(f.pool).threads, 2);
	for (unsigned i = 0; i < COUNT_OF(jobs); i++) {
		jobs[i] = job_of(WORKER_AGENT, 50 + i, 0, 0);
		submit_holder(&f, &jobs[i]);
		(void)sem_wait(&f.started);
	}
	/* the first two may not have begun to live when the first tasks came */
	assert_in_range(worker_load_get(f.pool).threads, 8, 10);
	fixture_close(&f, COUNT_OF(jobs));
}

int main(void)
{
	return RUN(CASE(projects_take_turns_in_a_queue),
	           CASE(one_project_never_has_all_threads_of_a_lane),
	           CASE(the_end_of_a_task_makes_room_for_two_projects),
	           CASE(a_sandbox_that_hangs_costs_only_its_own_callers),
	           CASE(keys_and_projects_have_bounds_as_well),
	           CASE(a_share_that_has_enough_waiting_is_refused_by_its_name),
	           CASE(a_fast_task_goes_over_to_the_agents_lane_under_its_shares),
	           CASE(a_task_that_waits_for_too_long_expires),
	           CASE(a_task_that_is_taken_back_leaves_its_shares),
	           CASE(long_calls_take_no_thread_of_short_ones),
	           CASE(a_project_alone_has_all_that_its_bound_allows),
	           CASE(a_name_has_a_number_that_no_client_can_work_out),
	           CASE(threads_are_made_for_the_agents_lane_when_it_needs_them));
}
