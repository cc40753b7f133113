/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/envd/access.h"

#include <sodium.h>
#include <string.h>

#define VERSION "v1_"
#define VERSION_SIZE (sizeof(VERSION) - 1)
_Static_assert(
        VERSION_SIZE + sodium_base64_ENCODED_LEN(crypto_hash_sha256_BYTES,
                                                 sodium_base64_VARIANT_ORIGINAL_NO_PADDING) ==
                SIGNATURE_SIZE,
        "a signature fits");

static void hash_text(crypto_hash_sha256_state *state, const char *text)
{
	crypto_hash_sha256_update(state, (const unsigned char *)text, strlen(text));
}

void signature_make(const struct signed_file *file, const char *token, char ret[SIGNATURE_SIZE])
{
	const char *parts[] = {file->path, ":", file->operation, ":", file->user, ":", token};
	unsigned char hash[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		hash_text(&state, parts[i]);
	if (file->expiration) {
		hash_text(&state, ":");
		hash_text(&state, file->expiration);
	}
	crypto_hash_sha256_final(&state, hash);
	memcpy(ret, VERSION, VERSION_SIZE);
	(void)sodium_bin2base64(ret + VERSION_SIZE, SIGNATURE_SIZE - VERSION_SIZE, hash,
	                        sizeof(hash), sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
}

bool signature_matches(const struct signed_file *file, const char *token, struct span signature)
{
	char right[SIGNATURE_SIZE];

	signature_make(file, token, right);
	return signature.size == SIGNATURE_SIZE - 1 &&
	       sodium_memcmp(right, signature.data, SIGNATURE_SIZE - 1) == 0;
}

int signature_check_time(const struct signed_file *file, int64_t now_s, struct error *err)
{
	int64_t expiration;

	if (!file->expiration)
		return 0;
	if (span_parse_whole(span_of(file->expiration), 0, INT64_MAX, &expiration, err) < 0)
		return FAIL_CONTEXT(err, "signature_expiration");
	if (expiration < now_s)
		return FAIL(err, ERROR_UNAUTHENTICATED, "signature is already expired");
	return 0;
}
