/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in PENDING: creates that were answered already. While the template is not ready, the row is
 * in the fleet's list and takes no thread; so is a row whose volumes other calls use, until the
 * next round. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fleet/background_work.h"
#include "fleet/lifecycle.h"
#include "fleet/resolved_create.h"
#include "fleet/rounds.h"

struct creation {
	struct worker_task task;
	struct list item; /* of the fleet's list, while the template is not ready */
	struct fleet *fleet;
	struct cache_entry *entry; /* pinned and queued */
	int64_t begun_ns;
	struct arena arena; /* of all in the draft */
	struct resolved_create resolved;
	bool has_volumes;
	char awaits[ERROR_AWAITS_MAX]; /* the volumes that it waits for; "" = none */
	int64_t awaits_since_ms;
};

static int fail_pending(struct fleet *f, struct arena *a, const char *id, const struct error *why)
{
	AUTO(operation_end) struct operation op = {0};
	struct error err = {0};

	if (operation_begin(f, a, id, deadline_after(CALL_TIMEOUT_MS), &op, &err) == 0 &&
	    op.record.actual == SANDBOX_PENDING)
		lifecycle_fail(&op, why);
	return -1;
}

/* Fails with an error that awaits them while other calls use them. */
static int reserve_volumes(struct creation *creation, struct operation *op, struct error *err)
{
	const struct fleet_awaited awaited = {
	        .key = creation->awaits[0] ? creation->awaits : NULL,
	        .for_ms = clock_monotonic_ms() - creation->awaits_since_ms,
	};

	if (!creation->has_volumes || mounts_reserve_own(op, &awaited, err) == 0)
		return 0;
	if (!err->awaits.key[0]) {
		lifecycle_fail(op, err);
	} else if (!creation->awaits[0]) {
		memcpy(creation->awaits, err->awaits.key, sizeof(creation->awaits));
		creation->awaits_since_ms = clock_monotonic_ms();
	}
	return -1;
}

/* From PENDING to STARTED. An error that awaits something leaves it as it was. */
static int make_pending(struct creation *creation, struct error *err)
{
	const struct operation_move creating = {
	        .to = SANDBOX_CREATING, .desired = -1, .event = "being made"};
	AUTO(operation_end) struct operation op = {0};
	struct resolved_create *resolved = &creation->resolved;
	const char *id = resolved->record.id;

	if (operation_begin(creation->fleet, &creation->arena, id, deadline_after(CALL_TIMEOUT_MS),
	                    &op, err) < 0)
		return -1;
	if (op.record.actual != SANDBOX_PENDING)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is %s, not pending", id,
		            sandbox_state_name(op.record.actual));
	op.snapshot = resolved->layer;
	if (reserve_volumes(creation, &op, err) < 0 || operation_move(&op, &creating, err) < 0)
		return -1;
	if (mounts_load(&op, err) < 0) {
		lifecycle_fail(&op, err);
		return -1;
	}
	return lifecycle_create(&op, &resolved->template, creation->begun_ns, err);
}

/* A closed gate refuses it: its row says so. */
static int make_inside(struct creation *creation, struct error *err)
{
	struct fleet *f = creation->fleet;
	AUTO(gate_leave_auto) struct gate *inside = gate_enter(f->gate, err);

	return inside ? make_pending(creation, err)
	              : fail_pending(f, &creation->arena, creation->entry->id, err);
}

static void creation_free(struct creation *creation)
{
	struct cache *cache = creation->fleet->cache;

	cache_set_queued(cache, creation->entry, false);
	cache_unpin(cache, creation->entry);
	arena_done(&creation->arena);
	free(creation);
}

/* ---- the list of those whose template is not ready ---- */

static bool is_overdue(const struct creation *creation)
{
	return clock_monotonic_ns() - creation->begun_ns > (int64_t)TEMPLATE_TIMEOUT_MS * 1000000;
}

static uint64_t read_wakes(struct background_work *work)
{
	uint64_t wakes;

	pthread_mutex_lock(&work->mutex);
	wakes = work->wakes;
	pthread_mutex_unlock(&work->mutex);
	return wakes;
}

/* False when a template has changed since `wakes` was read. */
static bool wait_for_template(struct creation *creation, uint64_t wakes)
{
	struct background_work *work = creation->fleet->background;
	bool waits;

	pthread_mutex_lock(&work->mutex);
	waits = work->wakes == wakes;
	if (waits)
		list_append(&work->creations, &creation->item);
	pthread_mutex_unlock(&work->mutex);
	return waits;
}

/* 1: the template is ready; 0: the creation waits for it, and is not this thread's any more. */
static int reach_template(struct creation *creation, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct fleet *f = creation->fleet;
	struct resolved_create *resolved = &creation->resolved;
	const struct fleet_ref ref = {resolved->record.project_id, resolved->template.id};

	for (;;) {
		uint64_t wakes = read_wakes(f->background);
		struct template_record t = resolved->template;

		if (fleet_template_require(f, &arena, &t, ref.project_id, err) == 0)
			return template_find(f, &creation->arena, &ref, &resolved->template, err) <
			                       0
			               ? -1
			               : 1;
		if (!err->awaits.key[0] || is_overdue(creation))
			return -1;
		error_clear(err);
		if (wait_for_template(creation, wakes))
			return 0;
	}
}

/* The next round tries again. The creation no longer belongs to this thread. */
static void wait_for_round(struct creation *creation)
{
	struct background_work *work = creation->fleet->background;

	pthread_mutex_lock(&work->mutex);
	list_append(&work->creations, &creation->item);
	pthread_mutex_unlock(&work->mutex);
}

static void run_creation(struct worker_task *task)
{
	struct creation *creation = CONTAINER_OF(task, struct creation, task);
	struct error err = {0};
	int reached = reach_template(creation, &err);

	if (reached == 0)
		return;
	if (reached < 0) {
		fail_pending(creation->fleet, &creation->arena, creation->entry->id, &err);
	} else if (make_inside(creation, &err) == 0) {
		creation_free(creation);
		return;
	} else if (err.awaits.key[0]) {
		wait_for_round(creation);
		return;
	}
	log_warning("sandbox was not made", TEXT("sandbox", creation->entry->id), FAILURE(&err));
	creation_free(creation);
}

/* With the mutex: takes those that wait for this template, NULL: for any, off the list. */
static void take_creations(struct background_work *work, const char *template_id, struct list *ret)
{
	LIST_EACH (&work->creations, item) {
		const struct creation *creation = LIST_ENTRY(item, struct creation, item);

		if (template_id && strcmp(creation->resolved.template.id, template_id) != 0)
			continue;
		list_remove(item);
		list_append(ret, item);
	}
}

/* Creations for which no worker has room wait for the next round. */
void pending_wake(struct fleet *f, const char *template_id)
{
	struct background_work *work = f->background;
	struct list woken;
	struct error err = {0};

	list_init(&woken);
	pthread_mutex_lock(&work->mutex);
	work->wakes++;
	if (!work->is_ending)
		take_creations(work, template_id, &woken);
	LIST_EACH (&woken, item) {
		list_remove(item);
		if (worker_submit(f->workers, &LIST_ENTRY(item, struct creation, item)->task,
		                  &err) < 0)
			list_append(&work->creations, item);
	}
	pthread_mutex_unlock(&work->mutex);
}

void pending_close(struct fleet *f)
{
	pthread_mutex_lock(&f->background->mutex);
	f->background->is_ending = true;
	pthread_mutex_unlock(&f->background->mutex);
}

void pending_end(struct fleet *f)
{
	struct list given_up;

	list_init(&given_up);
	pthread_mutex_lock(&f->background->mutex);
	take_creations(f->background, NULL, &given_up);
	pthread_mutex_unlock(&f->background->mutex);
	LIST_EACH (&given_up, item) {
		list_remove(item);
		creation_free(LIST_ENTRY(item, struct creation, item));
	}
}

/* ---- a new one ---- */

/* The draft's texts must outlive the request: they are read again, from the store. */
static struct creation *creation_new(struct fleet *f, const struct resolved_create *resolved,
                                     int64_t begun_ns)
{
	struct creation *creation = calloc(1, sizeof(*creation));

	if (!creation)
		abort();
	creation->task = (struct worker_task){
	        .lane = WORKER_SLOW,
	        .run = run_creation,
	        .shares = {[WORKER_PROJECT] = worker_share_id(resolved->record.project_id)},
	};
	list_init(&creation->item);
	creation->fleet = f;
	creation->begun_ns = begun_ns;
	creation->has_volumes = resolved->mounts.count > 0;
	creation->entry = cache_pin(f->cache, resolved->record.id);
	cache_set_queued(f->cache, creation->entry, true);
	record_copy(&creation->arena, &resolved->record, &creation->resolved.record);
	if (resolved->layer)
		creation->resolved.layer = arena_text(&creation->arena, resolved->layer);
	return creation;
}

int pending_submit(struct fleet *f, struct arena *a, const struct resolved_create *resolved,
                   int64_t begun_ns, struct error *err)
{
	struct creation *creation = creation_new(f, resolved, begun_ns);
	const struct fleet_ref ref = {resolved->record.project_id, resolved->template.id};

	if (template_find(f, &creation->arena, &ref, &creation->resolved.template, err) < 0 ||
	    worker_submit(f->workers, &creation->task, err) < 0) {
		creation_free(creation);
		return fail_pending(f, a, resolved->record.id, err);
	}
	return 0;
}
