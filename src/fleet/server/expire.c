/* SPDX-License-Identifier: Apache-2.0 */
/* Does the due work of a sandbox: unfinished work, expiry, archiving. */

#include <string.h>

#include "fleet/core/background_work.h"
#include "fleet/core/cache.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/shared_work.h"
#include "fleet/lifecycle/archive.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/lifecycle/reconcile.h"
#include "fleet/recovery/pairing_state.h"
#include "fleet/server/rounds.h"
#include "fleet/usage/meters.h"
#include "provider/compute.h"
#include "sandbox/expiry.h"
#include "store/sandboxes.h"
#include "wire/agent.h"

#define PING_TIMEOUT_MS 2000

static bool is_unfinished(const struct sandbox_record *r)
{
	static const bool is_between[SANDBOX_STATE_COUNT] = {
	        [SANDBOX_PENDING] = true,
	        [SANDBOX_CREATING] = true,
	        [SANDBOX_STOPPING] = true,
	        [SANDBOX_DELETING] = true,
	};

	return is_between[r->actual] || r->desired == SANDBOX_DELETED;
}

/* The thread that worked on it could not write the result. */
static void finish_sandbox(struct fleet *f, const char *id)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	struct error err = {0};
	enum observed_state observed;

	if (cache_is_busy(f->cache, id) ||
	    operation_begin(f, &arena, id, deadline_after(0), &op, &err) < 0 ||
	    !is_unfinished(&op.record))
		return;
	if (observed_state_find(&op, &observed, &err) < 0 ||
	    lifecycle_reconcile(&op, observed, SANDBOX_REASON_HOST_LOST, &err) < 0)
		log_warning("sandbox is not settled", TEXT("sandbox", id), FAILURE(&err));
}

static bool is_spent(struct fleet *f, const struct sandbox_record *r)
{
	const struct spender spender = spender_of_row(r);

	return budgets_check(f, &spender, &(struct error){0}) < 0;
}

static struct sandbox_due find_due(struct fleet *f, const struct sandbox_record *r)
{
	struct provider *p = sandbox_provider(f, r);
	unsigned abilities = p ? provider_ops_of(p)->abilities : 0;
	const struct sandbox_expiry expiry = {
	        .state = r->actual,
	        .traits = (unsigned)r->traits,
	        .persistent = r->persistent,
	        .busy = cache_is_held(f->cache, r->id),
	        .can_pause = (abilities & PROVIDER_CAN_PAUSE) != 0,
	        .can_stop = (abilities & PROVIDER_CAN_STOP) != 0,
	        .can_archive = f->blobs && (abilities & PROVIDER_CAN_BACKUP) != 0,
	        .created_at = r->created_at,
	        .started_at = r->started_at,
	        .last_activity_at = r->last_activity_at,
	        .stopped_at = r->stopped_at,
	        .timeout_at = r->timeout_at,
	        .awake_until = r->awake_until,
	        .timeouts = r->timeouts,
	};

	if (r->actual == SANDBOX_STARTED && is_spent(f, r))
		return (struct sandbox_due){expiry.can_stop ? SANDBOX_STEP_STOP
		                                            : SANDBOX_STEP_DELETE,
		                            SANDBOX_REASON_BUDGET};
	return sandbox_expiry_due(&expiry,
	                          clock_unix_ms() - atomic_load(&f->pairing->jump.expiry_back_ms));
}

/* Its call has ended without its delete, see lifecycle/ephemeral.h. */
static bool is_ephemeral(const struct sandbox_record *r)
{
	return strstr(r->labels_json, "\"" SANDBOX_EPHEMERAL_LABEL "\":") != NULL;
}

/* Whether a command without a client runs. An agent that does not answer counts as having none. */
static bool has_processes(const struct operation *op)
{
	AUTO(arena_done) struct arena arena = {0};
	struct agent_pong pong = {0};
	const struct compute_call ping = {
	        .type = AGENT_PING,
	        WIRE_REPLY(AGENT_PONG, agent_pong_shape, pong),
	};
	struct error err = {0};

	if (!(op->ops->abilities & PROVIDER_CAN_EXEC) || is_ephemeral(&op->record))
		return false;
	if (compute_call(op->provider, op->record.id, &arena, &ping,
	                 deadline_after(PING_TIMEOUT_MS), &err) < 0) {
		log_debug("agent does not answer", TEXT("sandbox", op->record.id), FAILURE(&err));
		return false;
	}
	return pong.processes > 0;
}

static int take_step(struct operation *op, struct sandbox_due due, struct error *err)
{
	static int (*const steps[])(struct operation * a, enum sandbox_reason reason,
	                            struct error * err) = {
	        [SANDBOX_STEP_PAUSE] = lifecycle_pause,
	        [SANDBOX_STEP_STOP] = lifecycle_stop,
	        [SANDBOX_STEP_DELETE] = lifecycle_delete,
	};

	return steps[due.step](op, due.reason, err);
}

/* After the close no call can hold the sandbox; before it none did. */
static int take_idle_step(struct operation *op, struct sandbox_due due, struct error *err)
{
	struct fleet *f = op->fleet;
	const struct sandbox_record *r = &op->record;
	int result = 0;

	if (!cache_close_idle(f->cache, op->entry, r->last_activity_at))
		return 0;
	if (r->actual == SANDBOX_STARTED && has_processes(op))
		store_sandbox_touch(f->store, r->id, clock_unix_ms());
	else
		result = take_step(op, due, err);
	cache_reopen(f->cache, op->entry);
	return result;
}

/* Busy or not: a command that comes now must not be sent to what is just being frozen. */
static int take_timed_step(struct operation *op, struct sandbox_due due, struct error *err)
{
	struct cache *cache = op->fleet->cache;
	int result;

	if (due.step != SANDBOX_STEP_PAUSE)
		return take_step(op, due, err);
	cache_close(cache, op->entry);
	result = take_step(op, due, err);
	cache_reopen(cache, op->entry);
	return result;
}

static void expire_sandbox(struct fleet *f, const char *id)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	struct error err = {0};
	struct sandbox_due due;
	int result = 0;

	if (operation_begin(f, &arena, id, deadline_after(0), &op, &err) < 0 ||
	    is_unfinished(&op.record))
		return;
	due = find_due(f, &op.record);
	if (due.step == SANDBOX_STEP_ARCHIVE)
		return;
	if (due.reason == SANDBOX_REASON_IDLE)
		result = take_idle_step(&op, due, &err);
	else if (due.step != SANDBOX_STEP_NONE)
		result = take_timed_step(&op, due, &err);
	if (result < 0)
		log_warning("sandbox outlives its time", TEXT("sandbox", id), FAILURE(&err));
}

/* A failed archiving is not repeated by itself: each attempt leaves a layer. */
static void archive_due(struct fleet *f, const char *id)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	struct error err = {0}, second = {0};

	if (operation_begin(f, &arena, id, deadline_after(0), &op, &err) < 0 ||
	    find_due(f, &op.record).step != SANDBOX_STEP_ARCHIVE || archive_create(&op, &err) == 0)
		return;
	log_warning("sandbox is not archived, and not tried again", TEXT("sandbox", id),
	            FAILURE(&err));
	if (store_sandbox_keep_files(f->store, id, &second) < 0)
		log_warning("it is tried again", TEXT("sandbox", id), FAILURE(&second));
}

static int run_archiving(struct fleet *f, UNUSED struct arena *arena,
                         const struct shared_work *work, UNUSED const char **ret_text,
                         UNUSED struct error *err)
{
	archive_due(f, work->texts[0]);
	return 0;
}

static void archive_later(struct fleet *f, const struct sandbox_record *r)
{
	struct shared_work work = {.project_id = r->project_id,
	                           .what = "the sandbox is being archived",
	                           .lane = f->background->backup_lane,
	                           .run = run_archiving,
	                           .texts = {r->id}};
	struct error err = {0};

	/* Else it is its turn in one of the next rounds. */
	if (cache_is_busy(f->cache, r->id))
		return;
	archive_key(r->id, work.key);
	if (shared_work_begin(f, &work, &err) < 0)
		log_debug("an archiving waits for the next round", TEXT("sandbox", r->id),
		          FAILURE(&err));
}

void sandbox_take_step(struct fleet *f, const struct sandbox_record *r)
{
	struct sandbox_due due = find_due(f, r);

	if (is_unfinished(r))
		finish_sandbox(f, r->id);
	else if (due.step == SANDBOX_STEP_ARCHIVE)
		archive_later(f, r);
	else if (due.step != SANDBOX_STEP_NONE)
		expire_sandbox(f, r->id);
}
