/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "account/account.h"

TEST(every_scope_has_a_name_that_parses_back)
{
	for (unsigned bit = 1; bit <= SCOPE_ALL; bit <<= 1) {
		struct error err = {0};
		const char *names[] = {account_scope_name((enum account_scope)bit), NULL};
		unsigned scopes = 0;

		assert_int_equal(account_scopes_parse(names, &scopes, &err), 0);
		assert_int_equal(scopes, bit);
	}
	assert_string_equal(account_scope_name(SCOPE_NONE), "none");
	assert_string_equal(account_scope_name((enum account_scope)(SCOPE_ALL + 1)), "none");
}

TEST(several_scopes_add_up_and_none_is_none)
{
	static const char *const names[] = {"sandbox:read", "key:write", "sandbox:read", NULL};
	struct error err = {0};
	unsigned scopes = 99;

	assert_int_equal(account_scopes_parse(names, &scopes, &err), 0);
	assert_int_equal(scopes, SCOPE_SANDBOX_READ | SCOPE_KEY_WRITE);
	assert_int_equal(account_scopes_parse(NULL, &scopes, &err), 0);
	assert_int_equal(scopes, SCOPE_NONE);
}

TEST(an_unknown_scope_is_refused_and_changes_nothing)
{
	static const char *const names[] = {"admin", "root", NULL};
	struct error err = {0};
	unsigned scopes = 99;

	assert_int_equal(account_scopes_parse(names, &scopes, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_non_null(strstr(err.text, "root"));
	assert_int_equal(scopes, 99);
}

TEST(a_caller_has_what_its_scopes_say)
{
	const struct account_caller caller = {.scopes = SCOPE_SANDBOX_READ | SCOPE_KEY_WRITE};
	struct error err = {0};

	assert_int_equal(account_require(&caller, SCOPE_SANDBOX_READ, &err), 0);
	assert_int_equal(account_require(&caller, SCOPE_SANDBOX_READ | SCOPE_KEY_WRITE, &err), 0);
	assert_int_equal(account_require(&caller, SCOPE_NONE, &err), 0);
}

TEST(a_missing_scope_is_refused_by_its_name)
{
	const struct account_caller caller = {.scopes = SCOPE_SANDBOX_READ};
	struct error err = {0};

	assert_int_equal(account_require(&caller,
	                                 SCOPE_SANDBOX_READ | SCOPE_TEMPLATE_WRITE | SCOPE_ADMIN,
	                                 &err),
	                 -1);
	assert_int_equal(err.code, ERROR_FORBIDDEN);
	assert_non_null(strstr(err.text, "template:write"));
}

TEST(an_admin_may_do_everything_and_nobody_else_is_an_admin)
{
	const struct account_caller admin = {.scopes = SCOPE_ADMIN};
	const struct account_caller rest = {.scopes = SCOPE_ALL & ~SCOPE_ADMIN};
	struct error err = {0};

	assert_int_equal(account_require(&admin, SCOPE_ALL, &err), 0);
	assert_int_equal(account_require(&rest, SCOPE_ADMIN, &err), -1);
	assert_non_null(strstr(err.text, "admin"));
}

int main(void)
{
	return RUN(CASE(every_scope_has_a_name_that_parses_back),
	           CASE(several_scopes_add_up_and_none_is_none),
	           CASE(an_unknown_scope_is_refused_and_changes_nothing),
	           CASE(a_caller_has_what_its_scopes_say),
	           CASE(a_missing_scope_is_refused_by_its_name),
	           CASE(an_admin_may_do_everything_and_nobody_else_is_an_admin));
}
