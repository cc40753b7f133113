/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "base/nearest.h"

static const char *nearest_of(struct span name, const char *const *offers)
{
	struct nearest nearest = {.name = name};

	for (; *offers; offers++)
		nearest_offer(&nearest, *offers);
	return nearest.found ? nearest.found : "none";
}

#define NEAREST(name, ...) nearest_of(SPAN(name), (const char *const[]){__VA_ARGS__, NULL})

TEST(each_kind_of_edit_is_forgiven)
{
	assert_string_equal(NEAREST("exce", "run", "exec", "ps"), "exec");
	assert_string_equal(NEAREST("exe", "run", "exec"), "exec");
	assert_string_equal(NEAREST("execc", "run", "exec"), "exec");
	assert_string_equal(NEAREST("exek", "run", "exec"), "exec");
	assert_string_equal(NEAREST("exec", "exec"), "exec");
	assert_string_equal(NEAREST("tmeplaet", "shell", "template"), "template");
	assert_string_equal(NEAREST("workesr", "workers"), "workers");
}

TEST(the_nearest_wins_and_of_equals_the_first)
{
	assert_string_equal(NEAREST("memroy", "memo", "memory", "memories"), "memory");
	assert_string_equal(NEAREST("xs", "ls", "ps"), "ls");
}

TEST(what_is_too_far_is_not_offered)
{
	assert_string_equal(NEAREST("nonsense", "exec", "run", "logs"), "none");
	assert_string_equal(NEAREST("abcd", "abxy"), "none");
	assert_string_equal(NEAREST("abcdefgh", "abcdexyz"), "none");
	assert_string_equal(NEAREST("x", "y"), "none");
	assert_string_equal(NEAREST("", "a", ""), "none");
}

TEST(long_names_are_left_alone)
{
	char longest[41], longer[42];

	memset(longest, 'a', sizeof(longest));
	memset(longer, 'a', sizeof(longer));
	longest[40] = longer[41] = '\0';
	assert_ptr_equal(nearest_of(span_of(longest), (const char *const[]){longest, NULL}),
	                 longest);
	assert_string_equal(nearest_of(span_of(longer), (const char *const[]){longest, NULL}),
	                    "none");
	assert_string_equal(nearest_of(span_of(longest), (const char *const[]){longer, NULL}),
	                    "none");
}

int main(void)
{
	return RUN(CASE(each_kind_of_edit_is_forgiven),
	           CASE(the_nearest_wins_and_of_equals_the_first),
	           CASE(what_is_too_far_is_not_offered), CASE(long_names_are_left_alone));
}
