/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "cli/core/command.h"

static const struct command_option options[] = {
        {"all", NULL, "a switch", .letter = 'a'},
        {"env", "K=V", "a list", .letter = 'e', .repeats = true},
        {"memory", "SIZE", "a size", .letter = 'm'},
        {"idle-exit", "DURATION", "two words"},
        {"cpu", "NUMBER", "a number"},
        {0},
};
static const struct cli_command plain = {
        .name = "plain", .usage = "A B", .options = options, .arguments_max = 2};
static const struct cli_command wrapper = {
        .name = "wrapper",
        .usage = "X -- COMMAND",
        .options = options,
        .arguments_min = 1,
        .arguments_max = 1,
        .own_arguments = 1,
        .has_inner_command = true,
};

static struct arena arena;
static struct error err;
static struct cli_arguments args;

static int free_arena(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

#define PARSE(command, ...)                                                                        \
	arguments_parse(&arena, (command), (const char *const[]){__VA_ARGS__, NULL}, &args, &err)

TEST(options_are_taken_in_every_spelling)
{
	assert_int_equal(
	        PARSE(&plain, "-a", "--env", "A=1", "-eB=2", "x", "-e", "C=3", "--memory=5", "y"),
	        0);
	assert_true(arguments_has(&args, "all"));
	assert_string_equal(arguments_text(&args, "env", ""), "C=3");
	assert_string_equal(arguments_text_at(&args, "env", 0), "A=1");
	assert_string_equal(arguments_text_at(&args, "env", 1), "B=2");
	assert_null(arguments_text_at(&args, "env", 3));
	assert_string_equal(arguments_text(&args, "memory", ""), "5");
	assert_int_equal(args.count, 2);
	assert_string_equal(args.words[0], "x");
	assert_string_equal(args.words[1], "y");
	assert_null(args.words[2]);
	assert_false(arguments_has(&args, "cpu"));
}

TEST(letters_can_be_joined_and_underscores_stand_for_dashes)
{
	assert_int_equal(PARSE(&plain, "-am7", "--idle_exit", "5m"), 0);
	assert_true(arguments_has(&args, "all"));
	assert_string_equal(arguments_text(&args, "memory", ""), "7");
	assert_string_equal(arguments_text(&args, "idle-exit", ""), "5m");
}

TEST(an_empty_value_is_a_value)
{
	assert_int_equal(PARSE(&plain, "--env=", "-e", ""), 0);
	assert_string_equal(arguments_text_at(&args, "env", 0), "");
	assert_string_equal(arguments_text_at(&args, "env", 1), "");
}

TEST(wrong_lines_are_refused)
{
	assert_int_equal(PARSE(&plain, "--bogus"), -1);
	assert_string_equal(err.text, "'plain' has no option '--bogus'");
	assert_string_equal(err.hint, "");
	assert_int_equal(PARSE(&plain, "-x"), -1);
	assert_string_equal(err.hint, "");
	assert_int_equal(PARSE(&plain, "--env"), -1);
	assert_int_equal(PARSE(&plain, "-e"), -1);
	assert_int_equal(PARSE(&plain, "--all=yes"), -1);
	assert_int_equal(PARSE(&plain, "--en=1"), -1);
	assert_int_equal(PARSE(&plain, "a", "b", "c"), -1);
	assert_string_equal(err.text, "'plain' got too many arguments");
	assert_int_equal(PARSE(&wrapper, "--all"), -1);
	assert_string_equal(err.text, "'wrapper' got too few arguments");
	assert_int_equal(err.code, ERROR_INVALID);
}

TEST(the_option_that_was_meant_is_named)
{
	assert_int_equal(PARSE(&plain, "--memroy=2g"), -1);
	assert_string_equal(err.text, "'plain' has no option '--memroy=2g'");
	assert_string_equal(err.hint, "did you mean '--memory'?");
	assert_int_equal(PARSE(&plain, "--idle-exi"), -1);
	assert_string_equal(err.hint, "did you mean '--idle-exit'?");
	assert_int_equal(PARSE(&plain, "--hlep"), -1);
	assert_string_equal(err.hint, "did you mean '--help'?");
	assert_int_equal(PARSE(&plain, "-cpu"), -1);
	assert_string_equal(err.hint, "did you mean '--cpu'?");
}

TEST(help_is_possible_without_arguments)
{
	assert_int_equal(PARSE(&wrapper, "--help"), 0);
	assert_true(arguments_has(&args, "help"));
}

TEST(a_dash_is_an_argument_and_two_end_the_options)
{
	assert_int_equal(PARSE(&plain, "-", "--", "--all"), 0);
	assert_string_equal(args.words[0], "-");
	assert_string_equal(args.words[1], "--all");
	assert_false(arguments_has(&args, "all"));
}

TEST(the_inner_command_keeps_its_options)
{
	assert_int_equal(PARSE(&wrapper, "-a", "box", "--", "ls", "-a", "--", "--help"), 0);
	assert_int_equal(args.count, 1);
	assert_string_equal(args.inner[0], "ls");
	assert_string_equal(args.inner[1], "-a");
	assert_string_equal(args.inner[2], "--");
	assert_string_equal(args.inner[3], "--help");
	assert_null(args.inner[4]);
	assert_int_equal(args.value_count, 1);
}

TEST(the_inner_command_needs_no_dashes_before_it)
{
	assert_int_equal(PARSE(&wrapper, "box", "-a", "ls", "-l"), 0);
	assert_true(arguments_has(&args, "all"));
	assert_string_equal(args.inner[0], "ls");
	assert_string_equal(args.inner[1], "-l");
	assert_int_equal(PARSE(&wrapper, "box", "--"), 0);
	assert_null(args.inner);
}

TEST(values_are_typed)
{
	int64_t whole = 1, ms = 2, mb = 3;
	double number = 4;

	assert_int_equal(PARSE(&plain, "--memory=2g", "--idle-exit=90s", "--cpu=0.5"), 0);
	assert_int_equal(arguments_size_mb(&args, "memory", &mb, &err), 0);
	assert_int_equal(mb, 2048);
	assert_int_equal(arguments_duration(&args, "idle-exit", &ms, &err), 0);
	assert_int_equal(ms, 90000);
	assert_int_equal(arguments_number(&args, "cpu", &number, &err), 0);
	assert_true(number == 0.5);
	assert_int_equal(arguments_whole(&args, "env", 0, &whole, &err), 0);
	assert_int_equal(whole, 1); /* not given: untouched */
	assert_int_equal(PARSE(&plain, "-m", "512m"), 0);
	assert_int_equal(arguments_size_mb(&args, "memory", &mb, &err), 0);
	assert_int_equal(mb, 512);
}

TEST(values_of_another_type_are_refused_by_name)
{
	static const char *const sizes[] = {"", "m", "1k", "-1", "0", "1.5g", "99999999999999999g"};
	static const char *const numbers[] = {"", "x", "1x", "nan", "inf", "-1"};
	int64_t value;
	double number;

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		assert_int_equal(PARSE(&plain, "--memory", sizes[i]), 0);
		assert_int_equal(arguments_size_mb(&args, "memory", &value, &err), -1);
		assert_non_null(strstr(err.text, "--memory"));
	}
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		assert_int_equal(PARSE(&plain, "--cpu", numbers[i]), 0);
		assert_int_equal(arguments_number(&args, "cpu", &number, &err), -1);
		assert_non_null(strstr(err.text, "--cpu"));
	}
	assert_int_equal(PARSE(&plain, "--memory", "seven"), 0);
	assert_int_equal(arguments_whole(&args, "memory", 0, &value, &err), -1);
	assert_int_equal(arguments_duration(&args, "memory", &value, &err), -1);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
	        CASE(options_are_taken_in_every_spelling),
	        CASE(letters_can_be_joined_and_underscores_stand_for_dashes),
	        CASE(an_empty_value_is_a_value),
	        CASE(wrong_lines_are_refused),
	        CASE(the_option_that_was_meant_is_named),
	        CASE(help_is_possible_without_arguments),
	        CASE(a_dash_is_an_argument_and_two_end_the_options),
	        CASE(the_inner_command_keeps_its_options),
	        CASE(the_inner_command_needs_no_dashes_before_it),
	        CASE(values_are_typed),
	        CASE(values_of_another_type_are_refused_by_name),
	};

	return cmocka_run_group_tests(cases, NULL, free_arena);
}
