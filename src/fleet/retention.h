/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/retention.h — the time by which what is kept for a while is removed. Any thread may call.
 */
#pragma once

#include <stdint.h>

#include "fleet/fleet.h"

/* Unix time; but for `clock_hold` after the wall clock was set forward, the time that it would be
 * by the clock of before. See fleet/jump.h. */
int64_t fleet_retention_ms(const struct fleet *fleet);

struct fleet_clock {
	uint64_t jumps;  /* of the wall clock, since the server's start */
	uint64_t held_s; /* so long nothing that is kept for a time is removed */
};
struct fleet_clock fleet_clock_get(const struct fleet *fleet);
