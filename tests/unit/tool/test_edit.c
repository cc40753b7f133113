/* SPDX-License-Identifier: Apache-2.0 */

#include "unit.h"
#include "tool/edit.h"

struct attempt {
	const char *content, *old_text, *new_text;
	bool all;
	const char *expected; /* NULL: refused with `code` */
	int code;
	int64_t count, line;
};

static void check(const struct attempt *t)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	const struct text_edit edit = {span_of(t->old_text), span_of(t->new_text), t->all};
	struct text_edit_result done = {.count = -1};
	struct error err = {0};
	int result = edit_apply(span_of(t->content), &edit, &out, &done, &err);

	if (!t->expected) {
		assert_int_equal(result, -1);
		assert_int_equal(err.code, t->code);
		assert_int_equal(done.count, -1);
		return;
	}
	assert_int_equal(result, 0);
	assert_string_equal(buf_text(&out), t->expected);
	assert_int_equal(done.count, t->count);
	assert_int_equal(done.line, t->line);
}

static void check_all(const struct attempt *attempts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check(&attempts[i]);
}

TEST(the_only_place_is_replaced)
{
	const struct attempt attempts[] = {
	        {"a\nb\nc\n", "b", "x", false, "a\nx\nc\n", 0, 1, 2},
	        {"a\nb\nc\n", "a\nb\n", "", false, "c\n", 0, 1, 1},
	        {"abc", "abc", "abcabc", false, "abcabc", 0, 1, 1},
	        {"no end", "end", "line end\n", false, "no line end\n", 0, 1, 1},
	};

	check_all(attempts, COUNT_OF(attempts));
}

TEST(several_places_need_to_be_asked_for)
{
	const struct attempt attempts[] = {
	        {"x\nx\n", "x", "y", false, NULL, ERROR_CONFLICT, 0, 0},
	        {"x\nx\n", "x", "y", true, "y\ny\n", 0, 2, 1},
	        /* What was put in is not looked at again, and places do not overlap. */
	        {"aaaa", "aa", "aaa", true, "aaaaaa", 0, 2, 1},
	        {"aaa", "aa", "b", true, "ba", 0, 1, 1},
	};

	check_all(attempts, COUNT_OF(attempts));
}

TEST(the_count_is_told)
{
	AUTO(buf_done) struct buf out = BUF(64);
	const struct text_edit edit = {SPAN("a"), SPAN("b"), false};
	struct text_edit_result done;
	struct error err = {0};

	assert_int_equal(edit_apply(SPAN("a a a"), &edit, &out, &done, &err), -1);
	assert_non_null(strstr(err.text, "3 times"));
}

TEST(what_is_not_there_or_does_not_change_is_refused)
{
	const struct attempt attempts[] = {
	        {"abc", "abd", "x", true, NULL, ERROR_CONFLICT, 0, 0},
	        {"", "a", "x", false, NULL, ERROR_CONFLICT, 0, 0},
	        {"a  b", "a b", "x", false, NULL, ERROR_CONFLICT, 0, 0},
	        {"abc", "b", "b", false, NULL, ERROR_INVALID, 0, 0},
	};

	check_all(attempts, COUNT_OF(attempts));
}

TEST(a_file_of_crlf_stays_one)
{
	const struct attempt attempts[] = {
	        {"a\r\nb\r\n", "a\nb", "1\n2\n3", false, "1\r\n2\r\n3\r\n", 0, 1, 1},
	        {"a\r\nb\r\n", "a\r\nb", "1\r\n2", false, "1\r\n2\r\n", 0, 1, 1},
	        /* One of both is taken to the letter. */
	        {"a\r\nb\nc\n", "b\nc", "x", false, "a\r\nx\n", 0, 1, 2},
	        {"a\r\nb\nc\n", "a\nb", "x", false, NULL, ERROR_CONFLICT, 0, 0},
	        {"a\r\nb\r\n", "a\n", "a\r\n", false, NULL, ERROR_INVALID, 0, 0},
	};

	check_all(attempts, COUNT_OF(attempts));
}

TEST(bytes_that_are_no_text_stay_as_they_are)
{
	AUTO(buf_done) struct buf out = BUF(64);
	const struct text_edit edit = {SPAN("mid"), SPAN("x"), false};
	struct text_edit_result done;
	struct error err = {0};

	assert_int_equal(edit_apply(SPAN("\xFF\0mid\0\x80"), &edit, &out, &done, &err), 0);
	assert_true(span_equals(buf_span(&out), SPAN("\xFF\0x\0\x80")));
}

TEST(a_file_does_not_outgrow_its_limit)
{
	AUTO(buf_done) struct buf out = BUF(8);
	const struct text_edit edit = {SPAN("a"), SPAN("123456789"), true};
	struct text_edit_result done;
	struct error err = {0};

	assert_int_equal(edit_apply(SPAN("a"), &edit, &out, &done, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
	return RUN(CASE(the_only_place_is_replaced), CASE(several_places_need_to_be_asked_for),
	           CASE(the_count_is_told), CASE(what_is_not_there_or_does_not_change_is_refused),
	           CASE(a_file_of_crlf_stays_one), CASE(bytes_that_are_no_text_stay_as_they_are),
	           CASE(a_file_does_not_outgrow_its_limit));
}
