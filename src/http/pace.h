/* SPDX-License-Identifier: Apache-2.0 */
/* http/pace.h — how much one transfer moves in one turn of the loop. Pure. Private to this folder.
 *
 * One thread moves all bytes. A few transfers read much at once, which costs least. Many share what
 * is moved in a turn, so that a small request never waits behind all of their buffers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PACE_READ_MAX ((size_t)256 * 1024)
#define PACE_READ_MIN ((size_t)16 * 1024)
#define PACE_TURN_BYTES                                                                            \
	((size_t)2 * 1024 * 1024) /* of all transfers, unless each has its minimum */

struct pace {
	int64_t turn_ms;
	unsigned reads, reads_before; /* in this turn, and in the one before */
};
/* Notes a read in the turn that began at `turn_ms`, and says how large it may be. */
size_t pace_read_size(struct pace *pace, int64_t turn_ms);
