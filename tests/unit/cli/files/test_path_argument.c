/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "cli/files/path_argument.h"

static struct arena arena;
static struct error err;

TEST(a_colon_before_any_slash_names_a_sandbox)
{
	static const struct {
		const char *text, *sandbox, *path;
	} rows[] = {
	        {"box:/etc/hosts", "box", "/etc/hosts"},
	        {"box:src/a.py", "box", "src/a.py"},
	        {"box:", "box", ""},
	        {"box:a:b", "box", "a:b"},
	        {"file.txt", NULL, "file.txt"},
	        {"./a:b", NULL, "./a:b"},
	        {"/a:b", NULL, "/a:b"},
	        {".", NULL, "."},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct path_argument target = {0};

		assert_int_equal(path_argument_parse(&arena, rows[i].text, &target, &err), 0);
		if (rows[i].sandbox)
			assert_string_equal(target.sandbox, rows[i].sandbox);
		else
			assert_null(target.sandbox);
		assert_string_equal(target.path, rows[i].path);
	}
	arena_done(&arena);
}

TEST(empty_names_are_refused)
{
	struct path_argument target;

	assert_int_equal(path_argument_parse(&arena, "", &target, &err), -1);
	assert_int_equal(path_argument_parse(&arena, ":/etc", &target, &err), -1);
	assert_string_equal(err.hint, "write SANDBOX:PATH, or ./:/etc for a local file");
}

TEST(a_copy_goes_in_or_out_but_not_both)
{
	struct copy_targets t;

	assert_int_equal(copy_targets_parse(&arena, "a", "box:b", &t, &err), 0);
	assert_true(t.upload);
	assert_string_equal(t.to.sandbox, "box");
	assert_int_equal(copy_targets_parse(&arena, "box:b", "a", &t, &err), 0);
	assert_false(t.upload);
	assert_int_equal(copy_targets_parse(&arena, "a", "b", &t, &err), -1);
	assert_string_equal(err.text, "neither path is in a sandbox");
	assert_int_equal(copy_targets_parse(&arena, "x:a", "y:b", &t, &err), -1);
	assert_string_equal(err.text, "both paths are in sandboxes");
	arena_done(&arena);
}

TEST(a_copy_option_is_split_at_its_last_colon)
{
	const char *local, *remote;

	assert_int_equal(copy_option_parse(&arena, "a:b:/c", &local, &remote, &err), 0);
	assert_string_equal(local, "a:b");
	assert_string_equal(remote, "/c");
	assert_int_equal(copy_option_parse(&arena, "a", &local, &remote, &err), -1);
	assert_int_equal(copy_option_parse(&arena, "a:", &local, &remote, &err), -1);
	assert_int_equal(copy_option_parse(&arena, ":a", &local, &remote, &err), -1);
	arena_done(&arena);
}

int main(void)
{
	return RUN(CASE(a_colon_before_any_slash_names_a_sandbox), CASE(empty_names_are_refused),
	           CASE(a_copy_goes_in_or_out_but_not_both),
	           CASE(a_copy_option_is_split_at_its_last_colon));
}
