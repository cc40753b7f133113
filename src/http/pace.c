/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pace.h"

size_t pace_read_size(struct pace *pace, int64_t turn_ms)
{
	unsigned sharing;
	size_t size;

	if (turn_ms != pace->turn_ms) {
		pace->reads_before = pace->reads;
		pace->reads = 0;
		pace->turn_ms = turn_ms;
	}
	pace->reads++;
	sharing = pace->reads > pace->reads_before ? pace->reads : pace->reads_before;
	size = PACE_TURN_BYTES / sharing;
	if (size > PACE_READ_MAX)
		return PACE_READ_MAX;
	return size < PACE_READ_MIN ? PACE_READ_MIN : size;
}
