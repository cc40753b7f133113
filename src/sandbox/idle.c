/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "sandbox/sandbox.h"

/* Longer ones than ten years are mistakes, and shorter ones cannot overflow. */
#define IDLE_MAX_MS (INT64_C(10) * 366 * 24 * 3600 * 1000)

static const struct {
	const char *name;
	bool may_be_never;
} times[SANDBOX_IDLE_COUNT] = {
        [SANDBOX_IDLE_PAUSE] = {"idle pause", true},
        [SANDBOX_IDLE_STOP] = {"idle stop", true},
        [SANDBOX_IDLE_REAP] = {"idle reap", false},
        [SANDBOX_IDLE_LIFETIME] = {"longest life", false},
};

int sandbox_idle_check(const struct sandbox_idle *idle, struct error *err)
{
	for (unsigned i = 0; i < SANDBOX_IDLE_COUNT; i++) {
		int64_t ms = idle->ms[i];

		if (ms > IDLE_MAX_MS || ms < -1 || (ms == -1 && !times[i].may_be_never))
			return FAIL(err, ERROR_INVALID,
			            "%s: %" PRId64 " ms is not between 0 and ten years%s",
			            times[i].name, ms,
			            times[i].may_be_never ? ", nor -1, which is never" : "");
	}
	return 0;
}

struct sandbox_idle sandbox_idle_resolve(const struct sandbox_idle *layers, unsigned count)
{
	struct sandbox_idle resolved = {{0}};

	for (unsigned i = 0; i < SANDBOX_IDLE_COUNT; i++) {
		for (unsigned layer = 0; layer < count && resolved.ms[i] == 0; layer++)
			resolved.ms[i] = layers[layer].ms[i];
		if (resolved.ms[i] < 0)
			resolved.ms[i] = 0;
	}
	return resolved;
}

void sandbox_idle_change(struct sandbox_idle *idle, const struct sandbox_idle *change)
{
	for (unsigned i = 0; i < SANDBOX_IDLE_COUNT; i++)
		if (change->ms[i] != SANDBOX_IDLE_LEAVE)
			idle->ms[i] = change->ms[i];
}
