/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/search.h"

#include "unit.h"

TEST(lines_and_lines_of_context_are_told_apart)
{
	struct span rest = SPAN("./a.c\0"
	                        "1-before\n./a.c\0"
	                        "2:hit: x\n--\n./a.c\0"
	                        "9:last");
	struct search_line line;

	assert_true(search_line_next(&rest, &line));
	assert_true(line.is_context && line.number == 1 && span_equals_text(line.text, "before"));
	assert_true(search_line_next(&rest, &line));
	assert_true(!line.is_context && line.number == 2 && span_equals_text(line.text, "hit: x"));
	assert_true(search_line_next(&rest, &line));
	assert_int_equal(line.number, 0);
	assert_true(search_line_next(&rest, &line));
	assert_true(line.number == 9 && span_equals_text(line.text, "last"));
	assert_false(search_line_next(&rest, &line));
}

TEST(lines_of_another_form_are_passed_over)
{
	struct span rest = SPAN("grep: b: binary file matches\n./b\0binary\n./b\0"
	                        "99999999999999999999:x\n./b\0"
	                        "7\n\n./c\0"
	                        "3:ok\n");
	struct search_line line;

	assert_true(search_line_next(&rest, &line));
	assert_int_equal(line.number, 3);
	assert_false(search_line_next(&rest, &line));
}

int main(void)
{
	return RUN(CASE(lines_and_lines_of_context_are_told_apart),
	           CASE(lines_of_another_form_are_passed_over));
}
