/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/thread.h"
#include "job/parts.h"
#include "worker/worker.h"

#define QUEUE_MAX 4096
#define WATCHES_MAX 8192
/* Jobs of a sandbox that is gone or belongs to another server report no end. */
#define LIST_MS 5000
#define REST_MS 30000
#define AGAIN_FIRST_MS 50
#define AGAIN_MAX_MS 5000

/* A running job; used by the thread only. */
struct job_watch {
	struct list item;
	char id[ID_SIZE + 1];
	struct attention at;
	bool is_busy;    /* a worker attends to it */
	int64_t look_at; /* monotonic; without a connection, or after one could not be handed over
	                  */
	int64_t pause_ms;
	uint64_t shares[WORKER_SHARES]; /* of its project and its sandbox */
};

/* A job on its way to a worker and back. */
struct attending {
	struct attending *next;
	struct worker_task task;
	struct jobs *jobs;
	struct job_watch *watch; /* stays while it is busy */
	struct attention at;
};

void jobs_ring(struct jobs *jobs)
{
	uint64_t one = 1;

	(void)!write(jobs->wake, &one, sizeof(one));
}

void jobs_wake(struct jobs *jobs)
{
	atomic_store(&jobs->has_news, true);
	jobs_ring(jobs);
}

void jobs_add(struct jobs *jobs, struct list *list, struct list *item)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&jobs->mutex);

	list_append(list, item);
}

void jobs_remove(struct jobs *jobs, struct list *item)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&jobs->mutex);

	list_remove(item);
}

static void run_attending(struct worker_task *task)
{
	struct attending *t = CONTAINER_OF(task, struct attending, task);
	struct jobs *jobs = t->jobs;

	job_attend(jobs, &t->at);
	pthread_mutex_lock(&jobs->mutex);
	t->next = jobs->finished;
	jobs->finished = t;
	pthread_mutex_unlock(&jobs->mutex);
	jobs_ring(jobs);
}

static void watch_free(struct job_watch *w)
{
	list_remove(&w->item);
	auto_close(&w->at.fd);
	free(w);
}

static void look_later(struct job_watch *w)
{
	w->look_at = deadline_after(w->pause_ms);
	w->pause_ms = w->pause_ms * 2 < AGAIN_MAX_MS ? w->pause_ms * 2 : AGAIN_MAX_MS;
}

static void take_watch_back(struct attending *t)
{
	struct job_watch *w = t->watch;

	w->at = t->at;
	w->is_busy = false;
	if (w->at.is_over) {
		watch_free(w);
		return;
	}
	if (w->at.fd >= 0) {
		w->pause_ms = AGAIN_FIRST_MS;
		w->look_at = 0;
	} else {
		look_later(w);
	}
}

static void take_watches_back(struct jobs *jobs)
{
	struct attending *t, *next;

	pthread_mutex_lock(&jobs->mutex);
	t = jobs->finished;
	jobs->finished = NULL;
	pthread_mutex_unlock(&jobs->mutex);
	for (; t; t = next) {
		next = t->next;
		take_watch_back(t);
		free(t);
	}
}

static void hand_to_worker(struct jobs *jobs, struct job_watch *w)
{
	struct attending *t = memory_new(sizeof(*t));
	struct error err = {0};

	*t = (struct attending){.task = {.lane = w->at.is_slow ? WORKER_SLOW : WORKER_AGENT,
	                                 .run = run_attending,
	                                 .shares = {[WORKER_PROJECT] = w->shares[WORKER_PROJECT],
	                                            [WORKER_SANDBOX] = w->shares[WORKER_SANDBOX]}},
	                        .jobs = jobs,
	                        .watch = w,
	                        .at = w->at};
	if (worker_submit(jobs->workers, &t->task, &err) < 0) {
		look_later(w);
		free(t);
		return;
	}
	w->at.fd = -1;
	w->is_busy = true;
}

static struct job_watch *watch_find(const struct jobs *jobs, const char *id)
{
	LIST_EACH (&jobs->watches, struct job_watch, w, item)
		if (strcmp(w->id, id) == 0)
			return w;
	return NULL;
}

static bool concerns_us(const struct jobs *jobs, const struct job_record *r)
{
	return strcmp(r->node, jobs->node) == 0 || job_is_lost(r);
}

static void watch_add(struct jobs *jobs, const struct job_record *r)
{
	struct job_watch *w = memory_new(sizeof(*w));

	list_init(&w->item);
	w->at.fd = -1;
	memcpy(w->id, r->id, strnlen(r->id, ID_SIZE));
	w->at.id = w->id;
	w->at.is_slow = r->told != JOB_RUNNING;
	w->shares[WORKER_PROJECT] = worker_share_id(r->project_id);
	w->shares[WORKER_SANDBOX] = worker_share_id(r->sandbox_id);
	w->pause_ms = AGAIN_FIRST_MS;
	list_append(&jobs->watches, &w->item);
}

/* The end was posted: stop waiting for the agent. */
static void watch_told(struct job_watch *w)
{
	if (w->is_busy || w->at.fd < 0)
		return;
	auto_close(&w->at.fd);
	w->at.fd = -1;
	w->at.is_slow = true;
	w->look_at = 0;
}

static int list_running(struct jobs *jobs, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	char after[ID_SIZE + 1] = "";
	struct job_list list;
	unsigned seen = 0;

	do {
		arena_reset(&arena);
		if (store_job_running(jobs->store, &arena, after, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++) {
			const struct job_record *r = &list.items[i];
			struct job_watch *w = watch_find(jobs, r->id);

			if (w && r->told != JOB_RUNNING)
				watch_told(w);
			else if (!w && concerns_us(jobs, r))
				watch_add(jobs, r);
		}
		if (list.count)
			memcpy(after, list.items[list.count - 1].id, ID_SIZE);
		seen += (unsigned)list.count;
	} while (list.count == 1000 && seen < WATCHES_MAX);
	return 0;
}

struct job_poll_set {
	struct pollfd *fds;
	struct job_watch **watches; /* of fds[i]; NULL for the first */
	size_t count;
	int64_t until;
};

static void collect_fds(struct jobs *jobs, struct arena *a, struct job_poll_set *ret)
{
	size_t count = 1 + list_count(&jobs->watches);

	ret->fds = ARENA_ARRAY(a, struct pollfd, count);
	ret->watches = ARENA_ARRAY(a, struct job_watch *, count);
	ret->fds[0] = (struct pollfd){.fd = jobs->wake, .events = POLLIN};
	ret->count = 1;
	ret->until = jobs->list_at < jobs->deliver_at ? jobs->list_at : jobs->deliver_at;
	LIST_EACH (&jobs->watches, struct job_watch, w, item) {
		if (w->is_busy)
			continue;
		if (w->at.fd < 0 || w->look_at > clock_monotonic_ms()) {
			ret->until = w->look_at < ret->until ? w->look_at : ret->until;
			continue;
		}
		ret->watches[ret->count] = w;
		ret->fds[ret->count++] = (struct pollfd){.fd = w->at.fd, .events = POLLIN};
	}
}

static void wait_for_news(struct jobs *jobs)
{
	AUTO(arena_done) struct arena arena = {0};
	struct job_poll_set waiting;
	uint64_t count;

	collect_fds(jobs, &arena, &waiting);
	if (poll(waiting.fds, waiting.count, deadline_poll_ms(waiting.until)) < 0)
		return;
	for (size_t i = 1; i < waiting.count; i++)
		if (waiting.fds[i].revents)
			hand_to_worker(jobs, waiting.watches[i]);
	if (waiting.fds[0].revents)
		(void)!read(jobs->wake, &count, sizeof(count));
}

static void look_at_due(struct jobs *jobs)
{
	int64_t now = clock_monotonic_ms();

	LIST_EACH (&jobs->watches, struct job_watch, w, item)
		if (!w->is_busy && w->at.fd < 0 && w->look_at <= now)
			hand_to_worker(jobs, w);
}

static void *run_watch_thread(void *context)
{
	struct jobs *jobs = context;

	(void)prctl(PR_SET_NAME, "jobs", 0, 0, 0);
	while (!atomic_load(&jobs->is_stopping)) {
		struct error err = {0};

		take_watches_back(jobs);
		if (atomic_exchange(&jobs->has_news, false) ||
		    clock_monotonic_ms() >= jobs->list_at) {
			if (list_running(jobs, &err) < 0 || jobs_purge(jobs, &err) < 0)
				log_warning("jobs wait", FAILURE(&err));
			jobs->list_at =
			        deadline_after(list_is_empty(&jobs->watches) ? REST_MS : LIST_MS);
		}
		if ((atomic_exchange(&jobs->has_ended, false) ||
		     clock_monotonic_ms() >= jobs->deliver_at) &&
		    jobs_deliver(jobs, &err) < 0)
			log_warning("messages wait", FAILURE(&err));
		look_at_due(jobs);
		wait_for_news(jobs);
	}
	return NULL;
}

static int start_thread(struct jobs *jobs, struct error *err)
{
	errno = thread_start(&jobs->thread, NULL, run_watch_thread, jobs);
	jobs->has_thread = errno == 0;
	return jobs->has_thread ? 0 : FAIL_ERRNO(err, "start the thread of jobs");
}

static int open_parts(struct jobs *jobs, struct error *err)
{
	const struct worker_options workers = {
	        .threads = 2 * WORKERS, /* half of them are the slow lane's */
	        .queue_max = QUEUE_MAX,
	        .agent_threads = WORKERS,
	        .agent_share_max = {[WORKER_PROJECT] = ATTENDED_PROJECT_MAX,
	                            [WORKER_SANDBOX] = ATTENDED_SANDBOX_MAX},
	};

	jobs->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (jobs->wake < 0)
		return FAIL_ERRNO(err, "make an eventfd for jobs");
	if (worker_pool_start(&workers, &jobs->workers, err) < 0)
		return -1;
	return start_thread(jobs, err);
}

int jobs_open(const struct jobs_options *options, struct jobs **ret, struct error *err)
{
	struct jobs *jobs = memory_new(sizeof(*jobs));

	jobs->config = options->config;
	jobs->store = options->store;
	jobs->fleet = options->fleet;
	jobs->node = options->node;
	jobs->activity = options->activity;
	jobs->wake = -1;
	list_init(&jobs->starting);
	list_init(&jobs->waiters);
	list_init(&jobs->keeping);
	list_init(&jobs->delivering);
	list_init(&jobs->watches);
	(void)pthread_mutex_init(&jobs->mutex, NULL);
	thread_condition_init(&jobs->settled);
	if (open_parts(jobs, err) < 0) {
		jobs_close(jobs);
		return -1;
	}
	*ret = jobs;
	return 0;
}

void jobs_close(struct jobs *jobs)
{
	if (!jobs)
		return;
	atomic_store(&jobs->is_stopping, true);
	if (jobs->wake >= 0)
		jobs_wake(jobs);
	if (jobs->has_thread)
		(void)pthread_join(jobs->thread, NULL);
	worker_pool_stop(jobs->workers);
	take_watches_back(jobs);
	LIST_EACH (&jobs->watches, struct job_watch, w, item)
		watch_free(w);
	auto_close(&jobs->wake);
	(void)pthread_cond_destroy(&jobs->settled);
	(void)pthread_mutex_destroy(&jobs->mutex);
	free(jobs);
}
