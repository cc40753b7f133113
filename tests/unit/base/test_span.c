/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/bytes.h"

TEST(spans_compare_by_bytes)
{
	struct span empty = {NULL, 0};

	assert_true(span_equals(SPAN("a\0b"), (struct span){"a\0b", 3}));
	assert_false(span_equals(SPAN("a\0b"), SPAN("a\0c")));
	assert_true(span_equals(empty, SPAN("")));
	assert_true(span_equals_text(SPAN("abc"), "abc"));
	assert_false(span_equals_text(SPAN("abc\0"), "abc"));
	assert_true(span_starts_with(SPAN("abc"), "ab"));
	assert_true(span_starts_with(empty, ""));
	assert_false(span_starts_with(SPAN("a"), "ab"));
	assert_int_equal(span_of(NULL).size, 0);
}

TEST(words_are_the_same_in_either_case)
{
	struct span empty = {NULL, 0};

	assert_true(span_is_word(SPAN("Content-LENGTH"), "content-length"));
	assert_false(span_is_word(SPAN("content-lengt"), "content-length"));
	assert_false(span_is_word(SPAN("content-length:"), "content-length"));
	assert_true(span_is_word(empty, ""));
	assert_true(span_is_same_word(SPAN("aZ\0b"), SPAN("Az\0B")));
	/* A NUL ends nothing, and what lies 32 apart is not always a letter. */
	assert_false(span_is_same_word(SPAN("a\0b"), SPAN("a\0c")));
	assert_false(span_is_word(SPAN("[a]"), "{a}"));
	assert_false(span_is_word(SPAN("@"), "`"));
	assert_false(span_is_word(SPAN("\xC4"), "\xE4"));
}

TEST(words_begin_and_end_in_either_case)
{
	struct span empty = {NULL, 0};

	assert_true(span_starts_with_word(SPAN("HTTPS://a"), "https://"));
	assert_false(span_starts_with_word(SPAN("http:/"), "https://"));
	assert_true(span_starts_with_word(empty, ""));
	assert_true(span_ends_with_word(SPAN("a.LocalHost"), SPAN(".localhost")));
	assert_false(span_ends_with_word(SPAN("host"), SPAN("localhost")));
	assert_true(span_ends_with_word(empty, empty));
}

TEST(a_split_yields_every_part_once)
{
	struct span rest = SPAN("a,,b"), head;

	assert_true(span_split(&rest, ',', &head));
	assert_true(span_equals_text(head, "a"));
	assert_true(span_split(&rest, ',', &head));
	assert_int_equal(head.size, 0);
	assert_false(span_split(&rest, ',', &head));
	assert_true(span_equals_text(head, "b"));
	assert_int_equal(rest.size, 0);
	assert_int_equal(span_find(SPAN("xyz"), 'z'), 2);
	assert_int_equal(span_find((struct span){NULL, 0}, 'z'), -1);
}

TEST(trimming_takes_blanks_at_both_ends_only)
{
	assert_true(span_equals_text(span_trim(SPAN(" \t a b\t ")), "a b"));
	assert_int_equal(span_trim(SPAN("  \t")).size, 0);
	assert_true(span_equals_text(span_trim(SPAN("\n")), "\n"));
}

TEST(hexadecimal_digits_become_so_many_bytes_or_none)
{
	unsigned char bytes[3];

	assert_int_equal(hex_decode(SPAN("00fFa7"), bytes, 3), 0);
	assert_memory_equal(bytes, "\x00\xff\xa7", 3);
	assert_int_equal(hex_decode((struct span){NULL, 0}, bytes, 0), 0);
	assert_int_equal(hex_decode(SPAN("00ff"), bytes, 3), -1);
	assert_int_equal(hex_decode(SPAN("00ffa"), bytes, 2), -1);
	assert_int_equal(hex_decode(SPAN("0g"), bytes, 1), -1);
	assert_int_equal(hex_decode(SPAN(" 0"), bytes, 1), -1);
}

TEST(an_escaped_byte_is_one_byte)
{
	static const char *const bad[] = {"%", "%4", "%4g", "%%41", "% 1"};
	struct span rest = SPAN("a%41%00+%fF");

	assert_int_equal(span_take_escaped(&rest), 'a');
	assert_int_equal(span_take_escaped(&rest), 'A');
	assert_int_equal(span_take_escaped(&rest), 0);
	assert_int_equal(span_take_escaped(&rest), '+');
	assert_int_equal(span_take_escaped(&rest), 0xff);
	assert_int_equal(rest.size, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		rest = span_of(bad[i]);
		assert_int_equal(span_take_escaped(&rest), -1);
		assert_int_equal(rest.size, strlen(bad[i]));
	}
}

TEST(whole_numbers_are_digits_within_bounds)
{
	static const char *const bad[] = {"",
	                                  "-1",
	                                  "+1",
	                                  " 1",
	                                  "1 ",
	                                  "0x1",
	                                  "1e3",
	                                  "1.",
	                                  "11",
	                                  "9223372036854775808",
	                                  "99999999999999999999999"};
	struct error err;
	int64_t value = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(span_parse_whole(span_of(bad[i]), 0, 10, &value, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
	assert_int_equal(value, 7);
	assert_int_equal(span_parse_whole(SPAN("0010"), 0, 10, &value, &err), 0);
	assert_int_equal(value, 10);
	assert_int_equal(span_parse_whole(SPAN("9223372036854775807"), 0, INT64_MAX, &value, &err),
	                 0);
	assert_true(value == INT64_MAX);
	assert_int_equal(span_parse_whole(SPAN("2"), 3, 10, &value, &err), -1);
	assert_string_equal(err.text, "2 is not between 3 and 10");
}

TEST(only_well_formed_utf8_passes)
{
	static const char *const good[] = {"",
	                                   "plain",
	                                   "\xC2\x80",
	                                   "\xDF\xBF",
	                                   "\xE0\xA0\x80",
	                                   "\xED\x9F\xBF",
	                                   "\xEE\x80\x80",
	                                   "\xF0\x90\x80\x80",
	                                   "\xF4\x8F\xBF\xBF"};
	static const char *const bad[] = {"\x80",         "\xC0\x80",         "\xC1\xBF",
	                                  "\xC3",         "\xE0\x9F\xBF",     "\xED\xA0\x80",
	                                  "\xE2\x82",     "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
	                                  "\xF5\x80\x80", "\xE2\x82\x41",     "\xFF"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(span_is_utf8(span_of(good[i])));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(span_is_utf8(span_of(bad[i])));
	assert_true(span_is_utf8(SPAN("a\0b")));
}

TEST(a_begun_sequence_at_the_end_is_counted)
{
	assert_int_equal(span_begun(SPAN("")), 0);
	assert_int_equal(span_begun(SPAN("abc")), 0);
	assert_int_equal(span_begun(SPAN("h\xC3")), 1);
	assert_int_equal(span_begun(SPAN("h\xC3\xBC")), 0);
	assert_int_equal(span_begun(SPAN("\xE2\x82")), 2);
	assert_int_equal(span_begun(SPAN("\xE2\x82\xAC")), 0);
	assert_int_equal(span_begun(SPAN("x\xF0\x9F\x98")), 3);
	assert_int_equal(span_begun(SPAN("x\xF0\x9F\x98\x80")), 0);
}

TEST(bytes_that_begin_nothing_are_not_waited_for)
{
	assert_int_equal(span_begun(SPAN("\xFF")), 0);
	assert_int_equal(span_begun(SPAN("\xC0")), 0);
	assert_int_equal(span_begun(SPAN("\x80\x80\x80")), 0);
	assert_int_equal(span_begun(SPAN("\xF5\x80")), 0);
}

TEST(continued_bytes_at_the_front_are_counted)
{
	assert_int_equal(span_continued(SPAN("")), 0);
	assert_int_equal(span_continued(SPAN("abc")), 0);
	assert_int_equal(span_continued(SPAN("\xBC"
	                                     "abc")),
	                 1);
	assert_int_equal(span_continued(SPAN("\x80\x80\x80\x80")), 3);
}

TEST(bytes_are_taken_from_the_front)
{
	struct span rest = SPAN("abcdef");

	assert_true(span_equals_text(span_after(rest, 2), "cdef"));
	assert_int_equal(span_after(rest, 6).size, 0);
	span_skip(&rest, 1);
	assert_true(span_equals_text(span_take(&rest, 3), "bcd"));
	assert_true(span_equals_text(rest, "ef"));
	assert_true(span_equals_text(span_take(&rest, 3), "ef"));
	assert_int_equal(span_take(&rest, 3).size, 0);
}

TEST(bytes_are_written_as_lower_case_digits)
{
	static const unsigned char bytes[] = {0x00, 0x9f, 0xa0};
	char text[2 * sizeof(bytes) + 1];

	hex_encode(bytes, sizeof(bytes), text);
	assert_string_equal(text, "009fa0");
}

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
TEST(a_digest_is_sha256_with_64_lower_case_digits)
{
	assert_true(text_is_sha256("sha256:" DIGITS "f"));
	assert_false(text_is_sha256("sha256:" DIGITS));
	assert_false(text_is_sha256("sha256:" DIGITS "ff"));
	assert_false(text_is_sha256("sha256:" DIGITS "F"));
	assert_false(text_is_sha256("sha512:" DIGITS "f"));
	assert_false(text_is_sha256(""));
}

int main(void)
{
	return RUN(CASE(bytes_are_written_as_lower_case_digits),
	           CASE(a_digest_is_sha256_with_64_lower_case_digits),
	           CASE(bytes_are_taken_from_the_front), CASE(spans_compare_by_bytes),
	           CASE(words_are_the_same_in_either_case),
	           CASE(words_begin_and_end_in_either_case), CASE(a_split_yields_every_part_once),
	           CASE(trimming_takes_blanks_at_both_ends_only),
	           CASE(hexadecimal_digits_become_so_many_bytes_or_none),
	           CASE(an_escaped_byte_is_one_byte), CASE(whole_numbers_are_digits_within_bounds),
	           CASE(only_well_formed_utf8_passes), CASE(a_begun_sequence_at_the_end_is_counted),
	           CASE(bytes_that_begin_nothing_are_not_waited_for),
	           CASE(continued_bytes_at_the_front_are_counted));
}
