/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "fleet/core/elsewhere.h"
#include "fleet/core/operation.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lease/lease.h"
#include "fleet/lease/lease_parts.h"
#include "fleet/lease/leases_in_flight.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/lifecycle/reconcile.h"
#include "fleet/sandbox/settings.h"
#include "store/sandboxes.h"

#define PAGE_SIZE 500

int fleet_lease_find(struct fleet *fleet, struct arena *a, const struct lease_ref *ref,
                     struct lease_record *ret, struct error *err)
{
	return store_lease_find(fleet->store, a, ref, ret, err);
}

static int find_ready(struct fleet *f, struct arena *a, const struct lease_ref *ref,
                      struct lease_record *ret, struct error *err)
{
	if (store_lease_find(f->store, a, ref, ret, err) < 0)
		return -1;
	if (ret->status == LEASE_READY)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "lease '%.100s' is %s", ref->key,
	           lease_status_name(ret->status));
	return FAIL_HINT(err, "acquire it");
}

int fleet_lease_keep(struct fleet *fleet, struct arena *a, const struct lease_ref *ref,
                     int64_t for_ms, struct lease_record *ret, struct error *err)
{
	struct sandbox_record kept;
	struct fleet_ref sandbox;

	if (find_ready(fleet, a, ref, ret, err) < 0)
		return -1;
	sandbox = (struct fleet_ref){ref->project_id, ret->sandbox_id};
	if (for_ms != 0 && fleet_keep(fleet, a, &sandbox, for_ms, &kept, err) < 0)
		return -1;
	store_sandbox_touch(fleet->store, ret->sandbox_id, clock_unix_ms());
	return store_lease_find(fleet->store, a, ref, ret, err);
}

/* Compare and set, until the lease is not counted as in use. */
static int end_use(struct fleet *f, struct arena *a, const struct lease_ref *ref,
                   struct lease_record *ret, struct error *err)
{
	for (unsigned i = 0; i < LEASE_TRIES; i++) {
		if (find_ready(f, a, ref, ret, err) < 0)
			return -1;
		if (ret->active_since == 0)
			return 0;
		lease_end_use(ret);
		ret->is_release = true;
		if (store_lease_replace(f->store, ret, err) == 0) {
			ret->lock_version++;
			return 0;
		}
		if (err->code != ERROR_CONFLICT)
			return -1;
		error_clear(err);
	}
	return FAIL(err, ERROR_CONFLICT, "lease '%.100s' changes all the time", ref->key);
}

int fleet_lease_release(struct fleet *fleet, struct arena *a, const struct lease_ref *ref,
                        struct lease_record *ret, struct error *err)
{
	struct sandbox_record kept;
	struct fleet_ref sandbox;

	if (end_use(fleet, a, ref, ret, err) < 0)
		return -1;
	if (ret->keep_until == 0)
		return 0;
	sandbox = (struct fleet_ref){ref->project_id, ret->sandbox_id};
	if (fleet_keep(fleet, a, &sandbox, 0, &kept, err) < 0)
		return -1;
	ret->keep_until = 0;
	return 0;
}

int fleet_lease_pause(struct fleet *fleet, struct arena *a, const struct lease_ref *ref,
                      struct lease_record *ret, struct error *err)
{
	struct sandbox_record paused;
	struct fleet_ref sandbox;

	if (find_ready(fleet, a, ref, ret, err) < 0)
		return -1;
	sandbox = (struct fleet_ref){ref->project_id, ret->sandbox_id};
	if (fleet_pause(fleet, a, &sandbox, &paused, err) < 0 ||
	    end_use(fleet, a, ref, ret, err) < 0)
		return -1;
	return store_lease_find(fleet->store, a, ref, ret, err);
}

/* The row is removed first: later calls get another sandbox, and the next tick deletes this one if
 * the process dies. */
static int remove_row(struct fleet *f, struct arena *a, const struct lease_ref *ref,
                      struct lease_record *ret, struct error *err)
{
	for (unsigned i = 0; i < LEASE_TRIES; i++) {
		if (store_lease_find(f->store, a, ref, ret, err) < 0)
			return -1;
		if (store_lease_remove(f->store, ret, err) == 0)
			return 0;
		if (err->code != ERROR_CONFLICT)
			return -1;
		error_clear(err);
	}
	return FAIL(err, ERROR_CONFLICT, "lease '%.100s' changes all the time", ref->key);
}

static int delete_lease(struct fleet *f, struct arena *a, const struct lease_ref *ref,
                        struct error *err)
{
	struct lease_record r;

	if (remove_row(f, a, ref, &r, err) < 0)
		return -1;
	fault_point("lease", "removed");
	leases_in_flight_announce(f->leases);
	if (r.sandbox_id[0])
		lease_drop_sandbox(f, r.project_id, r.sandbox_id, r.status == LEASE_READY);
	return 0;
}

/* A reachable server that has the sandbox deletes lease and sandbox itself. If it is not reachable,
 * its next tick or start deletes the sandbox. */
int fleet_lease_delete(struct fleet *fleet, struct arena *a, const struct lease_ref *ref,
                       struct error *err)
{
	struct lease_record r;
	struct sandbox_record sandbox;
	bool is_reached = false;

	if (store_lease_find(fleet->store, a, ref, &r, err) < 0)
		return -1;
	sandbox = (struct sandbox_record){
	        .name = r.sandbox_id, .node = r.node, .provider = r.provider};
	if (r.status == LEASE_READY && strcmp(r.node, fleet->node) != 0 &&
	    peer_is_reached(fleet, a, r.node, &is_reached, err) < 0)
		return -1;
	if (is_reached)
		return sandbox_check_local(fleet, &sandbox, err);
	return delete_lease(fleet, a, ref, err);
}

static int delete_page(struct fleet *f, const struct lease_filter *filter, size_t *ret_count,
                       struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct lease_list list;

	if (store_lease_list(f->store, &arena, filter, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		const struct lease_ref ref = {list.items[i].project_id, list.items[i].key};

		/* Another call may have deleted it. */
		if (delete_lease(f, &arena, &ref, err) < 0 && err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
	}
	*ret_count = list.count;
	return 0;
}

/* A visit of all leases that have a sandbox. */
struct lease_visit {
	struct fleet *fleet;
	int (*each)(struct lease_visit *visit, struct arena *a, const struct lease_record *r,
	            struct error *err);
	char silent[ERROR_NODE_MAX]; /* last node that is not reachable */
};

static int visit_page(struct lease_visit *visit, const struct lease_filter *filter,
                      char ret_next[LEASE_KEY_MAX + 1], struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct lease_list list;

	if (store_lease_list(visit->fleet->store, &arena, filter, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].status == LEASE_READY &&
		    visit->each(visit, &arena, &list.items[i], err) < 0)
			return -1;
	(void)snprintf(ret_next, LEASE_KEY_MAX + 1, "%s", list.next ? list.next : "");
	return 0;
}

static int visit_leases(struct lease_visit *visit, const struct lease_ref *prefix,
                        struct error *err)
{
	char next[LEASE_KEY_MAX + 1] = "";
	const struct lease_filter filter = {.project_id = prefix->project_id,
	                                    .prefix = prefix->key,
	                                    .after = next,
	                                    .limit = PAGE_SIZE};

	do {
		if (visit_page(visit, &filter, next, err) < 0)
			return -1;
	} while (next[0]);
	return 0;
}

static int check_others_reached(struct lease_visit *visit, struct arena *a,
                                const struct lease_record *r, struct error *err)
{
	const struct elsewhere elsewhere = {"lease", r->key, "is", r->node};
	bool is_reached = false;

	if (strcmp(r->node, visit->fleet->node) == 0 || strcmp(r->node, visit->silent) == 0)
		return 0;
	if (peer_is_reached(visit->fleet, a, r->node, &is_reached, err) < 0)
		return -1;
	if (is_reached)
		return elsewhere_fail(visit->fleet, &elsewhere, err);
	(void)snprintf(visit->silent, sizeof(visit->silent), "%s", r->node);
	return 0;
}

static int drop_local(struct lease_visit *visit, struct arena *a, const struct lease_record *r,
                      struct error *err)
{
	(void)a;
	(void)err;
	if (strcmp(r->node, visit->fleet->node) == 0)
		lease_drop_sandbox(visit->fleet, r->project_id, r->sandbox_id, true);
	return 0;
}

int fleet_lease_delete_ours(struct fleet *fleet, const struct lease_ref *prefix, struct error *err)
{
	struct lease_visit look = {.fleet = fleet, .each = check_others_reached};
	struct lease_visit drop = {.fleet = fleet, .each = drop_local};
	struct error failure = {0};

	if (visit_leases(&look, prefix, err) == 0)
		return 0;
	if (err->node[0] && visit_leases(&drop, prefix, &failure) < 0)
		*err = failure;
	return -1;
}

int fleet_lease_delete_all(struct fleet *fleet, const struct lease_ref *prefix, uint64_t *ret_count,
                           struct error *err)
{
	const struct lease_filter filter = {.project_id = prefix->project_id,
	                                    .prefix = prefix->key,
	                                    .after = "",
	                                    .limit = PAGE_SIZE};
	size_t count = 0;
	uint64_t total = 0;

	/* Always the first page: its leases are deleted afterwards. */
	do {
		if (delete_page(fleet, &filter, &count, err) < 0)
			return -1;
		total += count;
	} while (count > 0);
	*ret_count = total;
	return 0;
}

/* Reconciles the row with the provider: whether the sandbox is gone. */
static bool is_sandbox_gone(struct fleet *f, const char *id)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	enum observed_state observed;
	struct error err = {0};

	if (operation_begin(f, &arena, id, deadline_after(CALL_TIMEOUT_MS), &op, &err) < 0)
		return err.code == ERROR_NOT_FOUND;
	if (sandbox_is_alive(&op.record) &&
	    (observed_state_find(&op, &observed, &err) < 0 ||
	     lifecycle_reconcile(&op, observed, SANDBOX_REASON_HOST_LOST, &err) < 0)) {
		log_warning("sandbox is not settled", TEXT("sandbox", id), FAILURE(&err));
		return false;
	}
	return !sandbox_is_alive(&op.record);
}

bool fleet_lease_is_gone(struct fleet *fleet, const char *sandbox_id, const struct error *why)
{
	return lease_error_may_mean_gone(why->code) && is_sandbox_gone(fleet, sandbox_id);
}

/* 1: the sandbox was gone, and the call had no effect. */
static int run_in_sandbox(struct fleet *f, struct arena *a, const struct fleet_lease *request,
                          const struct fleet_lease_use *use, struct error *err)
{
	struct fleet_leased leased;
	struct fleet_hold hold;
	int result;

	if (fleet_lease_hold(f, a, request, &leased, &hold, err) < 0)
		return -1;
	result = use->run(use->context, &leased.sandbox, &hold, err);
	fleet_unhold(&hold);
	if (result == 0)
		return 0;
	return fleet_lease_is_gone(f, leased.sandbox.id, err) ? 1 : -1;
}

int fleet_lease_with(struct fleet *fleet, struct arena *a, const struct fleet_lease *request,
                     const struct fleet_lease_use *use, struct error *err)
{
	int result = run_in_sandbox(fleet, a, request, use, err);

	if (result <= 0)
		return result;
	log_info("a lease's sandbox is gone: once more in another", TEXT("lease", request->key));
	error_clear(err);
	return run_in_sandbox(fleet, a, request, use, err) == 0 ? 0 : -1;
}
