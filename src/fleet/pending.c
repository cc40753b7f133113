/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in PENDING: sandboxes whose callers have been answered. A row whose template is not ready is
 * in the fleet's list, and takes no thread, until the template has changed. One whose volumes other
 * calls use is there until the next round. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fleet/lease_parts.h"
#include "fleet/parts.h"
#include "fleet/waiting.h"

struct creation {
	struct worker_task task;
	struct list item; /* of the fleet's list, while the template is not ready */
	struct fleet *fleet;
	struct slot *slot; /* pinned and queued */
	int64_t begun_ns;
	struct arena arena; /* of all in the draft */
	struct draft draft;
	bool has_volumes;
	char awaits[ERROR_AWAITS_MAX]; /* the volumes that it waits for; "" = none */
	int64_t awaits_since_ms;
};

static int fail_pending(struct fleet *f, struct arena *a, const char *id, const struct error *why)
{
	AUTO(act_end) struct act act = {0};
	struct error err = {0};

	if (act_begin(f, a, id, deadline_in(CALL_TIMEOUT_MS), &act, &err) == 0 &&
	    act.record.actual == SANDBOX_PENDING)
		act_fail(&act, why);
	return -1;
}

/* Fails with an error that awaits them while other calls use them. */
static int reserve_volumes(struct creation *creation, struct act *act, struct error *err)
{
	const struct fleet_awaited awaited = {
	        .key = creation->awaits[0] ? creation->awaits : NULL,
	        .for_ms = clock_monotonic_ms() - creation->awaits_since_ms,
	};

	if (!creation->has_volumes || mounts_reserve_own(act, &awaited, err) == 0)
		return 0;
	if (!err->awaits.key[0]) {
		act_fail(act, err);
	} else if (!creation->awaits[0]) {
		memcpy(creation->awaits, err->awaits.key, sizeof(creation->awaits));
		creation->awaits_since_ms = clock_monotonic_ms();
	}
	return -1;
}

/* From PENDING to STARTED. An error that awaits something leaves it as it was. */
static int make_pending(struct creation *creation, struct error *err)
{
	const struct act_move creating = {
	        .to = SANDBOX_CREATING, .desired = -1, .event = "being made"};
	AUTO(act_end) struct act act = {0};
	struct draft *draft = &creation->draft;
	const char *id = draft->record.id;

	if (act_begin(creation->fleet, &creation->arena, id, deadline_in(CALL_TIMEOUT_MS), &act,
	              err) < 0)
		return -1;
	if (act.record.actual != SANDBOX_PENDING)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is %s, not pending", id,
		            sandbox_state_name(act.record.actual));
	act.snapshot = draft->layer;
	if (reserve_volumes(creation, &act, err) < 0 || act_move(&act, &creating, err) < 0)
		return -1;
	if (mounts_load(&act, err) < 0) {
		act_fail(&act, err);
		return -1;
	}
	return act_make(&act, &draft->template, creation->begun_ns, err);
}

/* A closed gate refuses it: its row says so. */
static int make_inside(struct creation *creation, struct error *err)
{
	struct fleet *f = creation->fleet;
	AUTO(gate_leave_auto) struct gate *inside = gate_enter(&f->gate, err);

	return inside ? make_pending(creation, err)
	              : fail_pending(f, &creation->arena, creation->slot->id, err);
}

static void creation_free(struct creation *creation)
{
	struct cache *cache = &creation->fleet->cache;

	cache_set_queued(cache, creation->slot, false);
	cache_unpin(cache, creation->slot);
	arena_done(&creation->arena);
	free(creation);
}

/* ---- the list of those whose template is not ready ---- */

static bool is_overdue(const struct creation *creation)
{
	return clock_monotonic_ns() - creation->begun_ns > (int64_t)TEMPLATE_TIMEOUT_MS * 1000000;
}

static uint64_t read_wakes(struct waiting *waiting)
{
	uint64_t wakes;

	pthread_mutex_lock(&waiting->mutex);
	wakes = waiting->wakes;
	pthread_mutex_unlock(&waiting->mutex);
	return wakes;
}

/* False when a template has changed since `wakes` was read. */
static bool wait_for_template(struct creation *creation, uint64_t wakes)
{
	struct waiting *waiting = &creation->fleet->waiting;
	bool waits;

	pthread_mutex_lock(&waiting->mutex);
	waits = waiting->wakes == wakes;
	if (waits)
		list_append(&waiting->creations, &creation->item);
	pthread_mutex_unlock(&waiting->mutex);
	return waits;
}

/* 1: the template is ready; 0: the creation waits for it, and is not this thread's any more. */
static int reach_template(struct creation *creation, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct fleet *f = creation->fleet;
	struct draft *draft = &creation->draft;
	const struct fleet_ref ref = {draft->record.project_id, draft->template.id};

	for (;;) {
		uint64_t wakes = read_wakes(&f->waiting);
		struct template_record t = draft->template;

		if (fleet_template_require(f, &arena, &t, ref.project_id, err) == 0)
			return template_find(f, &creation->arena, &ref, &draft->template, err) < 0
			               ? -1
			               : 1;
		if (!err->awaits.key[0] || is_overdue(creation))
			return -1;
		error_clear(err);
		if (wait_for_template(creation, wakes))
			return 0;
	}
}

/* Another round looks again. From here on the creation is not this thread's any more. */
static void wait_for_round(struct creation *creation)
{
	struct waiting *waiting = &creation->fleet->waiting;

	pthread_mutex_lock(&waiting->mutex);
	list_append(&waiting->creations, &creation->item);
	pthread_mutex_unlock(&waiting->mutex);
}

static void run_creation(struct worker_task *task)
{
	struct creation *creation = CONTAINER_OF(task, struct creation, task);
	struct error err = {0};
	int reached = reach_template(creation, &err);

	if (reached == 0)
		return;
	if (reached < 0) {
		fail_pending(creation->fleet, &creation->arena, creation->slot->id, &err);
	} else if (make_inside(creation, &err) == 0) {
		creation_free(creation);
		return;
	} else if (err.awaits.key[0]) {
		wait_for_round(creation);
		return;
	}
	log_warning("sandbox was not made", TEXT("sandbox", creation->slot->id), FAILURE(&err));
	creation_free(creation);
}

/* With the mutex: takes those that wait for this template, NULL: for any, off the list. */
static void take_creations(struct waiting *waiting, const char *template_id, struct list *ret)
{
	LIST_EACH (&waiting->creations, item) {
		const struct creation *creation = LIST_ENTRY(item, struct creation, item);

		if (template_id && strcmp(creation->draft.template.id, template_id) != 0)
			continue;
		list_remove(item);
		list_append(ret, item);
	}
}

/* Those for which no worker has room wait for the next round. */
void pending_wake(struct fleet *f, const char *template_id)
{
	struct waiting *waiting = &f->waiting;
	struct list woken;
	struct error err = {0};

	list_init(&woken);
	pthread_mutex_lock(&waiting->mutex);
	waiting->wakes++;
	if (!waiting->is_ending)
		take_creations(waiting, template_id, &woken);
	LIST_EACH (&woken, item) {
		list_remove(item);
		if (worker_submit(f->workers, &LIST_ENTRY(item, struct creation, item)->task,
		                  &err) < 0)
			list_append(&waiting->creations, item);
	}
	pthread_mutex_unlock(&waiting->mutex);
}

void pending_close(struct fleet *f)
{
	pthread_mutex_lock(&f->waiting.mutex);
	f->waiting.is_ending = true;
	pthread_mutex_unlock(&f->waiting.mutex);
}

void pending_end(struct fleet *f)
{
	struct list given_up;

	list_init(&given_up);
	pthread_mutex_lock(&f->waiting.mutex);
	take_creations(&f->waiting, NULL, &given_up);
	pthread_mutex_unlock(&f->waiting.mutex);
	LIST_EACH (&given_up, item) {
		list_remove(item);
		creation_free(LIST_ENTRY(item, struct creation, item));
	}
}

/* ---- a new one ---- */

/* The draft's texts must outlive the request: they are read again, from the store. */
static struct creation *creation_new(struct fleet *f, const struct draft *draft, int64_t begun_ns)
{
	struct creation *creation = calloc(1, sizeof(*creation));

	if (!creation)
		abort();
	creation->task = (struct worker_task){
	        .lane = WORKER_SLOW,
	        .run = run_creation,
	        .shares = {[WORKER_PROJECT] = worker_share_id(draft->record.project_id)},
	};
	list_init(&creation->item);
	creation->fleet = f;
	creation->begun_ns = begun_ns;
	creation->has_volumes = draft->mounts.count > 0;
	creation->slot = cache_pin(&f->cache, draft->record.id);
	cache_set_queued(&f->cache, creation->slot, true);
	record_copy(&creation->arena, &draft->record, &creation->draft.record);
	if (draft->layer)
		creation->draft.layer = arena_text(&creation->arena, draft->layer);
	return creation;
}

int pending_submit(struct fleet *f, struct arena *a, const struct draft *draft, int64_t begun_ns,
                   struct error *err)
{
	struct creation *creation = creation_new(f, draft, begun_ns);
	const struct fleet_ref ref = {draft->record.project_id, draft->template.id};

	if (template_find(f, &creation->arena, &ref, &creation->draft.template, err) < 0 ||
	    worker_submit(f->workers, &creation->task, err) < 0) {
		creation_free(creation);
		return fail_pending(f, a, draft->record.id, err);
	}
	return 0;
}
