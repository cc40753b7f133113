/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/shared_work.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/thread.h"
#include "fleet/core/background_work.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/waiting.h"
#include "fleet/core/work_lane.h"

/* Outcomes that no call asks for are forgotten after this time. */
#define OUTCOME_KEPT_MS 120000
/* A parked call polls after this time, in case it misses the announcement. */
#define AGAIN_MS 1000

/* In the fleet's list; under the mutex of struct background_work. */
struct work_entry {
	struct work_lane_task task;
	struct list item;
	struct fleet *fleet;
	struct arena arena; /* of the texts of `work` and of the outcome */
	struct shared_work work;
	unsigned waiting; /* threads */
	bool is_done, is_forgotten;
	int64_t done_ms;
	int result;
	const char *text;
	struct error err;
};

static void free_entry(struct work_entry *e)
{
	arena_done(&e->arena);
	free(e);
}

/* With the mutex. The last thread that waits for it frees it. */
static void forget_entry(struct work_entry *e)
{
	list_remove(&e->item);
	e->is_forgotten = true;
	if (e->waiting == 0)
		free_entry(e);
}

/* With the mutex. Forgets old outcomes on its way. */
static struct work_entry *find_entry(struct fleet *f, const char *key)
{
	int64_t before_ms = clock_monotonic_ms() - OUTCOME_KEPT_MS;
	struct work_entry *found = NULL;

	LIST_EACH (&f->background->shared, struct work_entry, e, item) {
		if (strcmp(e->work.key, key) == 0)
			found = e;
		else if (e->is_done && e->done_ms < before_ms)
			forget_entry(e);
	}
	return found;
}

static void run_entry(struct work_lane_task *task)
{
	struct work_entry *e = CONTAINER_OF(task, struct work_entry, task);
	struct fleet *f = e->fleet;
	char key[ERROR_AWAITS_MAX];
	struct error err = {0};
	const char *text = NULL;
	int result = e->work.run(f, &e->arena, &e->work, &text, &err);

	memcpy(key, e->work.key, sizeof(key));
	pthread_mutex_lock(&f->background->mutex);
	e->result = result;
	e->text = text;
	e->err = err;
	e->done_ms = clock_monotonic_ms();
	e->is_done = true;
	pthread_cond_broadcast(&f->background->shared_done);
	pthread_mutex_unlock(&f->background->mutex);
	awaited_announce(f, key);
}

/* With the mutex, which a lane never takes. */
static struct work_entry *queue_entry(struct fleet *f, const struct shared_work *work,
                                      struct error *err)
{
	struct work_entry *e = memory_new(sizeof(*e));

	e->fleet = f;
	e->task = (struct work_lane_task){.run = run_entry};
	e->work = *work;
	e->work.project_id = arena_text(&e->arena, work->project_id);
	e->work.what = arena_text(&e->arena, work->what);
	for (size_t i = 0; i < COUNT_OF(work->texts); i++)
		e->work.texts[i] = work->texts[i] ? arena_text(&e->arena, work->texts[i]) : NULL;
	list_init(&e->item);
	if (work_lane_submit(work->lane, &e->task, e->work.project_id, err) < 0) {
		free_entry(e);
		return NULL;
	}
	list_append(&f->background->shared, &e->item);
	return e;
}

/* With the mutex. An outcome is only for calls that have awaited it: others begin anew. */
static struct work_entry *find_to_join(struct fleet *f, const char *key,
                                       const struct fleet_awaited *awaited)
{
	bool has_awaited = awaited && awaited->key && strcmp(awaited->key, key) == 0;
	struct work_entry *e = find_entry(f, key);

	if (!e || !e->is_done || has_awaited)
		return e;
	forget_entry(e);
	return NULL;
}

/* With the mutex. */
static void wait_for_end(struct fleet *f, struct work_entry *e)
{
	e->waiting++;
	while (!e->is_done)
		pthread_cond_wait(&f->background->shared_done, &f->background->mutex);
	e->waiting--;
}

/* With the mutex. */
static int take_outcome(const struct work_entry *e, struct arena *a, const char **ret_text,
                        struct error *err)
{
	if (e->result < 0)
		*err = e->err;
	else if (ret_text)
		*ret_text = e->text ? arena_text(a, e->text) : NULL;
	return e->result;
}

/* With the mutex. `a` and `ret_text` may be NULL. */
static int join_entry(struct work_entry *e, struct arena *a, const struct fleet_awaited *awaited,
                      const char **ret_text, struct error *err)
{
	int result;

	if (awaited && !e->is_done) {
		(void)FAIL(err, ERROR_UNAVAILABLE, "%s", e->work.what);
		error_await(err, e->work.key, AGAIN_MS, -1);
		return -1;
	}
	wait_for_end(e->fleet, e);
	result = take_outcome(e, a, ret_text, err);
	if (e->is_forgotten && e->waiting == 0)
		free_entry(e);
	return result;
}

int shared_work_do(struct fleet *f, struct arena *a, const struct shared_work *work,
                   const struct fleet_awaited *awaited, const char **ret_text, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->background->mutex);
	struct work_entry *e = find_to_join(f, work->key, awaited);

	if (!e)
		e = queue_entry(f, work, err);
	return e ? join_entry(e, a, awaited, ret_text, err) : -1;
}

bool shared_work_join(struct fleet *f, const char *key, const struct fleet_awaited *awaited,
                      int *ret_result, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->background->mutex);
	struct work_entry *e = find_to_join(f, key, awaited);

	if (e)
		*ret_result = join_entry(e, NULL, awaited, NULL, err);
	return e != NULL;
}

int shared_work_begin(struct fleet *f, const struct shared_work *work, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->background->mutex);
	bool is_queued = find_to_join(f, work->key, NULL) || queue_entry(f, work, err);

	return is_queued ? 0 : -1;
}

void shared_works_free(struct fleet *f)
{
	LIST_EACH (&f->background->shared, struct work_entry, entry, item)
		free_entry(entry);
}
