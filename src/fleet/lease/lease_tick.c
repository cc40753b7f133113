/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "config/config.h"
#include "fleet/core/cache.h"
#include "fleet/core/labels.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lease/lease_parts.h"
#include "fleet/lease/lease_spec.h"
#include "fleet/lease/leases_in_flight.h"
#include "fleet/recovery/retention.h"
#include "store/approvals.h"
#include "store/leases.h"
#include "store/once.h"
#include "store/sandboxes.h"

/* A creator that is later than this does not come any more. */
#define STRAY_KEPT_MS (15 * 60 * INT64_C(1000))
/* Idempotency keys. */
#define ONCE_KEPT_MS (24 * 3600 * INT64_C(1000))

/* A sandbox without a row may be handled by every server. */
static bool may_reconcile(const struct fleet *f, const char *provider, const char *node)
{
	const struct sandbox_record r = {.provider = provider, .node = node};

	return !provider[0] || sandbox_is_local(f, &r);
}

/* A sealed environment that this server cannot open is left as it is. */
static int empty_and_update(struct fleet *f, struct arena *a, struct lease_record *r,
                            struct error *err)
{
	if (lease_spec_update(f, a, r, err) < 0) {
		if (err->code != ERROR_UNAVAILABLE || !*r->spec_json)
			return -1;
		error_clear(err);
	}
	return lease_empty(f, r, err);
}

/* Repairs a lease that no call uses now. */
static int repair_lease(struct fleet *f, struct arena *a, const struct lease_record *r,
                        struct error *err)
{
	struct lease_record made = *r;

	if (r->status != LEASE_CREATING ||
	    (r->actual != SANDBOX_STARTED && r->actual != SANDBOX_PAUSED &&
	     r->actual != SANDBOX_STOPPED))
		return empty_and_update(f, a, &made, err);
	/* Its creator has died before the last write, or is about to make it: the result is the
	 * same. */
	made.active_since = made.last_activity_at = clock_unix_ms();
	return store_lease_finish(f->store, &made, err);
}

/* An expired claim is repaired wherever its creator is; a late creator notices. */
static bool may_repair(struct fleet *f, const struct lease_record *r, int64_t age_ms)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct lease_ref ref = {r->project_id, r->key};

	if (r->status == LEASE_CREATING && age_ms > LEASE_CREATING_MAX_MS)
		return true;
	return may_reconcile(f, r->provider, r->node) &&
	       !leases_in_flight_has(f->leases, lease_name(&arena, &ref));
}

static void try_repair(struct fleet *f, const struct lease_record *r)
{
	AUTO(arena_done) struct arena arena = {0};
	int64_t age_ms = clock_unix_ms() - r->creating_since;
	struct error err = {0};

	if (!may_repair(f, r, age_ms))
		return;
	if (repair_lease(f, &arena, r, &err) < 0) {
		if (err.code != ERROR_CONFLICT)
			log_warning("a lease is not settled", TEXT("lease", r->key), FAILURE(&err));
		return;
	}
	if (r->status == LEASE_CREATING)
		log_warning("a lease's maker did not come back", TEXT("lease", r->key),
		            NUMBER("epoch", r->epoch), NUMBER("age_ms", age_ms));
	leases_in_flight_announce(f->leases);
}

static int repair_leases(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct lease_list list;

	if (store_lease_unsound(f->store, &arena, clock_unix_ms() - LEASE_CREATING_MAX_MS, &list,
	                        err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		try_repair(f, &list.items[i]);
	return 0;
}

void leases_repair_claims(struct fleet *f)
{
	AUTO(arena_done) struct arena arena = {0};
	struct lease_list list;
	struct error err = {0};

	if (store_lease_overdue(f->store, &arena, clock_unix_ms() - LEASE_CREATING_MAX_MS, &list,
	                        &err) < 0) {
		log_warning("claims are looked at later", FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < list.count; i++)
		try_repair(f, &list.items[i]);
}

static void reconcile_stray(struct fleet *f, const struct lease_stray *stray, int64_t now)
{
	bool is_known = stray->actual != SANDBOX_PENDING || stray->provider[0];
	struct error err = {0};

	if (stray->actual == SANDBOX_DELETED ||
	    (!is_known && now - stray->claimed_at > STRAY_KEPT_MS)) {
		if (store_lease_stray_forget(f->store, stray->sandbox_id, &err) < 0)
			log_warning("a lease's sandbox is not forgotten",
			            TEXT("sandbox", stray->sandbox_id), FAILURE(&err));
		return;
	}
	/* An operation under way will notice by itself. */
	if (!is_known || !may_reconcile(f, stray->provider, stray->node) ||
	    cache_is_busy(f->cache, stray->sandbox_id))
		return;
	log_info("a sandbox that no lease has is deleted", TEXT("sandbox", stray->sandbox_id));
	lease_drop_sandbox(f, stray->project_id, stray->sandbox_id, true);
}

static const char *lease_key_of(struct arena *a, const struct sandbox_record *r)
{
	const struct json_value *labels;

	if (json_load(a, span_of(r->labels_json), &labels, &(struct error){0}) < 0)
		return NULL;
	return json_text(json_get(labels, LEASE_LABEL), NULL);
}

/* Decides by the epoch that the provider reports, even if the store has forgotten the claim. */
bool lease_sweep(struct fleet *f, const char *sandbox_id, int64_t epoch)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record sandbox;
	struct lease_record lease;
	struct error err = {0};
	const char *key;

	if (store_sandbox_find(f->store, &arena, NULL, sandbox_id, &sandbox, &err) < 0 ||
	    !(key = lease_key_of(&arena, &sandbox)))
		return false;
	if (store_lease_find(f->store, &arena, &(struct lease_ref){sandbox.project_id, key}, &lease,
	                     &err) < 0 ||
	    lease.epoch <= epoch || strcmp(lease.sandbox_id, sandbox_id) == 0)
		return false;
	log_info("a sandbox of an earlier claim is deleted", TEXT("sandbox", sandbox_id),
	         TEXT("lease", key), NUMBER("epoch", epoch), NUMBER("now", lease.epoch));
	lease_drop_sandbox(f, sandbox.project_id, sandbox_id, true);
	return true;
}

static int reconcile_strays(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct lease_stray_list list;
	int64_t now = clock_unix_ms();

	if (store_lease_strays(f->store, &arena, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		reconcile_stray(f, &list.items[i], now);
	return 0;
}

static int purge_leases(struct fleet *f, struct error *err)
{
	int64_t keep_ms = f->config->leases_keep_ms;

	return keep_ms > 0 ? store_lease_purge(f->store, fleet_retention_ms(f) - keep_ms, err) : 0;
}

int leases_reconcile(struct fleet *f, struct error *err)
{
	if (repair_leases(f, err) < 0 || reconcile_strays(f, err) < 0 || purge_leases(f, err) < 0 ||
	    store_once_purge(f->store, fleet_retention_ms(f) - ONCE_KEPT_MS, err) < 0 ||
	    store_approval_expire(f->store, clock_unix_ms(), err) < 0 ||
	    store_approval_purge(f->store, fleet_retention_ms(f) - ONCE_KEPT_MS, err) < 0)
		return FAIL_CONTEXT(err, "settle leases");
	return 0;
}
