/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "base/path.h"

static struct arena arena;

static const char *resolve(const char *base, const char *path)
{
	const char *result = NULL;
	struct error err;

	if (path_resolve(&arena, base, span_of(path), &result, &err) < 0) {
		assert_int_equal(err.code, ERROR_INVALID);
		return "refused";
	}
	return result;
}

static const char *relative(const char *path)
{
	const char *result = NULL;
	struct error err;

	if (path_check_relative(&arena, span_of(path), &result, &err) < 0) {
		assert_int_equal(err.code, ERROR_INVALID);
		return "refused";
	}
	return result;
}

TEST(paths_become_absolute_and_plain)
{
	static const char *const rows[][3] = {
	        {"/home/user", "a/b", "/home/user/a/b"},
	        {"/home/user", "", "/home/user"},
	        {"/home/user", ".", "/home/user"},
	        {"/home/user", "../x", "/home/x"},
	        {"/home/user", "../../..", "refused"},
	        {"/home/user", "/etc//./passwd/", "/etc/passwd"},
	        {"/home/user/", "./a/", "/home/user/a"},
	        {"/", "a", "/a"},
	        {"/", "", "/"},
	        {"/", "/", "/"},
	        {"/", "..", "refused"},
	        {"/a", "/..", "refused"},
	        {"/a", "b/../../..", "refused"},
	        {"/a", "...", "/a/..."},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_string_equal(resolve(rows[i][0], rows[i][1]), rows[i][2]);
	arena_done(&arena);
}

TEST(nul_bytes_and_too_long_paths_are_refused)
{
	const char *result = "untouched";
	char text[PATH_SIZE_MAX + 10];
	struct error err;

	assert_int_equal(path_resolve(&arena, "/", SPAN("a\0b"), &result, &err), -1);
	assert_int_equal(path_check_relative(&arena, SPAN("a\0b"), &result, &err), -1);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 100 == 99 ? '/' : 'a';
	for (size_t size = PATH_SIZE_MAX - 6; size < sizeof(text); size++) {
		struct span path = {text, size};
		int is_short = size + strlen("/bb/") < PATH_SIZE_MAX;

		assert_int_equal(path_resolve(&arena, "/bb", path, &result, &err),
		                 is_short ? 0 : -1);
	}
	memset(text, 'n', 256);
	text[256] = '\0';
	assert_string_equal(resolve("/", text), "refused");
	assert_string_equal(relative(text), "refused");
	assert_int_equal(strlen(resolve("/", text + 1)), 256);
	assert_int_equal(strlen(relative(text + 1)), 255);
	arena_done(&arena);
}

TEST(workspace_paths_are_relative_and_stay_inside)
{
	static const char *const rows[][2] = {
	        {"", "."},
	        {".", "."},
	        {"./.", "."},
	        {"src/a.py", "src/a.py"},
	        {"./src/./a", "src/a"},
	        {"..", "refused"},
	        {"a/..", "refused"},
	        {"a/../b", "refused"},
	        {"/a", "refused"},
	        {"a//b", "refused"},
	        {"a/", "refused"},
	        {"/", "refused"},
	        {"..a", "..a"},
	        {"a..", "a.."},
	        {" ", " "},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_string_equal(relative(rows[i][0]), rows[i][1]);
	arena_done(&arena);
}

TEST(a_refusal_says_what_would_be_right)
{
	const char *result;
	struct error err;

	assert_int_equal(path_check_relative(&arena, SPAN("/etc"), &result, &err), -1);
	assert_string_equal(err.text, "path is absolute");
	assert_non_null(strstr(err.hint, "relative"));
	arena_done(&arena);
}

TEST(names_have_no_slash_and_are_no_dots)
{
	assert_true(path_name_is_valid(SPAN("a")));
	assert_true(path_name_is_valid(SPAN("...")));
	assert_false(path_name_is_valid(SPAN("")));
	assert_false(path_name_is_valid(SPAN(".")));
	assert_false(path_name_is_valid(SPAN("..")));
	assert_false(path_name_is_valid(SPAN("a/b")));
	assert_false(path_name_is_valid(SPAN("a\0b")));
}

TEST(the_last_part_is_found)
{
	assert_string_equal(path_last("/a/b"), "b");
	assert_string_equal(path_last("b"), "b");
	assert_string_equal(path_last("/b"), "b");
	assert_string_equal(path_last("/"), "/");
	assert_string_equal(path_last(""), "");
}

TEST(paths_are_in_the_order_of_a_walk)
{
	static const char *const order[] = {"",      "a",   "a/b",   "a/b/c", "a/b-c", "a/c",
	                                    "a\x01", "a-b", "a-b/c", "ab",    "b",     "\xff"};

	for (size_t i = 0; i < COUNT_OF(order); i++)
		for (size_t j = 0; j < COUNT_OF(order); j++) {
			int found = path_compare(order[i], order[j]);

			assert_int_equal(found < 0, i < j);
			assert_int_equal(found > 0, i > j);
		}
}

int main(void)
{
	return RUN(CASE(paths_become_absolute_and_plain),
	           CASE(nul_bytes_and_too_long_paths_are_refused),
	           CASE(workspace_paths_are_relative_and_stay_inside),
	           CASE(a_refusal_says_what_would_be_right),
	           CASE(names_have_no_slash_and_are_no_dots), CASE(the_last_part_is_found),
	           CASE(paths_are_in_the_order_of_a_walk));
}
