/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/core/text_out.h"

static struct arena arena;

static int free_arena(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

TEST(what_a_sandbox_wrote_cannot_steer_the_terminal)
{
	assert_string_equal(text_out_safe(&arena, "plain \xE2\x82\xAC \xC2\xA9"),
	                    "plain \xE2\x82\xAC \xC2\xA9");
	assert_string_equal(text_out_safe(&arena, "a\x1B[2Jb\nc\x7F"), "a?[2Jb?c?");
	assert_string_equal(text_out_safe(&arena, "x\xC2\x9By"), "x??y");
	assert_string_equal(text_out_safe(&arena, "x\x9B\xFFy"), "x??y");
}

TEST(sizes_and_times_are_short)
{
	assert_string_equal(text_out_bytes(&arena, 0), "0 B");
	assert_string_equal(text_out_bytes(&arena, 1023), "1023 B");
	assert_string_equal(text_out_bytes(&arena, 1536), "1.5 KiB");
	assert_string_equal(text_out_bytes(&arena, 20.0 * 1024 * 1024), "20 MiB");
	assert_string_equal(text_out_bytes(&arena, 3e15), "2728 TiB");
	assert_string_equal(text_out_duration(&arena, 0), "0s");
	assert_string_equal(text_out_duration(&arena, 185000), "3m 5s");
	assert_string_equal(text_out_duration(&arena, 7800000), "2h 10m");
	assert_string_equal(text_out_duration(&arena, INT64_C(90000000) * 4), "4d 4h");
	assert_string_equal(text_out_duration(&arena, -1), "-");
}

TEST(columns_are_as_wide_as_their_widest_cell)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct text_table table;

	table_init(&table, &arena, (const char *const[]){"ID", "NAME", NULL});
	table_add(&table, "abc");
	table_add(&table, "one\ntwo");
	table_add(&table, "\xC3\xA9");
	table_add(&table, NULL);
	table_print(&table, out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "ID   NAME\nabc  one?two\n\xC3\xA9    -\n");
	free(text);
}

TEST(a_table_grows)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct text_table table;

	table_init(&table, &arena, (const char *const[]){"N", NULL});
	for (int i = 0; i < 1000; i++)
		table_add(&table, arena_format(&arena, "%d", i));
	table_print(&table, out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(size, 2 + 10 * 2 + 90 * 3 + 900 * 4);
	free(text);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
	        CASE(what_a_sandbox_wrote_cannot_steer_the_terminal),
	        CASE(sizes_and_times_are_short),
	        CASE(columns_are_as_wide_as_their_widest_cell),
	        CASE(a_table_grows),
	};

	return cmocka_run_group_tests(cases, NULL, free_arena);
}
