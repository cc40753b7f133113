/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server/samples.h — measured times and their percentiles. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct time_samples {
	int64_t *values;
	unsigned count;
	size_t capacity;
};
void samples_done(struct time_samples *s);
void samples_reset(struct time_samples *s);
void samples_add(struct time_samples *s, int64_t value);
void samples_sort(struct time_samples *s);
/* Needs sorted samples; nearest rank; 0 if there are none. */
double samples_percentile(const struct time_samples *s, unsigned percent);
