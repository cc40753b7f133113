/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lifecycle/hold.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/core/cache.h"
#include "fleet/core/cache_state.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/ephemeral.h"
#include "fleet/lifecycle/moves.h"
#include "store/sandboxes.h"
#include "worker/worker.h"

static const struct hold_refusal {
	enum error_code code;
	const char *what, *hint;
} refusals[SANDBOX_STATE_COUNT] = {
        [SANDBOX_PENDING] = {ERROR_UNAVAILABLE, "is not made yet", "try again in a moment"},
        [SANDBOX_CREATING] = {ERROR_UNAVAILABLE, "is being made", "try again in a moment"},
        [SANDBOX_STARTED] = {ERROR_UNAVAILABLE, "is being removed", "it was idle: make a new one"},
        [SANDBOX_PAUSED] = {ERROR_CONFLICT, "is paused", "resume it"},
        [SANDBOX_STOPPING] = {ERROR_CONFLICT, "is being stopped", "start it again"},
        [SANDBOX_STOPPED] = {ERROR_CONFLICT, "is stopped", "start it"},
        [SANDBOX_ARCHIVED] = {ERROR_CONFLICT, "is archived", "start it"},
        [SANDBOX_DELETING] = {ERROR_CONFLICT, "is being deleted", "make a new one"},
        [SANDBOX_DELETED] = {ERROR_NOT_FOUND, "is deleted", "make a new one"},
        [SANDBOX_FAILED] = {ERROR_CONFLICT, "has failed", "see its last event; make a new one"},
};

static int refuse_hold(const struct sandbox_record *r, struct error *err)
{
	const struct hold_refusal *refusal = &refusals[r->actual];

	error_set(err, refusal->code, 0, HERE, "sandbox '%s' %s", r->name, refusal->what);
	return FAIL_HINT(err, "%s", refusal->hint);
}

static bool is_asleep(const struct sandbox_record *r)
{
	return sandbox_is_asleep(r->actual, r->reason, (unsigned)r->traits);
}

/* Waits for the operation under way, which may pause the sandbox; the state afterwards decides. */
static int hold_awake(struct fleet *f, struct arena *a, struct cache_entry *entry,
                      const struct fleet_awaited *awaited, struct sandbox_record *r,
                      struct error *err)
{
	AUTO(operation_end) struct operation op = {0};

	if (r->actual != SANDBOX_STARTED && !is_asleep(r))
		return refuse_hold(r, err);
	if (operation_await(f, a, r->id, awaited, &op, err) < 0)
		return -1;
	if (is_asleep(&op.record) && lifecycle_wake(&op, err) < 0)
		return -1;
	*r = op.record;
	return cache_hold_entry(f->cache, a, entry, r) ? 0 : refuse_hold(r, err);
}

/* The first use after a start of this server, or of a sandbox that is asleep. The row is read again
 * after its entry is pinned: from then on no move is missed. */
static int hold_from_store(struct fleet *f, struct arena *a, const struct fleet_awaited *awaited,
                           struct sandbox_record *r, struct error *err)
{
	struct cache_entry *entry;

	if (sandbox_check_local(f, r, err) < 0)
		return -1;
	entry = cache_pin(f->cache, r->id);
	if (store_sandbox_find(f->store, a, r->project_id, r->id, r, err) < 0) {
		cache_unpin(f->cache, entry);
		return -1;
	}
	cache_update(f->cache, entry, r);
	if (!cache_hold_entry(f->cache, a, entry, r) &&
	    hold_awake(f, a, entry, awaited, r, err) < 0) {
		cache_unpin(f->cache, entry);
		return -1;
	}
	return 0;
}

static void touch_sandbox(struct fleet *f, const char *id)
{
	int64_t now = clock_unix_ms();

	if (cache_touch(f->cache, id, now))
		store_sandbox_touch(f->store, id, now);
}

static void note_hold(struct fleet *f, const struct sandbox_record *r, const struct fleet_use *use,
                      struct fleet_hold *ret)
{
	atomic_fetch_add(&f->execs, 1);
	touch_sandbox(f, r->id);
	*ret = (struct fleet_hold){.fleet = f, .provider = sandbox_provider(f, r)};
	memcpy(ret->id, r->id, ID_SIZE);
	if (use)
		ret->use = cache_use(f->cache, r->id, use);
}

bool fleet_hold_warm(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                     struct sandbox_record *ret, struct fleet_hold *ret_hold)
{
	if (!cache_hold_warm(fleet->cache, a, ref->project_id, ref->id_or_name, ret))
		return false;
	note_hold(fleet, ret, ref->use, ret_hold);
	return true;
}

int fleet_hold(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
               struct sandbox_record *ret, struct fleet_hold *ret_hold, struct error *err)
{
	struct sandbox_record r;

	if (!cache_hold(fleet->cache, a, ref->project_id, ref->id_or_name, &r) &&
	    (store_sandbox_find(fleet->store, a, ref->project_id, ref->id_or_name, &r, err) < 0 ||
	     hold_from_store(fleet, a, ref->awaited, &r, err) < 0))
		return -1;
	note_hold(fleet, &r, ref->use, ret_hold);
	*ret = r;
	return 0;
}

int fleet_look(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
               struct sandbox_record *ret, struct fleet_hold *ret_hold, struct error *err)
{
	struct sandbox_record r;

	if (store_sandbox_find(fleet->store, a, ref->project_id, ref->id_or_name, &r, err) < 0 ||
	    sandbox_check_local(fleet, &r, err) < 0)
		return -1;
	if (r.actual != SANDBOX_STARTED) {
		(void)refuse_hold(&r, err);
		return is_asleep(&r) || r.actual == SANDBOX_PAUSED
		               ? FAIL_HINT(err, "a passive call does not wake it; resume it")
		               : -1;
	}
	*ret_hold = (struct fleet_hold){.fleet = NULL, .provider = sandbox_provider(fleet, &r)};
	memcpy(ret_hold->id, r.id, ID_SIZE);
	*ret = r;
	return 0;
}

void fleet_unhold(struct fleet_hold *hold)
{
	if (!hold || !hold->fleet)
		return;
	touch_sandbox(hold->fleet, hold->id);
	if (hold->use)
		cache_unuse(hold->fleet->cache, hold->id, hold->use);
	cache_unhold(hold->fleet->cache, hold->id);
	if (hold->ending_key[0])
		ephemeral_end(hold->fleet, hold->id, hold->ending_key);
	hold->fleet = NULL;
}

struct waking {
	struct worker_task task;
	struct fleet *fleet;
	struct cache_entry *entry;
};

static void waking_free(struct waking *w)
{
	cache_set_queued(w->fleet->cache, w->entry, false);
	cache_unpin(w->fleet->cache, w->entry);
	free(w);
}

/* Wakes it as a call would. A stopped sandbox has no open stream, and is refused. */
static void run_waking(struct worker_task *task)
{
	struct waking *w = CONTAINER_OF(task, struct waking, task);
	const struct fleet_ref ref = {.id_or_name = w->entry->id};
	AUTO(arena_done) struct arena arena = {0};
	struct error err = {0};
	struct sandbox_record r;
	struct fleet_hold hold;

	if (fleet_hold(w->fleet, &arena, &ref, &r, &hold, &err) == 0)
		fleet_unhold(&hold);
	else
		log_debug("no sandbox is resumed for received bytes", TEXT("sandbox", w->entry->id),
		          FAILURE(&err));
	waking_free(w);
}

void lifecycle_wake_later(struct fleet *f, const char *id)
{
	struct cache_entry *entry = cache_take_sleeping(f->cache, id);
	struct error err = {0};
	struct waking *w;

	if (!entry)
		return;
	w = memory_new(sizeof(*w));
	*w = (struct waking){
	        .task = {.lane = WORKER_SLOW, .run = run_waking}, .fleet = f, .entry = entry};
	if (worker_submit(f->workers, &w->task, &err) < 0)
		waking_free(w); /* the next bytes try again */
}

void fleet_wake(const struct fleet_hold *hold)
{
	if (hold->fleet)
		lifecycle_wake_later(hold->fleet, hold->id);
}
