/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "cli/files/transfer.h"

TEST(a_folder_takes_the_copy_under_its_own_name)
{
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(transfer_place(&a, "/data", true, "x.txt"), "/data/x.txt");
	assert_string_equal(transfer_place(&a, "/data/", true, "x.txt"), "/data/x.txt");
	assert_string_equal(transfer_place(&a, "/", true, "x.txt"), "/x.txt");
	assert_string_equal(transfer_place(&a, "", true, "x.txt"), "x.txt");
	assert_string_equal(transfer_place(&a, ".", true, "x.txt"), "./x.txt");
}

TEST(any_other_target_is_the_copys_name)
{
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(transfer_place(&a, "/data/y.txt", false, "x.txt"), "/data/y.txt");
	assert_string_equal(transfer_place(&a, "/new/", false, "x.txt"), "/new/x.txt");
	assert_string_equal(transfer_place(&a, "", false, "x.txt"), "x.txt");
}

int main(void)
{
	return RUN(CASE(a_folder_takes_the_copy_under_its_own_name),
	           CASE(any_other_target_is_the_copys_name));
}
