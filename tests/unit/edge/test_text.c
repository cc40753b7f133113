/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/text.h"
#include "unit.h"

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
	return RUN(CASE(text_is_written_as_text_and_bytes_as_base64),
	           CASE(base64_has_every_length_of_padding),
	           CASE(base64_that_does_not_fit_is_dropped_whole));
}
