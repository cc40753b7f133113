/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

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
	assert_string_equal(text_out_safe(&arena, "a\xE2\x80\xAE"
	                                          "b\xE2\x80\x9C"),
	                    "a???b\xE2\x80\x9C");
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

int main(void)
{
	const struct CMUnitTest cases[] = {
	        CASE(what_a_sandbox_wrote_cannot_steer_the_terminal),
	        CASE(sizes_and_times_are_short),
	};

	return cmocka_run_group_tests(cases, NULL, free_arena);
}
