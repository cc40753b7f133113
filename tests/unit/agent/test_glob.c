/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "agent/glob.h"
#include "base/attribute.h"

struct row {
	const char *pattern, *path;
	bool matches;
};

static const struct row rows[] = {
        {"a", "a", true},
        {"a", "b", false},
        {"a", "a/b", false},
        {"*", "anything", true},
        {"*", "a/b", false},
        {"*", ".hidden", false},
        {".*", ".hidden", true},
        {"*.c", "main.c", true},
        {"*.c", "main.cc", false},
        {"*.c", "src/main.c", false},
        {"a*b*c", "aXXbYYbZc", true},
        {"a*b*c", "aXXbYY", false},
        {"?", "x", true},
        {"?", "xy", false},
        {"[abc]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[!a-c]x", "dx", true},
        {"[]]x", "]x", true},
        {"[x", "[x", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"**", "a", true},
        {"**", "a/b/c", true},
        {"**", "a/.git/c", false},
        {"**/*.c", "a.c", true},
        {"**/*.c", "x/y/a.c", true},
        {"**/*.c", "x/y/a.h", false},
        {"**/*.c", ".git/a.c", false},
        {"**/.git/*", "x/.git/config", true},
        {"src/**/*.c", "src/a.c", true},
        {"src/**/*.c", "src/x/y/a.c", true},
        {"src/**/*.c", "lib/a.c", false},
        {"**/x/*.c", "x/x/y.c", true},
        {"**/a/b", "a/a/b", true},
        {"**/a/b", "a/a", false},
        {"**/a", "a/b/a", true},
        {"a/**/b/**/c", "a/b/c", true},
        {"a/**/b/**/c", "a/1/b/2/b/3/c", true},
        {"a/**/b/**/c", "a/1/2/c", false},
        {"a/**", "a/b", true},
        {"a/**", "a", false},
        {"a/*/c", "a/b/c", true},
        {"a/*/c", "a/c", false},
};

TEST(patterns_match_what_they_say)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (glob_matches(rows[i].pattern, rows[i].path) != rows[i].matches)
			fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].path);
	}
}

TEST(a_pattern_made_to_be_slow_is_not)
{
	char pattern[2001], path[2001];

	for (size_t i = 0; i < 2000; i++)
		pattern[i] = i % 2 ? '*' : 'a';
	memset(path, 'a', sizeof(path));
	pattern[1998] = 'b';
	pattern[2000] = path[2000] = '\0';
	assert_false(glob_matches(pattern, path));
	for (size_t i = 0; i < 1998; i++) {
		pattern[i] = "**/a/"[i % 5];
		path[i] = i % 2 ? '/' : 'a';
	}
	assert_false(glob_matches(pattern, path));
}

TEST(the_depth_of_a_pattern_bounds_the_search)
{
	assert_int_equal(glob_depth("*.c"), 1);
	assert_int_equal(glob_depth("a/*/c"), 3);
	assert_int_equal(glob_depth("a/**/c"), 0);
	assert_int_equal(glob_depth("a**/c"), 2);
}

int main(void)
{
	return RUN(CASE(patterns_match_what_they_say), CASE(a_pattern_made_to_be_slow_is_not),
	           CASE(the_depth_of_a_pattern_bounds_the_search));
}
