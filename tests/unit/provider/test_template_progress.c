/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "provider/template_progress.h"

static char told[256];

static void note(void *context, int percent, const char *text)
{
	size_t size = strlen(told);

	(void)context;
	snprintf(told + size, sizeof(told) - size, "[%d %s]", percent, text);
}

static void take(struct template_progress *p, const char *text)
{
	told[0] = '\0';
	template_progress_take(p, span_of(text));
}

TEST(lines_are_told_whatever_pieces_they_come_in)
{
	struct template_progress p = TEMPLATE_PROGRESS(note, NULL);

	take(&p, "5 one\n1");
	assert_string_equal(told, "[5 one]");
	take(&p, "0 two\n");
	assert_string_equal(told, "[10 two]");
	take(&p, "100\n");
	assert_string_equal(told, "[100 ]");
	template_progress_done(&p);
}

static int64_t size_told;

static void note_size(UNUSED void *context, int64_t bytes)
{
	size_told = bytes;
}

TEST(a_size_is_told_to_who_asks_for_it)
{
	struct template_progress p = TEMPLATE_PROGRESS(note, NULL);

	take(&p, "size 17\n");
	assert_string_equal(told, "");
	p.on_size = note_size;
	take(&p, "size 4711\nsize -1\nsize much\n5 one\n");
	assert_int_equal(size_told, 4711);
	assert_string_equal(told, "[5 one]");
	template_progress_done(&p);
}

TEST(malformed_lines_are_ignored)
{
	struct template_progress p = TEMPLATE_PROGRESS(note, NULL);

	take(&p, "\n101 too much\n-1 less\nhello\n");
	assert_string_equal(told, "");
	assert_int_equal(p.failure.code, ERROR_NONE);
	template_progress_done(&p);
}

TEST(an_error_line_becomes_the_failure)
{
	struct template_progress p = TEMPLATE_PROGRESS(NULL, NULL);

	take(&p, "error not_found no such image\tlook at its name\n");
	assert_int_equal(p.failure.code, ERROR_NOT_FOUND);
	assert_string_equal(p.failure.text, "no such image");
	assert_string_equal(p.failure.hint, "look at its name");
	template_progress_done(&p);
}

TEST(an_error_of_an_unknown_code_is_a_system_error)
{
	struct template_progress p = TEMPLATE_PROGRESS(NULL, NULL);

	take(&p, "error nonsense something\n");
	assert_int_equal(p.failure.code, ERROR_SYSTEM);
	assert_string_equal(p.failure.text, "something");
	assert_string_equal(p.failure.hint, "");
	template_progress_done(&p);
}

TEST(a_line_without_end_does_not_grow)
{
	struct template_progress p = TEMPLATE_PROGRESS(note, NULL);

	for (int i = 0; i < 10000; i++)
		template_progress_take(&p, SPAN("7777777"));
	assert_true(p.line.size <= TEMPLATE_LINE_MAX);
	take(&p, "\n3 next\n");
	assert_string_equal(told, "[3 next]");
	template_progress_done(&p);
}

int main(void)
{
	return RUN(CASE(lines_are_told_whatever_pieces_they_come_in),
	           CASE(a_size_is_told_to_who_asks_for_it), CASE(malformed_lines_are_ignored),
	           CASE(an_error_line_becomes_the_failure),
	           CASE(an_error_of_an_unknown_code_is_a_system_error),
	           CASE(a_line_without_end_does_not_grow));
}
