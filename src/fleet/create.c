/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "fleet/builds.h"
#include "fleet/elsewhere.h"
#include "fleet/lease_parts.h"
#include "fleet/service_parts.h"
#include "fleet/snapshot.h"
#include "fleet/waiting.h"
#include "fleet/warm_parts.h"
#include "provider/compute.h"
#include "store/snapshots.h"

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

static struct sandbox_spec make_spec(const struct act *a, const struct template_record *t)
{
	const struct sandbox_record *r = &a->record;

	return (struct sandbox_spec){
	        .id = r->id,
	        .hostname = is_host_label(r->name) ? r->name : r->id,
	        .template_dir = t->folder,
	        .resources = r->resources,
	        .network = r->network,
	        .egress = r->egress,
	        .privileges = r->privileges,
	        .background = (r->traits & SANDBOX_IN_BACKGROUND) != 0,
	        .mounts = a->mounts,
	        .mount_count = a->mount_count,
	        .warm = warm_name(a->arena, t),
	        .snapshot = a->snapshot,
	        .owner = a->fleet->node,
	        .lease_epoch = lease_epoch_of(a->claim),
	};
}

static int finish_start(struct act *a, const struct provider_created *created, int64_t begun_ns,
                        struct error *err)
{
	const char *took = format_duration(a->arena, clock_monotonic_ns() - begun_ns);
	bool is_lost = false;
	const struct act_move started = {
	        .to = SANDBOX_STARTED,
	        .desired = -1,
	        .event = arena_format(a->arena, "started in %s", took),
	        .created = created,
	        /* Of a new one that is not to last, see is_synced. */
	        .is_lazy = a->record.started_at == 0 && !a->record.persistent,
	        .lease = a->claim ? lease_to_finish(a->claim) : NULL,
	        .ret_lease_lost = &is_lost,
	};

	if (act_move(a, &started, err) < 0)
		return -1;
	if (a->claim)
		lease_finished(a->claim, is_lost);
	fault_point("api", "create-started");
	if (a->record.desired != SANDBOX_DELETED)
		return 0;
	/* Somebody wanted it gone while it was being made, and left that to us. */
	if (act_delete(a, SANDBOX_REASON_USER, err) < 0)
		return -1;
	return FAIL(err, ERROR_CONFLICT, "sandbox '%s' was deleted while it was being made",
	            a->record.name);
}

void act_fail(struct act *a, const struct error *why)
{
	const struct act_move failed = {
	        .to = SANDBOX_FAILED,
	        .desired = -1,
	        .reason = SANDBOX_REASON_ERROR,
	        .event = why->text,
	};
	struct error err = {0};

	atomic_fetch_add(&a->fleet->create_failed, 1);
	act_clear(a);
	if (act_move(a, &failed, &err) < 0) {
		log_warning("a failed sandbox is not marked yet", TEXT("sandbox", a->record.id),
		            FAILURE(&err));
		return;
	}
	if (a->record.desired == SANDBOX_DELETED && act_delete(a, SANDBOX_REASON_USER, &err) < 0)
		log_warning("delete waits for the next round", TEXT("sandbox", a->record.id),
		            FAILURE(&err));
}

void warm_up(struct fleet *f, struct arena *a, const struct sandbox_record *r)
{
	struct fleet_defaults defaults;
	struct error ignored = {0}; /* the command will tell */

	(void)!fleet_defaults(f, a, r, NULL, &defaults, &ignored);
}

/* The first command comes next: what it needs is looked for while the answer is on its way. */
struct expectation {
	struct worker_task task;
	struct fleet *fleet;
	char id[ID_SIZE + 1];
};

static void run_expectation(struct worker_task *task)
{
	struct expectation *e = CONTAINER_OF(task, struct expectation, task);
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record r;

	if (cache_hold(&e->fleet->cache, &arena, NULL, e->id, &r)) {
		warm_up(e->fleet, &arena, &r);
		compute_expect(e->fleet->provider, e->id);
		cache_unhold(&e->fleet->cache, e->id);
	}
	free(e);
}

static void expect_use(const struct act *a)
{
	struct expectation *e = calloc(1, sizeof(*e));

	if (!e)
		abort();
	*e = (struct expectation){.task = {.run = run_expectation}, .fleet = a->fleet};
	memcpy(e->id, a->record.id, ID_SIZE);
	worker_afterwards(&e->task);
}

/* What is to last is on the disk when it is answered, and so is who has a volume. Of all others
 * nothing runs after a crash of the machine: their rows come to the disk with the next that
 * somebody waits for, or within seconds. */
static bool is_synced(const struct act *a)
{
	return a->record.persistent || a->mount_count > 0;
}

static int make(struct act *a, const struct template_record *t, struct provider_created *ret,
                struct error *err)
{
	struct fleet *f = a->fleet;
	int64_t deadline = deadline_in(CALL_TIMEOUT_MS);

	if (a->creation)
		return f->ops->create_end(f->provider, TAKE(a->creation), deadline, ret, err);
	a->spec = make_spec(a, t);
	return f->ops->create(f->provider, &a->spec, deadline, ret, err);
}

int act_make(struct act *a, const struct template_record *t, int64_t begun_ns, struct error *err)
{
	struct fleet *f = a->fleet;
	struct provider_created created = {0};
	bool syncs = is_synced(a);
	uint64_t sync = syncs ? store_sync_begin(f->store) : 0;

	fault_point("api", "create-recorded");
	if (make(a, t, &created, err) < 0) {
		error_context(err, "create sandbox '%s'", a->record.name);
		act_fail(a, err);
		return -1;
	}
	fault_point("api", "create-made");
	if (!a->is_bare && entrypoint_start(a, t, err) < 0) {
		error_context(err, "create sandbox '%s'", a->record.name);
		act_fail(a, err);
		return -1;
	}
	warm_start(a, t);
	if (finish_start(a, &created, begun_ns, err) < 0 ||
	    (syncs && store_sync_wait(f->store, sync, err) < 0)) {
		/* Made, but the store could not be told: without a row that says so it must not
		 * run on. */
		if (a->record.actual == SANDBOX_CREATING)
			act_fail(a, err);
		return -1;
	}
	expect_use(a);
	atomic_fetch_add(&f->created, 1);
	atomic_fetch_add(&f->create_us_total, (uint64_t)(clock_monotonic_ns() - begun_ns) / 1000);
	return 0;
}

/* `run` is the provider's create or start. */
static int run_again(struct act *a, const struct template_record *t, int64_t begun_ns,
                     int (*run)(struct provider *p, const struct sandbox_spec *spec,
                                int64_t deadline, struct provider_created *ret, struct error *err),
                     struct error *err)
{
	struct provider_created created = {0};
	struct sandbox_spec spec;

	if (mounts_load(a, err) < 0)
		return -1;
	spec = make_spec(a, t);
	if (run(a->fleet->provider, &spec, deadline_in(CALL_TIMEOUT_MS), &created, err) < 0 ||
	    entrypoint_start(a, t, err) < 0 || services_start(a, err) < 0)
		return -1;
	warm_start(a, t);
	return finish_start(a, &created, begun_ns, err);
}

int act_recreate(struct act *a, const struct template_record *t, int64_t begun_ns,
                 struct error *err)
{
	struct fleet *f = a->fleet;
	AUTO(gate_leave_auto) struct gate *inside = gate_enter(&f->gate, err);

	return inside ? run_again(a, t, begun_ns, f->ops->create, err) : -1;
}

int act_restart(struct act *a, const struct template_record *t, int64_t begun_ns, struct error *err)
{
	struct fleet *f = a->fleet;
	AUTO(gate_leave_auto) struct gate *inside = gate_enter(&f->gate, err);
	const struct act_move creating = {
	        .to = SANDBOX_CREATING, .desired = SANDBOX_STARTED, .event = "starting"};
	struct act_move stopped = {.to = SANDBOX_STOPPED, .desired = SANDBOX_STOPPED};
	struct error second = {0};

	if (!inside || act_move(a, &creating, err) < 0)
		return -1;
	fault_point("api", "start-recorded");
	if (run_again(a, t, begun_ns, f->ops->start, err) == 0)
		return 0;
	if (a->record.actual != SANDBOX_CREATING)
		return -1;
	/* Its files are there as before: back to where it was. */
	if (f->ops->stop(f->provider, a->record.id, 0, deadline_in(CALL_TIMEOUT_MS), &second) < 0)
		log_warning("stop after a failed start", TEXT("sandbox", a->record.id),
		            FAILURE(&second));
	stopped.event = arena_format(a->arena, "start failed: %s", err->text);
	if (act_move(a, &stopped, &second) < 0)
		log_warning("a failed start is not marked yet", TEXT("sandbox", a->record.id),
		            FAILURE(&second));
	return FAIL_CONTEXT(err, "start sandbox '%s'", a->record.name);
}

/* ---- the request ---- */

struct beginning {
	const struct draft *draft;
	struct act *act;
};

/* Nothing refuses it any more: the provider works while the row is written. Who dies in between
 * leaves an orphan, and no sweep takes it for one as long as it is acted on. */
static void begin_creation(void *context)
{
	const struct beginning *b = context;
	struct act *a = b->act;

	if (a->creation)
		return;
	a->record = b->draft->record;
	a->spec = make_spec(a, &b->draft->template);
	a->creation = a->fleet->ops->create_begin(a->fleet->provider, &a->spec);
	fault_point("api", "create-begun");
}

/* Its row was not written after all. */
static void abandon_creation(struct act *a)
{
	struct fleet *f = a->fleet;
	struct provider_created created;
	struct error ignored = {0};

	if (a->creation &&
	    f->ops->create_end(f->provider, TAKE(a->creation), deadline_in(CALL_TIMEOUT_MS),
	                       &created, &ignored) == 0)
		act_clear(a);
}

/* `act`: whose sandbox is begun when its row is accepted; NULL = later. */
static int insert_once(struct fleet *f, struct draft *draft, struct act *act, struct error *err)
{
	struct lease_claim *claim = draft->request->claim;
	struct beginning beginning = {draft, act};
	bool begins = act && draft->mounts.count == 0 && f->ops->create_begin;
	struct sandbox_insertion insertion = {
	        .record = &draft->record,
	        .project_max = draft->sandboxes_max,
	        .project_version = draft->project_version,
	        .mounts = draft->mounts.count > 0 ? &draft->mounts : NULL,
	        .origin = draft->layer,
	        .claim = claim && !claim->is_made ? &claim->lease : NULL,
	        .on_accepted = begins ? begin_creation : NULL,
	        .context = &beginning,
	};
	int result = store_sandbox_insert_with(f->store, &insertion, err);

	draft->is_outdated = insertion.is_outdated;
	if (insertion.claim)
		lease_claimed(claim, result < 0, insertion.is_claim_lost);
	if (begins && result < 0)
		abandon_creation(act);
	return result;
}

static bool is_other_conflict(const struct draft *draft)
{
	const struct lease_claim *claim = draft->request->claim;

	return draft->is_outdated || (claim && claim->is_lost);
}

/* Who has a volume may be about to let go of it. */
static int insert_mounted(struct fleet *f, struct draft *draft, struct act *act, struct error *err)
{
	if (insert_once(f, draft, act, err) == 0)
		return 0;
	if (draft->mounts.count == 0 || err->code != ERROR_CONFLICT || is_other_conflict(draft) ||
	    !mounts_wait(f, &draft->mounts, draft->request->awaited, err))
		return -1;
	error_clear(err);
	return insert_once(f, draft, act, err);
}

static int insert(struct fleet *f, struct arena *a, struct draft *draft, struct act *act,
                  struct error *err)
{
	char name[SANDBOX_NAME_MAX + 1];

	if (draft->request->name)
		return insert_mounted(f, draft, act, err);
	for (unsigned i = 0; i < NAME_TRIES; i++) {
		sandbox_name_generate(name);
		draft->record.name = arena_text(a, name);
		if (insert_mounted(f, draft, act, err) == 0)
			return 0;
		if (err->code != ERROR_CONFLICT || is_other_conflict(draft) || err->awaits.key[0])
			break;
	}
	return -1;
}

/* The usual case: the template is there, the caller waits. The row begins in CREATING, which saves
 * a commit. */
static int make_now(struct fleet *f, struct arena *a, struct draft *draft, int64_t begun_ns,
                    struct error *err)
{
	AUTO(act_end) struct act act = {0};

	draft->record.actual = SANDBOX_CREATING;
	draft->record.last_event = "being made";
	act_begin_new(f, a, draft->record.id, &act);
	act.snapshot = draft->layer;
	act.is_bare = draft->request->base != NULL;
	act.claim = draft->request->claim;
	if (draft->mounts.count > 0 && draft->request->awaited &&
	    mounts_reserve(&act, &draft->mounts, draft->request->awaited, err) < 0)
		return -1;
	if (insert(f, a, draft, &act, err) < 0)
		return -1;
	act.record = draft->record;
	if (draft->mounts.count > 0 && mounts_take(&act, &draft->mounts, err) < 0) {
		act_fail(&act, err);
		return -1;
	}
	if (act_make(&act, &draft->template, begun_ns, err) < 0)
		return -1;
	draft->record = act.record;
	return 0;
}

static int make_later(struct fleet *f, struct arena *a, struct draft *draft, int64_t begun_ns,
                      struct error *err)
{
	struct slot *slot;
	int result;

	draft->record.last_event = draft->template.state == TEMPLATE_READY
	                                   ? "waiting for a worker"
	                                   : "waiting for its template";
	slot = cache_pin(&f->cache, draft->record.id);
	cache_set_queued(&f->cache, slot, true);
	result = insert(f, a, draft, NULL, err);
	if (result == 0)
		result = pending_submit(f, a, draft, begun_ns, err);
	if (result < 0)
		cache_set_queued(&f->cache, slot, false);
	cache_unpin(&f->cache, slot);
	return result;
}

/* A template that was built by steps has its files on the server that built it. */
static int find_layer(const struct fleet *f, struct draft *draft, struct error *err)
{
	const struct template_record *t = &draft->template;

	draft->layer = draft->snapshot;
	if (!draft->layer && draft->request->base)
		draft->layer = *draft->request->base->layer ? draft->request->base->layer : NULL;
	else if (!draft->layer && *t->snapshot_id)
		draft->layer = t->snapshot_id;
	if (draft->layer != t->snapshot_id || strcmp(t->node, f->node) == 0)
		return 0;
	(void)fail_elsewhere(f, &(struct elsewhere){"template", t->name, "was built", t->node},
	                     err);
	error_hint(err, "build it here, too, under another name");
	return -1;
}

/* Again, when the project has changed since its row was read. */
static int resolve_and_make(struct fleet *f, struct arena *a, struct draft *draft, int64_t begun_ns,
                            struct error *err)
{
	const struct fleet_create *request = draft->request;
	for (unsigned i = 0; i < PROJECT_TRIES; i++) {
		int result;

		error_clear(err);
		draft->is_outdated = false;
		if (request_resolve(f, a, draft, err) < 0 || mounts_resolve(f, a, draft, err) < 0)
			return -1;
		if (!gate_enter(&f->gate, err))
			return -1;
		result = request->wait ? make_now(f, a, draft, begun_ns, err)
		                       : make_later(f, a, draft, begun_ns, err);
		gate_leave(&f->gate);
		if (result == 0 || !draft->is_outdated)
			return result;
		project_forget(f, request->project_id);
	}
	return -1;
}

/* Before there is a row. What can be refused is refused before the wait. */
static int await_template(struct fleet *f, struct arena *a, struct draft *draft, struct error *err)
{
	const struct fleet_create *request = draft->request;
	struct template_record *t = &draft->template;

	if (!request->wait || t->state == TEMPLATE_READY)
		return 0;
	if (request_resolve(f, a, draft, err) < 0)
		return -1;
	if (request->awaited)
		return fleet_template_require(f, a, t, request->project_id, err);
	return fleet_template_ready(f, a, t, deadline_in(TEMPLATE_TIMEOUT_MS), err);
}

int fleet_create(struct fleet *fleet, struct arena *a, const struct fleet_create *request,
                 struct sandbox_record *ret, struct error *err)
{
	struct fleet_ref ref = {request->project_id, request->template};
	const struct spender spender = {request->project_id, request->key_id, NULL};
	int64_t begun_ns = clock_monotonic_ns();
	struct draft draft = {.request = request};

	if (request->snapshot &&
	    snapshot_resolve(fleet, a, request, &draft.snapshot, &ref.id_or_name, err) < 0)
		return -1;
	if (!ref.id_or_name)
		ref.id_or_name = fleet->config->default_template;
	if (request_check(request, err) < 0 || budgets_check(fleet, &spender, err) < 0 ||
	    template_find(fleet, a, &ref, &draft.template, err) < 0 ||
	    await_template(fleet, a, &draft, err) < 0 || find_layer(fleet, &draft, err) < 0 ||
	    resolve_and_make(fleet, a, &draft, begun_ns, err) < 0)
		return -1;
	*ret = draft.record;
	return 0;
}
