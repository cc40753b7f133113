/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes and signatures. Each begins with a text of its own, so that the bytes of one kind are
 * never taken for another. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>

#include "audit/audit.h"

_Static_assert(AUDIT_HASH_SIZE == crypto_hash_sha256_BYTES, "a SHA-256");
_Static_assert(AUDIT_KEY_SIZE == crypto_sign_ed25519_PUBLICKEYBYTES &&
                       AUDIT_KEY_SIZE == crypto_sign_ed25519_SEEDBYTES,
               "Ed25519");
_Static_assert(AUDIT_SIGNATURE_SIZE == crypto_sign_ed25519_BYTES, "Ed25519");

#define ROW_TAG "atoll-audit-row-1"
#define CHECKPOINT_TAG "atoll-audit-checkpoint-1"

void audit_digest(struct span row, unsigned char ret[AUDIT_HASH_SIZE])
{
	crypto_hash_sha256(ret, (const unsigned char *)row.data, row.size);
}

void audit_hash(int64_t sequence, const unsigned char previous[AUDIT_HASH_SIZE],
                const unsigned char digest[AUDIT_HASH_SIZE], unsigned char ret[AUDIT_HASH_SIZE])
{
	crypto_hash_sha256_state state;
	unsigned char number[8];

	for (size_t i = 0; i < sizeof(number); i++)
		number[i] = (unsigned char)((uint64_t)sequence >> (56 - 8 * i));
	(void)crypto_hash_sha256_init(&state);
	(void)crypto_hash_sha256_update(&state, (const unsigned char *)ROW_TAG, sizeof(ROW_TAG));
	(void)crypto_hash_sha256_update(&state, number, sizeof(number));
	(void)crypto_hash_sha256_update(&state, previous, AUDIT_HASH_SIZE);
	(void)crypto_hash_sha256_update(&state, digest, AUDIT_HASH_SIZE);
	(void)crypto_hash_sha256_final(&state, ret);
}

#define SIGNED_MAX 512

/* What a checkpoint's signature covers: lines of text. */
static size_t write_signed(const struct audit_checkpoint *c, char out[SIGNED_MAX])
{
	char hex[AUDIT_HEX_SIZE];
	int size;

	hex_encode(c->hash, AUDIT_HASH_SIZE, hex);
	size = snprintf(out, SIGNED_MAX, CHECKPOINT_TAG "\n%s\n%" PRId64 "\n%s\n%" PRId64 "\n",
	                c->chain, c->sequence, hex, c->at);
	assert(size > 0 && size < SIGNED_MAX);
	return (size_t)size;
}

void audit_public_key(const unsigned char seed[AUDIT_KEY_SIZE], unsigned char ret[AUDIT_KEY_SIZE])
{
	unsigned char secret[crypto_sign_ed25519_SECRETKEYBYTES];

	(void)crypto_sign_ed25519_seed_keypair(ret, secret, seed);
	sodium_memzero(secret, sizeof(secret));
}

void audit_sign(const struct audit_checkpoint *c, const unsigned char seed[AUDIT_KEY_SIZE],
                unsigned char ret[AUDIT_SIGNATURE_SIZE])
{
	unsigned char secret[crypto_sign_ed25519_SECRETKEYBYTES], key[AUDIT_KEY_SIZE];
	char text[SIGNED_MAX];
	size_t size = write_signed(c, text);

	(void)crypto_sign_ed25519_seed_keypair(key, secret, seed);
	(void)crypto_sign_ed25519_detached(ret, NULL, (const unsigned char *)text, size, secret);
	sodium_memzero(secret, sizeof(secret));
}

bool audit_signature_is_of(const unsigned char signature[AUDIT_SIGNATURE_SIZE],
                           const struct audit_checkpoint *c,
                           const unsigned char key[AUDIT_KEY_SIZE])
{
	char text[SIGNED_MAX];
	size_t size = write_signed(c, text);

	return crypto_sign_ed25519_verify_detached(signature, (const unsigned char *)text, size,
	                                           key) == 0;
}
