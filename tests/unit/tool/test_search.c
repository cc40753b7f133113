/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
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

static const char *posix(struct arena *a, const char *pattern)
{
	const char *text;
	struct error err;

	return search_pattern_to_posix(a, pattern, &text, &err) == 0 ? text : NULL;
}

TEST(a_pattern_is_put_in_the_words_of_posix)
{
	static const char *const cases[][2] = {
	        {"a.b|c*", "a.b|c*"},
	        {"\\d{2}\\.\\w+\\s", "[0-9]{2}\\.[[:alnum:]_]+[[:space:]]"},
	        {"\\bmain\\b\\(", "\\bmain\\b\\("},
	        {"(?:a|b)+?x*?y??z{1,2}?", "(a|b)+x*y?z{1,2}"},
	        {"[^\\]]", NULL},
	        {"[]a]", "[]a]"},
	        {"[\\w.\\d\\/]", "[[:alnum:]_.0-9/]"},
	        {"[[:alpha:]-]\\S", "[[:alpha:]-][^[:space:]]"},
	        {"", ""},
	        {"\\tx", "\tx"},
	        {"a\\+?", "a\\+?"},
	};
	AUTO(arena_done) struct arena a = {.blocks = NULL};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		if (cases[i][1])
			assert_string_equal(posix(&a, cases[i][0]), cases[i][1]);
		else
			assert_null(posix(&a, cases[i][0]));
	}
}

TEST(what_posix_cannot_say_is_named)
{
	static const char *const refused[] = {"(?i)x",  "(?=x)", "(?P<n>x)", "(x)\\1",
	                                      "\\p{L}", "a\nb",  "[\\W]",    "[a&&b]",
	                                      "[a[b]]", "\\x41", "[a",       "a\\"};
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	const char *text;

	for (size_t i = 0; i < COUNT_OF(refused); i++) {
		struct error err = {0};

		assert_int_equal(search_pattern_to_posix(&a, refused[i], &text, &err), -1);
		assert_true(err.code == ERROR_UNSUPPORTED || err.code == ERROR_INVALID);
		assert_non_null(strstr(err.text, "pattern: "));
	}
}

int main(void)
{
	return RUN(CASE(lines_and_lines_of_context_are_told_apart),
	           CASE(lines_of_another_form_are_passed_over),
	           CASE(a_pattern_is_put_in_the_words_of_posix),
	           CASE(what_posix_cannot_say_is_named));
}
