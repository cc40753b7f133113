/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lifecycle/lifecycle.h"

#include <string.h>

#include "base/fault.h"
#include "fleet/core/background_work.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/shared_work.h"
#include "fleet/core/template_cache.h"
#include "fleet/core/waiting.h"
#include "fleet/lifecycle/archive.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/usage/meters.h"
#include "fleet/volume/mounts.h"
#include "provider/timed.h"
#include "store/sandboxes.h"

/* The hook needs a running sandbox; if the sandbox cannot be resumed, the stop continues without
 * it. */
static const char *run_before_stop(struct operation *op, bool was_paused, int64_t deadline)
{
	struct error err = {0};

	if (was_paused && op->ops->resume(op->provider, op->record.id, deadline, &err) < 0) {
		log_warning("a paused sandbox is stopped as it is", TEXT("sandbox", op->record.id),
		            FAILURE(&err));
		return "";
	}
	return hook_run(op, HOOK_BEFORE_STOP);
}

struct stop_options {
	enum sandbox_reason reason;
	bool at_once;
};

static int stop_sandbox(struct operation *op, const struct stop_options *stop, struct error *err)
{
	bool was_paused = op->record.actual == SANDBOX_PAUSED;
	const struct operation_move stopping = {.to = SANDBOX_STOPPING,
	                                        .desired = SANDBOX_STOPPED,
	                                        .reason = stop->reason,
	                                        .event = "being stopped"};
	struct operation_move stopped = {
	        .to = SANDBOX_STOPPED, .desired = -1, .is_lazy = stop->at_once};
	struct operation_move back = {.to = SANDBOX_STARTED, .desired = SANDBOX_STARTED};
	int64_t deadline = deadline_after(CALL_TIMEOUT_MS);
	struct provider_timed *timed;
	struct error second = {0};

	if (provider_require(op->provider, PROVIDER_CAN_STOP, err) < 0 ||
	    operation_move(op, &stopping, err) < 0)
		return -1;
	fault_point("api", "stop-recorded");
	stopped.event =
	        arena_format(op->arena, "stopped%s",
	                     stop->at_once ? "" : run_before_stop(op, was_paused, deadline));
	meters_write_sent(op->fleet, op->record.id);
	timed = provider_timed_begin("stop");
	if (provider_timed_end(timed,
	                       op->ops->stop(op->provider, op->record.id,
	                                     stop->at_once ? 0 : STOP_GRACE_MS, deadline, err),
	                       err) == 0) {
		fault_point("api", "stop-stopped");
		return operation_move(op, &stopped, err);
	}
	error_context(err, "stop sandbox '%s'", op->record.name);
	back.event = err->text;
	if (operation_move(op, &back, &second) < 0)
		log_warning("a failed stop is not marked yet", TEXT("sandbox", op->record.id),
		            FAILURE(&second));
	return -1;
}

int lifecycle_stop(struct operation *op, enum sandbox_reason reason, struct error *err)
{
	return stop_sandbox(op, &(struct stop_options){.reason = reason}, err);
}

int lifecycle_kill(struct operation *op, enum sandbox_reason reason, struct error *err)
{
	return stop_sandbox(op, &(struct stop_options){.reason = reason, .at_once = true}, err);
}

int lifecycle_renew_timeout(struct operation *op, struct error *err)
{
	const struct sandbox_record *r = &op->record;
	int64_t now = clock_unix_ms();

	if (r->timeout_at == 0 || r->timeout_at > now)
		return 0;
	return store_sandbox_set_timeout(
	        op->fleet->store, op->arena, r->id,
	        r->traits & SANDBOX_TIMED_AWAKE ? now + SANDBOX_WOKEN_MS : 0, &op->record, err);
}

int lifecycle_start(struct operation *op, int64_t begun_ns, struct error *err)
{
	const struct fleet_ref ref = {op->record.project_id, op->record.template_id};
	const struct spender spender = spender_of_row(&op->record);
	struct template_record t;

	if (provider_require(op->provider, PROVIDER_CAN_STOP, err) < 0 ||
	    budgets_check(op->fleet, &spender, err) < 0 ||
	    template_find(op->fleet, op->arena, &ref, &t, err) < 0 ||
	    lifecycle_renew_timeout(op, err) < 0)
		return -1;
	return op->record.actual == SANDBOX_ARCHIVED ? archive_restore(op, &t, begun_ns, err)
	                                             : lifecycle_restart(op, &t, begun_ns, err);
}

static int start_sandbox(struct operation *op, int64_t begun_ns, struct error *err)
{
	if (op->record.actual == SANDBOX_STARTED)
		return 0;
	if (op->record.actual == SANDBOX_PAUSED)
		return lifecycle_resume(op, err);
	if (op->record.actual != SANDBOX_STOPPED && op->record.actual != SANDBOX_ARCHIVED)
		return refuse_state(&op->record, "started", err);
	return lifecycle_start(op, begun_ns, err);
}

/* "anew": a sandbox that is paused is stopped before. */
#define START_ANEW "anew"

static int start_from_any(struct operation *op, const char *how, struct error *err)
{
	if (how && op->record.actual == SANDBOX_PAUSED &&
	    lifecycle_stop(op, SANDBOX_REASON_USER, err) < 0)
		return -1;
	return start_sandbox(op, clock_monotonic_ns(), err);
}

/* On a thread of the lane of backups: the files come from the blob store. */
static int run_start(struct fleet *f, UNUSED struct arena *arena, const struct shared_work *work,
                     UNUSED const char **ret_text, struct error *err)
{
	AUTO(arena_done) struct arena own = {0};
	AUTO(operation_end) struct operation op = {0};

	if (operation_begin(f, &own, work->texts[0], deadline_after(CALL_TIMEOUT_MS), &op, err) < 0)
		return -1;
	return start_from_any(&op, work->texts[1], err);
}

static void start_key(const char *sandbox_id, char ret[ERROR_AWAITS_MAX])
{
	awaited_key("start", sandbox_id, ret);
}

static int start_archived(struct operation *op, const char *how,
                          const struct fleet_awaited *awaited, struct error *err)
{
	struct fleet *f = op->fleet;
	struct shared_work work = {
	        .project_id = op->record.project_id,
	        .what = arena_format(op->arena, "the files of sandbox '%s' are being fetched",
	                             op->record.name),
	        .lane = f->background->backup_lane,
	        .run = run_start,
	        .texts = {op->record.id, how},
	};

	start_key(op->record.id, work.key);
	operation_end(op);
	return shared_work_do(f, op->arena, &work, awaited, NULL, err);
}

/* Before its row says that it starts: a call that parks leaves nothing. */
static int reserve_volumes(struct operation *op, const struct fleet_awaited *awaited,
                           struct error *err)
{
	return awaited && op->record.actual == SANDBOX_STOPPED
	               ? mounts_reserve_own(op, awaited, err)
	               : 0;
}

/* `r`: as it was found, and then as it is. */
static int start_found(struct fleet *f, struct arena *a, struct sandbox_record *r, const char *how,
                       const struct fleet_awaited *awaited, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};
	char key[ERROR_AWAITS_MAX];
	int result;

	start_key(r->id, key);
	if (!shared_work_join(f, key, awaited, &result, err)) {
		if (operation_await(f, a, r->id, awaited, &op, err) < 0)
			return -1;
		*r = op.record;
		if (r->actual != SANDBOX_ARCHIVED) {
			result = reserve_volumes(&op, awaited, err) < 0
			                 ? -1
			                 : start_from_any(&op, how, err);
			*r = op.record;
			return result;
		}
		result = start_archived(&op, how, awaited, err);
	}
	return result < 0 ? -1 : store_sandbox_find(f->store, a, r->project_id, r->id, r, err);
}

static int find_and_start(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                          const char *how, struct sandbox_record *ret, struct error *err)
{
	struct sandbox_record r;

	if (store_sandbox_find(f->store, a, ref->project_id, ref->id_or_name, &r, err) < 0 ||
	    sandbox_check_local(f, &r, err) < 0 ||
	    start_found(f, a, &r, how, ref->awaited, err) < 0)
		return -1;
	*ret = r;
	return 0;
}

int fleet_start(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                struct sandbox_record *ret, struct error *err)
{
	return find_and_start(fleet, a, ref, NULL, ret, err);
}

int fleet_start_anew(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                     struct sandbox_record *ret, struct error *err)
{
	return find_and_start(fleet, a, ref, START_ANEW, ret, err);
}

int fleet_stop(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
               struct sandbox_record *ret, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};

	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0)
		return -1;
	if (op.record.actual != SANDBOX_STOPPED) {
		if (!sandbox_is_alive(&op.record))
			return refuse_state(&op.record, "stopped", err);
		if (lifecycle_stop(&op, SANDBOX_REASON_USER, err) < 0)
			return -1;
	}
	*ret = op.record;
	return 0;
}
