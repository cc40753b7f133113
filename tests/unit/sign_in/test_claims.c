/* SPDX-License-Identifier: Apache-2.0 */
#include "sign_in/claims.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <sodium.h>
#include <string.h>

#include "json/json.h"
#include "unit.h"

#define NOW INT64_C(1790000000)
#define CLAIMS                                                                                     \
	"{\"iss\":\"https://issuer\",\"aud\":\"atoll\",\"sub\":\"s-1\",\"nonce\":\"n\","           \
	"\"iat\":1790000000,\"exp\":1790000300}"

static const struct claims_wanted usual = {
        .issuer = "https://issuer", .client_id = "atoll", .nonce = "n", .now = NOW};
static EVP_PKEY *rsa, *small_rsa, *ec, *other_ec;

static const char *base64url(struct arena *a, const void *bytes, size_t size)
{
	size_t room = sodium_base64_encoded_len(size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	char *text = arena_alloc(a, room);

	sodium_bin2base64(text, room, bytes, size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return text;
}

static const char *number(struct arena *a, EVP_PKEY *key, const char *name, int size)
{
	unsigned char bytes[1024];
	BIGNUM *value = NULL;
	const char *text;

	assert_int_equal(EVP_PKEY_get_bn_param(key, name, &value), 1);
	if (!size)
		size = BN_num_bytes(value);
	assert_int_equal(BN_bn2binpad(value, bytes, size), size);
	text = base64url(a, bytes, (size_t)size);
	BN_free(value);
	return text;
}

/* The set of keys that the provider publishes. */
static const struct json_value *key_set(struct arena *a, EVP_PKEY *rsa_key)
{
	const struct json_value *set;
	struct error err;
	const char *text = arena_format(
	        a,
	        "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"x\",\"k\":\"AAAA\"},"
	        "{\"kty\":\"RSA\",\"kid\":\"r\",\"n\":\"%s\",\"e\":\"%s\"},"
	        "{\"kty\":\"RSA\",\"kid\":\"encrypts\",\"use\":\"enc\",\"n\":\"%s\",\"e\":\"%s\"},"
	        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"e\",\"alg\":\"ES256\",\"x\":\"%s\","
	        "\"y\":\"%s\"}]}",
	        number(a, rsa_key, OSSL_PKEY_PARAM_RSA_N, 0),
	        number(a, rsa_key, OSSL_PKEY_PARAM_RSA_E, 0),
	        number(a, rsa_key, OSSL_PKEY_PARAM_RSA_N, 0),
	        number(a, rsa_key, OSSL_PKEY_PARAM_RSA_E, 0),
	        number(a, ec, OSSL_PKEY_PARAM_EC_PUB_X, 32),
	        number(a, ec, OSSL_PKEY_PARAM_EC_PUB_Y, 32));

	assert_int_equal(json_load(a, span_of(text), &set, &err), 0);
	return set;
}

static const char *sign(struct arena *a, EVP_PKEY *key, const char *text)
{
	unsigned char signature[1024], pair[64];
	const unsigned char *at = signature;
	size_t size = sizeof(signature);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	ECDSA_SIG *numbers;

	assert_int_equal(EVP_DigestSignInit_ex(context, NULL, "SHA256", NULL, NULL, key, NULL), 1);
	assert_int_equal(EVP_DigestSign(context, signature, &size, (const unsigned char *)text,
	                                strlen(text)),
	                 1);
	EVP_MD_CTX_free(context);
	if (EVP_PKEY_is_a(key, "RSA"))
		return base64url(a, signature, size);
	numbers = d2i_ECDSA_SIG(NULL, &at, (long)size);
	BN_bn2binpad(ECDSA_SIG_get0_r(numbers), pair, 32);
	BN_bn2binpad(ECDSA_SIG_get0_s(numbers), pair + 32, 32);
	ECDSA_SIG_free(numbers);
	return base64url(a, pair, sizeof(pair));
}

static const char *token(struct arena *a, EVP_PKEY *key, const char *head, const char *claims)
{
	const char *text = arena_format(a, "%s.%s", base64url(a, head, strlen(head)),
	                                base64url(a, claims, strlen(claims)));

	return arena_format(a, "%s.%s", text, sign(a, key, text));
}

static int read_token(struct arena *a, const char *text, EVP_PKEY *rsa_key, bool *ret_unknown)
{
	const struct json_value *claims = NULL;
	struct claims_wanted wanted = usual;
	struct error err = {0};
	int result;

	wanted.keys = key_set(a, rsa_key);
	result = claims_read(a, span_of(text), &wanted, &claims, ret_unknown, &err);
	if (result == 0)
		assert_string_equal(json_get_text(claims, "sub", ""), "s-1");
	else
		assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
	return result;
}

#define RS256 "{\"alg\":\"RS256\",\"kid\":\"r\"}"
#define ES256 "{\"alg\":\"ES256\",\"kid\":\"e\"}"

TEST(a_signed_token_is_read)
{
	AUTO(arena_done) struct arena a = {0};
	bool unknown;

	assert_int_equal(read_token(&a, token(&a, rsa, RS256, CLAIMS), rsa, &unknown), 0);
	assert_int_equal(read_token(&a, token(&a, ec, ES256, CLAIMS), rsa, &unknown), 0);
	/* Without a key id each key that fits is tried. */
	assert_int_equal(
	        read_token(&a, token(&a, ec, "{\"alg\":\"ES256\"}", CLAIMS), rsa, &unknown), 0);
}

TEST(a_token_of_another_key_is_refused)
{
	AUTO(arena_done) struct arena a = {0};
	bool unknown;

	assert_int_equal(read_token(&a, token(&a, other_ec, ES256, CLAIMS), rsa, &unknown), -1);
	assert_false(unknown);
	assert_int_equal(read_token(&a,
	                            token(&a, ec, "{\"alg\":\"ES256\",\"kid\":\"new\"}", CLAIMS),
	                            rsa, &unknown),
	                 -1);
	assert_true(unknown);
	assert_int_equal(
	        read_token(&a, token(&a, rsa, "{\"alg\":\"RS256\",\"kid\":\"encrypts\"}", CLAIMS),
	                   rsa, &unknown),
	        -1);
	/* 1024 bits are too few. */
	assert_int_equal(read_token(&a, token(&a, small_rsa, RS256, CLAIMS), small_rsa, &unknown),
	                 -1);
}

TEST(the_token_does_not_choose_its_algorithm)
{
	static const char *const heads[] = {
	        "{\"alg\":\"none\"}",
	        "{\"alg\":\"HS256\",\"kid\":\"r\"}",
	        "{\"alg\":\"HS256\",\"kid\":\"x\"}",
	        "{\"alg\":\"ES256\",\"kid\":\"r\"}",
	        "{\"alg\":\"RS256\",\"kid\":\"e\"}",
	        "{\"alg\":\"RS512\",\"kid\":\"r\"}",
	        "{\"alg\":\"RS256\",\"kid\":\"r\",\"crit\":[\"b64\"],\"b64\":false}",
	        "{\"kid\":\"r\"}",
	        "[]",
	};
	AUTO(arena_done) struct arena a = {0};
	bool unknown;

	for (size_t i = 0; i < COUNT_OF(heads); i++)
		assert_int_equal(read_token(&a, token(&a, rsa, heads[i], CLAIMS), rsa, &unknown),
		                 -1);
}

TEST(a_changed_or_cut_token_is_refused)
{
	AUTO(arena_done) struct arena a = {0};
	const char *whole = token(&a, ec, ES256, CLAIMS), *dot = strrchr(whole, '.');
	static const char *const wrong[] = {"", ".", "..", "a.b.c", "...", "\xff.\xff.\xff"};
	bool unknown;

	for (size_t at = 0; at < strlen(whole); at += 7) {
		char *changed = arena_text(&a, whole);

		changed[at] = changed[at] == 'A' ? 'B' : 'A';
		assert_int_equal(read_token(&a, changed, rsa, &unknown), -1);
		assert_int_equal(
		        read_token(&a, arena_format(&a, "%.*s", (int)at, whole), rsa, &unknown),
		        -1);
	}
	assert_int_equal(read_token(&a, arena_format(&a, "%.*s", (int)(dot - whole) + 1, whole),
	                            rsa, &unknown),
	                 -1);
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		assert_int_equal(read_token(&a, wrong[i], rsa, &unknown), -1);
}

TEST(claims_must_be_for_us_now)
{
	static const struct {
		const char *claims;
		int result;
	} cases[] = {
	        {"{\"iss\":\"https://other\",\"aud\":\"atoll\",\"sub\":\"s-1\",\"nonce\":\"n\","
	         "\"iat\":1790000000,\"exp\":1790000300}",
	         -1},
	        {"{\"iss\":\"https://issuer\",\"aud\":\"other\",\"sub\":\"s-1\",\"nonce\":\"n\","
	         "\"iat\":1790000000,\"exp\":1790000300}",
	         -1},
	        {"{\"iss\":\"https://issuer\",\"aud\":[\"atoll\"],\"sub\":\"s-1\",\"nonce\":\"n\","
	         "\"iat\":1790000000,\"exp\":1790000300}",
	         0},
	        {"{\"iss\":\"https://issuer\",\"aud\":[\"atoll\",\"x\"],\"sub\":\"s-1\","
	         "\"nonce\":\"n\",\"iat\":1790000000,\"exp\":1790000300}",
	         -1},
	        {"{\"iss\":\"https://issuer\",\"aud\":[\"atoll\",\"x\"],\"azp\":\"atoll\","
	         "\"sub\":\"s-1\",\"nonce\":\"n\",\"iat\":1790000000,\"exp\":1790000300}",
	         0},
	        {"{\"iss\":\"https://issuer\",\"aud\":\"atoll\",\"azp\":\"x\",\"sub\":\"s-1\","
	         "\"nonce\":\"n\",\"iat\":1790000000,\"exp\":1790000300}",
	         -1},
	        {"{\"iss\":\"https://issuer\",\"aud\":\"atoll\",\"sub\":\"s-1\",\"nonce\":\"n\","
	         "\"iat\":1789990000,\"exp\":1789999940}",
	         -1},
	        {"{\"iss\":\"https://issuer\",\"aud\":\"atoll\",\"sub\":\"s-1\",\"nonce\":\"n\","
	         "\"iat\":1789990000,\"exp\":1789999941}",
	         0},
	        {"{\"iss\":\"https://issuer\",\"aud\":\"atoll\",\"sub\":\"s-1\",\"nonce\":\"n\","
	         "\"iat\":1790000061,\"exp\":1790000300}",
	         -1},
	        {"{\"iss\":\"https://issuer\",\"aud\":\"atoll\",\"sub\":\"s-1\",\"nonce\":\"n\","
	         "\"iat\":1790000000}",
	         -1},
	        {"{\"iss\":\"https://issuer\",\"aud\":\"atoll\",\"sub\":\"s-1\",\"nonce\":\"m\","
	         "\"iat\":1790000000,\"exp\":1790000300}",
	         -1},
	        {"{\"iss\":\"https://issuer\",\"aud\":\"atoll\",\"sub\":\"\",\"nonce\":\"n\","
	         "\"iat\":1790000000,\"exp\":1790000300}",
	         -1},
	        {"{\"iss\":\"https://issuer\",\"aud\":\"atoll\",\"sub\":7,\"nonce\":\"n\","
	         "\"iat\":1790000000,\"exp\":1790000300}",
	         -1},
	        {"[1]", -1},
	};
	AUTO(arena_done) struct arena a = {0};
	bool unknown;

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(
		        read_token(&a, token(&a, ec, ES256, cases[i].claims), rsa, &unknown),
		        cases[i].result);
}

int main(void)
{
	rsa = EVP_RSA_gen(2048);
	small_rsa = EVP_RSA_gen(1024);
	ec = EVP_EC_gen("P-256");
	other_ec = EVP_EC_gen("P-256");
	return RUN(CASE(a_signed_token_is_read), CASE(a_token_of_another_key_is_refused),
	           CASE(the_token_does_not_choose_its_algorithm),
	           CASE(a_changed_or_cut_token_is_refused), CASE(claims_must_be_for_us_now));
}
