/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of RS256 and ES256, by OpenSSL. */
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <sodium.h>
#include <string.h>

#include "json/json.h"
#include "sign_in/claims.h"

#define RSA_BITS_MIN 2048
#define RSA_BITS_MAX 8192
#define NUMBER_SIZE 32 /* bytes of a number of P-256 */
#define DER_MAX 128

bool base64url_read(struct arena *a, struct span text, struct span *ret)
{
	unsigned char *bytes = arena_alloc(a, text.size + 1);
	const char *end;
	size_t size;

	if (text.size == 0 ||
	    sodium_base642bin(bytes, text.size + 1, text.data, text.size, NULL, &size, &end,
	                      sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
	    end != text.data + text.size)
		return false;
	*ret = (struct span){(const char *)bytes, size};
	return true;
}

static bool read_number(struct arena *a, const struct json_value *key, const char *member,
                        struct span *ret)
{
	const char *text = json_get_text(key, member, "");

	return base64url_read(a, span_of(text), ret);
}

static EVP_PKEY *make_key(const char *type, OSSL_PARAM *parameters)
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *key = NULL;

	if (!context || !parameters || EVP_PKEY_fromdata_init(context) <= 0 ||
	    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) <= 0)
		key = NULL;
	EVP_PKEY_CTX_free(context);
	return key;
}

static EVP_PKEY *read_rsa_key(struct arena *a, const struct json_value *key)
{
	OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
	OSSL_PARAM *parameters = NULL;
	struct span modulus, exponent;
	BIGNUM *n = NULL, *e = NULL;
	EVP_PKEY *made = NULL;

	if (builder && read_number(a, key, "n", &modulus) && read_number(a, key, "e", &exponent) &&
	    modulus.size <= RSA_BITS_MAX / 8 && exponent.size <= 8) {
		n = BN_bin2bn((const unsigned char *)modulus.data, (int)modulus.size, NULL);
		e = BN_bin2bn((const unsigned char *)exponent.data, (int)exponent.size, NULL);
		if (n && e && BN_num_bits(n) >= RSA_BITS_MIN &&
		    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) &&
		    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e))
			parameters = OSSL_PARAM_BLD_to_param(builder);
	}
	if (parameters)
		made = make_key("RSA", parameters);
	OSSL_PARAM_free(parameters);
	OSSL_PARAM_BLD_free(builder);
	BN_free(n);
	BN_free(e);
	return made;
}

static EVP_PKEY *read_ec_key(struct arena *a, const struct json_value *key)
{
	unsigned char point[1 + 2 * NUMBER_SIZE] = {4}; /* uncompressed */
	char group[] = "P-256";
	OSSL_PARAM parameters[] = {
	        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
	        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point)),
	        OSSL_PARAM_construct_end()};
	struct span x, y;

	if (strcmp(json_get_text(key, "crv", ""), "P-256") != 0 || !read_number(a, key, "x", &x) ||
	    !read_number(a, key, "y", &y) || x.size != NUMBER_SIZE || y.size != NUMBER_SIZE)
		return NULL;
	memcpy(point + 1, x.data, NUMBER_SIZE);
	memcpy(point + 1 + NUMBER_SIZE, y.data, NUMBER_SIZE);
	return make_key("EC", parameters);
}

/* A token has the two numbers one after the other; OpenSSL wants them in DER. */
static bool write_der(struct span signature, unsigned char ret[DER_MAX], size_t *ret_size)
{
	const unsigned char *bytes = (const unsigned char *)signature.data;
	ECDSA_SIG *pair = ECDSA_SIG_new();
	unsigned char *to = ret;
	BIGNUM *r, *s;
	int size = 0;

	if (pair && signature.size == (size_t)2 * NUMBER_SIZE) {
		r = BN_bin2bn(bytes, NUMBER_SIZE, NULL);
		s = BN_bin2bn(bytes + NUMBER_SIZE, NUMBER_SIZE, NULL);
		if (r && s && ECDSA_SIG_set0(pair, r, s)) {
			size = i2d_ECDSA_SIG(pair, NULL);
			if (size > 0 && size <= DER_MAX)
				size = i2d_ECDSA_SIG(pair, &to);
		} else {
			BN_free(r);
			BN_free(s);
		}
	}
	ECDSA_SIG_free(pair);
	*ret_size = size > 0 ? (size_t)size : 0;
	return size > 0 && size <= DER_MAX;
}

static bool verify_signature(EVP_PKEY *key, struct span text, const unsigned char *signature,
                             size_t size)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool is_right =
	        context && key &&
	        EVP_DigestVerifyInit_ex(context, NULL, "SHA256", NULL, NULL, key, NULL) > 0 &&
	        EVP_DigestVerify(context, signature, size, (const unsigned char *)text.data,
	                         text.size) == 1;

	EVP_MD_CTX_free(context);
	return is_right;
}

bool signature_is_right(struct arena *a, enum signature_kind kind, const struct json_value *key,
                        struct span text, struct span signature)
{
	const char *type = json_get_text(key, "kty", "");
	unsigned char der[DER_MAX];
	size_t der_size;
	EVP_PKEY *made;
	bool is_right;

	if (kind == SIGNATURE_RS256 && strcmp(type, "RSA") == 0) {
		made = read_rsa_key(a, key);
		is_right = verify_signature(made, text, (const unsigned char *)signature.data,
		                            signature.size);
	} else if (kind == SIGNATURE_ES256 && strcmp(type, "EC") == 0 &&
	           write_der(signature, der, &der_size)) {
		made = read_ec_key(a, key);
		is_right = verify_signature(made, text, der, der_size);
	} else {
		return false;
	}
	EVP_PKEY_free(made);
	return is_right;
}
