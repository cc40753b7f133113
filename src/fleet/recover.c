/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "fleet/archive.h"
#include "fleet/artifacts.h"
#include "fleet/lease_parts.h"
#include "fleet/lifecycle.h"
#include "fleet/pairing_parts.h"
#include "fleet/rounds.h"
#include "fleet/template_cache.h"

#define PAGE_SIZE 500
#define ORPHANS_STOP_MS 10000 /* for all of a sweep; those after it are ended at once */

/* ---- what the provider has ---- */

static void *observed_state_to_value(enum observed_state observed)
{
	return (void *)(uintptr_t)observed;
}

static enum observed_state observed_state_of(const struct map *observed_states, const char *id)
{
	return (enum observed_state)(uintptr_t)map_find(observed_states, id);
}

static enum observed_state observed_state_of_entry(const struct provider_entry *entry)
{
	if (!entry->running)
		return OBSERVED_FILES;
	return entry->paused ? OBSERVED_PAUSED : OBSERVED_RUNNING;
}

static bool is_alive(enum observed_state observed)
{
	return observed == OBSERVED_RUNNING || observed == OBSERVED_PAUSED;
}

static int list_entries(struct fleet *f, struct arena *a, struct provider_list *ret,
                        struct error *err)
{
	if (f->ops->list(f->provider, a, ret, err) < 0)
		return FAIL_CONTEXT(err, "list what provider '%s' has", f->ops->name);
	return 0;
}

static void note_observed_states(const struct provider_list *list, struct map *ret)
{
	for (size_t i = 0; i < list->count; i++)
		map_put(ret, list->entries[i].id,
		        observed_state_to_value(observed_state_of_entry(&list->entries[i])));
}

static int list_observed_states(struct fleet *f, struct map *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_list list;

	if (list_entries(f, &arena, &list, err) < 0)
		return -1;
	note_observed_states(&list, ret);
	return 0;
}

int observed_state_find(struct fleet *f, const char *id, enum observed_state *ret,
                        struct error *err)
{
	AUTO(map_done) struct map observed_states = {0};

	if (list_observed_states(f, &observed_states, err) < 0)
		return -1;
	*ret = observed_state_of(&observed_states, id);
	return 0;
}

int fleet_each_sandbox(struct fleet *f, fleet_visit *visit, void *context, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_filter filter = {.state = -1, .limit = PAGE_SIZE, .node = f->node};
	struct sandbox_list list;

	do {
		if (store_sandbox_list(f->store, &arena, &filter, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++)
			if (sandbox_is_local(f, &list.items[i]))
				visit(f, &list.items[i], context);
		filter.page = list.next_page;
	} while (filter.page);
	return 0;
}

/* ---- a row and the truth ---- */

static const char *const end_events[SANDBOX_REASON_COUNT] = {
        [SANDBOX_REASON_NONE] = "it ended by itself",
        [SANDBOX_REASON_USER] = "it was ended",
        [SANDBOX_REASON_IDLE] = "it was idle",
        [SANDBOX_REASON_LIFETIME] = "its time was over",
        [SANDBOX_REASON_OOM] = "it ran out of memory and was ended by the kernel",
        [SANDBOX_REASON_EXIT] = "its agent ended",
        [SANDBOX_REASON_HOST_LOST] = "it was gone when the server looked, as after a reboot",
        [SANDBOX_REASON_ERROR] = "it failed",
        [SANDBOX_REASON_BUDGET] = "what it may cost was spent",
        [SANDBOX_REASON_DISK] = "its disk was full",
};

/* Nothing runs and no file is left. Persistent sandboxes, and those that ended on their own, become
 * FAILED, so that the owner notices. An ephemeral one that was lost with the host is deleted. */
static int reconcile_lost(struct operation *op, enum sandbox_reason reason, struct error *err)
{
	const struct operation_move failed = {
	        .to = SANDBOX_FAILED,
	        .desired = -1,
	        .reason = reason,
	        .event = arena_format(op->arena, "%s; its files are gone", end_events[reason]),
	};

	if (!op->record.persistent && reason == SANDBOX_REASON_HOST_LOST)
		return lifecycle_delete(op, reason, err);
	return operation_move(op, &failed, err);
}

/* Nothing runs, but the files exist: STOPPED. It is not restarted, because its processes are lost
 * and the owner must know. */
static int reconcile_ended(struct operation *op, enum sandbox_reason reason, struct error *err)
{
	const struct operation_move stopped = {
	        .to = SANDBOX_STOPPED,
	        .desired = SANDBOX_STOPPED,
	        .reason = reason,
	        .event = arena_format(op->arena, "%s; its files are kept", end_events[reason]),
	};

	return operation_move(op, &stopped, err);
}

static int stop_running(struct operation *op, struct error *err)
{
	struct fleet *f = op->fleet;

	return f->ops->stop(f->provider, op->record.id, 0, deadline_after(CALL_TIMEOUT_MS), err);
}

typedef int settle(struct operation *op, enum observed_state observed, enum sandbox_reason reason,
                   struct error *err);

/* The caller of an interrupted pause or resume got no answer: the row stands. */
static int set_paused(struct operation *op, bool paused, struct error *err)
{
	struct fleet *f = op->fleet;
	int64_t deadline = deadline_after(CALL_TIMEOUT_MS);

	if (provider_require(f->provider, PROVIDER_CAN_PAUSE, err) < 0)
		return -1;
	return paused ? f->ops->pause(f->provider, op->record.id, deadline, err)
	              : f->ops->resume(f->provider, op->record.id, deadline, err);
}

static int reconcile_alive(struct operation *op, enum observed_state observed,
                           enum sandbox_reason reason, struct error *err)
{
	bool paused = op->record.actual == SANDBOX_PAUSED;

	if (is_alive(observed))
		return paused == (observed == OBSERVED_PAUSED) ? 0 : set_paused(op, paused, err);
	return observed == OBSERVED_FILES ? reconcile_ended(op, reason, err)
	                                  : reconcile_lost(op, reason, err);
}

static int reconcile_stopping(struct operation *op, enum observed_state observed,
                              enum sandbox_reason reason, struct error *err)
{
	const struct operation_move stopped = {
	        .to = SANDBOX_STOPPED, .desired = SANDBOX_STOPPED, .event = "stopped"};

	if (observed == OBSERVED_NONE)
		return reconcile_lost(op, reason, err);
	if (is_alive(observed) && stop_running(op, err) < 0)
		return -1;
	return operation_move(op, &stopped, err);
}

static int reconcile_stopped(struct operation *op, enum observed_state observed,
                             enum sandbox_reason reason, struct error *err)
{
	if (observed == OBSERVED_NONE)
		return reconcile_lost(op, reason, err);
	return is_alive(observed) ? stop_running(op, err) : 0;
}

/* The provider's progress is unknown: a new sandbox is removed; one that was started before is
 * stopped, to keep its files. */
static int reconcile_creating(struct operation *op, enum observed_state observed,
                              enum sandbox_reason reason, struct error *err)
{
	const struct operation_move archived = {
	        .to = SANDBOX_ARCHIVED,
	        .desired = SANDBOX_ARCHIVED,
	        .event = "archived still: its start was interrupted"};
	struct error why = {0};

	if (observed == OBSERVED_NONE && archive_exists(op->fleet, op->record.id))
		return operation_move(op, &archived, err);
	if (op->record.started_at > 0)
		return reconcile_stopping(op, observed, reason, err);
	error_set(&why, ERROR_UNAVAILABLE, 0, HERE, "the server went away while it was being made");
	lifecycle_fail(op, &why);
	return 0;
}

static int reconcile_deleting(struct operation *op, UNUSED enum observed_state observed,
                              UNUSED enum sandbox_reason reason, struct error *err)
{
	return lifecycle_delete(op, SANDBOX_REASON_NONE, err);
}

static int reconcile_failed(struct operation *op, enum observed_state observed,
                            UNUSED enum sandbox_reason reason, UNUSED struct error *err)
{
	if (observed != OBSERVED_NONE)
		lifecycle_destroy(op);
	return 0;
}

static settle *const reconcilers[SANDBOX_STATE_COUNT] = {
        [SANDBOX_PENDING] = reconcile_creating,  [SANDBOX_CREATING] = reconcile_creating,
        [SANDBOX_STARTED] = reconcile_alive,     [SANDBOX_PAUSED] = reconcile_alive,
        [SANDBOX_STOPPING] = reconcile_stopping, [SANDBOX_STOPPED] = reconcile_stopped,
        [SANDBOX_ARCHIVED] = reconcile_failed,   [SANDBOX_DELETING] = reconcile_deleting,
        [SANDBOX_DELETED] = reconcile_failed,    [SANDBOX_FAILED] = reconcile_failed,
};

int lifecycle_reconcile(struct operation *op, enum observed_state observed,
                        enum sandbox_reason reason, struct error *err)
{
	if (op->record.desired == SANDBOX_DELETED)
		return lifecycle_delete(op, SANDBOX_REASON_NONE, err);
	return reconcilers[op->record.actual](op, observed, reason, err);
}

/* ---- all rows, and all that has none ---- */

/* The observed state that a resting row implies. */
static const struct {
	bool is_certain;
	enum observed_state observed;
} expected[SANDBOX_STATE_COUNT] = {
        [SANDBOX_STARTED] = {true, OBSERVED_RUNNING},
        [SANDBOX_PAUSED] = {true, OBSERVED_PAUSED},
        [SANDBOX_STOPPED] = {true, OBSERVED_FILES},
        [SANDBOX_ARCHIVED] = {true, OBSERVED_NONE},
};

/* The list may be outdated: the provider is asked again under the operation. */
static void reconcile_unexpected(struct fleet *f, const struct sandbox_record *r, void *context)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	struct error err = {0};
	enum observed_state observed;

	if (!expected[r->actual].is_certain ||
	    observed_state_of(context, r->id) == expected[r->actual].observed ||
	    cache_is_busy(f->cache, r->id))
		return;
	if (operation_begin(f, &arena, r->id, deadline_after(0), &op, &err) < 0 ||
	    !expected[op.record.actual].is_certain)
		return;
	if (observed_state_find(f, r->id, &observed, &err) < 0 ||
	    lifecycle_reconcile(&op, observed, SANDBOX_REASON_HOST_LOST, &err) < 0)
		log_warning("sandbox is not settled", TEXT("sandbox", r->id), FAILURE(&err));
}

/* The provider has it. One without a row is an orphan, unless it is being made: then a worker acts
 * on it, and its row comes. One whose row is another server's came here with a copied folder, and
 * is left to people. One of an earlier claim of a lease that has another one by now goes. */
static bool sweep_entry(struct fleet *f, const struct provider_entry *entry)
{
	const char *id = entry->id;
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	struct error err = {0};

	if (cache_is_busy(f->cache, id) ||
	    (entry->lease_epoch > 0 && lease_sweep(f, id, entry->lease_epoch)))
		return false;
	if (operation_begin(f, &arena, id, deadline_after(0), &op, &err) == 0) {
		if (op.record.actual == SANDBOX_FAILED && sandbox_is_local(f, &op.record))
			lifecycle_destroy(&op);
		return false;
	}
	return err.code == ERROR_NOT_FOUND;
}

/* All are found before the first is removed: too many of them are a mistake, see pairing.h. */
static void sweep_entries(struct fleet *f, struct arena *a, const struct provider_list *list)
{
	int64_t stop_until = deadline_after(ORPHANS_STOP_MS);
	const struct provider_entry **orphans =
	        ARENA_ARRAY(a, const struct provider_entry *, list->count + 1);
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		if (sweep_entry(f, &list->entries[i]))
			orphans[count++] = &list->entries[i];
	if (!orphans_may_go(f, count, list->count - count))
		return;
	for (size_t i = 0; i < count; i++)
		if (!cache_is_busy(f->cache, orphans[i]->id))
			orphan_remove(f, orphans[i], stop_until);
}

int fleet_sweep(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(map_done) struct map observed_states = {0};
	struct provider_list list;

	if (list_entries(f, &arena, &list, err) < 0)
		return -1;
	note_observed_states(&list, &observed_states);
	sweep_entries(f, &arena, &list);
	return fleet_each_sandbox(f, reconcile_unexpected, &observed_states, err);
}

static void recover_sandbox(struct fleet *f, const struct sandbox_record *r, void *context)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	struct error err = {0};

	if (operation_begin(f, &arena, r->id, deadline_after(CALL_TIMEOUT_MS), &op, &err) < 0 ||
	    lifecycle_reconcile(&op, observed_state_of(context, r->id), SANDBOX_REASON_HOST_LOST,
	                        &err) < 0 ||
	    egress_reconcile(&op, &err) < 0 || limits_reconcile(&op, &err) < 0)
		log_warning("sandbox is not settled", TEXT("sandbox", r->id), FAILURE(&err));
}

int fleet_recover(struct fleet *fleet, struct error *err)
{
	AUTO(map_done) struct map observed_states = {0};
	unsigned added;

	if (store_sandbox_adopt(fleet->store, fleet->node, err) < 0 ||
	    templates_recover(fleet, err) < 0 || fleet_templates_seed(fleet, &added, err) < 0 ||
	    volumes_reconcile(fleet, true, err) < 0 ||
	    list_observed_states(fleet, &observed_states, err) < 0 ||
	    fleet_each_sandbox(fleet, recover_sandbox, &observed_states, err) < 0 ||
	    fleet_sweep(fleet, err) < 0 || mounts_reconcile(fleet, err) < 0 ||
	    leases_reconcile(fleet, err) < 0 || builds_recover(fleet, err) < 0 ||
	    snapshots_sweep(fleet, true, err) < 0 || backups_reconcile(fleet, err) < 0)
		return FAIL_CONTEXT(err, "recover");
	if (artifacts_purge(fleet, true, err) < 0)
		return FAIL_CONTEXT(err, "recover");
	layers_sweep(fleet, true);
	projects_finish(fleet);
	peer_tick(fleet);
	fleet->pairing->takes_all = false;
	trash_tick(fleet);
	return 0;
}
