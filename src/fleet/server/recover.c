/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fleet/backup/backup.h"
#include "fleet/core/cache.h"
#include "fleet/core/elsewhere.h"
#include "fleet/core/operation.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/reconcile.h"
#include "fleet/recovery/pairing_state.h"
#include "fleet/server/all_rounds.h"
#include "fleet/server/fleet.h"
#include "fleet/server/rounds.h"
#include "fleet/server/stored_providers.h"
#include "provider/entries.h"
#include "provider/memory.h"
#include "provider/set.h"
#include "store/sandboxes.h"

#define ORPHANS_STOP_MS 10000 /* for all of a sweep; those after it are ended at once */

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

	if (!expected[r->actual].is_certain || observed_get(f, context, r) == OBSERVED_UNKNOWN ||
	    observed_get(f, context, r) == expected[r->actual].observed ||
	    cache_is_busy(f->cache, r->id))
		return;
	if (operation_begin(f, &arena, r->id, deadline_after(0), &op, &err) < 0 ||
	    !expected[op.record.actual].is_certain)
		return;
	if (observed_state_find(&op, &observed, &err) < 0 ||
	    lifecycle_reconcile(&op, observed, SANDBOX_REASON_HOST_LOST, &err) < 0)
		log_warning("sandbox is not settled", TEXT("sandbox", r->id), FAILURE(&err));
}

/* The sandbox is another provider's: a create went on there when this provider failed. */
static bool is_remainder(struct fleet *f, const struct operation *op,
                         const struct provider_entry *entry)
{
	struct provider *p = provider_member_provider(provider_set_at(f->providers, entry->member));

	return p && sandbox_is_local(f, &op->record) && !provider_shares_place(p, op->provider);
}

/* The provider has the sandbox. Without a row it is an orphan, unless a worker is creating it and
 * will add its row. If the row belongs to another server, the sandbox came here with a copied
 * folder, and the operator must decide about it. If its lease has another sandbox by now, it is
 * removed. */
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
		if (is_remainder(f, &op, entry))
			return true;
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
	AUTO(observed_done) struct observed observed = {0};
	struct provider_list list;

	if (observed_list(f, &arena, &observed, &list, err) < 0)
		return -1;
	sweep_entries(f, &arena, &list);
	return fleet_each_sandbox(f, reconcile_unexpected, &observed, err);
}

/* It has neither rules nor limits until it is resumed. */
static bool is_on_disk(const struct operation *op)
{
	return op->ops->memory && op->ops->memory->is_kept(op->provider, op->record.id);
}

/* Rules that the row does not have any more may be in force until the provider is told. */
static int settle_rules(struct operation *op, struct error *err)
{
	if (is_on_disk(op))
		return 0;
	if (egress_reconcile(op, err) < 0) {
		egress_repeat_all(op->fleet);
		return -1;
	}
	return limits_reconcile(op, err);
}

static void recover_sandbox(struct fleet *f, const struct sandbox_record *r, void *context)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	struct error err = {0};

	if (operation_begin(f, &arena, r->id, deadline_after(CALL_TIMEOUT_MS), &op, &err) < 0 ||
	    lifecycle_reconcile(&op, observed_get(f, context, r), SANDBOX_REASON_HOST_LOST, &err) <
	            0 ||
	    settle_rules(&op, &err) < 0)
		log_warning("sandbox is not settled", TEXT("sandbox", r->id), FAILURE(&err));
}

int fleet_recover(struct fleet *fleet, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(observed_done) struct observed observed = {0};
	struct provider_list list;
	unsigned added;

	if (stored_providers_refresh(fleet, err) < 0)
		return FAIL_CONTEXT(err, "providers of the store");
	(void)stored_providers_open(fleet);
	if (store_sandbox_adopt(fleet->store, fleet->node, err) < 0 ||
	    templates_recover(fleet, err) < 0 || fleet_templates_seed(fleet, &added, err) < 0 ||
	    volumes_reconcile(fleet, true, err) < 0 ||
	    observed_list(fleet, &arena, &observed, &list, err) < 0 ||
	    fleet_each_sandbox(fleet, recover_sandbox, &observed, err) < 0 ||
	    fleet_sweep(fleet, err) < 0 || mounts_reconcile(fleet, err) < 0 ||
	    leases_reconcile(fleet, err) < 0 || builds_recover(fleet, err) < 0 ||
	    snapshots_sweep(fleet, true, err) < 0 || backups_reconcile(fleet, err) < 0)
		return FAIL_CONTEXT(err, "recover");
	if (artifacts_purge(fleet, true, err) < 0)
		return FAIL_CONTEXT(err, "recover");
	layers_sweep(fleet, true);
	images_sweep(fleet);
	projects_finish(fleet);
	peer_tick(fleet);
	fleet->pairing->takes_all = false;
	trash_tick(fleet);
	return 0;
}
