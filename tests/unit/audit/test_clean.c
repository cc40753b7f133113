/* SPDX-License-Identifier: Apache-2.0 */
/* What a client chooses is safe in a log, on a terminal and in every database. */
#include "unit.h"

#include "audit/audit.h"

static void assert_cleaned(const char *text, size_t max, const char *expected)
{
	AUTO(buf_done) struct buf out = BUF(1024);

	audit_clean(&out, span_of(text), max);
	assert_string_equal(buf_text(&out), expected);
}

TEST(plain_texts_and_letters_of_all_scripts_stay)
{
	assert_cleaned("curl/8.1 (x; y)", 100, "curl/8.1 (x; y)");
	assert_cleaned("ä € 漢 😀", 100, "ä € 漢 😀");
	assert_cleaned("", 100, "");
}

TEST(control_characters_become_question_marks)
{
	assert_cleaned("a\nb\tc\x1b[31m\x7f", 100, "a?b?c?[31m?");
	assert_cleaned("\xc2\x9b"
	               "31m",
	               100, "?31m"); /* CSI as one character */
}

TEST(characters_that_turn_text_around_become_question_marks)
{
	assert_cleaned("\xe2\x80\xae"
	               "exe.gpj\xe2\x81\xa6\xd8\x9c",
	               100, "?exe.gpj??");
}

TEST(bytes_that_are_no_text_become_question_marks)
{
	assert_cleaned("a\xff\xfe", 100, "a??");
	assert_cleaned("\xc0\xaf\xed\xa0\x80", 100, "?????");
	assert_cleaned("\xe2\x82", 100, "??");
	assert_cleaned("\xf8\x88\x80\x80\x80", 100, "?????");
}

TEST(a_long_text_ends_with_a_whole_character)
{
	assert_cleaned("abcdef", 3, "abc");
	assert_cleaned("ab€", 4, "ab");
	assert_cleaned("ab€", 5, "ab€");
}

int main(void)
{
	return RUN(CASE(plain_texts_and_letters_of_all_scripts_stay),
	           CASE(control_characters_become_question_marks),
	           CASE(characters_that_turn_text_around_become_question_marks),
	           CASE(bytes_that_are_no_text_become_question_marks),
	           CASE(a_long_text_ends_with_a_whole_character));
}
