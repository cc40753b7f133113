/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/bytes.h"
#include "cli/sync/gitignore.h"

/* The rules of the top folder over a path; '/' at its end makes it a folder. */
static bool is_ignored(const char *rules, const char *path)
{
	AUTO(gitignore_done) struct gitignore g = {0};
	char copy[256];
	size_t size = strlen(path);
	bool is_folder = path[size - 1] == '/';

	memcpy(copy, path, size + 1);
	if (is_folder)
		copy[size - 1] = '\0';
	gitignore_add(&g, "", span_of(rules));
	return gitignore_matches(&g, copy, is_folder);
}

TEST(patterns_match_as_gits_do)
{
	static const struct {
		const char *rules, *path;
		bool ignored;
	} cases[] = {
	        {"*.o", "a.o", true},
	        {"*.o", "deep/er/a.o", true},
	        {"*.o", "a.oo", false},
	        {"/a.o", "a.o", true},
	        {"/a.o", "b/a.o", false},
	        {"build/", "build/", true},
	        {"build/", "build", false},
	        {"build/", "build/x", true},
	        {"build/", "src/build/x", true},
	        {"doc/*.txt", "doc/a.txt", true},
	        {"doc/*.txt", "doc/b/a.txt", false},
	        {"doc/*.txt", "src/doc/a.txt", false},
	        {"doc/**/*.txt", "doc/a.txt", true},
	        {"doc/**/*.txt", "doc/b/c/a.txt", true},
	        {"**/logs", "logs", true},
	        {"**/logs", "a/b/logs", true},
	        {"logs/**", "logs/a/b", true},
	        {"logs/**", "logs", false},
	        {"*\n!keep", "keep", false},
	        {"*\n!keep", "other", true},
	        {"dir/\n!dir/keep", "dir/keep", true},
	        {"dir/*\n!dir/keep", "dir/keep", false},
	        {"# a\n\\#b", "#b", true},
	        {"\\!x", "!x", true},
	        {"a ", "a", true},
	        {"a\\ ", "a ", true},
	        {"a?c", "abc", true},
	        {"a?c", "a/c", false},
	        {"[a-c]x", "bx", true},
	        {"[!a-c]x", "bx", false},
	        {"[]]x", "]x", true},
	        {"[a", "[a", false},
	        {"a\r", "a", true},
	        {"\n\n", "a", false},
	        {"a**b", "aXXb", true},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (is_ignored(cases[i].rules, cases[i].path) != cases[i].ignored)
			fail_msg("'%s' over '%s'", cases[i].rules, cases[i].path);
}

TEST(the_nearest_file_decides_and_what_is_in_an_ignored_folder_is_lost)
{
	AUTO(gitignore_done) struct gitignore g = {0};

	gitignore_add(&g, "", SPAN("*.log\n/vendor/"));
	gitignore_add(&g, "keep", SPAN("!*.log\n/only\n"));
	gitignore_add(&g, "vendor", SPAN("!*"));
	gitignore_add(&g, "keep", SPAN("*"));
	assert_true(gitignore_matches(&g, "a.log", false));
	assert_false(gitignore_matches(&g, "keep/a.log", false));
	assert_false(gitignore_matches(&g, "keep/in/a.log", false));
	assert_true(gitignore_matches(&g, "keep/only", false));
	assert_false(gitignore_matches(&g, "keep/in/only", false));
	assert_true(gitignore_matches(&g, "vendor/x", false));
}

TEST(a_hostile_pattern_takes_no_longer_than_another)
{
	AUTO(buf_done) struct buf rules = BUF(8192), path = BUF(8192);

	for (int i = 0; i < 1000; i++)
		buf_add_text(&rules, "*a");
	for (int i = 0; i < 200; i++)
		buf_add_text(&path, "a");
	assert_false(is_ignored(buf_text(&rules), buf_text(&path)));
	buf_reset(&rules);
	for (int i = 0; i < 500; i++)
		buf_add_text(&rules, "**/a/");
	buf_add_text(&rules, "b");
	buf_reset(&path);
	for (int i = 0; i < 100; i++)
		buf_add_text(&path, "a/");
	buf_add_text(&path, "a");
	assert_false(is_ignored(buf_text(&rules), buf_text(&path)));
}

int main(void)
{
	return RUN(CASE(patterns_match_as_gits_do),
	           CASE(the_nearest_file_decides_and_what_is_in_an_ignored_folder_is_lost),
	           CASE(a_hostile_pattern_takes_no_longer_than_another));
}
