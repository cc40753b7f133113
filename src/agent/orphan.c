/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/orphan.h"

#include "base/clock.h"
#include "base/log.h"
#include "wire/agent_beat.h"

#define TICKS 16 /* in the time limit */
#define TICK_MIN_MS 10
#define BOUND_MAX_MS (INT64_C(366) * 24 * 3600 * 1000)
#define GRACE_MS 2000

void orphan_beat(struct agent *a, uint64_t bound_ms)
{
	int64_t bound = bound_ms < BOUND_MAX_MS ? (int64_t)bound_ms : BOUND_MAX_MS;

	a->orphan_tick_ms = bound / TICKS;
	if (bound > 0 && a->orphan_tick_ms < TICK_MIN_MS)
		a->orphan_tick_ms = TICK_MIN_MS;
	a->orphan_tick_at = deadline_after(a->orphan_tick_ms);
	orphan_renew(a);
}

void orphan_take_beat(struct agent *a, struct span payload)
{
	AUTO(arena_done) struct arena arena = {0};
	struct agent_beat beat;
	struct error ignored;

	if (wire_decode(&arena, payload, agent_beat_shape, &beat, sizeof(beat), &ignored) == 0)
		orphan_beat(a, beat.bound_ms);
}

void orphan_renew(struct agent *a)
{
	a->orphan_ticks_left = TICKS;
}

/* A prepared sandbox ends with its broker and gets no beat before it is claimed. */
static bool is_counting(const struct agent *a)
{
	return a->orphan_tick_ms > 0 && a->claim.fd < 0 && !a->stopping;
}

int64_t orphan_next_deadline(const struct agent *a)
{
	return is_counting(a) ? a->orphan_tick_at : DEADLINE_NEVER;
}

void orphan_run_timer(struct agent *a, int64_t now)
{
	if (!is_counting(a) || now < a->orphan_tick_at)
		return;
	a->orphan_tick_at = now + a->orphan_tick_ms;
	if (--a->orphan_ticks_left > 0)
		return;
	log_warning("no server has been heard of, the sandbox ends",
	            NUMBER("bound_ms", a->orphan_tick_ms * TICKS));
	agent_stop_all(a, GRACE_MS);
}
