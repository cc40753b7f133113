/* SPDX-License-Identifier: Apache-2.0 */
#include "sign_in/token.h"

#include <sodium.h>
#include <string.h>

#include "base/id.h"

#define DERIVED_MARK "atoll derived "
#define PROJECT_MARK "atoll project "

_Static_assert(ACCOUNT_HASH_SIZE == crypto_hash_sha256_BYTES, "a SHA-256");
_Static_assert(SIGN_IN_DERIVED_SIZE == 2 * ACCOUNT_HASH_SIZE, "in hexadecimal digits");

static void fill_hash(struct sign_in_token *token)
{
	crypto_hash_sha256(token->hash, (const unsigned char *)token->text, SIGN_IN_TOKEN_SIZE);
}

void sign_in_token_make(struct sign_in_token *ret)
{
	id_random_text(ret->text, SIGN_IN_TOKEN_SIZE + 1);
	fill_hash(ret);
}

bool sign_in_token_parse(struct span text, struct sign_in_token *ret)
{
	if (text.size != SIGN_IN_TOKEN_SIZE)
		return false;
	for (size_t i = 0; i < text.size; i++) {
		char c = text.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '2' && c <= '7'))
			return false;
	}
	memcpy(ret->text, text.data, SIGN_IN_TOKEN_SIZE);
	ret->text[SIGN_IN_TOKEN_SIZE] = '\0';
	fill_hash(ret);
	return true;
}

static void hash_marked(const char *mark, struct span a, struct span b,
                        unsigned char ret[ACCOUNT_HASH_SIZE])
{
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, (const unsigned char *)mark, strlen(mark));
	crypto_hash_sha256_update(&state, (const unsigned char *)a.data, a.size);
	crypto_hash_sha256_update(&state, (const unsigned char *)b.data, b.size);
	crypto_hash_sha256_final(&state, ret);
}

void sign_in_derive(const struct sign_in_token *token, const char *purpose,
                    char ret[SIGN_IN_DERIVED_SIZE + 1])
{
	unsigned char hash[ACCOUNT_HASH_SIZE];

	hash_marked(DERIVED_MARK, (struct span){token->text, SIGN_IN_TOKEN_SIZE}, span_of(purpose),
	            hash);
	(void)sodium_bin2hex(ret, SIGN_IN_DERIVED_SIZE + 1, hash, sizeof(hash));
}

void sign_in_csrf(const struct sign_in_token *token, char ret[SIGN_IN_CSRF_SIZE + 1])
{
	sign_in_derive(token, "csrf", ret);
}

bool sign_in_csrf_matches(const struct sign_in_token *token, struct span text)
{
	char wanted[SIGN_IN_CSRF_SIZE + 1];

	sign_in_csrf(token, wanted);
	return text.size == SIGN_IN_CSRF_SIZE &&
	       sodium_memcmp(text.data, wanted, SIGN_IN_CSRF_SIZE) == 0;
}

void sign_in_hash_in_project(const unsigned char login[ACCOUNT_HASH_SIZE], const char *project,
                             unsigned char ret[ACCOUNT_HASH_SIZE])
{
	hash_marked(PROJECT_MARK, (struct span){(const char *)login, ACCOUNT_HASH_SIZE},
	            span_of(project), ret);
}
