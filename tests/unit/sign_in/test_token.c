/* SPDX-License-Identifier: Apache-2.0 */
#include "sign_in/token.h"

#include <string.h>

#include "unit.h"

TEST(a_token_parses_back_and_no_other_text_does)
{
	static const char *const wrong[] = {"",
	                                    "abc",
	                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGH",
	                                    "abcdefghijklmnopqrstuvwxyz234567abcdefg!",
	                                    "abcdefghijklmnopqrstuvwxyz234567abcdefghi",
	                                    NULL};
	struct sign_in_token made, read;

	sign_in_token_make(&made);
	assert_int_equal(strlen(made.text), SIGN_IN_TOKEN_SIZE);
	assert_true(sign_in_token_parse(span_of(made.text), &read));
	assert_memory_equal(made.hash, read.hash, sizeof(read.hash));
	for (const char *const *text = wrong; *text; text++)
		assert_false(sign_in_token_parse(span_of(*text), &read));
}

TEST(a_csrf_text_belongs_to_one_login)
{
	struct sign_in_token one, two;
	char of_one[SIGN_IN_CSRF_SIZE + 1], of_two[SIGN_IN_CSRF_SIZE + 1];

	sign_in_token_make(&one);
	sign_in_token_make(&two);
	sign_in_csrf(&one, of_one);
	sign_in_csrf(&two, of_two);
	assert_string_not_equal(of_one, of_two);
	assert_true(sign_in_csrf_matches(&one, span_of(of_one)));
	assert_false(sign_in_csrf_matches(&one, span_of(of_two)));
	assert_false(sign_in_csrf_matches(&one, (struct span){of_one, SIGN_IN_CSRF_SIZE - 1}));
	assert_false(sign_in_csrf_matches(&one, (struct span){NULL, 0}));
}

TEST(a_login_has_an_identity_in_each_project)
{
	unsigned char a[ACCOUNT_HASH_SIZE], b[ACCOUNT_HASH_SIZE];
	struct sign_in_token token;

	sign_in_token_make(&token);
	sign_in_hash_in_project(token.hash, "one", a);
	sign_in_hash_in_project(token.hash, "two", b);
	assert_memory_not_equal(a, b, sizeof(a));
	assert_memory_not_equal(a, token.hash, sizeof(a));
	sign_in_hash_in_project(token.hash, "one", b);
	assert_memory_equal(a, b, sizeof(a));
}

int main(void)
{
	return RUN(CASE(a_token_parses_back_and_no_other_text_does),
	           CASE(a_csrf_text_belongs_to_one_login),
	           CASE(a_login_has_an_identity_in_each_project));
}
