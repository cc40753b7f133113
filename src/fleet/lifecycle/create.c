/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lifecycle/create.h"

#include <string.h>

#include "base/fault.h"
#include "fleet/core/cache.h"
#include "fleet/core/elsewhere.h"
#include "fleet/core/project_cache.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/lease_claim.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/lifecycle/pending.h"
#include "fleet/lifecycle/resolved_create.h"
#include "fleet/snapshot/snapshot.h"
#include "fleet/template/templates.h"
#include "fleet/usage/meters.h"
#include "fleet/volume/mounts.h"
#include "store/sandboxes.h"
#include "store/snapshots.h"

#define NAME_TRIES 8
#define PROJECT_TRIES 8

struct beginning {
	const struct resolved_create *resolved;
	struct operation *op;
};

/* The request is accepted: the provider works while the row is written. If the process dies in
 * between, the sandbox is an orphan; no sweep treats it as one during the operation. */
static void begin_creation(void *context)
{
	const struct beginning *b = context;
	struct operation *op = b->op;

	if (op->creation)
		return;
	op->record = b->resolved->record;
	op->spec = lifecycle_spec(op, &b->resolved->template);
	op->creation = op->ops->create_begin(op->provider, &op->spec);
	fault_point("api", "create-begun");
}

/* The row was not written: destroys what the provider has begun. */
static void abandon_creation(struct operation *op)
{
	struct provider_created created;

	if (op->creation &&
	    op->ops->create_end(op->provider, TAKE(op->creation), deadline_after(CALL_TIMEOUT_MS),
	                        &created, &(struct error){0}) == 0)
		lifecycle_destroy(op);
}

/* `op`: its sandbox is begun when the row is accepted; NULL: later. */
static int insert_once(struct fleet *f, struct resolved_create *resolved, struct operation *op,
                       struct error *err)
{
	struct lease_claim *claim = resolved->request->claim;
	struct beginning beginning = {resolved, op};
	bool begins = op && resolved->mounts.count == 0 && op->ops->create_begin;
	struct sandbox_insertion insertion = {
	        .record = &resolved->record,
	        .project_max = resolved->sandboxes_max,
	        .project_version = resolved->project_version,
	        .mounts = resolved->mounts.count > 0 ? &resolved->mounts : NULL,
	        .origin = resolved->layer,
	        .claim = claim && !claim->is_made ? &claim->lease : NULL,
	        .is_stored_provider = resolved->route.members[0]->version > 0,
	        .on_accepted = begins ? begin_creation : NULL,
	        .context = &beginning,
	};
	int result = store_sandbox_insert_with(f->store, &insertion, err);

	resolved->is_outdated = insertion.is_outdated || insertion.is_provider_lost;
	/* Another server has begun to remove it; the next try takes another provider. */
	if (insertion.is_provider_lost)
		provider_member_drain(resolved->route.members[0]);
	if (insertion.claim)
		lease_claimed(claim, result < 0, insertion.is_claim_lost);
	if (begins && result < 0)
		abandon_creation(op);
	return result;
}

static bool is_other_conflict(const struct resolved_create *resolved)
{
	const struct lease_claim *claim = resolved->request->claim;

	return resolved->is_outdated || (claim && claim->is_lost);
}

/* The sandbox that has a volume may be about to release it. */
static int insert_mounted(struct fleet *f, struct resolved_create *resolved, struct operation *op,
                          struct error *err)
{
	if (insert_once(f, resolved, op, err) == 0)
		return 0;
	if (resolved->mounts.count == 0 || err->code != ERROR_CONFLICT ||
	    is_other_conflict(resolved) ||
	    !mounts_wait(f, &resolved->mounts, resolved->request->awaited, err))
		return -1;
	error_clear(err);
	return insert_once(f, resolved, op, err);
}

static int insert_named(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                        struct operation *op, struct error *err)
{
	char name[SANDBOX_NAME_MAX + 1];

	if (resolved->request->name)
		return insert_mounted(f, resolved, op, err);
	for (unsigned i = 0; i < NAME_TRIES; i++) {
		sandbox_name_generate(name);
		resolved->record.name = arena_text(a, name);
		if (insert_mounted(f, resolved, op, err) == 0)
			return 0;
		if (err->code != ERROR_CONFLICT || is_other_conflict(resolved) ||
		    err->awaits.key[0])
			break;
	}
	return -1;
}

/* The usual case: the template is ready and the caller waits. The row begins in CREATING, which
 * saves a commit. */
static int create_and_start(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                            int64_t begun_ns, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};

	resolved->record.actual = SANDBOX_CREATING;
	resolved->record.last_event = "being made";
	if (operation_begin_new(f, a, resolved->record.id, &op, err) < 0)
		return -1;
	operation_use(&op, provider_route_current(&resolved->route));
	op.route = &resolved->route;
	op.snapshot = resolved->layer;
	op.is_bare = resolved->request->base != NULL;
	op.claim = resolved->request->claim;
	if (resolved->mounts.count > 0 && resolved->request->awaited &&
	    mounts_reserve(&op, &resolved->mounts, resolved->request->awaited, err) < 0)
		return -1;
	if (insert_named(f, a, resolved, &op, err) < 0)
		return -1;
	op.record = resolved->record;
	if (resolved->mounts.count > 0 && mounts_take(&op, &resolved->mounts, err) < 0) {
		lifecycle_fail(&op, err);
		return -1;
	}
	if (lifecycle_create(&op, &resolved->template, begun_ns, err) < 0)
		return -1;
	resolved->record = op.record;
	return 0;
}

static const char *describe_wait(struct arena *a, const struct template_record *t)
{
	if (t->state == TEMPLATE_READY)
		return "waiting for a worker";
	return t->is_pulled ? arena_format(a, "waiting for the pull of image '%s'", t->base_image)
	                    : "waiting for its template";
}

static int create_pending(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                          int64_t begun_ns, struct error *err)
{
	struct cache_entry *entry;
	int result;

	resolved->record.last_event = describe_wait(a, &resolved->template);
	entry = cache_pin(f->cache, resolved->record.id);
	cache_set_queued(f->cache, entry, true);
	result = insert_named(f, a, resolved, NULL, err);
	if (result == 0)
		result = pending_submit(f, a, resolved, begun_ns, err);
	if (result < 0)
		cache_set_queued(f->cache, entry, false);
	cache_unpin(f->cache, entry);
	return result;
}

/* The files of a template built by steps are on the server that built it. */
static int find_layer(const struct fleet *f, struct resolved_create *resolved, struct error *err)
{
	const struct template_record *t = &resolved->template;

	resolved->layer = resolved->snapshot;
	if (!resolved->layer && resolved->request->base)
		resolved->layer =
		        *resolved->request->base->layer ? resolved->request->base->layer : NULL;
	else if (!resolved->layer && *t->snapshot_id)
		resolved->layer = t->snapshot_id;
	if (resolved->layer != t->snapshot_id || strcmp(t->node, f->node) == 0)
		return 0;
	(void)elsewhere_fail(f, &(struct elsewhere){"template", t->name, "was built", t->node},
	                     err);
	return FAIL_HINT(err, "build it here, too, under another name");
}

/* Repeats if the project has changed since its row was read. */
static int resolve_and_make(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                            int64_t begun_ns, struct error *err)
{
	const struct fleet_create *request = resolved->request;
	for (unsigned i = 0; i < PROJECT_TRIES; i++) {
		int result;

		error_clear(err);
		resolved->is_outdated = false;
		if (request_resolve(f, a, resolved, err) < 0 ||
		    mounts_resolve(f, a, resolved, err) < 0)
			return -1;
		if (!gate_enter(f->gate, err))
			return -1;
		result = request->wait ? create_and_start(f, a, resolved, begun_ns, err)
		                       : create_pending(f, a, resolved, begun_ns, err);
		gate_leave(f->gate);
		if (result == 0 || !resolved->is_outdated)
			return result;
		project_forget(f, request->project_id);
	}
	return -1;
}

/* Before the row is written. Checks the request before it waits. */
static int await_template(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                          struct error *err)
{
	const struct fleet_create *request = resolved->request;
	const struct template_need need = {request->project_id, request->awaited};
	struct template_record *t = &resolved->template;

	if (!request->wait || t->state == TEMPLATE_READY)
		return 0;
	if (request_resolve(f, a, resolved, err) < 0)
		return -1;
	if (request->awaited)
		return fleet_template_require(f, a, t, &need, err);
	if (fleet_template_ready(f, a, t, deadline_after(TEMPLATE_TIMEOUT_MS), err) < 0)
		return -1;
	return request_check_caller(f, a, request, err);
}

/* Finds the snapshot that the request names, and the template that it needs. */
static int resolve_snapshot(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                            const char **ret_template, struct error *err)
{
	const struct fleet_create *request = resolved->request;
	const struct fleet_ref ref = {request->project_id, request->snapshot};
	struct snapshot_record r;

	if (snapshot_find_ready(f, a, &ref, &r, err) < 0)
		return -1;
	if (request->template && strcmp(request->template, r.template_id) != 0 &&
	    strcmp(request->template, r.template_name) != 0)
		return FAIL(err, ERROR_INVALID, "snapshot '%s' lies on template '%s', not '%s'",
		            r.name, r.template_name, request->template);
	resolved->snapshot = r.id;
	resolved->snapshot_provider = r.provider;
	*ret_template = r.template_id;
	return 0;
}

int create_prepare(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                   struct error *err)
{
	const struct fleet_create *request = resolved->request;
	const struct spender spender = {.project_id = request->project_id,
	                                .key_id = request->key_id,
	                                .labels = {&request->labels, &request->own_labels}};
	struct fleet_create source = *request;

	if (request_check(request, err) < 0 || budgets_check(f, &spender, err) < 0 ||
	    (request->snapshot && resolve_snapshot(f, a, resolved, &source.template, err) < 0))
		return -1;
	return create_find_template(f, a, request->project_id, &source, &resolved->template, err);
}

int fleet_create(struct fleet *fleet, struct arena *a, const struct fleet_create *request,
                 struct sandbox_record *ret, struct error *err)
{
	int64_t begun_ns = clock_monotonic_ns();
	struct resolved_create resolved = {.request = request};

	if (create_prepare(fleet, a, &resolved, err) < 0 ||
	    await_template(fleet, a, &resolved, err) < 0 || find_layer(fleet, &resolved, err) < 0 ||
	    resolve_and_make(fleet, a, &resolved, begun_ns, err) < 0)
		return -1;
	*ret = resolved.record;
	return 0;
}
