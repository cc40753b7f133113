/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/wide_ranges.h"

#include <assert.h>
#include <stdlib.h>

void wide_ranges_add(struct wide_ranges *ranges, unsigned __int128 first, unsigned __int128 last)
{
	assert(ranges->count < COUNT_OF(ranges->items));
	ranges->items[ranges->count++] = (struct wide_range){first, last};
}

static int compare_ranges(const void *a, const void *b)
{
	const struct wide_range *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Sorts the ranges and joins overlapping and adjacent ones. */
static void join_ranges(struct wide_ranges *ranges)
{
	struct wide_range *items = ranges->items;
	size_t kept = 0;

	if (ranges->count == 0)
		return;
	qsort(items, ranges->count, sizeof(*items), compare_ranges);
	for (size_t i = 1; i < ranges->count; i++) {
		if (items[i].first > items[kept].last && items[i].first - items[kept].last > 1)
			items[++kept] = items[i];
		else if (items[i].last > items[kept].last)
			items[kept].last = items[i].last;
	}
	ranges->count = kept + 1;
}

static void subtract_holes(const struct wide_range *from, const struct wide_ranges *holes,
                           struct wide_ranges *ret)
{
	unsigned __int128 at = from->first;

	for (size_t i = 0; i < holes->count; i++) {
		const struct wide_range *hole = &holes->items[i];

		if (hole->last < at || hole->first > from->last)
			continue;
		if (hole->first > at)
			wide_ranges_add(ret, at, hole->first - 1);
		/* Also where no number follows the hole. */
		if (hole->last >= from->last)
			return;
		at = hole->last + 1;
	}
	wide_ranges_add(ret, at, from->last);
}

void wide_ranges_subtract(struct wide_ranges *from, struct wide_ranges *holes,
                          struct wide_ranges *ret)
{
	join_ranges(from);
	join_ranges(holes);
	ret->count = 0;
	for (size_t i = 0; i < from->count; i++)
		subtract_holes(&from->items[i], holes, ret);
}
