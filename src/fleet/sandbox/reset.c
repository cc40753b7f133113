/* SPDX-License-Identifier: Apache-2.0 */
/* Reset: an empty top layer, and no processes. */
#include "base/fault.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/sandbox/egress.h"
#include "fleet/sandbox/fork.h"
#include "provider/snapshots.h"
#include "store/services.h"

/* Before anything is ended. */
static int check_files(struct operation *op, const char *origin, struct error *err)
{
	if (op->ops->snapshots->can_restore(op->provider, op->record.id, origin,
	                                    deadline_after(CALL_TIMEOUT_MS), err) == 0)
		return 0;
	if (*origin && err->code == ERROR_NOT_FOUND)
		error_hint(err, "the snapshot that it was made of is gone: make a new sandbox");
	return FAIL_CONTEXT(err, "reset '%s'", op->record.name);
}

static int clear_files(struct operation *op, const char *origin, struct error *err)
{
	struct fleet *f = op->fleet;

	if (op->ops->snapshots->restore(op->provider, op->record.id, origin,
	                                deadline_after(CALL_TIMEOUT_MS), err) < 0)
		return FAIL_CONTEXT(err, "reset '%s'", op->record.name);
	fault_point("api", "reset-cleared");
	return store_snapshot_set_base(f->store, op->record.id, origin, err);
}

/* An interrupted reset leaves the sandbox stopped, with old files or with none. */
static int reset_sandbox(struct operation *op, int64_t begun_ns, struct error *err)
{
	struct error second = {0};
	struct snapshot_base base;
	int status;

	if (!sandbox_is_alive(&op->record) && op->record.actual != SANDBOX_STOPPED)
		return refuse_state(&op->record, "reset", err);
	if (sandbox_is_alive(&op->record) && egress_refuse_cut(op, "reset", err) < 0)
		return -1;
	if (store_snapshot_base(op->fleet->store, op->arena, op->record.id, &base, err) < 0 ||
	    check_files(op, base.origin_id, err) < 0)
		return -1;
	if (op->record.actual != SANDBOX_STOPPED &&
	    lifecycle_kill(op, SANDBOX_REASON_USER, err) < 0)
		return -1;
	fault_point("api", "reset-ended");
	status = store_services_clear(op->fleet->store, op->record.id, err);
	if (status == 0)
		status = clear_files(op, base.origin_id, err);
	if (lifecycle_start(op, begun_ns, status < 0 ? &second : err) < 0)
		return -1;
	return status;
}

int fleet_reset(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                struct sandbox_record *ret, struct error *err)
{
	int64_t begun_ns = clock_monotonic_ns();
	AUTO(operation_end) struct operation op = {0};

	if (provider_require(fleet->provider, PROVIDER_CAN_SNAPSHOT, err) < 0 ||
	    operation_find_and_begin(fleet, a, ref, &op, err) < 0 ||
	    sandbox_require(fleet, &op.record, PROVIDER_CAN_SNAPSHOT, err) < 0 ||
	    reset_sandbox(&op, begun_ns, err) < 0)
		return -1;
	*ret = op.record;
	return 0;
}
