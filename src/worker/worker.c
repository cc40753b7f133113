/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/worker.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define LANE_COUNT 2

struct lane {
	struct worker_task *first, **last_next;
	unsigned waiting, running;
	unsigned running_max;
};

struct worker {
	struct worker_pool *pool;
	pthread_t thread;
	pthread_cond_t woken;
	struct worker *next_idle;
	bool is_idle; /* in the pool's list */
};

struct worker_pool {
	pthread_mutex_t lock; /* of everything below but the threads */
	struct worker *idle;  /* who has worked last comes first: its memory is the warmest */
	struct lane lanes[LANE_COUNT];
	enum worker_lane last_taken;
	unsigned queue_max;
	bool is_stopping;
	unsigned thread_count;
	struct worker workers[];
};

/* Whose task this thread runs. */
static _Thread_local struct lane *own_lane;
/* What it does after that. */
static _Thread_local struct worker_task *own_rest, **own_rest_end;

static bool lane_is_ready(const struct lane *lane)
{
	return lane->first && lane->running < lane->running_max;
}

/* The lanes take turns while both have work: neither load may starve the other. */
static struct lane *choose_lane(struct worker_pool *pool)
{
	enum worker_lane other = pool->last_taken == WORKER_FAST ? WORKER_SLOW : WORKER_FAST;

	if (lane_is_ready(&pool->lanes[other]))
		pool->last_taken = other;
	else if (!lane_is_ready(&pool->lanes[pool->last_taken]))
		return NULL;
	return &pool->lanes[pool->last_taken];
}

static struct worker_task *take(struct lane *lane)
{
	struct worker_task *task = lane->first;

	lane->first = task->next;
	if (!lane->first)
		lane->last_next = &lane->first;
	task->next = NULL;
	lane->waiting--;
	lane->running++;
	return task;
}

static void wake_one(struct worker_pool *pool)
{
	struct worker *worker = pool->idle;

	if (!worker)
		return; /* whoever is busy looks again before it rests */
	pool->idle = worker->next_idle;
	worker->is_idle = false;
	(void)pthread_cond_signal(&worker->woken);
}

static void wake_all(struct worker_pool *pool)
{
	while (pool->idle)
		wake_one(pool);
}

static void rest(struct worker *worker)
{
	struct worker_pool *pool = worker->pool;

	worker->next_idle = pool->idle;
	worker->is_idle = true;
	pool->idle = worker;
	while (worker->is_idle)
		(void)pthread_cond_wait(&worker->woken, &pool->lock);
}

/* This thread may go on with the other lane: let an idle one see to this lane. */
static void leave_lane(struct worker_pool *pool)
{
	own_lane->running--;
	if (lane_is_ready(own_lane))
		wake_one(pool);
}

static bool is_drained(const struct worker_pool *pool)
{
	return pool->is_stopping && !pool->lanes[WORKER_FAST].first &&
	       !pool->lanes[WORKER_SLOW].first;
}

/* Each may add more. Whoever the task has just woken comes first, where there is one processor for
 * both. */
static void run_rest(void)
{
	if (own_rest)
		(void)sched_yield();
	while (own_rest) {
		struct worker_task *task = own_rest;

		own_rest = task->next;
		if (!own_rest)
			own_rest_end = &own_rest;
		task->run(task);
	}
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct worker_pool *pool = worker->pool;
	struct worker_task *task;

	own_rest_end = &own_rest;
	(void)pthread_mutex_lock(&pool->lock);
	while (!is_drained(pool)) {
		own_lane = choose_lane(pool);
		if (!own_lane) {
			rest(worker);
			continue;
		}
		task = take(own_lane);
		(void)pthread_mutex_unlock(&pool->lock);
		task->run(task);
		run_rest();
		log_request_set(NULL); /* the next task is another request's */
		(void)pthread_mutex_lock(&pool->lock);
		leave_lane(pool);
	}
	/* Others may wait for a lane that this thread has just emptied. */
	wake_all(pool);
	(void)pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static int start_threads(struct worker_pool *pool, unsigned count, struct error *err)
{
	sigset_t all, before;
	int failed = 0;

	/* Signals belong to the thread that started the pool. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!failed && pool->thread_count < count) {
		struct worker *worker = &pool->workers[pool->thread_count];

		worker->pool = pool;
		(void)pthread_cond_init(&worker->woken, NULL);
		failed = pthread_create(&worker->thread, NULL, work, worker);
		if (!failed)
			pool->thread_count++;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed) {
		errno = failed;
		return FAIL_ERRNO(err, "start worker thread %u", pool->thread_count + 1);
	}
	return 0;
}

int worker_pool_start(const struct worker_options *options, struct worker_pool **ret,
                      struct error *err)
{
	struct worker_pool *pool;

	if (options->threads < 2 || options->threads > 256)
		return FAIL(err, ERROR_INVALID, "%u worker threads are not between 2 and 256",
		            options->threads);
	pool = calloc(1, sizeof(*pool) + options->threads * sizeof(pool->workers[0]));
	if (!pool)
		abort();
	(void)pthread_mutex_init(&pool->lock, NULL);
	for (unsigned i = 0; i < LANE_COUNT; i++)
		pool->lanes[i].last_next = &pool->lanes[i].first;
	pool->lanes[WORKER_FAST].running_max = options->threads;
	pool->lanes[WORKER_SLOW].running_max = options->threads / 2;
	pool->queue_max = options->queue_max;
	if (start_threads(pool, options->threads, err) < 0) {
		worker_pool_stop(pool);
		return -1;
	}
	*ret = pool;
	return 0;
}

void worker_pool_stop(struct worker_pool *pool)
{
	if (!pool)
		return;
	(void)pthread_mutex_lock(&pool->lock);
	pool->is_stopping = true;
	wake_all(pool);
	(void)pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->thread_count; i++) {
		(void)pthread_join(pool->workers[i].thread, NULL);
		(void)pthread_cond_destroy(&pool->workers[i].woken);
	}
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
}

static int enqueue(struct worker_pool *pool, struct worker_task *task, struct error *err)
{
	struct lane *lane = &pool->lanes[task->lane];

	if (pool->is_stopping)
		return FAIL(err, ERROR_UNAVAILABLE, "the server is stopping");
	if (lane->waiting >= pool->queue_max)
		return FAIL(err, ERROR_UNAVAILABLE, "too much work is waiting (%u tasks)",
		            lane->waiting);
	task->next = NULL;
	*lane->last_next = task;
	lane->last_next = &task->next;
	lane->waiting++;
	wake_one(pool);
	return 0;
}

int worker_submit(struct worker_pool *pool, struct worker_task *task, struct error *err)
{
	int result;

	assert(task->run && (unsigned)task->lane < LANE_COUNT);
	(void)pthread_mutex_lock(&pool->lock);
	result = enqueue(pool, task, err);
	(void)pthread_mutex_unlock(&pool->lock);
	return result;
}

bool worker_take_back(struct worker_pool *pool, struct worker_task *task)
{
	struct lane *lane = &pool->lanes[task->lane];
	bool is_there = false;

	(void)pthread_mutex_lock(&pool->lock);
	for (struct worker_task **at = &lane->first; *at; at = &(*at)->next) {
		if (*at != task)
			continue;
		*at = task->next;
		if (lane->last_next == &task->next)
			lane->last_next = at;
		lane->waiting--;
		is_there = true;
		break;
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return is_there;
}

bool worker_turn_slow(struct worker_pool *pool)
{
	struct lane *slow = &pool->lanes[WORKER_SLOW];
	bool has_room;

	(void)pthread_mutex_lock(&pool->lock);
	/* Those who wait for the lane come first. */
	has_room = own_lane == slow || (!slow->first && slow->running < slow->running_max);
	if (has_room && own_lane != slow) {
		slow->running++;
		leave_lane(pool);
		own_lane = slow;
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return has_room;
}

void worker_afterwards(struct worker_task *task)
{
	task->next = NULL;
	if (!own_rest_end) {
		task->run(task);
		return;
	}
	*own_rest_end = task;
	own_rest_end = &task->next;
}

struct worker_load worker_load_get(struct worker_pool *pool)
{
	struct worker_load load;

	(void)pthread_mutex_lock(&pool->lock);
	for (unsigned i = 0; i < LANE_COUNT; i++) {
		load.running[i] = pool->lanes[i].running;
		load.waiting[i] = pool->lanes[i].waiting;
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return load;
}
