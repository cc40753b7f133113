/* SPDX-License-Identifier: Apache-2.0 */
/* http/pace.h — how much one transfer moves in one turn of the loop. Pure. Private to this folder.
 *
 * One thread moves all bytes. A few transfers read much at once, which costs least. Many share what
 * is moved in a turn, and a turn that took long makes the next ones move less: a byte may cost a
 * copy or the encoding of an event, and a small request must not wait behind either. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PACE_READ_MAX ((size_t)256 * 1024)
#define PACE_READ_MIN ((size_t)4 * 1024)
/* Of all transfers in a turn, unless each has its minimum. */
#define PACE_TURN_BYTES ((size_t)2 * 1024 * 1024)
#define PACE_TURN_US 2000 /* how long a turn should take at most */

struct pace {
	int64_t turn_ms;
	unsigned reads, reads_before; /* in this turn, and in the one before */
	size_t less_bytes; /* what a turn moves less than PACE_TURN_BYTES, for it would take too
	                      long */
};
/* Notes a read in the turn that began at `turn_ms`, after a turn that took `busy_us`, and says how
 * large it may be. */
size_t pace_read_size(struct pace *pace, int64_t turn_ms, int64_t busy_us);
