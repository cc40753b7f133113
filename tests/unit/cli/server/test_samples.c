/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/error.h"
#include "cli/server/samples.h"

TEST(percentiles_are_of_the_nearest_rank)
{
	AUTO(samples_done) struct time_samples s = {0};

	assert_true(samples_percentile(&s, 50) == 0);
	for (int i = 1000; i > 0; i--)
		samples_add(&s, i);
	samples_sort(&s);
	assert_true(samples_percentile(&s, 50) == 500);
	assert_true(samples_percentile(&s, 99) == 990);
	assert_true(samples_percentile(&s, 100) == 1000);
	assert_true(samples_percentile(&s, 0) == 1);
	samples_reset(&s);
	samples_add(&s, 7);
	samples_sort(&s);
	assert_true(samples_percentile(&s, 50) == 7);
	assert_true(samples_percentile(&s, 99) == 7);
}

int main(void)
{
	return RUN(CASE(percentiles_are_of_the_nearest_rank));
}
