/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/operation.h"

#include <assert.h>
#include <string.h>

#include "fleet/core/alarms.h"
#include "fleet/core/background_work.h"
#include "fleet/core/cache.h"
#include "fleet/core/cache_state.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/volume_operation.h"
#include "fleet/core/waiting.h"
#include "provider/set.h"
#include "store/sandboxes.h"

/* How long a call that may park waits for the running operation, and when it polls again. */
#define ACT_FIRST_MS 200
#define ACT_AGAIN_MS 200

/* Only moves to these states are logged; the others are intermediate. */
static const bool is_resting[SANDBOX_STATE_COUNT] = {
        [SANDBOX_STARTED] = true,  [SANDBOX_PAUSED] = true,  [SANDBOX_STOPPED] = true,
        [SANDBOX_ARCHIVED] = true, [SANDBOX_DELETED] = true, [SANDBOX_FAILED] = true,
};

static int wait_for_turn(struct operation *op, const char *id, int64_t deadline, struct error *err)
{
	struct cache *cache = op->fleet->cache;
	struct cache_entry *entry = cache_pin(cache, id);

	if (!cache_operation_begin(cache, entry, deadline)) {
		cache_unpin(cache, entry);
		return FAIL(err, ERROR_TIMEOUT, "sandbox '%s': what goes on with it takes long",
		            id);
	}
	op->entry = entry;
	return 0;
}

int operation_begin(struct fleet *f, struct arena *a, const char *id, int64_t deadline,
                    struct operation *ret, struct error *err)
{
	struct operation op = {.fleet = f, .arena = a};

	if (wait_for_turn(&op, id, deadline, err) < 0)
		return -1;
	if (store_sandbox_find(f->store, a, NULL, id, &op.record, err) < 0) {
		operation_end(&op);
		return -1;
	}
	struct provider *provider = sandbox_provider(f, &op.record);
	if (!provider) {
		/* The provider may have been opened since. */
		if (sandbox_check_local(f, &op.record, err) == 0)
			(void)FAIL(err, ERROR_UNAVAILABLE, "provider '%s' is just being opened",
			           op.record.provider);
		operation_end(&op);
		return -1;
	}
	operation_use(&op, provider);
	if (sandbox_is_local(f, &op.record))
		cache_update(f->cache, op.entry, &op.record);
	*ret = op;
	return 0;
}

int operation_await(struct fleet *f, struct arena *a, const char *id,
                    const struct fleet_awaited *awaited, struct operation *ret, struct error *err)
{
	char key[ERROR_AWAITS_MAX];
	int64_t waited_ms;

	if (!awaited)
		return operation_begin(f, a, id, deadline_after(CALL_TIMEOUT_MS), ret, err);
	awaited_key("act", id, key);
	waited_ms = clock_monotonic_ms() - awaited_since(awaited, key);
	if (operation_begin(f, a, id, deadline_after(waited_ms > 0 ? 0 : ACT_FIRST_MS), ret, err) ==
	    0)
		return 0;
	if (err->code == ERROR_TIMEOUT && waited_ms < CALL_TIMEOUT_MS)
		error_await(err, key, ACT_AGAIN_MS, -1);
	return -1;
}

int operation_begin_new(struct fleet *f, struct arena *a, const char *id, struct operation *ret,
                        struct error *err)
{
	struct operation op = {.fleet = f, .arena = a};

	if (wait_for_turn(&op, id, deadline_after(f->new_wait_ms), err) < 0)
		return -1;
	operation_use(&op, f->provider);
	*ret = op;
	return 0;
}

void operation_use(struct operation *op, struct provider *p)
{
	op->provider = p;
	op->ops = provider_ops_of(p);
}

void operation_end(struct operation *op)
{
	if (!op->entry)
		return;
	volume_operations_end(&op->volumes);
	if (cache_operation_end(op->fleet->cache, op->entry))
		op->fleet->wake_later(op->fleet, op->entry->id);
	cache_unpin(op->fleet->cache, op->entry);
	op->entry = NULL;
}

void operation_show(struct operation *op)
{
	cache_update(op->fleet->cache, op->entry, &op->record);
	alarm_set(op->fleet->background->alarms, &op->record);
}

int operation_move(struct operation *op, const struct operation_move *move, struct error *err)
{
	const struct sandbox_move change = {
	        .id = op->record.id,
	        .from = op->record.actual,
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

	assert(op->entry);
	if (store_sandbox_move_read(op->fleet->store, op->arena, &change, &op->record, err) < 0)
		return -1;
	operation_show(op);
	if (is_resting[move->to])
		log_info("sandbox moved", TEXT("sandbox", op->record.id),
		         TEXT("to", sandbox_state_name(move->to)), TEXT("event", move->event));
	return 0;
}

void lifecycle_destroy(struct operation *op)
{
	struct error err = {0};

	if (op->ops->destroy(op->provider, op->record.id, deadline_after(CALL_TIMEOUT_MS), &err) <
	    0)
		log_warning("remains are left for the next sweep", TEXT("sandbox", op->record.id),
		            FAILURE(&err));
}

int operation_find_and_begin(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                             struct operation *ret, struct error *err)
{
	struct sandbox_record r;

	if (store_sandbox_find(f->store, a, ref->project_id, ref->id_or_name, &r, err) < 0 ||
	    sandbox_check_local(f, &r, err) < 0)
		return -1;
	return operation_await(f, a, r.id, ref->awaited, ret, err);
}
