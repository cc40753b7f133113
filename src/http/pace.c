/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pace.h"

/* Down at once, up by doubling: the cost of a byte changes with what the transfers are. */
static void adapt_pace(struct pace *pace, int64_t busy_us)
{
	size_t bytes = PACE_TURN_BYTES - pace->less_bytes;

	if (busy_us > PACE_TURN_US)
		bytes = (size_t)((double)bytes * PACE_TURN_US / (double)busy_us);
	else if (busy_us < PACE_TURN_US / 2)
		bytes *= 2;
	if (bytes > PACE_TURN_BYTES)
		bytes = PACE_TURN_BYTES;
	if (bytes < PACE_READ_MIN)
		bytes = PACE_READ_MIN;
	pace->less_bytes = PACE_TURN_BYTES - bytes;
}

size_t pace_read_size(struct pace *pace, int64_t turn_ms, int64_t busy_us)
{
	unsigned sharing;
	size_t size;

	if (turn_ms != pace->turn_ms) {
		pace->reads_before = pace->reads;
		pace->reads = 0;
		pace->turn_ms = turn_ms;
		adapt_pace(pace, busy_us);
	}
	pace->reads++;
	sharing = pace->reads > pace->reads_before ? pace->reads : pace->reads_before;
	size = (PACE_TURN_BYTES - pace->less_bytes) / sharing;
	if (size > PACE_READ_MAX)
		return PACE_READ_MAX;
	return size < PACE_READ_MIN ? PACE_READ_MIN : size;
}
