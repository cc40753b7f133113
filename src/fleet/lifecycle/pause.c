/* SPDX-License-Identifier: Apache-2.0 */

#include "base/fault.h"
#include "fleet/core/cache.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/template/templates.h"
#include "fleet/usage/meters.h"
#include "fleet/volume/mounts.h"
#include "provider/memory.h"
#include "provider/timed.h"
#include "store/secret_windows.h"
#include "store/templates.h"

#define UNDO_TIMEOUT_MS 5000

/* The row says STARTED: resumes the sandbox; if that fails, the next sweep does it. */
static void undo_pause(struct operation *op)
{
	struct error err = {0};

	if (lifecycle_resume_provider(op, deadline_after(UNDO_TIMEOUT_MS), &err) < 0)
		log_warning("what could not be paused is not resumed yet",
		            TEXT("sandbox", op->record.id), FAILURE(&err));
}

static const char *paused_text(enum sandbox_reason reason)
{
	if (reason == SANDBOX_REASON_IDLE)
		return "paused: it was idle";
	if (reason == SANDBOX_REASON_DISK)
		return "paused: its disk is full; resume it and delete files, or give it more "
		       "disk_mb";
	return reason == SANDBOX_REASON_LIFETIME ? "paused: its time was over" : "paused";
}

typedef int provider_pause(struct provider *p, const char *id, int64_t deadline, struct error *err);

static int pause_sandbox_by(struct operation *op, provider_pause *pause,
                            const struct operation_move *paused, struct error *err)
{
	struct provider_timed *timed;

	timed = provider_timed_begin("pause");
	if (provider_timed_end(
	            timed, pause(op->provider, op->record.id, deadline_after(CALL_TIMEOUT_MS), err),
	            err) < 0) {
		undo_pause(op);
		return FAIL_CONTEXT(err, "pause sandbox '%s'", op->record.name);
	}
	fault_point("api", "pause-frozen");
	meters_write_sent(op->fleet, op->record.id); /* no round looks at what is paused */
	if (op->record.actual != SANDBOX_PAUSED && operation_move(op, paused, err) < 0) {
		undo_pause(op);
		return -1;
	}
	fault_point("api", "pause-recorded");
	return 0;
}

/* Moves are lazy here: a crash of the machine that loses one also ends the paused sandbox. */
int lifecycle_pause(struct operation *op, enum sandbox_reason reason, struct error *err)
{
	const struct operation_move paused = {
	        .to = SANDBOX_PAUSED,
	        .desired = SANDBOX_PAUSED,
	        .reason = reason,
	        .event = paused_text(reason),
	        .is_lazy = true,
	};

	if (provider_require(op->provider, PROVIDER_CAN_PAUSE, err) < 0)
		return -1;
	return pause_sandbox_by(op, op->ops->pause, &paused, err);
}

static int refuse_secrets(const struct operation *op, struct error *err)
{
	return store_secret_window_refuse(op->fleet->store, op->record.id, "a pause to disk", err);
}

static void undo_pause_to_disk(struct operation *op)
{
	struct error err = {0};

	if (lifecycle_resume(op, &err) < 0)
		log_warning("a sandbox with credentials in its memory stays paused",
		            TEXT("sandbox", op->record.id), FAILURE(&err));
}

static int pause_to_disk(struct operation *op, struct error *err)
{
	const struct operation_move paused = {
	        .to = SANDBOX_PAUSED,
	        .desired = SANDBOX_PAUSED,
	        .reason = SANDBOX_REASON_USER,
	        .event = "paused: its memory is on disk",
	};

	if (provider_require(op->provider, PROVIDER_CAN_KEEP_MEMORY, err) < 0 ||
	    refuse_secrets(op, err) < 0)
		return -1;
	meters_write_sent(op->fleet,
	                  op->record.id); /* afterwards nothing runs that has the figure */
	if (pause_sandbox_by(op, op->ops->memory->keep, &paused, err) < 0)
		return -1;
	/* A call that was under way may have opened a window meanwhile. */
	if (refuse_secrets(op, err) == 0)
		return 0;
	undo_pause_to_disk(op);
	return -1;
}

static int resume_from_disk(struct operation *op, int64_t deadline, struct error *err)
{
	const struct fleet_ref ref = {op->record.project_id, op->record.template_id};
	struct template_record t;

	if (template_find(op->fleet, op->arena, &ref, &t, err) < 0 || mounts_load(op, err) < 0 ||
	    meters_restart_sent(op->fleet, op->record.id, err) < 0)
		return -1;
	const struct sandbox_spec spec = lifecycle_spec(op, &t);
	return op->ops->memory->resume(op->provider, &spec, deadline, err);
}

int lifecycle_resume_provider(struct operation *op, int64_t deadline, struct error *err)
{
	struct provider_timed *timed;
	int result;

	timed = provider_timed_begin("resume");
	if (op->ops->memory && op->ops->memory->is_kept(op->provider, op->record.id))
		result = resume_from_disk(op, deadline, err);
	else
		result = op->ops->resume(op->provider, op->record.id, deadline, err);
	return provider_timed_end(timed, result, err);
}

int lifecycle_resume(struct operation *op, struct error *err)
{
	struct fleet *f = op->fleet;
	AUTO(gate_leave_auto) struct gate *inside = gate_enter(f->gate, err);
	const struct spender spender = spender_of_row(&op->record);
	struct operation_move started = {
	        .to = SANDBOX_STARTED, .desired = SANDBOX_STARTED, .is_lazy = true};

	if (!inside || provider_require(op->provider, PROVIDER_CAN_PAUSE, err) < 0 ||
	    budgets_check(f, &spender, err) < 0)
		return -1;
	if (lifecycle_resume_provider(op, deadline_after(CALL_TIMEOUT_MS), err) < 0)
		return FAIL_CONTEXT(err, "resume sandbox '%s'", op->record.name);
	fault_point("api", "resume-thawed");
	started.event = arena_format(op->arena, "resumed%s", hook_run(op, HOOK_AFTER_RESUME));
	if ((op->record.traits & SANDBOX_TIMED_AWAKE && lifecycle_renew_timeout(op, err) < 0) ||
	    operation_move(op, &started, err) < 0)
		return -1;
	fault_point("api", "resume-recorded");
	defaults_prefetch(f, op->arena, &op->record);
	return 0;
}

int lifecycle_wake(struct operation *op, struct error *err)
{
	if (op->record.actual == SANDBOX_PAUSED)
		return lifecycle_resume(op, err);
	return lifecycle_start(op, clock_monotonic_ns(), err);
}

int fleet_pause(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                struct sandbox_record *ret, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};
	int result;

	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0)
		return -1;
	if (op.record.actual != SANDBOX_PAUSED) {
		if (op.record.actual != SANDBOX_STARTED)
			return refuse_state(&op.record, "paused", err);
		/* A command that arrives now must not reach the freezing sandbox: it waits, and
		 * wakes it again. */
		cache_close(fleet->cache, op.entry);
		result = lifecycle_pause(&op, SANDBOX_REASON_USER, err);
		cache_reopen(fleet->cache, op.entry);
		if (result < 0)
			return -1;
	}
	*ret = op.record;
	return 0;
}

/* A sandbox that is paused in memory moves to the disk, too. */
int fleet_pause_to_disk(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                        struct sandbox_record *ret, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};
	int result;

	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0)
		return -1;
	if (!sandbox_is_alive(&op.record))
		return refuse_state(&op.record, "paused", err);
	cache_close(fleet->cache, op.entry);
	result = pause_to_disk(&op, err);
	cache_reopen(fleet->cache, op.entry);
	if (result < 0)
		return -1;
	*ret = op.record;
	return 0;
}

int fleet_pause_for_long(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                         struct sandbox_record *ret, struct error *err)
{
	if (fleet_pause_to_disk(fleet, a, ref, ret, err) == 0)
		return 0;
	/* A conflict: windows have credentials. Any other one refuses this pause, too. */
	if (err->code != ERROR_UNSUPPORTED && err->code != ERROR_CONFLICT)
		return -1;
	error_clear(err);
	return fleet_pause(fleet, a, ref, ret, err);
}

int fleet_resume(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                 struct sandbox_record *ret, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};

	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0)
		return -1;
	if (op.record.actual != SANDBOX_STARTED) {
		if (op.record.actual != SANDBOX_PAUSED)
			return refuse_state(&op.record, "resumed", err);
		if (lifecycle_resume(&op, err) < 0)
			return -1;
	}
	*ret = op.record;
	return 0;
}
