/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/pace.h"
#include "unit.h"

static size_t bytes_of_turn(struct pace *pace, int64_t iteration_ms, unsigned transfers)
{
	size_t sum = 0;

	for (unsigned i = 0; i < transfers; i++)
		sum += pace_read_size(pace, iteration_ms, 0);
	return sum;
}

TEST(a_few_transfers_read_as_much_as_there_is_room_for)
{
	struct pace pace = {0};

	for (int64_t turn = 1; turn < 4; turn++)
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(pace_read_size(&pace, turn, 0), PACE_READ_MAX);
}

TEST(many_transfers_share_what_is_moved_in_a_turn)
{
	struct pace pace = {0};

	/* the first turn learns how many there are */
	assert_true(bytes_of_turn(&pace, 1, 100) < 4 * PACE_ITERATION_BYTES);
	assert_true(bytes_of_turn(&pace, 2, 100) <= PACE_ITERATION_BYTES);
	assert_true(bytes_of_turn(&pace, 3, 100) <= PACE_ITERATION_BYTES);
	assert_int_equal(bytes_of_turn(&pace, 4, 1), PACE_ITERATION_BYTES / 100);
	assert_int_equal(pace_read_size(&pace, 5, 0), PACE_READ_MAX);
}

TEST(each_moves_on_however_many_there_are)
{
	struct pace pace = {0};

	(void)bytes_of_turn(&pace, 1, 10000);
	assert_int_equal(pace_read_size(&pace, 2, 0), PACE_READ_MIN);
}

TEST(a_turn_that_took_long_makes_the_next_move_less)
{
	struct pace pace = {0};
	size_t size;

	/* 16 times as long as it should: a sixteenth is moved */
	(void)pace_read_size(&pace, 1, 0);
	size = pace_read_size(&pace, 2, (int64_t)16 * PACE_ITERATION_US);
	assert_int_equal(size, PACE_ITERATION_BYTES / 16);
	/* as long as it should: that stays */
	assert_int_equal(pace_read_size(&pace, 3, PACE_ITERATION_US), size);
	/* the turns are short again */
	for (int64_t turn = 4; turn < 8; turn++)
		size = pace_read_size(&pace, turn, 10);
	assert_int_equal(size, PACE_READ_MAX);
}

TEST(the_slowest_loop_moves_something)
{
	struct pace pace = {0};

	for (int64_t turn = 1; turn < 100; turn++)
		assert_true(pace_read_size(&pace, turn, INT64_MAX / 2) >= PACE_READ_MIN);
}

int main(void)
{
	return RUN(CASE(a_few_transfers_read_as_much_as_there_is_room_for),
	           CASE(many_transfers_share_what_is_moved_in_a_turn),
	           CASE(each_moves_on_however_many_there_are),
	           CASE(a_turn_that_took_long_makes_the_next_move_less),
	           CASE(the_slowest_loop_moves_something));
}
