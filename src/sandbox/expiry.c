/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/expiry.h"

static bool has_passed(int64_t since, int64_t duration_ms, int64_t now)
{
	/* Subtracts, because adding an unlimited duration would overflow. */
	return duration_ms > 0 && now - since >= duration_ms;
}

static bool has_processes(const struct sandbox_expiry *e)
{
	return e->state == SANDBOX_STARTED || e->state == SANDBOX_PAUSED;
}

/* A sandbox that cannot be paused is stopped instead: at least its files are kept. */
static struct sandbox_due rest_in_time(const struct sandbox_expiry *e)
{
	if (e->state == SANDBOX_STARTED && e->can_pause && !(e->traits & SANDBOX_WITHOUT_MEMORY))
		return (struct sandbox_due){SANDBOX_STEP_PAUSE, SANDBOX_REASON_LIFETIME};
	if (e->state == SANDBOX_STARTED && e->can_stop)
		return (struct sandbox_due){SANDBOX_STEP_STOP, SANDBOX_REASON_LIFETIME};
	return (struct sandbox_due){SANDBOX_STEP_NONE, SANDBOX_REASON_NONE};
}

static bool is_timed(const struct sandbox_expiry *e)
{
	return e->state == SANDBOX_STARTED || !(e->traits & SANDBOX_TIMED_AWAKE);
}

/* Each start of a persistent sandbox begins a new lifetime. */
static int64_t lifetime_start(const struct sandbox_expiry *e)
{
	return e->persistent && e->started_at > e->created_at ? e->started_at : e->created_at;
}

/* A persistent sandbox is stopped if possible; an ephemeral one is deleted. */
static struct sandbox_due end_of_time(const struct sandbox_expiry *e)
{
	struct sandbox_due due = {SANDBOX_STEP_DELETE, SANDBOX_REASON_LIFETIME};

	if (!e->persistent)
		return due;
	if (!has_processes(e) || !e->can_stop)
		return (struct sandbox_due){SANDBOX_STEP_NONE, SANDBOX_REASON_NONE};
	due.step = SANDBOX_STEP_STOP;
	return due;
}

/* idle_reap deletes ephemeral sandboxes only; delete_after also deletes persistent ones. */
static enum sandbox_step idle_step(const struct sandbox_expiry *e, int64_t now)
{
	int64_t active_at =
	        e->last_activity_at > e->created_at ? e->last_activity_at : e->created_at;

	if (!e->persistent && has_passed(active_at, e->timeouts.idle_reap_ms, now))
		return SANDBOX_STEP_DELETE;
	if ((e->state == SANDBOX_STOPPED || e->state == SANDBOX_ARCHIVED) &&
	    has_passed(e->stopped_at, e->timeouts.delete_after_ms, now))
		return SANDBOX_STEP_DELETE;
	if (e->state == SANDBOX_STOPPED && e->can_archive &&
	    has_passed(e->stopped_at, e->timeouts.archive_after_ms, now))
		return SANDBOX_STEP_ARCHIVE;
	if (has_processes(e) && e->can_stop && has_passed(active_at, e->timeouts.idle_stop_ms, now))
		return SANDBOX_STEP_STOP;
	if (e->state == SANDBOX_STARTED && e->can_pause &&
	    has_passed(active_at, e->timeouts.idle_pause_ms, now))
		return SANDBOX_STEP_PAUSE;
	return SANDBOX_STEP_NONE;
}

/* The caller's own time limits end a busy sandbox; idle timeouts do not. */
struct sandbox_due sandbox_expiry_due(const struct sandbox_expiry *e, int64_t now)
{
	struct sandbox_due due = {SANDBOX_STEP_NONE, SANDBOX_REASON_NONE};

	if (has_passed(lifetime_start(e), e->timeouts.lifetime_max_ms, now))
		due = end_of_time(e);
	else if (e->timeout_at > 0 && now >= e->timeout_at && is_timed(e))
		due = e->traits & SANDBOX_PAUSES_IN_TIME ? rest_in_time(e) : end_of_time(e);
	if (due.step == SANDBOX_STEP_NONE && !e->busy && now >= e->awake_until)
		due.step = idle_step(e, now);
	if (due.step != SANDBOX_STEP_NONE && due.reason == SANDBOX_REASON_NONE)
		due.reason = SANDBOX_REASON_IDLE;
	return due;
}
