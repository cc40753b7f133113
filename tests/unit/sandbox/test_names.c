/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "sandbox/sandbox.h"

TEST(good_names_are_allowed)
{
	static const char *const names[] = {"a", "7", "Build.2_x-y", "a--b"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct error err = {0};

		assert_int_equal(sandbox_name_check(names[i], &err), 0);
	}
}

TEST(names_with_odd_characters_or_edges_are_refused_with_the_rule)
{
	static const char *const names[] = {".", "..", "-a", "a-", "a/b", "a b", "\xc3\xa4", "a\n"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct error err = {0};

		assert_int_equal(sandbox_name_check(names[i], &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_non_null(strstr(err.hint, "letters"));
	}
}

TEST(a_name_has_1_to_63_characters)
{
	struct error err = {0};
	char name[SANDBOX_NAME_MAX + 2];

	memset(name, 'n', sizeof(name));
	name[SANDBOX_NAME_MAX] = '\0';
	assert_int_equal(sandbox_name_check(name, &err), 0);
	name[SANDBOX_NAME_MAX] = 'n';
	name[SANDBOX_NAME_MAX + 1] = '\0';
	assert_int_equal(sandbox_name_check(name, &err), -1);
	assert_int_equal(sandbox_name_check("", &err), -1);
}

TEST(generated_names_are_good_ones_and_differ)
{
	char first[SANDBOX_NAME_MAX + 1], next[SANDBOX_NAME_MAX + 1];
	unsigned same = 0;

	sandbox_name_generate(first);
	for (unsigned i = 0; i < 200; i++) {
		struct error err = {0};

		sandbox_name_generate(next);
		assert_int_equal(sandbox_name_check(next, &err), 0);
		same += strcmp(first, next) == 0;
	}
	assert_true(same < 3);
}

int main(void)
{
	return RUN(CASE(good_names_are_allowed),
	           CASE(names_with_odd_characters_or_edges_are_refused_with_the_rule),
	           CASE(a_name_has_1_to_63_characters),
	           CASE(generated_names_are_good_ones_and_differ));
}
