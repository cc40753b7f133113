/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/worker.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "worker/lane.h"

/* Idle time after which a thread beyond the first `threads` ends. */
#define IDLE_MS 30000
#define TELL_AGAIN_MS 60000 /* interval for the log message that no thread can be started */
/* A project may have this part of a lane's threads, so another project finds a free thread. */
#define PROJECT_PART(count) ((count) - (count) / 8)
/* Half of the files lane, because its tasks take longest. */
#define FILES_PART(count) (((count) + 1) / 2)

enum thread_state { THREAD_NONE, THREAD_LIVES, THREAD_ENDED /* and is to be joined */ };

struct worker {
	struct worker_pool *pool;
	pthread_t thread;
	pthread_cond_t woken;
	struct worker *next_idle;
	enum thread_state state;
	bool is_idle; /* in the pool's list */
};

struct worker_pool {
	pthread_mutex_t lock; /* of everything below but the threads */
	struct worker *idle;  /* most recently idle worker first: its caches are warm */
	struct lane lanes[WORKER_LANES];
	enum worker_lane last_taken;
	int64_t agent_wait_ms;
	bool is_stopping;
	int nice; /* of its threads */
	unsigned threads_kept, threads_max, thread_count;
	int64_t tell_again_ms; /* the log has the last refusal of a thread; monotonic */
	struct worker workers[];
};

/* The task that this thread runs. */
static _Thread_local struct {
	struct worker_pool *pool;
	struct lane *lane;
	struct held_shares held;
	uint64_t ids[WORKER_SHARES];
} own;
/* Tasks that this thread runs after its current task. */
static _Thread_local struct worker_task *own_rest, **own_rest_end;

/* Returns the lane, or the lane that replaces a lane without threads. */
static struct lane *lane_of(struct worker_pool *pool, enum worker_lane lane)
{
	static const enum worker_lane instead[] = {[WORKER_FILES] = WORKER_SLOW,
	                                           [WORKER_AGENT] = WORKER_FAST,
	                                           [WORKER_LONG] = WORKER_AGENT};

	while (pool->lanes[lane].running_max == 0)
		lane = instead[lane];
	return &pool->lanes[lane];
}

/* True for the lanes of calls into sandboxes. */
static bool is_call_lane(enum worker_lane lane)
{
	return lane == WORKER_AGENT || lane == WORKER_LONG;
}

static void find_thread(struct worker_pool *pool);

/* Serves the lanes round-robin, so no lane starves another. */
static struct worker_task *take_next(struct worker_pool *pool)
{
	for (unsigned i = 1; i <= WORKER_LANES; i++) {
		enum worker_lane at = (pool->last_taken + i) % WORKER_LANES;
		struct worker_task *task = lane_take(&pool->lanes[at], &own.held);

		if (!task)
			continue;
		pool->last_taken = at;
		own.lane = &pool->lanes[at];
		memcpy(own.ids, task->shares, sizeof(own.ids));
		/* The end of a task may have made room for tasks of two projects. */
		if (lane_is_ready(own.lane))
			find_thread(pool);
		return task;
	}
	return NULL;
}

static bool wake_worker(struct worker_pool *pool)
{
	struct worker *worker = pool->idle;

	if (!worker)
		return false;
	pool->idle = worker->next_idle;
	worker->is_idle = false;
	(void)pthread_cond_signal(&worker->woken);
	return true;
}

static void wake_workers(struct worker_pool *pool)
{
	while (wake_worker(pool))
		;
}

static void forget_idle(struct worker_pool *pool, struct worker *worker)
{
	struct worker **at = &pool->idle;

	while (*at != worker)
		at = &(*at)->next_idle;
	*at = worker->next_idle;
	worker->is_idle = false;
}

/* Returns false when the thread was idle for too long and must end. */
static bool wait_for_work(struct worker *worker)
{
	struct worker_pool *pool = worker->pool;
	bool is_kept = worker < &pool->workers[pool->threads_kept];
	struct timespec until = {.tv_sec = 0};

	if (!is_kept)
		until = deadline_wall_time(deadline_after(IDLE_MS));
	worker->next_idle = pool->idle;
	worker->is_idle = true;
	pool->idle = worker;
	while (worker->is_idle) {
		int result = is_kept ? pthread_cond_wait(&worker->woken, &pool->lock)
		                     : pthread_cond_timedwait(&worker->woken, &pool->lock, &until);

		if (result == ETIMEDOUT && worker->is_idle) {
			forget_idle(pool, worker);
			return false;
		}
	}
	return true;
}

static bool is_drained(const struct worker_pool *pool)
{
	if (!pool->is_stopping)
		return false;
	for (unsigned i = 0; i < WORKER_LANES; i++)
		if (pool->lanes[i].waiting > 0)
			return false;
	return true;
}

/* Runs the tasks that were deferred to the end of the current task; each may add more. Yields
 * first, so that a thread woken by the task runs first on a shared processor. */
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

static void run_task(struct worker_pool *pool, struct worker_task *task)
{
	(void)pthread_mutex_unlock(&pool->lock);
	task->run(task);
	run_rest();
	log_request_set(NULL); /* the next task belongs to another request */
	(void)pthread_mutex_lock(&pool->lock);
	lane_leave(own.lane, &own.held);
	/* This thread may change to another lane: wake another thread for this lane. */
	if (lane_is_ready(own.lane))
		find_thread(pool);
	own.lane = NULL;
}

/* The loop thread takes precedence over workers: its part of a call is short, and no other call
 * begins without it. The nice value is absolute, because a thread may be started by the loop or by
 * a worker. */
static void yield_to_loop(const struct worker_pool *pool)
{
	(void)setpriority(PRIO_PROCESS, 0, pool->nice);
}

static void *run_worker(void *argument)
{
	struct worker *worker = argument;
	struct worker_pool *pool = worker->pool;
	bool goes_on = true;

	own.pool = pool;
	own_rest_end = &own_rest;
	yield_to_loop(pool);
	(void)pthread_mutex_lock(&pool->lock);
	while (goes_on && !is_drained(pool)) {
		struct worker_task *task = take_next(pool);

		if (task)
			run_task(pool, task);
		else
			goes_on = wait_for_work(worker);
	}
	/* Others may wait for a queue that this thread has just emptied. */
	if (goes_on)
		wake_workers(pool);
	worker->state = THREAD_ENDED;
	pool->thread_count--;
	(void)pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static void join_thread(struct worker *worker)
{
	if (worker->state == THREAD_NONE)
		return;
	(void)pthread_join(worker->thread, NULL);
	worker->state = THREAD_NONE;
}

/* With the lock held: a thread that has ended does not need it any more. */
static int start_thread(struct worker_pool *pool, struct error *err)
{
	struct worker *worker = pool->workers;
	int failed;

	while (worker->state == THREAD_LIVES)
		worker++;
	join_thread(worker);
	failed = thread_start(&worker->thread, NULL, run_worker, worker);
	if (failed) {
		errno = failed;
		return FAIL_ERRNO(err, "start worker thread %u", pool->thread_count + 1);
	}
	worker->state = THREAD_LIVES;
	pool->thread_count++;
	return 0;
}

/* A task can run: wakes an idle thread or starts a new one. When no thread can be started, busy
 * threads check the lanes before they become idle. */
static void find_thread(struct worker_pool *pool)
{
	struct error err = {0};

	if (wake_worker(pool) || pool->is_stopping || pool->thread_count >= pool->threads_max)
		return;
	if (start_thread(pool, &err) < 0 && pool->tell_again_ms <= clock_monotonic_ms()) {
		log_warning("no further worker thread: tasks wait for those that there are",
		            NUMBER("threads", pool->thread_count), FAILURE(&err));
		pool->tell_again_ms = deadline_after(TELL_AGAIN_MS);
	}
}

/* A share of calls is bounded as the options say. */
static void bound_calls(struct lane *lane, const struct worker_options *options)
{
	const unsigned *max = options->agent_share_max;

	if (max[WORKER_PROJECT] > 0)
		lane_bound_projects(lane, max[WORKER_PROJECT]);
	for (unsigned kind = WORKER_KEY; kind < WORKER_SHARES; kind++) {
		lane->share_running_max[kind] = max[kind];
		lane->share_waiting_max[kind] = options->queue_max < 8 ? 1 : options->queue_max / 8;
	}
}

static void init_lanes(struct worker_pool *pool, const struct worker_options *options)
{
	const unsigned running_max[] = {[WORKER_FAST] = options->threads,
	                                [WORKER_SLOW] = options->threads / 2,
	                                [WORKER_FILES] = options->files_threads,
	                                [WORKER_AGENT] = options->agent_threads,
	                                [WORKER_LONG] = options->long_threads};
	unsigned queue_max = options->queue_max;

	for (unsigned i = 0; i < WORKER_LANES; i++) {
		struct lane *lane = &pool->lanes[i];

		lane_init(lane, running_max[i], queue_max);
		lane_bound_projects(lane, i == WORKER_FILES ? FILES_PART(running_max[i])
		                                            : PROJECT_PART(running_max[i]));
		lane->share_waiting_max[WORKER_PROJECT] = queue_max < 4 ? 1 : queue_max / 4;
		if (is_call_lane(i))
			bound_calls(lane, options);
	}
	pool->threads_kept = options->threads;
}

static struct worker_pool *make_pool(const struct worker_options *options)
{
	unsigned threads_max = options->threads + options->threads / 2 + options->files_threads +
	                       options->agent_threads + options->long_threads;
	struct worker_pool *pool =
	        memory_new(sizeof(*pool) + threads_max * sizeof(pool->workers[0]));

	(void)pthread_mutex_init(&pool->lock, NULL);
	init_lanes(pool, options);
	pool->threads_max = threads_max;
	pool->agent_wait_ms = options->agent_wait_ms;
	pool->nice = getpriority(PRIO_PROCESS, 0) + WORKER_NICE_STEP;
	for (unsigned i = 0; i < threads_max; i++) {
		pool->workers[i].pool = pool;
		(void)pthread_cond_init(&pool->workers[i].woken, NULL);
	}
	return pool;
}

int worker_pool_start(const struct worker_options *options, struct worker_pool **ret,
                      struct error *err)
{
	struct worker_pool *pool;
	int result = 0;

	if (options->threads < 2 || options->threads > 256 || options->files_threads > 256 ||
	    options->agent_threads > 256 || options->long_threads > 256)
		return FAIL(err, ERROR_INVALID, "%u worker threads are not between 2 and 256",
		            options->threads);
	pool = make_pool(options);
	(void)pthread_mutex_lock(&pool->lock);
	while (result == 0 && pool->thread_count < options->threads)
		result = start_thread(pool, err);
	(void)pthread_mutex_unlock(&pool->lock);
	if (result < 0) {
		worker_pool_stop(pool);
		return -1;
	}
	*ret = pool;
	return 0;
}

static void join_threads(struct worker_pool *pool)
{
	for (unsigned i = 0; i < pool->threads_max; i++) {
		bool was_started;

		(void)pthread_mutex_lock(&pool->lock);
		was_started = pool->workers[i].state != THREAD_NONE;
		(void)pthread_mutex_unlock(&pool->lock);
		if (was_started)
			(void)pthread_join(pool->workers[i].thread, NULL);
	}
}

void worker_pool_stop(struct worker_pool *pool)
{
	if (!pool)
		return;
	(void)pthread_mutex_lock(&pool->lock);
	pool->is_stopping = true;
	wake_workers(pool);
	(void)pthread_mutex_unlock(&pool->lock);
	join_threads(pool);
	for (unsigned i = 0; i < pool->threads_max; i++)
		(void)pthread_cond_destroy(&pool->workers[i].woken);
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
}

static int enqueue_task(struct worker_pool *pool, struct worker_task *task, struct error *err)
{
	struct lane *lane = lane_of(pool, task->lane);

	if (pool->is_stopping)
		return FAIL(err, ERROR_UNAVAILABLE, "the server is stopping");
	if (lane_add(lane, task, err) < 0)
		return -1;
	if (lane_is_ready(lane))
		find_thread(pool);
	return 0;
}

int worker_submit(struct worker_pool *pool, struct worker_task *task, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&pool->lock);

	assert(task->run && (unsigned)task->lane < WORKER_LANES);
	return enqueue_task(pool, task, err);
}

static bool take_back_task(struct worker_pool *pool, struct worker_task *task, bool only_calls)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&pool->lock);

	/* A task that does not wait may belong to another thread: no other member may be read. */
	if (!task->is_waiting || (only_calls && !is_call_lane(task->lane)))
		return false;
	lane_remove(lane_of(pool, task->lane), task);
	return true;
}

bool worker_take_back(struct worker_pool *pool, struct worker_task *task)
{
	return take_back_task(pool, task, false);
}

bool worker_abandon(struct worker_pool *pool, struct worker_task *task)
{
	return take_back_task(pool, task, true);
}

static bool change_lane(struct worker_pool *pool, struct lane *lane,
                        const uint64_t ids[WORKER_SHARES])
{
	struct held_shares held;

	if (!lane_enter(lane, ids, &held))
		return false;
	lane_leave(own.lane, &own.held);
	if (lane_is_ready(own.lane))
		find_thread(pool);
	own.lane = lane;
	own.held = held;
	memcpy(own.ids, ids, sizeof(own.ids));
	return true;
}

bool worker_change_lane(struct worker_pool *pool, enum worker_lane lane,
                        const uint64_t shares[WORKER_SHARES])
{
	struct lane *target = lane_of(pool, lane);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&pool->lock);

	assert(own.pool == pool && own.lane);
	return own.lane == target || change_lane(pool, target, shares);
}

bool worker_change_to_slow(struct worker_pool *pool)
{
	return worker_change_lane(pool, WORKER_SLOW, own.ids);
}

/* A single task per call: `expire` may submit tasks again, and frees its task. */
static struct worker_task *take_expired(struct worker_pool *pool, struct lane *lane)
{
	struct worker_task *task;

	(void)pthread_mutex_lock(&pool->lock);
	task = lane_find_expired(lane, clock_monotonic_ms() - pool->agent_wait_ms);
	if (task) {
		lane_remove(lane, task);
		lane->expired++;
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return task;
}

void worker_expire(struct worker_pool *pool)
{
	struct worker_task *task;

	for (unsigned i = 0; i < WORKER_LANES && pool->agent_wait_ms > 0; i++)
		while (is_call_lane(i) && (task = take_expired(pool, &pool->lanes[i])))
			task->expire(task);
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
	int64_t now = clock_monotonic_ms();
	struct worker_load load;

	(void)pthread_mutex_lock(&pool->lock);
	for (unsigned i = 0; i < WORKER_LANES; i++) {
		const struct lane *lane = &pool->lanes[i];

		load.running[i] = lane->running;
		load.waiting[i] = lane->waiting;
		load.longest_wait_ms[i] = now - lane_oldest_ms(lane, now);
		load.refused[i] = lane->refused;
		load.expired[i] = lane->expired;
		memcpy(load.refused_by[i], lane->refused_by, sizeof(lane->refused_by));
	}
	load.threads = pool->thread_count;
	(void)pthread_mutex_unlock(&pool->lock);
	return load;
}
