/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "terminal/cast.h"

TEST(a_head_names_size_and_title)
{
	AUTO(buf_done) struct buf out = BUF(1024);

	cast_write_head(&out, &(struct cast_head){24, 80, 1234567, "a \"b\"", NULL, 7});
	assert_string_equal(
	        buf_text(&out),
	        "{\"version\":2,\"width\":80,\"height\":24,\"timestamp\":1234,"
	        "\"title\":\"a \\\"b\\\"\",\"process\":7,\"env\":{\"TERM\":\"xterm-256color\"}}\n");
}

TEST(characters_that_come_in_two_pieces_are_kept_whole)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct cast_text text = {.size = 0};

	cast_write_output(&out, &text, 1500000, SPAN("a\xe6\xbc"));
	cast_write_output(&out, &text, 1500001,
	                  SPAN("\xa2"
	                       "b"));
	assert_string_equal(buf_text(&out), "[1.500000,\"o\",\"a\"]\n[1.500001,\"o\",\"漢b\"]\n");
	buf_reset(&out);
	cast_write_output(&out, &text, 0, SPAN("\xe6"));
	assert_int_equal(out.size, 0);
	cast_write_output(&out, &text, 0, SPAN("x\xff\xed\xa0\x80"));
	assert_string_equal(buf_text(&out),
	                    "[0.000000,\"o\","
	                    "\"\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]\n");
}

TEST(missing_output_is_marked_and_completes_nothing)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct cast_text text = {.size = 0};

	cast_write_output(&out, &text, 0, SPAN("a\xe6\xbc"));
	cast_write_missing(&out, &text, 1500000, 1000);
	cast_write_output(&out, &text, 1500000, SPAN("\xa2z"));
	assert_string_equal(buf_text(&out), "[0.000000,\"o\",\"a\"]\n"
	                                    "[1.500000,\"m\",\"1002 bytes are missing\"]\n"
	                                    "[1.500000,\"o\",\"\\u0018\"]\n"
	                                    "[1.500000,\"o\",\"\xef\xbf\xbdz\"]\n");
}

int main(void)
{
	return RUN(CASE(a_head_names_size_and_title),
	           CASE(characters_that_come_in_two_pieces_are_kept_whole),
	           CASE(missing_output_is_marked_and_completes_nothing));
}
