/* SPDX-License-Identifier: Apache-2.0 */
#include "account/password.h"

#include <string.h>

#include "unit.h"

TEST(a_password_is_long_and_no_address)
{
	static const struct {
		const char *password;
		int result;
	} cases[] = {
	        {"correct horse", 0},
	        {"short", -1},
	        {"123456789", -1},
	        {"aaaaaaaaaaaa", -1},
	        {"ann.long@example.com", -1},
	        {"Ann.Long@example.com", -1},
	        {"ünïcödé pässwörd", 0},
	        {"", -1},
	};
	char huge[PASSWORD_MAX + 2];

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct error err = {0};

		assert_int_equal(password_check(cases[i].password, "ann.long@example.com", &err),
		                 cases[i].result);
		if (cases[i].result < 0)
			assert_null(
			        strstr(err.text, cases[i].password[0] ? cases[i].password : "@"));
	}
	memset(huge, 'x', sizeof(huge) - 1);
	memcpy(huge, "abcd", 4);
	huge[sizeof(huge) - 1] = '\0';
	{
		struct error err = {0};

		assert_int_equal(password_check(huge, "a@b", &err), -1);
		huge[PASSWORD_MAX] = '\0';
		assert_int_equal(password_check(huge, "a@b", &err), 0);
	}
}

TEST(the_hash_of_nobody_costs_what_another_costs)
{
	char hash[PASSWORD_HASH_SIZE];
	struct error err = {0};
	size_t parameters = strlen("$argon2id$v=19$m=65536,t=2,p=1$");

	assert_int_equal(password_hash("correct horse", hash, &err), 0);
	assert_int_equal(strncmp(hash, PASSWORD_HASH_OF_NOBODY, parameters), 0);
	assert_int_equal(strlen(hash), strlen(PASSWORD_HASH_OF_NOBODY));
	assert_false(password_matches(PASSWORD_HASH_OF_NOBODY, ""));
	assert_false(password_matches("", "correct horse"));
	assert_false(password_matches("no hash at all", "correct horse"));
	assert_true(password_matches(hash, "correct horse"));
}

TEST(an_address_is_kept_in_lower_case)
{
	static const char *const wrong[] = {"",
	                                    "ann",
	                                    "@example.com",
	                                    "ann@",
	                                    "a@b@c",
	                                    "ann@.com",
	                                    "ann@x.",
	                                    "ann@-",
	                                    "ann@b..c",
	                                    "ann @b.com",
	                                    "ann\n@example.com",
	                                    "<b>@b.com",
	                                    NULL};
	char email[ACCOUNT_USER_MAX + 1];
	struct error err = {0};

	assert_int_equal(account_email_parse("Ann.Lee+x@Example.COM", email, &err), 0);
	assert_string_equal(email, "ann.lee+x@example.com");
	for (const char *const *text = wrong; *text; text++)
		assert_int_equal(account_email_parse(*text, email, &err), -1);
}

int main(void)
{
	return RUN(CASE(a_password_is_long_and_no_address),
	           CASE(the_hash_of_nobody_costs_what_another_costs),
	           CASE(an_address_is_kept_in_lower_case));
}
