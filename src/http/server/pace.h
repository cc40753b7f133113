/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/pace.h — limits how much a transfer moves in an iteration of the loop. Pure.
 *
 * A single thread moves all bytes. A few transfers read much at once, which costs least. Many
 * transfers share the bytes of an iteration. After a long iteration the next ones move less: a byte
 * may cost a copy or the encoding of an event, and small requests must not wait behind it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PACE_READ_MAX ((size_t)256 * 1024)
#define PACE_READ_MIN ((size_t)4 * 1024)
/* Of all transfers in an iteration, except that each has its minimum. */
#define PACE_ITERATION_BYTES ((size_t)2 * 1024 * 1024)
#define PACE_ITERATION_US 2000 /* target time of an iteration */

struct pace {
	int64_t iteration_ms;
	unsigned reads, reads_before; /* in this iteration and in the previous one */
	size_t less_bytes; /* reduction below PACE_ITERATION_BYTES, after an iteration that took too
	                      long */
};
/* Counts a read in the iteration that began at `iteration_ms`, after an iteration that took
 * `busy_us`, and returns its size limit. */
size_t pace_read_size(struct pace *pace, int64_t iteration_ms, int64_t busy_us);
