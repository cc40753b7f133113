/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/pace.h"

/* Decreases at once and increases by doubling, because the cost of a byte changes with the
 * transfers. */
static void adapt_pace(struct pace *pace, int64_t busy_us)
{
	size_t bytes = PACE_ITERATION_BYTES - pace->less_bytes;

	if (busy_us > PACE_ITERATION_US)
		bytes = (size_t)((double)bytes * PACE_ITERATION_US / (double)busy_us);
	else if (busy_us < PACE_ITERATION_US / 2)
		bytes *= 2;
	if (bytes > PACE_ITERATION_BYTES)
		bytes = PACE_ITERATION_BYTES;
	if (bytes < PACE_READ_MIN)
		bytes = PACE_READ_MIN;
	pace->less_bytes = PACE_ITERATION_BYTES - bytes;
}

size_t pace_read_size(struct pace *pace, int64_t iteration_ms, int64_t busy_us)
{
	unsigned sharing;
	size_t size;

	if (iteration_ms != pace->iteration_ms) {
		pace->reads_before = pace->reads;
		pace->reads = 0;
		pace->iteration_ms = iteration_ms;
		adapt_pace(pace, busy_us);
	}
	pace->reads++;
	sharing = pace->reads > pace->reads_before ? pace->reads : pace->reads_before;
	size = (PACE_ITERATION_BYTES - pace->less_bytes) / sharing;
	if (size > PACE_READ_MAX)
		return PACE_READ_MAX;
	return size < PACE_READ_MIN ? PACE_READ_MIN : size;
}
