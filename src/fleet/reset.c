/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox as it was made: an empty top layer, and none of its processes. */
#include "base/clock.h"
#include "base/fault.h"
#include "fleet/parts.h"
#include "fleet/service_parts.h"
#include "fleet/snapshots.h"
#include "provider/snapshots.h"

/* Before anything is ended. */
static int check_files(struct act *a, const char *origin, struct error *err)
{
	struct fleet *f = a->fleet;

	if (f->ops->snapshots->can_restore(f->provider, a->record.id, origin,
	                                   deadline_in(CALL_TIMEOUT_MS), err) == 0)
		return 0;
	if (*origin && err->code == ERROR_NOT_FOUND)
		error_hint(err, "the snapshot that it was made of is gone: make a new sandbox");
	return FAIL_CONTEXT(err, "reset '%s'", a->record.name);
}

static int clear_files(struct act *a, const char *origin, struct error *err)
{
	struct fleet *f = a->fleet;

	if (f->ops->snapshots->restore(f->provider, a->record.id, origin,
	                               deadline_in(CALL_TIMEOUT_MS), err) < 0)
		return FAIL_CONTEXT(err, "reset '%s'", a->record.name);
	fault_point("api", "reset-cleared");
	return store_snapshot_set_base(f->store, a->record.id, origin, err);
}

/* What dies on the way leaves it stopped, with the old files or with none: as after any stop. */
static int reset(struct act *a, int64_t begun_ns, struct error *err)
{
	struct error second = {0};
	const char *origin;
	int status;

	if (a->record.actual != SANDBOX_STARTED && a->record.actual != SANDBOX_PAUSED &&
	    a->record.actual != SANDBOX_STOPPED)
		return refuse_state(&a->record, "reset", err);
	if (store_snapshot_origin(a->fleet->store, a->arena, a->record.id, &origin, err) < 0 ||
	    check_files(a, origin, err) < 0)
		return -1;
	if (a->record.actual != SANDBOX_STOPPED && act_kill(a, SANDBOX_REASON_USER, err) < 0)
		return -1;
	fault_point("api", "reset-ended");
	status = store_services_clear(a->fleet->store, a->record.id, err);
	if (status == 0)
		status = clear_files(a, origin, err);
	if (act_start(a, begun_ns, status < 0 ? &second : err) < 0)
		return -1;
	return status;
}

int fleet_reset(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                struct sandbox_record *ret, struct error *err)
{
	int64_t begun_ns = clock_monotonic_ns();
	AUTO(act_end) struct act act = {0};

	if (provider_require(fleet->provider, PROVIDER_CAN_SNAPSHOT, err) < 0 ||
	    find_and_act(fleet, a, ref, &act, err) < 0 || reset(&act, begun_ns, err) < 0)
		return -1;
	*ret = act.record;
	return 0;
}
