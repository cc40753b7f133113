/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/create.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "fleet/builds.h"
#include "fleet/elsewhere.h"
#include "fleet/lease_parts.h"
#include "fleet/lifecycle.h"
#include "fleet/meters.h"
#include "fleet/resolved_create.h"
#include "fleet/snapshot.h"
#include "fleet/warm_parts.h"
#include "provider/compute.h"

#define NAME_TRIES 8
#define PROJECT_TRIES 8

/* ---- with the provider ---- */

/* "1.8 ms", "142 ms", "12.3 s" */
static const char *format_duration(struct arena *a, int64_t ns)
{
	double ms = (double)ns / 1e6;

	if (ms < 10)
		return arena_format(a, "%.1f ms", ms);
	if (ms < 10000)
		return arena_format(a, "%.0f ms", ms);
	return arena_format(a, "%.1f s", ms / 1000);
}

static bool is_host_label(const char *name)
{
	size_t size = strlen(name);

	for (size_t i = 0; i < size; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-", name[i]))
			return false;
	return size > 0 && name[0] != '-' && name[size - 1] != '-';
}

static struct sandbox_spec make_spec(const struct operation *op, const struct template_record *t)
{
	const struct sandbox_record *r = &op->record;

	return (struct sandbox_spec){
	        .id = r->id,
	        .hostname = is_host_label(r->name) ? r->name : r->id,
	        .template_dir = t->folder,
	        .resources = r->resources,
	        .network = r->network,
	        .egress = r->egress,
	        .privileges = r->privileges,
	        .background = (r->traits & SANDBOX_IN_BACKGROUND) != 0,
	        .mounts = op->mounts,
	        .mount_count = op->mount_count,
	        .warm = warm_name(op->arena, t),
	        .snapshot = op->snapshot,
	        .owner = op->fleet->node,
	        .lease_epoch = lease_epoch_of(op->claim),
	};
}

static int finish_start(struct operation *op, const struct provider_created *created,
                        int64_t begun_ns, struct error *err)
{
	const char *took = format_duration(op->arena, clock_monotonic_ns() - begun_ns);
	bool is_lost = false;
	const struct operation_move started = {
	        .to = SANDBOX_STARTED,
	        .desired = -1,
	        .event = arena_format(op->arena, "started in %s", took),
	        .created = created,
	        /* For a new ephemeral sandbox, see is_synced. */
	        .is_lazy = op->record.started_at == 0 && !op->record.persistent,
	        .lease = op->claim ? lease_to_finish(op->claim) : NULL,
	        .ret_lease_lost = &is_lost,
	};

	if (operation_move(op, &started, err) < 0)
		return -1;
	if (op->claim)
		lease_finished(op->claim, is_lost);
	fault_point("api", "create-started");
	if (op->record.desired != SANDBOX_DELETED)
		return 0;
	/* A caller has requested its delete during the creation and left it to this thread. */
	if (lifecycle_delete(op, SANDBOX_REASON_USER, err) < 0)
		return -1;
	return FAIL(err, ERROR_CONFLICT, "sandbox '%s' was deleted while it was being made",
	            op->record.name);
}

void lifecycle_fail(struct operation *op, const struct error *why)
{
	const struct operation_move failed = {
	        .to = SANDBOX_FAILED,
	        .desired = -1,
	        .reason = SANDBOX_REASON_ERROR,
	        .event = why->text,
	};
	struct error err = {0};

	atomic_fetch_add(&op->fleet->create_failed, 1);
	lifecycle_destroy(op);
	if (operation_move(op, &failed, &err) < 0) {
		log_warning("a failed sandbox is not marked yet", TEXT("sandbox", op->record.id),
		            FAILURE(&err));
		return;
	}
	if (op->record.desired == SANDBOX_DELETED &&
	    lifecycle_delete(op, SANDBOX_REASON_USER, &err) < 0)
		log_warning("delete waits for the next round", TEXT("sandbox", op->record.id),
		            FAILURE(&err));
}

void defaults_prefetch(struct fleet *f, struct arena *a, const struct sandbox_record *r)
{
	struct fleet_defaults defaults;
	struct error ignored = {0}; /* the command will report it */

	(void)!fleet_defaults(f, a, r, NULL, &defaults, &ignored);
}

/* Prefetches what the first command needs while the answer is on its way. */
struct command_prefetch {
	struct worker_task task;
	struct fleet *fleet;
	char id[ID_SIZE + 1];
};

static void run_prefetch(struct worker_task *task)
{
	struct command_prefetch *e = CONTAINER_OF(task, struct command_prefetch, task);
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record r;

	if (cache_hold(e->fleet->cache, &arena, NULL, e->id, &r)) {
		defaults_prefetch(e->fleet, &arena, &r);
		compute_preconnect(e->fleet->provider, e->id);
		cache_unhold(e->fleet->cache, e->id);
	}
	free(e);
}

static void prefetch_command(const struct operation *op)
{
	struct command_prefetch *e = calloc(1, sizeof(*e));

	if (!e)
		abort();
	*e = (struct command_prefetch){.task = {.run = run_prefetch}, .fleet = op->fleet};
	memcpy(e->id, op->record.id, ID_SIZE);
	worker_afterwards(&e->task);
}

/* Rows of persistent sandboxes and of volumes are on disk before the answer. Other sandboxes do not
 * survive a crash of the machine: their rows reach the disk with the next synced commit, or within
 * seconds. */
static bool is_synced(const struct operation *op)
{
	return op->record.persistent || op->mount_count > 0;
}

static int create_in_provider(struct operation *op, const struct template_record *t,
                              struct provider_created *ret, struct error *err)
{
	struct fleet *f = op->fleet;
	int64_t deadline = deadline_after(CALL_TIMEOUT_MS);

	if (op->creation)
		return f->ops->create_end(f->provider, TAKE(op->creation), deadline, ret, err);
	op->spec = make_spec(op, t);
	return f->ops->create(f->provider, &op->spec, deadline, ret, err);
}

int lifecycle_create(struct operation *op, const struct template_record *t, int64_t begun_ns,
                     struct error *err)
{
	struct fleet *f = op->fleet;
	struct provider_created created = {0};
	bool syncs = is_synced(op);
	uint64_t sync = syncs ? store_sync_begin(f->store) : 0;

	fault_point("api", "create-recorded");
	if (create_in_provider(op, t, &created, err) < 0) {
		error_context(err, "create sandbox '%s'", op->record.name);
		lifecycle_fail(op, err);
		return -1;
	}
	fault_point("api", "create-made");
	if (!op->is_bare && entrypoint_start(op, t, err) < 0) {
		error_context(err, "create sandbox '%s'", op->record.name);
		lifecycle_fail(op, err);
		return -1;
	}
	warm_start(op, t);
	if (finish_start(op, &created, begun_ns, err) < 0 ||
	    (syncs && store_sync_wait(f->store, sync, err) < 0)) {
		/* The sandbox exists, but the store failed: without a row in STARTED it must not
		 * run. */
		if (op->record.actual == SANDBOX_CREATING)
			lifecycle_fail(op, err);
		return -1;
	}
	prefetch_command(op);
	atomic_fetch_add(&f->created, 1);
	atomic_fetch_add(&f->create_us_total, (uint64_t)(clock_monotonic_ns() - begun_ns) / 1000);
	return 0;
}

/* `run` is the provider's create or start. */
static int
start_in_provider(struct operation *op, const struct template_record *t, int64_t begun_ns,
                  int (*run)(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                             struct provider_created *ret, struct error *err),
                  struct error *err)
{
	struct provider_created created = {0};
	struct sandbox_spec spec;

	if (mounts_load(op, err) < 0)
		return -1;
	spec = make_spec(op, t);
	if (run(op->fleet->provider, &spec, deadline_after(CALL_TIMEOUT_MS), &created, err) < 0 ||
	    entrypoint_start(op, t, err) < 0 || services_start(op, err) < 0)
		return -1;
	warm_start(op, t);
	return finish_start(op, &created, begun_ns, err);
}

int lifecycle_recreate(struct operation *op, const struct template_record *t, int64_t begun_ns,
                       struct error *err)
{
	struct fleet *f = op->fleet;
	AUTO(gate_leave_auto) struct gate *inside = gate_enter(f->gate, err);

	return inside ? start_in_provider(op, t, begun_ns, f->ops->create, err) : -1;
}

int lifecycle_restart(struct operation *op, const struct template_record *t, int64_t begun_ns,
                      struct error *err)
{
	struct fleet *f = op->fleet;
	AUTO(gate_leave_auto) struct gate *inside = gate_enter(f->gate, err);
	const struct operation_move creating = {
	        .to = SANDBOX_CREATING, .desired = SANDBOX_STARTED, .event = "starting"};
	struct operation_move stopped = {.to = SANDBOX_STOPPED, .desired = SANDBOX_STOPPED};
	struct error second = {0};

	if (!inside || operation_move(op, &creating, err) < 0)
		return -1;
	fault_point("api", "start-recorded");
	if (start_in_provider(op, t, begun_ns, f->ops->start, err) == 0)
		return 0;
	if (op->record.actual != SANDBOX_CREATING)
		return -1;
	/* The files are unchanged: back to STOPPED. */
	if (f->ops->stop(f->provider, op->record.id, 0, deadline_after(CALL_TIMEOUT_MS), &second) <
	    0)
		log_warning("stop after a failed start", TEXT("sandbox", op->record.id),
		            FAILURE(&second));
	stopped.event = arena_format(op->arena, "start failed: %s", err->text);
	if (operation_move(op, &stopped, &second) < 0)
		log_warning("a failed start is not marked yet", TEXT("sandbox", op->record.id),
		            FAILURE(&second));
	return FAIL_CONTEXT(err, "start sandbox '%s'", op->record.name);
}

/* ---- the request ---- */

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
	op->spec = make_spec(op, &b->resolved->template);
	op->creation = op->fleet->ops->create_begin(op->fleet->provider, &op->spec);
	fault_point("api", "create-begun");
}

/* The row was not written: destroys what the provider has begun. */
static void abandon_creation(struct operation *op)
{
	struct fleet *f = op->fleet;
	struct provider_created created;
	struct error ignored = {0};

	if (op->creation &&
	    f->ops->create_end(f->provider, TAKE(op->creation), deadline_after(CALL_TIMEOUT_MS),
	                       &created, &ignored) == 0)
		lifecycle_destroy(op);
}

/* `op`: its sandbox is begun when the row is accepted; NULL: later. */
static int insert_once(struct fleet *f, struct resolved_create *resolved, struct operation *op,
                       struct error *err)
{
	struct lease_claim *claim = resolved->request->claim;
	struct beginning beginning = {resolved, op};
	bool begins = op && resolved->mounts.count == 0 && f->ops->create_begin;
	struct sandbox_insertion insertion = {
	        .record = &resolved->record,
	        .project_max = resolved->sandboxes_max,
	        .project_version = resolved->project_version,
	        .mounts = resolved->mounts.count > 0 ? &resolved->mounts : NULL,
	        .origin = resolved->layer,
	        .claim = claim && !claim->is_made ? &claim->lease : NULL,
	        .on_accepted = begins ? begin_creation : NULL,
	        .context = &beginning,
	};
	int result = store_sandbox_insert_with(f->store, &insertion, err);

	resolved->is_outdated = insertion.is_outdated;
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
	operation_begin_new(f, a, resolved->record.id, &op);
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

static int create_pending(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                          int64_t begun_ns, struct error *err)
{
	struct cache_entry *entry;
	int result;

	resolved->record.last_event = resolved->template.state == TEMPLATE_READY
	                                      ? "waiting for a worker"
	                                      : "waiting for its template";
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
	error_hint(err, "build it here, too, under another name");
	return -1;
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
	struct template_record *t = &resolved->template;

	if (!request->wait || t->state == TEMPLATE_READY)
		return 0;
	if (request_resolve(f, a, resolved, err) < 0)
		return -1;
	if (request->awaited)
		return fleet_template_require(f, a, t, request->project_id, err);
	return fleet_template_ready(f, a, t, deadline_after(TEMPLATE_TIMEOUT_MS), err);
}

int fleet_create(struct fleet *fleet, struct arena *a, const struct fleet_create *request,
                 struct sandbox_record *ret, struct error *err)
{
	struct fleet_ref ref = {request->project_id, request->template};
	const struct spender spender = {request->project_id, request->key_id, NULL};
	int64_t begun_ns = clock_monotonic_ns();
	struct resolved_create resolved = {.request = request};

	if (request->snapshot &&
	    snapshot_resolve(fleet, a, request, &resolved.snapshot, &ref.id_or_name, err) < 0)
		return -1;
	if (!ref.id_or_name)
		ref.id_or_name = fleet->config->default_template;
	if (request_check(request, err) < 0 || budgets_check(fleet, &spender, err) < 0 ||
	    template_find(fleet, a, &ref, &resolved.template, err) < 0 ||
	    await_template(fleet, a, &resolved, err) < 0 || find_layer(fleet, &resolved, err) < 0 ||
	    resolve_and_make(fleet, a, &resolved, begun_ns, err) < 0)
		return -1;
	*ret = resolved.record;
	return 0;
}
