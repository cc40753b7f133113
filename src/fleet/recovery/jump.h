/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/recovery/jump.h — jumps of the host's wall clock, while the server runs and between two
 * runs.
 *
 * Each tick compares the wall clock with the clock of the machine's uptime. If they differ by
 * JUMP_MS, the wall clock was set. The times of this node's sandboxes and leases then move by as
 * much: idle times, timeouts and usage continue as before. After a jump forward, nothing that is
 * kept for a time (trash, artifacts, events …) is removed for `clock_hold`; if the
 * operator corrects the clock within that time, nothing is lost.
 *
 * DATA/pairing/clock keeps both clocks for the next start. After a reboot only the wall clock can
 * be compared: a server that was away for more than AWAY_MS holds removals, too, and moves nothing.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct error;
struct fleet;

#define JUMP_MS (30 * INT64_C(1000))
#define AWAY_MS (7 * 24 * 3600 * INT64_C(1000))

struct jump {
	int64_t offset_ms;              /* wall clock - uptime; of the ticking thread */
	atomic_int_fast64_t hold_until; /* uptime in ms; 0 = nothing is held */
	/* While removals are held: how far retention is behind the wall clock … */
	atomic_int_fast64_t back_ms;
	/* … and how far expiry of sandboxes is, whose times have not moved. */
	atomic_int_fast64_t expiry_back_ms;
	atomic_int_fast64_t count; /* jumps since the start */
};

/* At the start, before anything is removed: compares with the file of the last server. */
void jump_begin(struct fleet *f);
/* For /readyz: ERROR_UNAVAILABLE says which jump holds removals and until when. */
int jump_check(struct fleet *f, struct error *err);
/* Of the tick: compares the clocks. */
void jump_check_clock(struct fleet *f);
/* Writes both clocks for the next start. Each minute, and at the end. */
void jump_write(struct fleet *f);
