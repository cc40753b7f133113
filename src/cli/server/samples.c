/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/server/samples.h"

#include <stdlib.h>

#include "base/error.h"

void samples_done(struct time_samples *s)
{
	free(s->values);
	*s = (struct time_samples){0};
}

void samples_reset(struct time_samples *s)
{
	s->count = 0;
}

void samples_add(struct time_samples *s, int64_t value)
{
	s->values = memory_grow(s->values, s->count, &s->capacity, sizeof(*s->values));
	s->values[s->count++] = value;
}

static int compare_values(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return left < right ? -1 : left > right;
}

void samples_sort(struct time_samples *s)
{
	if (s->count > 0)
		qsort(s->values, s->count, sizeof(s->values[0]), compare_values);
}

double samples_percentile(const struct time_samples *s, unsigned percent)
{
	uint64_t rank = ((uint64_t)s->count * percent + 99) / 100;

	if (s->count == 0)
		return 0;
	return (double)s->values[rank > 0 ? rank - 1 : 0];
}
