/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "account/account.h"

TEST(a_generated_key_parses_back_to_the_same_hash_and_prefix)
{
	struct error err = {0};
	struct account_key made, parsed;

	account_key_generate(&made);
	assert_int_equal(strlen(made.text), ACCOUNT_KEY_SIZE);
	assert_int_equal(account_key_parse(span_of(made.text), &parsed, &err), 0);
	assert_string_equal(parsed.text, made.text);
	assert_string_equal(parsed.prefix, made.prefix);
	assert_int_equal(strncmp(made.text, made.prefix, 12), 0);
	assert_int_equal(strlen(made.prefix), 12);
	assert_true(account_hash_equals(made.hash, parsed.hash));
}

TEST(two_generated_keys_differ)
{
	struct account_key a, b;

	account_key_generate(&a);
	account_key_generate(&b);
	assert_string_not_equal(a.text, b.text);
	assert_false(account_hash_equals(a.hash, b.hash));
}

TEST(the_hash_is_the_sha_256_of_the_text)
{
	/* printf atoll_222…2 | sha256sum */
	static const char expected[] =
	        "4ccbeea5634541b1793c2b71603b1e1343f43f70674513bfe97b59a374d76d3e";
	struct error err = {0};
	struct account_key key;
	char text[ACCOUNT_KEY_SIZE + 1] = "atoll_", hex[2 * ACCOUNT_HASH_SIZE + 1];

	memset(text + 6, '2', ACCOUNT_KEY_SIZE - 6);
	assert_int_equal(account_key_parse(span_of(text), &key, &err), 0);
	for (unsigned i = 0; i < ACCOUNT_HASH_SIZE; i++)
		snprintf(hex + 2 * i, 3, "%02x", key.hash[i]);
	assert_string_equal(hex, expected);
}

TEST(what_cannot_be_a_key_is_refused_and_not_repeated)
{
	static const char *const texts[] = {
	        "",
	        "atoll_",
	        "sk-live-0123456789012345678901234567890123456",
	        "atoll_222222222222222222222222222222222222222",
	        "atoll_22222222222222222222222222222222222222222",
	        "atoll_222222222222222222222222222222222222222A",
	        "atoll_2222222222222222222222222222222222222220",
	        "ATOLL_2222222222222222222222222222222222222222",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct error err = {0};
		struct account_key key;

		assert_int_equal(account_key_parse(span_of(texts[i]), &key, &err), -1);
		assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
		assert_true(*texts[i] == '\0' || !strstr(err.text, texts[i]));
	}
}

TEST(a_nul_inside_a_key_is_refused)
{
	struct error err = {0};
	struct account_key key;
	char text[ACCOUNT_KEY_SIZE + 1] = "atoll_";

	memset(text + 6, '2', ACCOUNT_KEY_SIZE - 6);
	text[20] = '\0';
	assert_int_equal(account_key_parse((struct span){text, ACCOUNT_KEY_SIZE}, &key, &err), -1);
}

TEST(hashes_that_differ_in_one_bit_are_not_equal)
{
	for (unsigned bit = 0; bit < 8 * ACCOUNT_HASH_SIZE; bit++) {
		unsigned char a[ACCOUNT_HASH_SIZE] = {0}, b[ACCOUNT_HASH_SIZE] = {0};

		b[bit / 8] = (unsigned char)(1u << bit % 8);
		assert_false(account_hash_equals(a, b));
	}
}

TEST(the_key_is_found_in_either_header)
{
	static const struct {
		const char *authorization, *api_key, *key;
	} cases[] = {
	        {"Bearer abc", NULL, "abc"},
	        {"bearer  abc ", NULL, "abc"},
	        {"BEARER abc", "other", "abc"},
	        {NULL, " abc", "abc"},
	        {"Basic abc", "key", "key"},
	        {"Basic abc", NULL, ""},
	        {"Bearer", NULL, ""},
	        {"Bearer ", "key", "key"},
	        {"", "", ""},
	        {NULL, NULL, ""},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_true(span_equals_text(
		        account_bearer(cases[i].authorization, cases[i].api_key), cases[i].key));
}

TEST(the_writing_of_e2b_is_the_same_key)
{
	struct error err = {0};
	struct account_key made, parsed;
	char text[ACCOUNT_KEY_E2B_SIZE + 1];

	account_key_generate(&made);
	account_key_write_e2b(&made, text);
	assert_int_equal(strlen(text), ACCOUNT_KEY_E2B_SIZE);
	assert_int_equal(strncmp(text, "e2b_", 4), 0);
	assert_int_equal(strspn(text + 4, "0123456789abcdef"), ACCOUNT_KEY_E2B_SIZE - 4);
	assert_int_equal(account_key_parse(span_of(text), &parsed, &err), 0);
	assert_string_equal(parsed.text, made.text);
	assert_true(account_hash_equals(parsed.hash, made.hash));
}

TEST(what_is_no_key_in_the_writing_of_e2b_is_refused)
{
	static const char *const texts[] = {
	        "e2b_",
	        "e2b_0000000000000000000000000000000000000000",
	        "e2b_0000000000000000000000000000000000000000000000000g",
	        "e2b_0000000000000000000000000000000000000000000000000A",
	        "E2B_00000000000000000000000000000000000000000000000000",
	        "e2b_000000000000000000000000000000000000000000000000000",
	};
	struct error err = {0};
	struct account_key key;

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		assert_int_equal(account_key_parse(span_of(texts[i]), &key, &err), -1);
		assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
	}
	assert_int_equal(account_key_parse((struct span){"e2b_0000000000000000000000000\0"
	                                                 "000000000000000000000000",
	                                                 ACCOUNT_KEY_E2B_SIZE},
	                                   &key, &err),
	                 -1);
}

int main(void)
{
	return RUN(CASE(a_generated_key_parses_back_to_the_same_hash_and_prefix),
	           CASE(two_generated_keys_differ), CASE(the_hash_is_the_sha_256_of_the_text),
	           CASE(what_cannot_be_a_key_is_refused_and_not_repeated),
	           CASE(a_nul_inside_a_key_is_refused),
	           CASE(hashes_that_differ_in_one_bit_are_not_equal),
	           CASE(the_key_is_found_in_either_header),
	           CASE(the_writing_of_e2b_is_the_same_key),
	           CASE(what_is_no_key_in_the_writing_of_e2b_is_refused));
}
