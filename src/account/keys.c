/* SPDX-License-Identifier: Apache-2.0 */
#include "account/account.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "base/id.h"

#define KEY_MARK "atoll_"
#define KEY_MARK_SIZE (sizeof(KEY_MARK) - 1)
#define BEARER "bearer "
#define E2B_MARK "e2b_"
#define E2B_MARK_SIZE (sizeof(E2B_MARK) - 1)
/* A base-32 character has 5 bits, so 4 characters are 5 hexadecimal digits. */
#define GROUP_CHARACTERS 4
#define GROUP_DIGITS 5
_Static_assert((ACCOUNT_KEY_SIZE - KEY_MARK_SIZE) % GROUP_CHARACTERS == 0 &&
                       (ACCOUNT_KEY_SIZE - KEY_MARK_SIZE) / GROUP_CHARACTERS * GROUP_DIGITS +
                                       E2B_MARK_SIZE ==
                               ACCOUNT_KEY_E2B_SIZE,
               "both writings have the same bits");
static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567", digits[] = "0123456789abcdef";

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

void account_key_write_e2b(const struct account_key *key, char ret[ACCOUNT_KEY_E2B_SIZE + 1])
{
	const char *from = key->text + KEY_MARK_SIZE;
	char *to = ret + E2B_MARK_SIZE;

	memcpy(ret, E2B_MARK, E2B_MARK_SIZE);
	for (; *from; from += GROUP_CHARACTERS, to += GROUP_DIGITS) {
		unsigned bits = 0;

		for (unsigned i = 0; i < GROUP_CHARACTERS; i++)
			bits = bits << 5 | (unsigned)(strchr(alphabet, from[i]) - alphabet);
		for (unsigned i = 0; i < GROUP_DIGITS; i++)
			to[i] = digits[bits >> 4 * (GROUP_DIGITS - 1 - i) & 15];
	}
	*to = '\0';
}

/* Converts E2B's form; returns false if the text is not in that form. */
static bool read_e2b(struct span text, char ret[ACCOUNT_KEY_SIZE + 1])
{
	const char *from = text.data + E2B_MARK_SIZE, *end = text.data + text.size;
	char *to = ret + KEY_MARK_SIZE;

	if (text.size != ACCOUNT_KEY_E2B_SIZE || !span_starts_with(text, E2B_MARK))
		return false;
	memcpy(ret, KEY_MARK, KEY_MARK_SIZE);
	for (; from < end; from += GROUP_DIGITS, to += GROUP_CHARACTERS) {
		unsigned bits = 0;

		for (unsigned i = 0; i < GROUP_DIGITS; i++) {
			const char *digit = from[i] ? strchr(digits, from[i]) : NULL;

			if (!digit)
				return false;
			bits = bits << 4 | (unsigned)(digit - digits);
		}
		for (unsigned i = 0; i < GROUP_CHARACTERS; i++)
			to[i] = alphabet[bits >> 5 * (GROUP_CHARACTERS - 1 - i) & 31];
	}
	*to = '\0';
	return true;
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
	char own[ACCOUNT_KEY_SIZE + 1];

	if (read_e2b(text, own))
		text = (struct span){own, ACCOUNT_KEY_SIZE};
	if (!is_key(text)) {
		/* The error does not repeat the text: it may be a secret of another service. */
		error_set(err, ERROR_UNAUTHENTICATED, 0, HERE, "this is not an Atoll key");
		return FAIL_HINT(err, "a key is \"%s\" and %d letters and digits", KEY_MARK,
		                 (int)(ACCOUNT_KEY_SIZE - KEY_MARK_SIZE));
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
