/* SPDX-License-Identifier: Apache-2.0 */
#include "denied/denied.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "decision/decision.h"
#include "fleet/core/sandboxes.h"
#include "provider/file_write.h"
#include "provider/provider.h"
#include "sandbox/decision.h"
#include "store/decisions.h"
#include "wire/agent_files.h"
#include "worker/worker.h"

#define WRITE_MS 2000
#define TASKS_MAX 1024

struct denied {
	struct denied_options options;
	pthread_mutex_t mutex; /* guards the rest */
	pthread_cond_t idle;
	struct map tasks; /* id of a sandbox -> struct denied_task */
};

struct denied_task {
	struct worker_task task; /* first: the pool's callbacks get it */
	struct denied *owner;
	char sandbox[ID_SIZE + 1];
	bool is_stale; /* further refusals came after the task had begun; under the mutex */
};

/* With the lock held. */
static void free_task(struct denied_task *t)
{
	struct denied *d = t->owner;

	(void)map_remove(&d->tasks, t->sandbox);
	free(t);
	if (d->tasks.count == 0)
		pthread_cond_broadcast(&d->idle);
}

static int write_denied_file(const struct denied *d, const char *sandbox, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf text = BUF(DENIED_BYTES_MAX);
	const struct decision_page page = {.sandbox_id = sandbox,
	                                   .verdict = decision_verdicts[DECISION_DENIED],
	                                   .limit = DENIED_LINES_MAX,
	                                   .newest = true};
	struct decision_list rows;
	struct provider *p;

	if (store_decision_list(d->options.store, &a, &page, &rows, err) < 0 ||
	    sandbox_provider_find(d->options.fleet, sandbox, &p, err) < 0 ||
	    provider_require(p, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	denied_add_lines(&text, &rows);
	return provider_write_file(p, sandbox,
	                           &(struct provider_file){.root = DENIED_ROOT,
	                                                   .path = DENIED_PATH,
	                                                   .content = buf_span(&text),
	                                                   .flags = AGENT_PATH_PARENTS,
	                                                   .deadline = deadline_after(WRITE_MS)},
	                           err);
}

/* A sandbox that ends meanwhile, that is paused, or whose agent refuses has no file: its commands'
 * results and the API tell the same. */
static void run_denied_task(struct worker_task *task)
{
	struct denied_task *t = (struct denied_task *)task;
	struct denied *d = t->owner;
	struct error err = {0};
	bool is_again;

	pthread_mutex_lock(&d->mutex);
	t->is_stale = false;
	pthread_mutex_unlock(&d->mutex);
	if (write_denied_file(d, t->sandbox, &err) < 0)
		log_debug("a sandbox does not have its newest refusals",
		          TEXT("sandbox", t->sandbox), FAILURE(&err));
	error_clear(&err);
	pthread_mutex_lock(&d->mutex);
	/* Behind the tasks of others, so that one sandbox does not keep the thread. */
	is_again = t->is_stale && worker_submit(d->options.workers, &t->task, &err) == 0;
	if (!is_again)
		free_task(t);
	pthread_mutex_unlock(&d->mutex);
}

static void expire_denied_task(struct worker_task *task)
{
	struct denied_task *t = (struct denied_task *)task;
	struct denied *d = t->owner;

	pthread_mutex_lock(&d->mutex);
	free_task(t);
	pthread_mutex_unlock(&d->mutex);
}

static void tell_denied(void *context, const char *sandbox)
{
	struct denied *d = context;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&d->mutex);
	struct denied_task *t = map_find(&d->tasks, sandbox);
	struct error err = {0};

	if (t) {
		t->is_stale = true;
		return;
	}
	if (d->tasks.count >= TASKS_MAX)
		return;
	t = memory_new(sizeof(*t));
	*t = (struct denied_task){.owner = d};
	t->task = (struct worker_task){.lane = WORKER_AGENT,
	                               .run = run_denied_task,
	                               .expire = expire_denied_task,
	                               .shares = {[WORKER_SANDBOX] = worker_share_id(sandbox)}};
	(void)snprintf(t->sandbox, sizeof(t->sandbox), "%s", sandbox);
	(void)map_put(&d->tasks, t->sandbox, t);
	if (worker_submit(d->options.workers, &t->task, &err) < 0)
		free_task(t);
}

struct denied *denied_open(const struct denied_options *options)
{
	struct denied *d = memory_new(sizeof(*d));

	*d = (struct denied){.options = *options};
	(void)pthread_mutex_init(&d->mutex, NULL);
	thread_condition_init(&d->idle);
	decision_log_follow(options->decisions, tell_denied, d);
	return d;
}

void denied_close(struct denied *d)
{
	if (!d)
		return;
	decision_log_follow(d->options.decisions, NULL, NULL);
	pthread_mutex_lock(&d->mutex);
	while (d->tasks.count > 0)
		pthread_cond_wait(&d->idle, &d->mutex);
	pthread_mutex_unlock(&d->mutex);
	map_done(&d->tasks);
	(void)pthread_cond_destroy(&d->idle);
	(void)pthread_mutex_destroy(&d->mutex);
	free(d);
}
