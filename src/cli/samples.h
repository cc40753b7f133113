/* SPDX-License-Identifier: Apache-2.0 */
/* cli/samples.h — measured times and their percentiles. Private to this folder. */
#pragma once

#include <stdint.h>

struct samples {
	int64_t *values;
	unsigned count, capacity;
};
void samples_done(struct samples *s);
void samples_reset(struct samples *s);
void samples_add(struct samples *s, int64_t value);
void samples_sort(struct samples *s);
/* Of sorted samples, nearest rank; 0 when there are none. */
double samples_percentile(const struct samples *s, unsigned percent);
