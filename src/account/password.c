/* SPDX-License-Identifier: Apache-2.0 */
#include "account/password.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

#define PASSES 2

_Static_assert(PASSWORD_HASH_SIZE >= crypto_pwhash_STRBYTES, "a hash has room");
_Static_assert(PASSES >= crypto_pwhash_OPSLIMIT_MIN, "libsodium accepts it");

static bool has_many_characters(const char *password)
{
	bool seen[256] = {false};
	unsigned kinds = 0;

	for (const unsigned char *c = (const unsigned char *)password; *c; c++) {
		kinds += !seen[*c];
		seen[*c] = true;
	}
	return kinds >= 4;
}

int password_check(const char *password, const char *email, struct error *err)
{
	size_t size = strnlen(password, PASSWORD_MAX + 1);
	const char *at = strchr(email, '@');
	size_t name = at ? (size_t)(at - email) : strlen(email);

	if (size < PASSWORD_MIN || size > PASSWORD_MAX)
		return FAIL(err, ERROR_INVALID, "password: must have %d to %d characters",
		            PASSWORD_MIN, PASSWORD_MAX);
	if (!has_many_characters(password))
		return FAIL(err, ERROR_INVALID, "password: needs at least 4 different characters");
	if (strcasecmp(password, email) == 0 ||
	    (name >= PASSWORD_MIN && size == name && strncasecmp(password, email, name) == 0))
		return FAIL(err, ERROR_INVALID, "password: must not be the e-mail address");
	return 0;
}

int password_hash(const char *password, char ret[PASSWORD_HASH_SIZE], struct error *err)
{
	char hash[crypto_pwhash_STRBYTES];

	if (crypto_pwhash_str_alg(hash, password, strlen(password), PASSES, PASSWORD_MEMORY_BYTES,
	                          crypto_pwhash_ALG_ARGON2ID13) != 0)
		return FAIL(err, ERROR_UNAVAILABLE, "no memory for the hash of a password");
	memcpy(ret, hash, sizeof(hash));
	return 0;
}

bool password_matches(const char *hash, const char *password)
{
	char padded[crypto_pwhash_STRBYTES] = "";
	size_t size = strlen(hash);

	/* libsodium reads the whole buffer. */
	if (size == 0 || size >= sizeof(padded))
		return false;
	memcpy(padded, hash, size);
	return crypto_pwhash_str_verify(padded, password, strlen(password)) == 0;
}

static bool is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Labels with dots between them, each with a letter or digit at both ends. */
static bool is_host(const char *text)
{
	struct span rest = span_of(text), label;
	bool more = true;

	while (more) {
		more = span_split(&rest, '.', &label);
		if (!label.size || !is_letter_or_digit(label.data[0]) ||
		    !is_letter_or_digit(label.data[label.size - 1]))
			return false;
	}
	return true;
}

static bool is_address(const char *text)
{
	const char *at = strchr(text, '@');

	return at && at > text && !strchr(at + 1, '@') && is_host(at + 1);
}

int account_email_parse(const char *text, char ret[ACCOUNT_USER_MAX + 1], struct error *err)
{
	size_t size = strlen(text);

	if (account_user_check(text, err) < 0)
		return FAIL_CONTEXT(err, "email");
	if (!is_address(text))
		return FAIL(err, ERROR_INVALID,
		            "email: '%s' is not an address such as ann@example.com", text);
	for (size_t i = 0; i <= size; i++)
		ret[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A') : text[i]);
	return 0;
}

int account_user_parse(const char *text, char ret[ACCOUNT_USER_MAX + 1], struct error *err)
{
	if (strchr(text, '@'))
		return account_email_parse(text, ret, err);
	if (account_user_check(text, err) < 0)
		return -1;
	memcpy(ret, text, strlen(text) + 1);
	return 0;
}
