/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "account/account.h"

TEST(every_role_has_a_name_that_parses_back)
{
	for (unsigned i = ROLE_NONE + 1; i < ROLE_COUNT; i++) {
		struct error err = {0};
		enum account_role role = ROLE_NONE;

		assert_int_equal(account_role_parse(account_role_name(i), &role, &err), 0);
		assert_int_equal(role, i);
	}
	assert_string_equal(account_role_name(ROLE_NONE), "");
}

TEST(an_unknown_role_is_refused_with_those_there_are)
{
	static const char *const names[] = {"", "owner", "Admin", "viewer ", NULL};

	for (const char *const *name = names; *name; name++) {
		struct error err = {0};
		enum account_role role = ROLE_VIEWER;

		assert_int_equal(account_role_parse(*name, &role, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_non_null(strstr(err.hint, "viewer"));
		assert_int_equal(role, ROLE_VIEWER);
	}
}

TEST(a_role_may_what_the_one_below_may_and_none_is_the_platforms)
{
	for (unsigned i = ROLE_NONE + 1; i < ROLE_COUNT; i++) {
		unsigned below = account_role_scopes((enum account_role)(i - 1));
		unsigned scopes = account_role_scopes((enum account_role)i);

		assert_int_equal(scopes & below, below);
		assert_int_not_equal(scopes, below);
		assert_int_equal(scopes & SCOPE_ADMIN, 0);
	}
	assert_int_equal(account_role_scopes(ROLE_VIEWER), SCOPE_SANDBOX_READ);
	assert_int_equal(account_role_scopes(ROLE_ADMIN), SCOPE_ALL & ~SCOPE_ADMIN);
}

TEST(a_members_key_does_no_more_than_his_role_of_today)
{
	assert_int_equal(account_key_scopes(SCOPE_ALL, "", ""), SCOPE_ALL);
	assert_int_equal(account_key_scopes(SCOPE_ALL, "ann", "viewer"), SCOPE_SANDBOX_READ);
	assert_int_equal(account_key_scopes(SCOPE_SANDBOX_WRITE, "ann", "viewer"), SCOPE_NONE);
	assert_int_equal(account_key_scopes(SCOPE_SANDBOX_READ, "ann", "admin"),
	                 SCOPE_SANDBOX_READ);
	assert_int_equal(account_key_scopes(SCOPE_ALL, "ann", ""), SCOPE_NONE);
	assert_int_equal(account_key_scopes(SCOPE_ALL, "ann", "root"), SCOPE_NONE);
}

TEST(a_new_key_gets_what_giver_and_role_have_in_common)
{
	static const char *const read_only[] = {"sandbox:read", NULL};
	static const char *const write[] = {"sandbox:read", "sandbox:write", NULL};
	static const char *const admin[] = {"admin", NULL};
	static const char *const none[] = {NULL};
	static const struct {
		struct account_grant grant;
		enum error_code code;
		unsigned scopes;
		const char *text;
	} cases[] = {
	        {{.own = SCOPE_ADMIN}, ERROR_NONE, SCOPE_ALL & ~SCOPE_ADMIN, NULL},
	        {{.own = SCOPE_ADMIN, .names = admin}, ERROR_NONE, SCOPE_ADMIN, NULL},
	        {{.own = SCOPE_ALL & ~SCOPE_ADMIN, .names = admin},
	         ERROR_FORBIDDEN,
	         0,
	         "more than the caller"},
	        {{.own = SCOPE_SANDBOX_READ | SCOPE_KEY_WRITE, .names = write},
	         ERROR_FORBIDDEN,
	         0,
	         "more than the caller"},
	        {{.own = SCOPE_ALL, .has_member = true, .role = ROLE_VIEWER},
	         ERROR_NONE,
	         SCOPE_SANDBOX_READ,
	         NULL},
	        {{.own = SCOPE_ALL, .names = write, .has_member = true, .role = ROLE_VIEWER},
	         ERROR_FORBIDDEN,
	         0,
	         "role 'viewer' cannot have the scope 'sandbox:write'"},
	        {{.own = SCOPE_ALL, .names = admin, .has_member = true, .role = ROLE_ADMIN},
	         ERROR_FORBIDDEN,
	         0,
	         "'admin'"},
	        {{.own = SCOPE_ALL, .names = read_only, .has_member = true, .role = ROLE_ADMIN},
	         ERROR_NONE,
	         SCOPE_SANDBOX_READ,
	         NULL},
	        {{.own = SCOPE_ALL, .names = none}, ERROR_INVALID, 0, "needs a scope"},
	        {{.own = SCOPE_KEY_WRITE, .has_member = true, .role = ROLE_VIEWER},
	         ERROR_INVALID,
	         0,
	         "needs a scope"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct error err = {0};
		unsigned scopes = 0;
		int result = account_scopes_grant(&cases[i].grant, &scopes, &err);

		assert_int_equal(result, cases[i].code == ERROR_NONE ? 0 : -1);
		assert_int_equal(err.code, cases[i].code);
		assert_int_equal(scopes, cases[i].scopes);
		if (cases[i].text)
			assert_non_null(strstr(err.text, cases[i].text));
	}
}

TEST(a_user_is_an_id_or_an_address)
{
	static const char *const good[] = {"a", "ann@example.com", "U-1.x_y+z", "7", NULL};
	static const char *const bad[] = {"",    " ann",  "ann smith", "ann/smith", "ann\n",
	                                  "<a>", "\"a\"", "-ann",      "\xc3\xa4",  NULL};
	char text[ACCOUNT_USER_MAX + 2];
	struct error err = {0};

	for (const char *const *user = good; *user; user++)
		assert_int_equal(account_user_check(*user, &err), 0);
	for (const char *const *user = bad; *user; user++) {
		assert_int_equal(account_user_check(*user, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
	memset(text, 'a', sizeof(text));
	text[ACCOUNT_USER_MAX + 1] = '\0';
	assert_int_equal(account_user_check(text, &err), -1);
	text[ACCOUNT_USER_MAX] = '\0';
	assert_int_equal(account_user_check(text, &err), 0);
}

#define NOW INT64_C(1790000000000)
TEST(a_keys_term_lies_ahead_and_within_ten_years)
{
	static const struct {
		struct account_term term;
		int result;
		int64_t at;
	} cases[] = {
	        {{0, 0, NOW}, 0, 0},
	        {{NOW + 1, 0, NOW}, 0, NOW + 1},
	        {{0, 5, NOW}, 0, NOW + 5},
	        {{NOW, 0, NOW}, -1, 0},
	        {{NOW - 1, 0, NOW}, -1, 0},
	        {{NOW + 1, 5, NOW}, -1, 0},
	        {{0, -1, NOW}, -1, 0},
	        {{0, INT64_MAX, NOW}, -1, 0},
	        {{INT64_MAX, 0, NOW}, -1, 0},
	        {{0, ACCOUNT_KEY_LIFE_MAX_MS, NOW}, 0, NOW + ACCOUNT_KEY_LIFE_MAX_MS},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct error err = {0};
		int64_t at = 0;

		assert_int_equal(account_term_resolve(&cases[i].term, &at, &err), cases[i].result);
		assert_int_equal(at, cases[i].at);
	}
}

int main(void)
{
	return RUN(CASE(every_role_has_a_name_that_parses_back),
	           CASE(an_unknown_role_is_refused_with_those_there_are),
	           CASE(a_role_may_what_the_one_below_may_and_none_is_the_platforms),
	           CASE(a_members_key_does_no_more_than_his_role_of_today),
	           CASE(a_new_key_gets_what_giver_and_role_have_in_common),
	           CASE(a_user_is_an_id_or_an_address),
	           CASE(a_keys_term_lies_ahead_and_within_ten_years));
}
