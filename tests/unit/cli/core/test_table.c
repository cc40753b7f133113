/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/core/display.h"
#include "cli/core/table.h"

static struct arena arena;
static const struct display no_display = {0};

static int free_arena(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static void check_printed(const struct text_table *table, const struct display *display,
                          const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	table_print(table, out, display);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, expected);
	free(text);
}

TEST(columns_are_as_wide_as_their_widest_cell)
{
	struct text_table table;

	table_init(&table, &arena, (const char *const[]){"ID", "NAME", NULL});
	table_add(&table, "abc");
	table_add(&table, "one\ntwo");
	table_add(&table, "\xC3\xA9");
	table_add(&table, NULL);
	check_printed(&table, &no_display, "ID   NAME\nabc  one?two\n\xC3\xA9    -\n");
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
	table_print(&table, out, &no_display);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(size, 2 + 10 * 2 + 90 * 3 + 900 * 4);
	free(text);
}

static void fill_wide_table(struct text_table *table)
{
	table_init(table, &arena, (const char *const[]){"ID", "TEXT", "N", "MORE", NULL});
	table_add(table, "abcdefghijklmnop");
	table_add(table, "aaaaaaaaaabbbbbbbbbbcccccccccc");
	table_add(table, "1");
	table_add(table, "ddddddddddeeeeeeeeee");
}

TEST(the_longest_columns_are_cut_to_the_screen)
{
	struct text_table table;

	fill_wide_table(&table);
	check_printed(
	        &table, &(struct display){.width = 73},
	        "ID                TEXT                            N  MORE\n"
	        "abcdefghijklmnop  aaaaaaaaaabbbbbbbbbbcccccccccc  1  ddddddddddeeeeeeeeee\n");
	check_printed(&table, &(struct display){.width = 60},
	              "ID                TEXT                N  MORE\n"
	              "abcdefghijklmnop  aaaaaaaaaabbbbbbb…  1  ddddddddddeeeeeeee…\n");
	check_printed(&table, &(struct display){.width = 40},
	              "ID                TEXT      N  MORE\n"
	              "abcdefghijklmnop  aaaaaaa…  1  dddddddd…\n");
}

TEST(the_first_column_is_cut_last)
{
	struct text_table table;

	fill_wide_table(&table);
	check_printed(&table, &(struct display){.width = 32},
	              "ID             TEXT    N  MORE\n"
	              "abcdefghijkl…  aaaaa…  1  ddddd…\n");
	check_printed(&table, &(struct display){.width = 5},
	              "ID      TEXT    N  MORE\n"
	              "abcde…  aaaaa…  1  ddddd…\n");
}

TEST(wide_characters_take_two_columns)
{
	struct text_table table;

	table_init(&table, &arena, (const char *const[]){"A", "B", NULL});
	table_add(&table, "\xE4\xB8\xAD\xE6\x96\x87");
	table_add(&table, "x");
	check_printed(&table, &no_display, "A     B\n\xE4\xB8\xAD\xE6\x96\x87  x\n");
}

TEST(headings_and_states_have_colors)
{
	struct text_table table;

	table_init(&table, &arena, (const char *const[]){"NAME", "STATE", NULL});
	table_add(&table, "started");
	table_add(&table, "started (build)");
	table_add(&table, "b");
	table_add(&table, "failed");
	table_add(&table, "c");
	table_add(&table, "unheard");
	check_printed(&table, &(struct display){.has_color = true},
	              "\x1B[1mNAME\x1B[0m     \x1B[1mSTATE\x1B[0m\n"
	              "started  \x1B[32mstarted (build)\x1B[0m\n"
	              "b        \x1B[31mfailed\x1B[0m\n"
	              "c        unheard\n");
	table_drop_head(&table);
	table_add(&table, "d");
	table_add(&table, "paused");
	check_printed(&table, &(struct display){.has_color = true}, "d  \x1B[33mpaused\x1B[0m\n");
}

int main(void)
{
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	const struct CMUnitTest cases[] = {
	        CASE(columns_are_as_wide_as_their_widest_cell),
	        CASE(a_table_grows),
	        CASE(the_longest_columns_are_cut_to_the_screen),
	        CASE(the_first_column_is_cut_last),
	        CASE(wide_characters_take_two_columns),
	        CASE(headings_and_states_have_colors),
	};

	return cmocka_run_group_tests(cases, NULL, free_arena);
}
