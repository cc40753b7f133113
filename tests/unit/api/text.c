/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text.h"

#include "unit.h"

TEST(a_begun_sequence_at_the_end_is_counted)
{
	assert_int_equal(text_begun(SPAN("")), 0);
	assert_int_equal(text_begun(SPAN("abc")), 0);
	assert_int_equal(text_begun(SPAN("h\xC3")), 1);
	assert_int_equal(text_begun(SPAN("h\xC3\xBC")), 0);
	assert_int_equal(text_begun(SPAN("\xE2\x82")), 2);
	assert_int_equal(text_begun(SPAN("\xE2\x82\xAC")), 0);
	assert_int_equal(text_begun(SPAN("x\xF0\x9F\x98")), 3);
	assert_int_equal(text_begun(SPAN("x\xF0\x9F\x98\x80")), 0);
}

TEST(bytes_that_begin_nothing_are_not_waited_for)
{
	assert_int_equal(text_begun(SPAN("\xFF")), 0);
	assert_int_equal(text_begun(SPAN("\xC0")), 0);
	assert_int_equal(text_begun(SPAN("\x80\x80\x80")), 0);
	assert_int_equal(text_begun(SPAN("\xF5\x80")), 0);
}

TEST(continued_bytes_at_the_front_are_counted)
{
	assert_int_equal(text_continued(SPAN("")), 0);
	assert_int_equal(text_continued(SPAN("abc")), 0);
	assert_int_equal(text_continued(SPAN("\xBC"
	                                     "abc")),
	                 1);
	assert_int_equal(text_continued(SPAN("\x80\x80\x80\x80")), 3);
}

TEST(text_is_written_as_text_and_bytes_as_base64)
{
	AUTO(buf_done) struct buf out = BUF(256);

	text_write(&out, "data", "encoding", SPAN("h\xC3\xBC\n\""));
	assert_string_equal(buf_text(&out), "\"data\":\"h\xC3\xBC\\n\\\"\"");
	buf_reset(&out);
	text_write(&out, "data", "encoding", SPAN("\xFF\x00\x01"));
	assert_string_equal(buf_text(&out), "\"data\":\"/wAB\",\"encoding\":\"base64\"");
}

TEST(base64_has_every_length_of_padding)
{
	static const char *const expected[] = {"", "YQ==", "YWI=", "YWJj", "YWJjZA=="};

	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		AUTO(buf_done) struct buf out = BUF(64);

		text_write_base64(&out, (struct span){"abcd", i});
		assert_string_equal(buf_text(&out), expected[i]);
	}
}

TEST(base64_that_does_not_fit_is_dropped_whole)
{
	AUTO(buf_done) struct buf out = BUF(4);

	text_write_base64(&out, SPAN("abcdefgh"));
	assert_true(out.overflowed);
	assert_int_equal(out.size, 0);
}

int main(void)
{
	return RUN(CASE(a_begun_sequence_at_the_end_is_counted),
	           CASE(bytes_that_begin_nothing_are_not_waited_for),
	           CASE(continued_bytes_at_the_front_are_counted),
	           CASE(text_is_written_as_text_and_bytes_as_base64),
	           CASE(base64_has_every_length_of_padding),
	           CASE(base64_that_does_not_fit_is_dropped_whole));
}
