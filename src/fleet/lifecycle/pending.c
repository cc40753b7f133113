/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in PENDING: creates that were answered already. While the template is not ready, the row
 * takes no thread (template_waiters.h); so does a row whose volumes other calls use, until the next
 * tick. */
#include "fleet/lifecycle/pending.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/core/cache.h"
#include "fleet/core/cache_state.h"
#include "fleet/core/caller.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/template_waiters.h"
#include "fleet/core/waiting.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/lifecycle/resolved_create.h"
#include "fleet/template/templates.h"
#include "fleet/volume/mounts.h"

struct creation {
	struct template_waiter waiter;
	struct fleet *fleet;
	struct cache_entry *entry; /* pinned and queued */
	int64_t begun_ns;
	struct arena arena; /* of all in the draft */
	struct resolved_create resolved;
	bool has_awaited_template; /* a pull that fails now is not tried again */
	bool has_volumes;
	bool has_caller;
	struct fleet_caller caller;    /* may lose access during a wait */
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
	op.route = &resolved->route;
	op.snapshot = resolved->layer;
	if (reserve_volumes(creation, &op, err) < 0 || operation_move(&op, &creating, err) < 0)
		return -1;
	if (mounts_load(&op, err) < 0) {
		lifecycle_fail(&op, err);
		return -1;
	}
	return lifecycle_create(&op, &resolved->template, creation->begun_ns, err);
}

static int check_creator(struct creation *creation, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *project = creation->resolved.record.project_id;

	return fleet_caller_check(creation->fleet, &arena,
	                          creation->has_caller ? &creation->caller : NULL, project, err);
}

/* A closed gate refuses it, and a caller that lost access: its row says so. */
static int make_inside(struct creation *creation, struct error *err)
{
	struct fleet *f = creation->fleet;
	AUTO(gate_leave_auto) struct gate *inside = gate_enter(f->gate, err);

	if (check_creator(creation, err) < 0)
		return fail_pending(f, &creation->arena, creation->entry->id, err);
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

static bool is_overdue(const struct creation *creation)
{
	return clock_monotonic_ns() - creation->begun_ns > (int64_t)TEMPLATE_TIMEOUT_MS * 1000000;
}

/* 1: the template is ready; 0: the creation waits for it, and is not this thread's any more. */
static int reach_template(struct creation *creation, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct fleet *f = creation->fleet;
	struct resolved_create *resolved = &creation->resolved;
	const struct fleet_ref ref = {resolved->record.project_id, resolved->template.id};

	for (;;) {
		uint64_t wakes = template_waiters_wakes(f);
		const struct fleet_awaited awaited = {.key = ref.id_or_name};
		const struct template_need need = {
		        ref.project_id, creation->has_awaited_template ? &awaited : NULL};
		struct template_record t = resolved->template;

		if (fleet_template_require(f, &arena, &t, &need, err) == 0)
			return template_find(f, &creation->arena, &ref, &resolved->template, err) <
			                       0
			               ? -1
			               : 1;
		if (!err->awaits.key[0] || is_overdue(creation))
			return -1;
		error_clear(err);
		creation->has_awaited_template = true;
		if (template_waiters_add(f, &creation->waiter, wakes))
			return 0;
	}
}

static void run_creation(struct worker_task *task)
{
	struct creation *creation = CONTAINER_OF(task, struct creation, waiter.task);
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
		/* From here on the creation does not belong to this thread. */
		template_waiters_add_for_tick(creation->fleet, &creation->waiter);
		return;
	}
	log_warning("sandbox was not made", TEXT("sandbox", creation->entry->id), FAILURE(&err));
	creation_free(creation);
}

void pending_end(struct fleet *f)
{
	struct list given_up;

	list_init(&given_up);
	template_waiters_take(f, &given_up);
	LIST_EACH (&given_up, struct creation, creation, waiter.item) {
		list_remove(&creation->waiter.item);
		creation_free(creation);
	}
}

/* The draft's texts must outlive the request: they are read again, from the store. */
static struct creation *creation_new(struct fleet *f, const struct resolved_create *resolved,
                                     int64_t begun_ns)
{
	struct creation *creation = memory_new(sizeof(*creation));

	creation->waiter.task = (struct worker_task){
	        .lane = WORKER_SLOW,
	        .run = run_creation,
	        .shares = {[WORKER_PROJECT] = worker_share_id(resolved->record.project_id)},
	};
	list_init(&creation->waiter.item);
	(void)snprintf(creation->waiter.template_id, sizeof(creation->waiter.template_id), "%s",
	               resolved->template.id);
	creation->fleet = f;
	creation->begun_ns = begun_ns;
	creation->has_caller = resolved->request->caller != NULL;
	if (creation->has_caller)
		creation->caller = *resolved->request->caller;
	creation->has_volumes = resolved->mounts.count > 0;
	creation->entry = cache_pin(f->cache, resolved->record.id);
	cache_set_queued(f->cache, creation->entry, true);
	creation->resolved.route = resolved->route;
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
	    worker_submit(f->workers, &creation->waiter.task, err) < 0) {
		creation_free(creation);
		return fail_pending(f, a, resolved->record.id, err);
	}
	return 0;
}
