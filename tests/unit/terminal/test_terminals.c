/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "terminal/terminal.h"

TEST(what_a_viewer_has_missed_is_known_by_offsets)
{
	const struct {
		uint64_t offset, missed, next;
		struct span bytes;
	} rows[] = {
	        {1000, 0, 1003, SPAN("abc")}, /* the window's output begins there */
	        {1003, 0, 1005, SPAN("de")},
	        {1010, 5, 1011, SPAN("f")},
	        {1011, 0, 1012, SPAN("g")},
	        {500, 0, 501, SPAN("h")}, /* less than was asked for: it begins anew */
	};
	uint64_t next = 0;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct agent_output output = {.offset = rows[i].offset,
		                                    .bytes = rows[i].bytes};

		assert_int_equal(terminal_missed(&next, &output), rows[i].missed);
		assert_int_equal(next, rows[i].next);
	}
}

TEST(who_has_all_up_to_an_offset_has_missed_what_lies_behind_it)
{
	const struct agent_output output = {.offset = 12, .bytes = SPAN("abc")};
	uint64_t next = 10;

	assert_int_equal(terminal_missed(&next, &output), 2);
	assert_int_equal(next, 15);
}

int main(void)
{
	return RUN(CASE(what_a_viewer_has_missed_is_known_by_offsets),
	           CASE(who_has_all_up_to_an_offset_has_missed_what_lies_behind_it));
}
