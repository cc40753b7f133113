/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "sandbox/sandbox.h"

/* Durations above ten years are mistakes; this bound also prevents overflows. */
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
			            "%s: %" PRId64 " ms is not from 0 to ten years%s",
			            times[i].name, ms,
			            times[i].may_be_never ? ", or -1 for never" : "");
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
