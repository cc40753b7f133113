/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "unit.h"
#include "webhook/webhook.h"

/* By `printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac whsec_test_secret`. */
TEST(a_signature_is_the_hmac_of_time_and_body)
{
	char signature[WEBHOOK_SIGNATURE_SIZE];

	webhook_sign("whsec_test_secret", 1700000000, SPAN("{\"a\":1}"), signature);
	assert_string_equal(
	        signature,
	        "t=1700000000,v1=aecbc681fe3d2604c08ff8e880a0988d997a12367fcf9545e6a3b90c1dfc04b7");
	webhook_sign("whsec_test_secret", 1700000000, (struct span){NULL, 0}, signature);
	assert_string_not_equal(
	        signature,
	        "t=1700000000,v1=aecbc681fe3d2604c08ff8e880a0988d997a12367fcf9545e6a3b90c1dfc04b7");
	webhook_sign("k", INT64_MAX, SPAN("x"), signature);
	assert_int_equal(strlen(signature), strlen("t=9223372036854775807,v1=") + 64);
}

TEST(secrets_that_are_made_are_new_and_good)
{
	char one[WEBHOOK_SECRET_SIZE + 1], two[WEBHOOK_SECRET_SIZE + 1];
	struct error err;

	webhook_secret_generate(one);
	webhook_secret_generate(two);
	assert_string_not_equal(one, two);
	assert_int_equal(strlen(one), WEBHOOK_SECRET_SIZE);
	assert_int_equal(strncmp(one, "whsec_", 6), 0);
	assert_int_equal(webhook_secret_check(one, &err), 0);
}

TEST(secrets_that_are_short_long_or_odd_are_refused)
{
	char longest[WEBHOOK_SECRET_MAX + 2];
	struct error err;

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(webhook_secret_check(longest + 1, &err), 0);
	assert_int_equal(webhook_secret_check(longest, &err), -1);
	assert_int_equal(webhook_secret_check("fifteen-letters", &err), -1);
	assert_int_equal(webhook_secret_check("sixteen-letters!", &err), 0);
	assert_int_equal(webhook_secret_check("with a blank in between", &err), -1);
	assert_int_equal(webhook_secret_check("with\na line break in it", &err), -1);
	assert_int_equal(webhook_secret_check("", &err), -1);
}

TEST(waits_double_within_a_fifth_and_end_at_four_hours)
{
	static const struct {
		int64_t failures, wait_ms;
	} rows[] = {{1, 5000},      {2, 10000},     {3, 20000},      {12, 10240000},
	            {13, 14400000}, {20, 14400000}, {1000, 14400000}};
	int64_t day = 0;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t least = INT64_MAX, most = 0;

		for (int n = 0; n < 200; n++) {
			int64_t wait = webhook_wait_ms(5000, rows[i].failures);

			assert_true(wait >= rows[i].wait_ms - rows[i].wait_ms / 5);
			assert_true(wait <= rows[i].wait_ms + rows[i].wait_ms / 5);
			least = wait < least ? wait : least;
			most = wait > most ? wait : most;
		}
		assert_true(least < most);
	}
	for (int failures = 1; failures < 17; failures++)
		day += webhook_wait_ms(5000, failures);
	assert_in_range(day / 3600000, 17, 27);
}

TEST(a_webhook_wants_what_one_of_its_patterns_is_for)
{
	assert_true(webhook_wants("*", "sandbox.started"));
	assert_true(webhook_wants("sandbox.*", "sandbox.started"));
	assert_true(webhook_wants("sandbox.failed sandbox.started", "sandbox.started"));
	assert_false(webhook_wants("sandbox.failed sandbox.starting", "sandbox.started"));
	assert_false(webhook_wants("", "sandbox.started"));
	assert_false(webhook_wants("  ", "sandbox.started"));
}

int main(void)
{
	return RUN(CASE(a_signature_is_the_hmac_of_time_and_body),
	           CASE(secrets_that_are_made_are_new_and_good),
	           CASE(secrets_that_are_short_long_or_odd_are_refused),
	           CASE(waits_double_within_a_fifth_and_end_at_four_hours),
	           CASE(a_webhook_wants_what_one_of_its_patterns_is_for));
}
