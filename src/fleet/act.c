/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fleet/elsewhere.h"
#include "fleet/parts.h"
#include "fleet/waiting.h"

/* A call that may park waits so long for whoever acts, which mostly is enough, and looks again
 * after so long. */
#define ACT_FIRST_MS 200
#define ACT_AGAIN_MS 200

/* What is worth a line in the log: what lies between says only that something is going on. */
static const bool is_resting[SANDBOX_STATE_COUNT] = {
        [SANDBOX_STARTED] = true,  [SANDBOX_PAUSED] = true,  [SANDBOX_STOPPED] = true,
        [SANDBOX_ARCHIVED] = true, [SANDBOX_DELETED] = true, [SANDBOX_FAILED] = true,
};

bool is_ours(const struct fleet *f, const struct sandbox_record *r)
{
	return strcmp(r->node, f->node) == 0 && strcmp(r->provider, f->ops->name) == 0;
}

int provider_check(const struct fleet *f, const struct sandbox_record *r, struct error *err)
{
	if (is_ours(f, r))
		return 0;
	if (strcmp(r->node, f->node) != 0)
		return fail_elsewhere(f, &(struct elsewhere){"sandbox", r->name, "is", r->node},
		                      err);
	return FAIL(err, ERROR_UNAVAILABLE, "sandbox '%s' was made by provider '%s', not '%s'",
	            r->name, r->provider, f->ops->name);
}

int act_begin(struct fleet *f, struct arena *a, const char *id, int64_t deadline, struct act *ret,
              struct error *err)
{
	struct act act = {.fleet = f, .arena = a, .slot = cache_pin(&f->cache, id)};

	if (!cache_act(&f->cache, act.slot, deadline)) {
		cache_unpin(&f->cache, act.slot);
		return FAIL(err, ERROR_TIMEOUT, "sandbox '%s': what goes on with it takes long",
		            id);
	}
	if (store_sandbox_find(f->store, a, NULL, id, &act.record, err) < 0) {
		act_end(&act);
		return -1;
	}
	if (is_ours(f, &act.record))
		cache_update(&f->cache, act.slot, &act.record);
	*ret = act;
	return 0;
}

int act_await(struct fleet *f, struct arena *a, const char *id, const struct fleet_awaited *awaited,
              struct act *ret, struct error *err)
{
	char key[ERROR_AWAITS_MAX];
	int64_t waited_ms;

	if (!awaited)
		return act_begin(f, a, id, deadline_after(CALL_TIMEOUT_MS), ret, err);
	waiting_key("act", id, key);
	waited_ms = clock_monotonic_ms() - waiting_begun(awaited, key);
	if (act_begin(f, a, id, deadline_after(waited_ms > 0 ? 0 : ACT_FIRST_MS), ret, err) == 0)
		return 0;
	if (err->code == ERROR_TIMEOUT && waited_ms < CALL_TIMEOUT_MS)
		error_await(err, key, ACT_AGAIN_MS, -1);
	return -1;
}

void act_begin_new(struct fleet *f, struct arena *a, const char *id, struct act *ret)
{
	*ret = (struct act){.fleet = f, .arena = a, .slot = cache_pin(&f->cache, id)};
	(void)cache_act(&f->cache, ret->slot, deadline_after(CALL_TIMEOUT_MS));
}

void act_end(struct act *a)
{
	if (!a->slot)
		return;
	mounts_release(a);
	if (cache_act_end(&a->fleet->cache, a->slot))
		wake_later(a->fleet, a->slot->id);
	cache_unpin(&a->fleet->cache, a->slot);
	a->slot = NULL;
}

int act_move(struct act *a, const struct act_move *move, struct error *err)
{
	const struct sandbox_move change = {
	        .id = a->record.id,
	        .from = a->record.actual,
	        .to = move->to,
	        .desired = move->desired,
	        .reason = move->reason,
	        .event = move->event,
	        .now = clock_unix_ms(),
	        .effective = move->created ? &move->created->effective : NULL,
	        .disk_is_advisory = move->created && move->created->disk_is_advisory,
	        .is_lazy = move->is_lazy,
	        .traits_gained = move->traits_gained,
	        .traits_lost = move->traits_lost,
	        .lease = move->lease,
	        .ret_lease_lost = move->ret_lease_lost,
	};

	if (store_sandbox_move_read(a->fleet->store, a->arena, &change, &a->record, err) < 0)
		return -1;
	cache_update(&a->fleet->cache, a->slot, &a->record);
	if (is_resting[move->to])
		log_info("sandbox moved", TEXT("sandbox", a->record.id),
		         TEXT("to", sandbox_state_name(move->to)), TEXT("event", move->event));
	return 0;
}

void act_clear(struct act *a)
{
	struct fleet *f = a->fleet;
	struct error err = {0};

	if (f->ops->destroy(f->provider, a->record.id, deadline_after(CALL_TIMEOUT_MS), &err) < 0)
		log_warning("remains are left for the next sweep", TEXT("sandbox", a->record.id),
		            FAILURE(&err));
}
