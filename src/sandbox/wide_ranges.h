/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/wide_ranges.h — sets of addresses of either family, as ranges of numbers. Pure, and
 * private to this folder. */
#pragma once

#include <stddef.h>

#include "sandbox/egress.h"

/* Both ends included. */
struct wide_range {
	unsigned __int128 first, last;
};
struct wide_ranges {
	struct wide_range items[SANDBOX_EGRESS_RANGES_MAX];
	size_t count;
};

void wide_ranges_add(struct wide_ranges *ranges, unsigned __int128 first, unsigned __int128 last);
/* Sets *ret to what `from` has and `holes` has not: ascending, not adjacent. At most as many ranges
 * as both have. Sorts and joins both, which may overlap in themselves. */
void wide_ranges_subtract(struct wide_ranges *from, struct wide_ranges *holes,
                          struct wide_ranges *ret);
