/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "agent/glob.h"
#include "base/error.h"

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

struct braces {
	const char *pattern, *path;
	bool matches;
};
static const struct braces braces[] = {
        {"*.{c,h}", "main.c", true},
        {"*.{c,h}", "main.h", true},
        {"*.{c,h}", "main.o", false},
        {"*.{c,h}", "main.{c,h}", false},
        {"{src,tests/unit}/**/*.c", "tests/unit/http/a.c", true},
        {"{src,tests/unit}/**/*.c", "tests/system/a.c", false},
        {"{a,{b,c}d}e", "cde", true},
        {"{a,{b,c}d}e", "ce", false},
        {"{a,b}{c,d}", "bd", true},
        {"main{,_test}.c", "main.c", true},
        {"main{,_test}.c", "main_test.c", true},
        {"{.*,*}", ".hidden", true},
        /* Not braces. */
        {"{a}", "{a}", true},
        {"{a,b", "{a,b", true},
        {"a,b}", "a,b}", true},
        {"{x{a,b}", "{xb", true},
        {"\\{a,b}", "{a,b}", true},
        {"{a\\,b,c}", "a,b", true},
        {"[{]a,b}", "{a,b}", true},
        {"{[,],b}", ",", true},
        {"{}", "{}", true},
};

TEST(braces_stand_for_each_of_their_parts)
{
	AUTO(arena_done) struct arena a = {0};
	struct globs globs;
	struct error err;

	for (size_t i = 0; i < COUNT_OF(braces); i++) {
		assert_int_equal(globs_parse(&a, braces[i].pattern, &globs, &err), 0);
		if (globs_match(&globs, braces[i].path) != braces[i].matches)
			fail_msg("'%s' and '%s'", braces[i].pattern, braces[i].path);
	}
}

TEST(braces_bound_the_search_by_their_deepest_part)
{
	AUTO(arena_done) struct arena a = {0};
	struct globs globs;
	struct error err;

	assert_int_equal(globs_parse(&a, "{a,b/*/c}/*.c", &globs, &err), 0);
	assert_int_equal(globs_depth(&globs), 4);
	assert_int_equal(globs_parse(&a, "{a,**}/*.c", &globs, &err), 0);
	assert_int_equal(globs_depth(&globs), 0);
}

TEST(braces_that_stand_for_too_much_are_refused)
{
	AUTO(arena_done) struct arena a = {0};
	struct globs globs;
	struct error err;
	char nested[1025];

	assert_int_equal(globs_parse(&a, "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", &globs, &err),
	                 0);
	assert_int_equal(globs.count, GLOBS_MAX);
	assert_int_equal(
	        globs_parse(&a, "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", &globs, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	for (size_t i = 0; i < sizeof(nested) - 1; i++)
		nested[i] = "{a,"[i % 3];
	nested[sizeof(nested) - 1] = '\0';
	assert_int_equal(globs_parse(&a, nested, &globs, &err), 0);
	assert_int_equal(globs.count, 1);
}

int main(void)
{
	return RUN(CASE(patterns_match_what_they_say), CASE(a_pattern_made_to_be_slow_is_not),
	           CASE(the_depth_of_a_pattern_bounds_the_search),
	           CASE(braces_stand_for_each_of_their_parts),
	           CASE(braces_bound_the_search_by_their_deepest_part),
	           CASE(braces_that_stand_for_too_much_are_refused));
}
