/* SPDX-License-Identifier: Apache-2.0 */
/* With the provider: from a row to a sandbox that runs. */

#include <assert.h>
#include <string.h>

#include "base/fault.h"
#include "fleet/core/labels.h"
#include "fleet/core/preparer.h"
#include "fleet/lifecycle/lease_claim.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/lifecycle/route.h"
#include "fleet/lifecycle/service_send.h"
#include "fleet/lifecycle/source.h"
#include "fleet/template/warm_parts.h"
#include "fleet/volume/mounts.h"
#include "provider/timed.h"
#include "sandbox/egress.h"
#include "store/database.h"
#include "store/templates.h"

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

struct sandbox_spec lifecycle_spec(const struct operation *op, const struct template_record *t)
{
	const struct sandbox_record *r = &op->record;

	return (struct sandbox_spec){
	        .id = r->id,
	        .hostname = is_host_label(r->name) ? r->name : r->id,
	        .template_dir = t->folder,
	        .resources = r->resources,
	        .network = r->network,
	        .egress = sandbox_egress_under(op->arena, source_add(op, r->egress), r->egress_cut),
	        .privileges = r->privileges,
	        .gpus = labels_gpus_of_row(op->arena, r->labels_json),
	        .background = (r->traits & SANDBOX_IN_BACKGROUND) != 0,
	        .mounts = op->mounts,
	        .mount_count = op->mount_count,
	        .warm = op->ops->abilities & PROVIDER_CAN_ISOLATE ? warm_name(op->arena, t) : NULL,
	        .snapshot = op->snapshot,
	        .owner = op->fleet->node,
	        .lease_epoch = lease_epoch_of(op->claim),
	        .is_ephemeral = labels_text_of_row(op->arena, r->labels_json,
	                                           SANDBOX_EPHEMERAL_LABEL) != NULL,
	        .workspace = op->ops->keeps_workspaces
	                             ? labels_text_of_row(op->arena, r->labels_json,
	                                                  SANDBOX_WORKSPACE_LABEL)
	                             : NULL,
	        .project = r->project_id,
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

/* Rows of persistent sandboxes and of volumes are on disk before the answer. Other sandboxes do not
 * survive a crash of the machine: their rows reach the disk with the next synced commit, or within
 * seconds. */
static bool is_synced(const struct operation *op)
{
	return op->record.persistent || op->mount_count > 0;
}

/* Its first command already trusts the authority of its credential proxy. */
static void prepare_start(const struct operation *op)
{
	if (*op->record.rules_json)
		preparer_run(op->fleet, op->provider, &op->record);
}

int lifecycle_create(struct operation *op, const struct template_record *t, int64_t begun_ns,
                     struct error *err)
{
	struct fleet *f = op->fleet;
	struct provider_created created = {0};
	bool syncs = is_synced(op);
	uint64_t sync = syncs ? store_sync_begin(f->store) : 0;

	fault_point("api", "create-recorded");
	if (provider_route_create(op, t, &created, err) < 0) {
		error_context(err, "create sandbox '%s'", op->record.name);
		lifecycle_fail(op, err);
		return -1;
	}
	fault_point("api", "create-made");
	prepare_start(op);
	if ((created.continues && services_end_inherited(op, err) < 0) ||
	    (!op->is_bare && !created.continues && entrypoint_start(op, t, err) < 0)) {
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
	lifecycle_prefetch(op);
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
	struct provider_timed *timed;
	struct sandbox_spec spec;

	if (mounts_load(op, err) < 0)
		return -1;
	spec = lifecycle_spec(op, t);
	timed = provider_timed_begin("start");
	if (provider_timed_end(
	            timed, run(op->provider, &spec, deadline_after(CALL_TIMEOUT_MS), &created, err),
	            err) < 0)
		return -1;
	prepare_start(op);
	if (entrypoint_start(op, t, err) < 0 || services_start(op, err) < 0)
		return -1;
	warm_start(op, t);
	return finish_start(op, &created, begun_ns, err);
}

int lifecycle_recreate(struct operation *op, const struct template_record *t, int64_t begun_ns,
                       struct error *err)
{
	struct fleet *f = op->fleet;
	AUTO(gate_leave_auto) struct gate *inside = gate_enter(f->gate, err);

	assert(op->record.actual == SANDBOX_CREATING && op->snapshot);
	return inside ? start_in_provider(op, t, begun_ns, op->ops->create, err) : -1;
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
	if (start_in_provider(op, t, begun_ns, op->ops->start, err) == 0)
		return 0;
	if (op->record.actual != SANDBOX_CREATING)
		return -1;
	/* The files are unchanged: back to STOPPED. */
	if (op->ops->stop(op->provider, op->record.id, 0, deadline_after(CALL_TIMEOUT_MS),
	                  &second) < 0)
		log_warning("stop after a failed start", TEXT("sandbox", op->record.id),
		            FAILURE(&second));
	stopped.event = arena_format(op->arena, "start failed: %s", err->text);
	if (operation_move(op, &stopped, &second) < 0)
		log_warning("a failed start is not marked yet", TEXT("sandbox", op->record.id),
		            FAILURE(&second));
	return FAIL_CONTEXT(err, "start sandbox '%s'", op->record.name);
}
