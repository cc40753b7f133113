/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "fleet/parts.h"

#define SWEEP_EVERY_MS 60000
#define PING_TIMEOUT_MS 2000
/* How long lists still show what is deleted. */
#define DELETED_KEPT_MS (24 * 3600 * INT64_C(1000))

/* ---- ends ---- */

static struct ended *take_ended(struct fleet *f)
{
	struct ended *ended;

	pthread_mutex_lock(&f->ended_mutex);
	ended = f->ended;
	f->ended = NULL;
	pthread_mutex_unlock(&f->ended_mutex);
	return ended;
}

/* By now it may have been started again, or stopped on request: the row and the provider decide,
 * not the message. */
static int settle_end(struct fleet *f, const struct ended *ended, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(act_end) struct act act = {0};
	enum presence presence;

	if (act_begin(f, &arena, ended->id, deadline_in(CALL_TIMEOUT_MS), &act, err) < 0)
		return err->code == ERROR_NOT_FOUND ? 0 : -1;
	if (act.record.actual != SANDBOX_STARTED)
		return 0;
	if (presence_find(f, ended->id, &presence, err) < 0)
		return -1;
	return act_settle(&act, presence, ended->reason, err);
}

void ended_settle(struct fleet *f)
{
	struct ended *ended = take_ended(f);

	while (ended) {
		struct ended *next = ended->next;
		struct error err = {0};

		if (settle_end(f, ended, &err) < 0)
			log_warning("an end waits for the next sweep", TEXT("sandbox", ended->id),
			            FAILURE(&err));
		free(ended);
		ended = next;
	}
}

/* ---- what nobody finished ---- */

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

/* The one who worked on it could not tell the store how it went. */
static void finish(struct fleet *f, const char *id)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(act_end) struct act act = {0};
	struct error err = {0};
	enum presence presence;

	if (cache_is_attended(&f->cache, id) ||
	    act_begin(f, &arena, id, deadline_in(0), &act, &err) < 0 || !is_unfinished(&act.record))
		return;
	if (presence_find(f, id, &presence, &err) < 0 ||
	    act_settle(&act, presence, SANDBOX_REASON_HOST_LOST, &err) < 0)
		log_warning("sandbox is not settled", TEXT("sandbox", id), FAILURE(&err));
}

/* ---- expiry ---- */

static enum sandbox_reason find_due(struct fleet *f, const struct sandbox_record *r)
{
	const struct sandbox_expiry expiry = {
	        .persistent = r->persistent,
	        .created_at = r->created_at,
	        .last_activity_at = r->last_activity_at,
	        .timeout_at = r->timeout_at,
	        .idle_reap_ms = r->idle_reap_ms,
	        .lifetime_max_ms = r->lifetime_max_ms,
	        .busy = cache_is_held(&f->cache, r->id),
	};

	/* A persistent one is stopped, where that can be done, and then rests. */
	if (r->persistent &&
	    (r->actual != SANDBOX_STARTED || !(f->ops->abilities & PROVIDER_CAN_STOP)))
		return SANDBOX_REASON_NONE;
	return sandbox_expiry_due(&expiry, clock_unix_ms());
}

/* Whether a command runs that nobody is attached to. An agent that does not answer has none that
 * anybody could want. */
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
	if (compute_call(f->provider, id, &arena, &ping, deadline_in(PING_TIMEOUT_MS), &err) < 0) {
		log_debug("agent does not answer", TEXT("sandbox", id), FAILURE(&err));
		return false;
	}
	return pong.processes > 0;
}

static int end(struct act *act, enum sandbox_reason due, struct error *err)
{
	return act->record.persistent ? act_stop(act, due, err) : act_delete(act, due, err);
}

/* From the moment it is closed no call can get hold of it; until then it was nobody's. */
static int end_idle(struct act *act, struct error *err)
{
	struct fleet *f = act->fleet;
	const struct sandbox_record *r = &act->record;
	int result = 0;

	if (!cache_close_idle(&f->cache, act->slot, r->last_activity_at))
		return 0;
	if (r->actual == SANDBOX_STARTED && has_processes(f, r->id))
		store_sandbox_touch(f->store, r->id, clock_unix_ms());
	else
		result = end(act, SANDBOX_REASON_IDLE, err);
	cache_reopen(&f->cache, act->slot);
	return result;
}

static void expire(struct fleet *f, const char *id)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(act_end) struct act act = {0};
	struct error err = {0};
	enum sandbox_reason due;
	int result = 0;

	if (act_begin(f, &arena, id, deadline_in(0), &act, &err) < 0 || is_unfinished(&act.record))
		return;
	due = find_due(f, &act.record);
	if (due == SANDBOX_REASON_IDLE)
		result = end_idle(&act, &err);
	else if (due != SANDBOX_REASON_NONE)
		result = end(&act, due, &err);
	if (result < 0)
		log_warning("sandbox outlives its time", TEXT("sandbox", id), FAILURE(&err));
}

/* ---- the tick ---- */

static void look_at(struct fleet *f, const struct sandbox_record *r, UNUSED void *context)
{
	if (is_unfinished(r))
		finish(f, r->id);
	else if (find_due(f, r) != SANDBOX_REASON_NONE)
		expire(f, r->id);
}

static int tick(struct fleet *f, struct error *err)
{
	int64_t now = clock_monotonic_ms();

	ended_settle(f);
	if (each_sandbox(f, look_at, NULL, err) < 0)
		return -1;
	if (now - f->swept_at >= SWEEP_EVERY_MS) {
		f->swept_at = now;
		if (fleet_sweep(f, err) < 0 ||
		    store_sandbox_purge(f->store, clock_unix_ms() - DELETED_KEPT_MS, err) < 0)
			return -1;
	}
	return store_tidy(f->store, err);
}

void fleet_tick(struct fleet *fleet)
{
	struct error err = {0};

	/* A tick that takes longer than the time between two is not joined by a second. */
	if (atomic_exchange(&fleet->is_ticking, true))
		return;
	if (tick(fleet, &err) < 0)
		log_warning("a round of the fleet was cut short", FAILURE(&err));
	atomic_store(&fleet->is_ticking, false);
}
