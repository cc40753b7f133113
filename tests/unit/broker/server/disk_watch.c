/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/server/disk_watch.h"
#include "unit.h"

#define GIB (UINT64_C(1) << 30)

TEST(only_what_was_added_counts_as_growth)
{
	struct disk_amount growth =
	        disk_growth((struct disk_amount){100, 10}, (struct disk_amount){70, 12});

	assert_int_equal(growth.bytes, 30);
	assert_int_equal(growth.inodes, 0);
}

TEST(a_limit_has_inodes_for_each_gib_begun)
{
	assert_int_equal(disk_limit(GIB, 1000).inodes, 1000);
	assert_int_equal(disk_limit(GIB + 1, 1000).inodes, 2000);
	assert_int_equal(disk_limit(1, 1000).inodes, 1000);
	assert_int_equal(disk_limit(GIB, 0).inodes, 0);
}

TEST(no_limit_is_never_passed)
{
	const struct disk_amount much = {UINT64_MAX, UINT64_MAX};

	assert_false(disk_is_over(much, (struct disk_amount){0, 0}));
	assert_true(disk_is_over(much, (struct disk_amount){1, 0}));
	assert_true(disk_is_over(much, (struct disk_amount){0, 1}));
	assert_false(disk_is_over((struct disk_amount){5, 5}, (struct disk_amount){5, 5}));
}

TEST(a_sandbox_is_suspect_when_all_growth_together_could_be_its_own)
{
	struct disk_count count = {
	        .is_known = true, .used = {600, 10}, .grown = {5000, 500}, .allowed = {1000, 100}};

	assert_false(disk_is_suspect(&count, (struct disk_amount){5000, 500}));
	assert_false(disk_is_suspect(&count, (struct disk_amount){5400, 590}));
	assert_true(disk_is_suspect(&count, (struct disk_amount){5401, 500}));
	assert_true(disk_is_suspect(&count, (struct disk_amount){5000, 591}));
	/* what was counted before the file system was looked at again */
	assert_false(disk_is_suspect(&count, (struct disk_amount){0, 0}));
	count.is_known = false;
	assert_true(disk_is_suspect(&count, (struct disk_amount){0, 0}));
}

int main(void)
{
	return RUN(CASE(only_what_was_added_counts_as_growth),
	           CASE(a_limit_has_inodes_for_each_gib_begun), CASE(no_limit_is_never_passed),
	           CASE(a_sandbox_is_suspect_when_all_growth_together_could_be_its_own));
}
