/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/jump.h — the host's wall clock may be set while, or before, the server runs. Private to
 * this folder.
 *
 * Each tick compares how far the wall clock and the clock of the machine's uptime have come. When
 * they differ by JUMP_MS, somebody set the clock: the times of this node's sandboxes and leases are
 * moved by as much, so that idle times, timeouts and usage go on as if nothing had happened; and,
 * for `clock_hold`, nothing that is kept for a time (trash, artifacts, events, …) is removed
 * because of a clock that went forward. An operator who sets it right within that time loses
 * nothing.
 *
 * DATA/pairing/clock has both clocks for the next start. After a start of the machine only the wall
 * clock can be compared: a server that was away for longer than AWAY_MS holds removals, too, and
 * moves nothing. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "fleet/retention.h"

#define JUMP_MS (30 * INT64_C(1000))
#define AWAY_MS (7 * 24 * 3600 * INT64_C(1000))

struct error;

struct jump {
	int64_t offset_ms;              /* wall clock - uptime; of the ticking thread */
	atomic_int_fast64_t hold_until; /* uptime, ms; 0 = nothing is held */
	atomic_int_fast64_t back_ms;    /* while it is held: so far behind the wall clock */
	atomic_int_fast64_t
	        expiry_back_ms;    /* the same for times of sandboxes, which did not move */
	atomic_int_fast64_t count; /* since the start */
};

/* Before anything is removed: compares with what the last server has written. */
void jump_begin(struct fleet *f);
/* Of the ticking thread. */
void jump_check_clock(struct fleet *f);
/* Each minute, and at the end. A full disk keeps it from nothing but the next start's look. */
void jump_write(struct fleet *f);
/* For /readyz: ERROR_UNAVAILABLE says what is held and until when. */
int jump_check(struct fleet *f, struct error *err);
