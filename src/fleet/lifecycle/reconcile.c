/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lifecycle/reconcile.h"

#include <string.h>

#include "fleet/lifecycle/archive.h"
#include "fleet/lifecycle/moves.h"
#include "provider/entries.h"
#include "provider/memory.h"
#include "provider/set.h"

/* Providers of one place list the same sandboxes, so that each is asked. */
static bool memory_is_kept(const struct fleet *f, const char *id)
{
	for (unsigned i = 0; i < provider_set_count(f->providers); i++) {
		const struct provider_member *m = provider_set_at(f->providers, i);
		const struct memory_ops *memory = provider_member_ops(m)->memory;
		struct provider *p = provider_member_provider(m);

		if (p && memory && memory->is_kept(p, id))
			return true;
	}
	return false;
}

static enum observed_state observed_state_of_entry(const struct fleet *f,
                                                   const struct provider_entry *entry)
{
	if (!entry->running)
		return memory_is_kept(f, entry->id) ? OBSERVED_PAUSED : OBSERVED_FILES;
	return entry->paused ? OBSERVED_PAUSED : OBSERVED_RUNNING;
}

static bool is_alive(enum observed_state observed)
{
	return observed == OBSERVED_RUNNING || observed == OBSERVED_PAUSED;
}

void observed_done(struct observed *o)
{
	map_done(&o->states);
}

static void add_states(const struct fleet *f, struct observed *o, const struct provider_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		enum observed_state state = observed_state_of_entry(f, &list->entries[i]);

		map_put(&o->states, list->entries[i].id, (void *)(uintptr_t)state);
	}
}

int observed_list(struct fleet *f, struct arena *a, struct observed *ret,
                  struct provider_list *ret_list, struct error *err)
{
	*ret = (struct observed){.states = {0}};
	if (provider_set_list(f->providers, a, ret_list, ret->is_silent, err) < 0)
		return -1;
	add_states(f, ret, ret_list);
	return 0;
}

enum observed_state observed_get(const struct fleet *f, const struct observed *o,
                                 const struct sandbox_record *r)
{
	const struct provider_member *m = provider_set_find(f->providers, r->provider);

	if (!m || o->is_silent[m->number])
		return OBSERVED_UNKNOWN;
	return (enum observed_state)(uintptr_t)map_find(&o->states, r->id);
}

int observed_state_find(const struct operation *op, enum observed_state *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_list list;

	if (op->ops->list(op->provider, &arena, &list, err) < 0)
		return FAIL_CONTEXT(err, "list what provider '%s' has", op->record.provider);
	*ret = OBSERVED_NONE;
	for (size_t i = 0; i < list.count; i++)
		if (strcmp(list.entries[i].id, op->record.id) == 0)
			*ret = observed_state_of_entry(op->fleet, &list.entries[i]);
	return 0;
}

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

/* Nothing runs and no file is left. Persistent sandboxes, and sandboxes that ended on their own,
 * become FAILED, so that the owner notices. An ephemeral sandbox that was lost with the host is
 * deleted. */
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
	return op->ops->stop(op->provider, op->record.id, 0, deadline_after(CALL_TIMEOUT_MS), err);
}

typedef int settle(struct operation *op, enum observed_state observed, enum sandbox_reason reason,
                   struct error *err);

/* The caller of an interrupted pause or resume got no answer: the row stands. */
static int set_paused(struct operation *op, bool paused, struct error *err)
{
	int64_t deadline = deadline_after(CALL_TIMEOUT_MS);

	if (provider_require(op->provider, PROVIDER_CAN_PAUSE, err) < 0)
		return -1;
	return paused ? op->ops->pause(op->provider, op->record.id, deadline, err)
	              : lifecycle_resume_provider(op, deadline, err);
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

/* The provider's progress is unknown: a new sandbox is removed; a sandbox that ran before is
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
	if (observed == OBSERVED_UNKNOWN)
		return FAIL(err, ERROR_UNAVAILABLE, "provider '%s' does not answer",
		            op->record.provider);
	if (op->record.desired == SANDBOX_DELETED)
		return lifecycle_delete(op, SANDBOX_REASON_NONE, err);
	return reconcilers[op->record.actual](op, observed, reason, err);
}
