/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a snapshot in its own sandbox, or in a new sandbox. */
#include "base/fault.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/lifecycle/resolved_create.h"
#include "fleet/sandbox/egress.h"
#include "fleet/sandbox/fork.h"
#include "fleet/snapshot/snapshot.h"
#include "provider/snapshots.h"

static int restore_stopped(struct operation *op, const struct snapshot_record *r, struct error *err)
{
	struct fleet *f = op->fleet;

	if (op->ops->snapshots->restore(op->provider, op->record.id, r->id,
	                                deadline_after(CALL_TIMEOUT_MS), err) < 0)
		return FAIL_CONTEXT(err, "restore '%s'", op->record.name);
	fault_point("api", "snapshot-restored");
	return store_snapshot_set_base(f->store, op->record.id, r->id, err);
}

static int restore_sandbox(struct operation *op, const struct snapshot_record *r, struct error *err)
{
	bool was_started = op->record.actual != SANDBOX_STOPPED;
	struct error second = {0};
	int status;

	if (snapshot_check_state(&op->record, err) < 0 ||
	    sandbox_require(op->fleet, &op->record, PROVIDER_CAN_SNAPSHOT, err) < 0 ||
	    (was_started && egress_refuse_cut(op, "restored", err) < 0))
		return -1;
	/* Before anything is ended. */
	if (op->ops->snapshots->can_restore(op->provider, op->record.id, r->id,
	                                    deadline_after(CALL_TIMEOUT_MS), err) < 0)
		return FAIL_CONTEXT(err, "restore '%s'", op->record.name);
	if (was_started && lifecycle_stop(op, SANDBOX_REASON_USER, err) < 0)
		return -1;
	status = restore_stopped(op, r, err);
	/* With the files that it has: those of before, when they could not be restored. */
	if (was_started &&
	    lifecycle_start(op, clock_monotonic_ns(), status < 0 ? &second : err) < 0)
		return -1;
	return status;
}

/* What its own sandbox comes to. */
enum { RESTORE_FAILED = -1, RESTORE_DONE, RESTORE_GONE };

static int restore_own(struct fleet *f, struct arena *a, const struct snapshot_record *r,
                       const struct fleet_awaited *awaited, struct sandbox_record *ret,
                       struct error *err)
{
	AUTO(operation_end) struct operation op = {0};

	if (operation_await(f, a, r->sandbox_id, awaited, &op, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return RESTORE_FAILED;
		error_clear(err);
		return RESTORE_GONE;
	}
	if (sandbox_check_local(f, &op.record, err) < 0 || restore_sandbox(&op, r, err) < 0)
		return RESTORE_FAILED;
	*ret = op.record;
	return RESTORE_DONE;
}

int fleet_snapshot_restore(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                           struct sandbox_record *ret, struct error *err)
{
	struct snapshot_record r;
	int result;

	if (snapshot_find_ready(fleet, a, ref, &r, err) < 0)
		return -1;
	result = restore_own(fleet, a, &r, ref->awaited, ret, err);
	if (result != RESTORE_GONE)
		return result == RESTORE_DONE ? 0 : -1;
	(void)FAIL(err, ERROR_CONFLICT, "the sandbox of snapshot '%s' is deleted", r.name);
	return FAIL_HINT(err, "create one with \"snapshot\"");
}

/* The new sandbox copies the settings of the snapshot's own one. If that is unknown, it gets no
 * network: its rules are unknown, too. */
static int like_its_sandbox(struct fleet *f, struct arena *a, const struct snapshot_record *r,
                            struct fleet_create *ret, struct error *err)
{
	struct sandbox_record was;

	if (store_sandbox_find_ended(f->store, a, r->project_id, r->sandbox_id, &was, err) == 0)
		return request_like_sandbox(f, a, &was, ret, err);
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	*ret = (struct fleet_create){.internet = 0, .wait = true};
	return 0;
}

int fleet_snapshot_restore_as(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                              const struct fleet_restore *request, struct fleet_restored *ret,
                              struct error *err)
{
	struct fleet_create create;
	struct snapshot_record r;
	int result = RESTORE_GONE;

	if (snapshot_check_request(fleet, request->name, err) < 0 ||
	    snapshot_find_ready(fleet, a, ref, &r, err) < 0)
		return -1;
	if (!request->is_new)
		result = restore_own(fleet, a, &r, ref->awaited, &ret->sandbox, err);
	ret->is_new = result == RESTORE_GONE;
	if (!ret->is_new)
		return result == RESTORE_DONE ? 0 : -1;
	if (like_its_sandbox(fleet, a, &r, &create, err) < 0)
		return -1;
	create.project_id = ref->project_id;
	create.key_id = request->key_id;
	create.user_id = request->user_id;
	create.name = request->name;
	create.template = NULL; /* the snapshot's */
	create.snapshot = r.id;
	return fleet_create(fleet, a, &create, &ret->sandbox, err);
}
