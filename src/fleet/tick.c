/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fleet/archive.h"
#include "fleet/artifacts.h"
#include "fleet/events.h"
#include "fleet/lifecycle.h"
#include "fleet/meters.h"
#include "fleet/pairing_parts.h"
#include "fleet/rounds.h"
#include "fleet/service_parts.h"
#include "fleet/shared_work.h"
#include "provider/compute.h"
#include "sandbox/expiry.h"

#define SWEEP_EVERY_MS 60000
#define PING_TIMEOUT_MS 2000
/* How long lists still show what is deleted. */
#define DELETED_KEPT_MS (24 * 3600 * INT64_C(1000))
/* After its time an entry of the trash is gone at the latest so much later. */
#define TRASH_TRIMMED_MS (3600 * INT64_C(1000))

/* ---- ends ---- */

static struct ended_sandbox *take_ended(struct fleet *f)
{
	struct ended_sandbox *ended;

	pthread_mutex_lock(&f->ended_mutex);
	ended = f->ended;
	f->ended = NULL;
	pthread_mutex_unlock(&f->ended_mutex);
	return ended;
}

/* The provider has paused it already: the row is to say so. */
static int pause_full(struct operation *op, struct error *err)
{
	int result;

	if (op->record.actual != SANDBOX_STARTED)
		return 0;
	cache_close(op->fleet->cache, op->entry);
	result = lifecycle_pause(op, SANDBOX_REASON_DISK, err);
	cache_reopen(op->fleet->cache, op->entry);
	return result;
}

/* The sandbox may have been started again or stopped since: row and provider decide, not the
 * message. */
static int reconcile_end(struct fleet *f, const struct ended_sandbox *ended, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	enum observed_state observed;

	if (operation_begin(f, &arena, ended->id, deadline_after(CALL_TIMEOUT_MS), &op, err) < 0)
		return err->code == ERROR_NOT_FOUND ? 0 : -1;
	if (op.record.actual != SANDBOX_STARTED && op.record.actual != SANDBOX_PAUSED)
		return 0;
	if (ended->reason == SANDBOX_REASON_DISK)
		return pause_full(&op, err);
	if (observed_state_find(f, ended->id, &observed, err) < 0)
		return -1;
	return lifecycle_reconcile(&op, observed, ended->reason, err);
}

void ended_reconcile(struct fleet *f)
{
	struct ended_sandbox *ended = take_ended(f);

	while (ended) {
		struct ended_sandbox *next = ended->next;
		struct error err = {0};

		if (reconcile_end(f, ended, &err) < 0)
			log_warning("an end waits for the next sweep", TEXT("sandbox", ended->id),
			            FAILURE(&err));
		free(ended);
		ended = next;
	}
}

/* ---- unfinished work ---- */

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
	if (observed_state_find(f, id, &observed, &err) < 0 ||
	    lifecycle_reconcile(&op, observed, SANDBOX_REASON_HOST_LOST, &err) < 0)
		log_warning("sandbox is not settled", TEXT("sandbox", id), FAILURE(&err));
}

/* ---- expiry ---- */

static bool is_spent(struct fleet *f, const struct sandbox_record *r)
{
	const struct spender spender = {r->project_id, r->key_id, r->id};
	struct error ignored = {0};

	return budgets_check(f, &spender, &ignored) < 0;
}

static struct sandbox_due find_due(struct fleet *f, const struct sandbox_record *r)
{
	const struct sandbox_expiry expiry = {
	        .state = r->actual,
	        .traits = (unsigned)r->traits,
	        .persistent = r->persistent,
	        .busy = cache_is_held(f->cache, r->id),
	        .can_pause = (f->ops->abilities & PROVIDER_CAN_PAUSE) != 0,
	        .can_stop = (f->ops->abilities & PROVIDER_CAN_STOP) != 0,
	        .can_archive = f->blobs && (f->ops->abilities & PROVIDER_CAN_SNAPSHOT) != 0,
	        .created_at = r->created_at,
	        .started_at = r->started_at,
	        .last_activity_at = r->last_activity_at,
	        .stopped_at = r->stopped_at,
	        .timeout_at = r->timeout_at,
	        .awake_until = r->awake_until,
	        .idle_pause_ms = r->idle_pause_ms,
	        .idle_stop_ms = r->idle_stop_ms,
	        .idle_reap_ms = r->idle_reap_ms,
	        .archive_after_ms = r->archive_after_ms,
	        .delete_after_ms = r->delete_after_ms,
	        .lifetime_max_ms = r->lifetime_max_ms,
	};

	if (r->actual == SANDBOX_STARTED && is_spent(f, r))
		return (struct sandbox_due){expiry.can_stop ? SANDBOX_STEP_STOP
		                                            : SANDBOX_STEP_DELETE,
		                            SANDBOX_REASON_BUDGET};
	return sandbox_expiry_due(&expiry,
	                          clock_unix_ms() - atomic_load(&f->pairing->jump.expiry_back_ms));
}

/* Whether a command without a client runs. An agent that does not answer counts as having none. */
static bool has_processes(struct fleet *f, const char *id)
{
	AUTO(arena_done) struct arena arena = {0};
	struct agent_pong pong = {0};
	const struct compute_call ping = {
	        .type = AGENT_PING,
	        .reply_type = AGENT_PONG,
	        .reply_shape = agent_pong_shape,
	        .reply = &pong,
	        .reply_size = sizeof(pong),
	};
	struct error err = {0};

	if (!(f->ops->abilities & PROVIDER_CAN_EXEC))
		return false;
	if (compute_call(f->provider, id, &arena, &ping, deadline_after(PING_TIMEOUT_MS), &err) <
	    0) {
		log_debug("agent does not answer", TEXT("sandbox", id), FAILURE(&err));
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
	if (r->actual == SANDBOX_STARTED && has_processes(f, r->id))
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

/* ---- the tick ---- */

/* ---- archiving, which takes longer than a tick ---- */

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

static void tick_sandbox(struct fleet *f, const struct sandbox_record *r, UNUSED void *context)
{
	struct sandbox_due due = find_due(f, r);

	samples_add(f, r);
	note_row(f, r);
	fleet_events_add_unresponsive(f, r);
	if (is_unfinished(r))
		finish_sandbox(f, r->id);
	else if (due.step == SANDBOX_STEP_ARCHIVE)
		archive_later(f, r);
	else if (due.step != SANDBOX_STEP_NONE)
		expire_sandbox(f, r->id);
}

/* An undelete needs the row while the trash has the files. */
static int purge_deleted(struct fleet *f, struct error *err)
{
	int64_t keep_ms = f->config->deleted_keep_ms + TRASH_TRIMMED_MS;

	if (keep_ms < DELETED_KEPT_MS)
		keep_ms = DELETED_KEPT_MS;
	return store_sandbox_purge(f->store, fleet_retention_ms(f) - keep_ms, err);
}

static int purge_usage(struct fleet *f, struct error *err)
{
	int64_t keep_ms = f->config->usage_keep_ms;

	return keep_ms > 0 ? store_usage_purge(f->store, fleet_retention_ms(f) - keep_ms, err) : 0;
}

static int run_tick(struct fleet *f, struct error *err)
{
	int64_t now = clock_monotonic_ms();

	jump_check_clock(f);
	ended_reconcile(f);
	egress_repeat_rules(f);
	fleet_events_add_ends(f);
	pairing_tick(f);
	notes_check_keys(f);
	pending_wake(f, NULL);
	browsers_tidy(f, false);
	/* What cannot be written now is written later: the rows keep it. */
	if (meters_write(f, f->config->usage_flush_ms, true, err) < 0) {
		log_warning("usage waits for the next round", FAILURE(err));
		error_clear(err);
	}
	samples_begin(f);
	if (fleet_each_sandbox(f, tick_sandbox, NULL, err) < 0 || leases_reconcile(f, err) < 0 ||
	    pools_reconcile(f, err) < 0 || services_reconcile(f, err) < 0)
		return -1;
	if (now - f->swept_at >= SWEEP_EVERY_MS) {
		f->swept_at = now;
		if (fleet_sweep(f, err) < 0 || volumes_reconcile(f, false, err) < 0 ||
		    mounts_reconcile(f, err) < 0 || snapshots_sweep(f, false, err) < 0 ||
		    purge_deleted(f, err) < 0 || purge_usage(f, err) < 0)
			return -1;
		if (artifacts_purge(f, false, err) < 0 || artifacts_meter(f, err) < 0)
			return -1;
		holdings_tick(f);
		layers_sweep(f, false);
		builds_tick(f);
		failed_tick(f);
		projects_finish(f);
		notes_of_owners(f);
		pairing_advance(f);
		jump_write(f);
		trash_tick(f);
	}
	if (fleet_events_purge(f, err) < 0)
		return -1;
	return store_tidy(f->store, err);
}

void fleet_tick(struct fleet *fleet)
{
	struct error err = {0};

	/* A tick that takes longer than the time between two is not joined by a second. */
	if (atomic_exchange(&fleet->is_ticking, true))
		return;
	if (run_tick(fleet, &err) < 0)
		log_warning("a round of the fleet was cut short", FAILURE(&err));
	atomic_store(&fleet->is_ticking, false);
}
