/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/recovery/retention.h — the clock for things that are kept for a time. Any thread may call.
 */
#pragma once

#include <stdint.h>

struct fleet;

/* Unix time in ms. For `clock_hold` after a jump of the wall clock forward: the time without the
 * jump. See fleet/recovery/jump.h. */
int64_t fleet_retention_ms(const struct fleet *fleet);

struct fleet_clock {
	uint64_t jumps;  /* of the wall clock, since the start of the server */
	uint64_t held_s; /* for how long removals are still held */
};
struct fleet_clock fleet_clock_get(const struct fleet *fleet);
