/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>

#include "terminal/plain.h"

static void check(struct span raw, const char *expected)
{
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	plain_write(&out, raw);
	assert_string_equal(buf_text(&out), expected);
	assert_true(span_is_utf8(buf_span(&out)));
}

TEST(colours_titles_and_marks_are_left_out)
{
	check(SPAN("\033[1;31mred\033[0m "
	           "\033]0;title\adone\033]8;;http://x\033\\link\033]8;;\033\\\r\n"),
	      "red donelink\n");
	check(SPAN("\033(Bplain\033[?2004h\033=\r\n"), "plain\n");
}

TEST(a_line_is_told_as_it_was_left)
{
	check(SPAN(" 10%\r 50%\r100%\r\n"), "100%\n");
	check(SPAN("abc\b\bX\r\n"), "aXc\n");
	check(SPAN("downloading\r\033[Kdone\r\n"), "done\n");
	check(SPAN("abc\033[2DX\r\n"), "aXc\n");
	check(SPAN("a\033[3Cb\r\n"), "a   b\n");
	check(SPAN("a\tb   \r\n"), "a       b\n");
	check(SPAN("no end"), "no end");
}

TEST(what_is_no_character_is_replaced)
{
	check(SPAN("\xff\xc3\xa9\xe2\x82(\xed\xa0\x80\r\n"),
	      "\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd(\xef\xbf\xbd\n");
	/* A control above U+0080 is none, either. */
	check(SPAN("a\xc2\x9b"
	           "6n\xc2\xa0\r\n"),
	      "a\xef\xbf\xbd"
	      "6n\xc2\xa0\n");
}

TEST(moves_cannot_make_a_line_longer_than_it_may_be)
{
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	plain_write(&out, SPAN("\033[99999999Cx\033[99999999Cy\033[99999999Gz\n"));
	assert_true(out.size < 64 * 1024);
	assert_false(out.overflowed);
}

int main(void)
{
	return RUN(CASE(colours_titles_and_marks_are_left_out), CASE(a_line_is_told_as_it_was_left),
	           CASE(what_is_no_character_is_replaced),
	           CASE(moves_cannot_make_a_line_longer_than_it_may_be));
}
