/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/webhook.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "config/config.h"
#include "webhook/state.h"

/* Another server on the same store cannot wake this thread. */
#define LOOK_MS 1000
#define REST_MS 60000
/* Longest pause of a webhook after a failure, so that not every delivery is tried in vain. */
#define PAUSE_MAX_MS 60000
#define PURGE_EVERY_MS 60000
#define DAY_MS (INT64_C(24) * 3600 * 1000)
#define DELIVERED_KEPT_MS DAY_MS
#define DEAD_KEPT_MS (7 * DAY_MS)

void webhooks_wake(struct webhooks *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->mutex);
	w->is_woken = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->mutex);
}

static void on_events(void *context)
{
	struct webhooks *w = context;

	if (atomic_load(&w->has_hooks))
		webhooks_wake(w);
}

void attempt_finish(struct delivery_attempt *a)
{
	struct webhooks *w = a->webhooks;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&w->mutex);

	a->next = w->finished;
	w->finished = a;
	w->is_woken = true;
	pthread_cond_signal(&w->wake);
}

static bool wait_for_work(struct webhooks *w, int64_t wait_ms)
{
	int64_t deadline = deadline_after(wait_ms);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&w->mutex);

	while (!w->is_woken && !w->is_stopping && deadline_poll_ms(deadline) > 0)
		thread_wait(&w->wake, &w->mutex, deadline);
	w->is_woken = false;
	return !w->is_stopping;
}

static void finish_attempt(struct webhooks *w, struct delivery_attempt *a)
{
	struct hook *hook = hook_find(w, a->delivery.webhook_id);
	int64_t pause;

	assert(w->under_way > 0);
	w->under_way--;
	if (!hook)
		return;
	hook->is_busy = false;
	hook->look_at = 0;
	hook->failures = a->succeeded ? 0 : hook->failures + 1;
	if (a->succeeded && hook->record.waiting > 0)
		hook->record.waiting--;
	if (a->succeeded)
		return;
	pause = webhook_wait_ms(w->config->webhook_retry_ms, hook->failures);
	hook->look_at = clock_unix_ms() + (pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
}

static void finish_attempts(struct webhooks *w)
{
	struct delivery_attempt *finished, *next;

	pthread_mutex_lock(&w->mutex);
	finished = w->finished;
	w->finished = NULL;
	pthread_mutex_unlock(&w->mutex);
	for (; finished; finished = next) {
		next = finished->next;
		finish_attempt(w, finished);
		attempt_free(finished);
	}
}

/* The projects of running attempts, one entry for each attempt. */
struct busy_projects {
	const char *ids[UNDER_WAY_MAX];
	unsigned count;
};

static struct busy_projects find_busy(const struct webhooks *w)
{
	struct busy_projects busy = {.count = 0};

	for (size_t i = 0; i < w->hook_count && busy.count < UNDER_WAY_MAX; i++)
		if (w->hooks[i].is_busy)
			busy.ids[busy.count++] = w->hooks[i].record.project_id;
	return busy;
}

static bool has_room(const struct busy_projects *busy, const struct hook *hook)
{
	unsigned of_project = 0;

	for (unsigned i = 0; i < busy->count; i++)
		of_project += strcmp(busy->ids[i], hook->record.project_id) == 0;
	return of_project < UNDER_WAY_PROJECT_MAX;
}

static int begin_due_deliveries(struct webhooks *w, struct error *err)
{
	struct busy_projects busy = find_busy(w);
	int64_t now = clock_unix_ms();

	for (size_t i = 0; i < w->hook_count && w->under_way < UNDER_WAY_MAX; i++) {
		struct hook *hook = &w->hooks[w->next_hook++ % w->hook_count];

		if (!hook->record.enabled || hook->is_busy || hook->look_at > now ||
		    !has_room(&busy, hook))
			continue;
		if (delivery_begin(w, hook, err) < 0)
			return FAIL_CONTEXT(err, "deliver to webhook '%s'", hook->record.id);
		if (hook->is_busy && busy.count < UNDER_WAY_MAX)
			busy.ids[busy.count++] = hook->record.project_id;
	}
	return 0;
}

static int purge_deliveries(struct webhooks *w, struct error *err)
{
	int64_t now = clock_unix_ms();
	const struct delivery_retention keep = {now - DELIVERED_KEPT_MS, now - DEAD_KEPT_MS};

	if (w->hook_count == 0 || clock_monotonic_ms() - w->purged_at < PURGE_EVERY_MS)
		return 0;
	w->purged_at = clock_monotonic_ms();
	/* Reload: the counts of waiting deliveries drift when another server changes them. */
	w->is_loaded = false;
	return store_delivery_purge(w->store, &keep, err);
}

/* How long the thread can sleep. */
static int64_t next_wait_ms(struct webhooks *w)
{
	int64_t now = clock_unix_ms(), rest = atomic_load(&w->has_hooks) ? LOOK_MS : REST_MS;
	const struct busy_projects busy = find_busy(w);

	/* The end of an attempt wakes the thread. */
	if (w->under_way >= UNDER_WAY_MAX)
		return rest;
	for (size_t i = 0; i < w->hook_count; i++) {
		const struct hook *hook = &w->hooks[i];
		int64_t left = hook->look_at - now;

		if (hook->record.enabled && !hook->is_busy && left < rest && has_room(&busy, hook))
			rest = left > 1 ? left : 1;
	}
	return rest;
}

static void *run_webhooks(void *context)
{
	struct webhooks *w = context;
	int64_t rest = 0;

	(void)prctl(PR_SET_NAME, "webhooks", 0, 0, 0);
	while (wait_for_work(w, rest)) {
		struct error err = {0};

		finish_attempts(w);
		rest = LOOK_MS;
		if (webhooks_dispatch(w, &err) < 0 || begin_due_deliveries(w, &err) < 0 ||
		    purge_deliveries(w, &err) < 0)
			log_warning("webhooks wait", FAILURE(&err));
		else
			rest = next_wait_ms(w);
	}
	return NULL;
}

static int start_thread(struct webhooks *w, struct error *err)
{
	errno = thread_start(&w->thread, NULL, run_webhooks, w);
	w->has_thread = errno == 0;
	return w->has_thread ? 0 : FAIL_ERRNO(err, "start the thread of webhooks");
}

int webhooks_open(const struct webhooks_options *options, struct webhooks **ret, struct error *err)
{
	struct webhooks *w = memory_new(sizeof(*w));

	w->config = options->config;
	w->store = options->store;
	w->node = options->node;
	w->watcher = (struct event_watcher){.on_events = on_events, .context = w};
	(void)pthread_mutex_init(&w->mutex, NULL);
	thread_condition_init(&w->wake);
	store_event_watch(w->store, &w->watcher);
	/* Attempts of this server's last process are not running any more. */
	if (store_delivery_release(w->store, w->node, clock_unix_ms(), err) < 0 ||
	    start_thread(w, err) < 0) {
		webhooks_close(w);
		return -1;
	}
	*ret = w;
	return 0;
}

void webhooks_close(struct webhooks *w)
{
	if (!w)
		return;
	store_event_unwatch(w->store, &w->watcher);
	atomic_store(&w->is_cancelled, true);
	pthread_mutex_lock(&w->mutex);
	w->is_stopping = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->mutex);
	if (w->has_thread)
		(void)pthread_join(w->thread, NULL);
	worker_pool_stop(w->workers);
	while (w->finished) {
		struct delivery_attempt *a = w->finished;

		w->finished = a->next;
		attempt_free(a);
	}
	arena_done(&w->arena);
	(void)pthread_cond_destroy(&w->wake);
	(void)pthread_mutex_destroy(&w->mutex);
	free(w);
}
