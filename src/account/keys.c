/* SPDX-License-Identifier: Apache-2.0 */
#include "account/account.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "base/id.h"

#define KEY_MARK "atoll_"
#define KEY_MARK_SIZE (sizeof(KEY_MARK) - 1)
#define BEARER "bearer "

_Static_assert(ACCOUNT_HASH_SIZE == crypto_hash_sha256_BYTES, "a SHA-256");

static void fill_from_text(struct account_key *key)
{
	memcpy(key->prefix, key->text, sizeof(key->prefix) - 1);
	key->prefix[sizeof(key->prefix) - 1] = '\0';
	crypto_hash_sha256(key->hash, (const unsigned char *)key->text, ACCOUNT_KEY_SIZE);
}

void account_key_generate(struct account_key *ret)
{
	memcpy(ret->text, KEY_MARK, KEY_MARK_SIZE);
	id_random_text(ret->text + KEY_MARK_SIZE, ACCOUNT_KEY_SIZE - KEY_MARK_SIZE + 1);
	fill_from_text(ret);
}

static bool is_key(struct span text)
{
	if (text.size != ACCOUNT_KEY_SIZE || !span_starts_with(text, KEY_MARK))
		return false;
	for (size_t i = KEY_MARK_SIZE; i < text.size; i++) {
		char c = text.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '2' && c <= '7'))
			return false;
	}
	return true;
}

int account_key_parse(struct span text, struct account_key *ret, struct error *err)
{
	if (!is_key(text)) {
		/* Says nothing of what was sent: it may be a secret of another service. */
		error_set(err, ERROR_UNAUTHENTICATED, 0, HERE, "this is not an Atoll key");
		error_hint(err, "a key reads \"%s\" and %d letters and digits", KEY_MARK,
		           (int)(ACCOUNT_KEY_SIZE - KEY_MARK_SIZE));
		return -1;
	}
	memcpy(ret->text, text.data, ACCOUNT_KEY_SIZE);
	ret->text[ACCOUNT_KEY_SIZE] = '\0';
	fill_from_text(ret);
	return 0;
}

bool account_hash_equals(const unsigned char a[ACCOUNT_HASH_SIZE],
                         const unsigned char b[ACCOUNT_HASH_SIZE])
{
	return sodium_memcmp(a, b, ACCOUNT_HASH_SIZE) == 0;
}

struct span account_bearer(const char *authorization, const char *api_key_header)
{
	struct span key = {0};

	if (authorization && strncasecmp(authorization, BEARER, sizeof(BEARER) - 1) == 0)
		key = span_trim(span_of(authorization + sizeof(BEARER) - 1));
	if (key.size == 0 && api_key_header)
		key = span_trim(span_of(api_key_header));
	return key;
}
