/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "sandbox/sandbox.h"

TEST(ordinary_names_and_any_value_are_allowed)
{
	static const char *const names[] = {"PATH", "_", "a", "http_proxy", "A1_b2"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct error err = {0};

		assert_int_equal(sandbox_env_check(names[i], "a=b\n\xff", &err), 0);
		assert_int_equal(sandbox_env_check(names[i], "", &err), 0);
	}
}

TEST(names_that_no_shell_could_set_are_refused)
{
	static const char *const names[] = {"", "1A", "A=B", "A B", "A-B", "\xc3\xa4", "A\n"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct error err = {0};

		assert_int_equal(sandbox_env_check(names[i], "x", &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

TEST(a_name_has_at_most_128_characters)
{
	struct error err = {0};
	char name[130];

	memset(name, 'A', sizeof(name));
	name[128] = '\0';
	assert_int_equal(sandbox_env_check(name, "", &err), 0);
	name[128] = 'A';
	name[129] = '\0';
	assert_int_equal(sandbox_env_check(name, "", &err), -1);
}

TEST(a_value_has_at_most_64_kib)
{
	static char value[64 * 1024 + 2];
	struct error err = {0};

	memset(value, 'v', 64 * 1024);
	assert_int_equal(sandbox_env_check("A", value, &err), 0);
	value[64 * 1024] = 'v';
	assert_int_equal(sandbox_env_check("A", value, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
	return RUN(CASE(ordinary_names_and_any_value_are_allowed),
	           CASE(names_that_no_shell_could_set_are_refused),
	           CASE(a_name_has_at_most_128_characters), CASE(a_value_has_at_most_64_kib));
}
