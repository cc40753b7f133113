/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/sandbox.h"

static bool has_passed(int64_t since, int64_t duration_ms, int64_t now)
{
	/* A difference, so that an endless duration cannot overflow. */
	return duration_ms > 0 && now - since >= duration_ms;
}

/* What the caller limited ends busy or not; idleness alone respects who is at work, and never
 * touches a persistent one. */
enum sandbox_reason sandbox_expiry_due(const struct sandbox_expiry *e, int64_t now)
{
	int64_t active_at =
	        e->last_activity_at > e->created_at ? e->last_activity_at : e->created_at;

	if (e->timeout_at > 0 && now >= e->timeout_at)
		return SANDBOX_REASON_LIFETIME;
	if (has_passed(e->created_at, e->lifetime_max_ms, now))
		return SANDBOX_REASON_LIFETIME;
	if (!e->persistent && !e->busy && has_passed(active_at, e->idle_reap_ms, now))
		return SANDBOX_REASON_IDLE;
	return SANDBOX_REASON_NONE;
}
