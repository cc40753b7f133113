/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "base/random.h"
#include "sandbox/events.h"
#include "webhook/webhook.h"

#define SECRET_MARK "whsec_"
#define WAIT_MAX_MS (INT64_C(4) * 3600 * 1000)

void webhook_secret_generate(char ret[WEBHOOK_SECRET_SIZE + 1])
{
	memcpy(ret, SECRET_MARK, sizeof(SECRET_MARK));
	id_random_text(ret + sizeof(SECRET_MARK) - 1,
	               WEBHOOK_SECRET_SIZE + 1 - (sizeof(SECRET_MARK) - 1));
}

int webhook_secret_check(const char *secret, struct error *err)
{
	size_t size = strlen(secret);

	if (size < WEBHOOK_SECRET_MIN || size > WEBHOOK_SECRET_MAX)
		return FAIL(err, ERROR_INVALID, "a secret has %d to %d bytes", WEBHOOK_SECRET_MIN,
		            WEBHOOK_SECRET_MAX);
	for (; *secret; secret++)
		if (*secret <= ' ' || *secret > '~')
			return FAIL(err, ERROR_INVALID,
			            "a secret is of letters, digits and signs of ASCII");
	return 0;
}

void webhook_sign(const char *secret, int64_t unix_s, struct span body,
                  char ret[WEBHOOK_SIGNATURE_SIZE])
{
	unsigned char hash[crypto_auth_hmacsha256_BYTES];
	char hex[2 * sizeof(hash) + 1], time[24];
	crypto_auth_hmacsha256_state state;
	int size = snprintf(time, sizeof(time), "%" PRId64 ".", unix_s);

	crypto_auth_hmacsha256_init(&state, (const unsigned char *)secret, strlen(secret));
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)time,
	                              (unsigned long long)size);
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)body.data, body.size);
	crypto_auth_hmacsha256_final(&state, hash);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	sodium_memzero(&state, sizeof(state));
	(void)snprintf(ret, WEBHOOK_SIGNATURE_SIZE, "t=%" PRId64 ",v1=%s", unix_s, hex);
}

int64_t webhook_wait_ms(int64_t first_ms, int64_t failures)
{
	int64_t wait = first_ms;

	while (--failures > 0 && wait < WAIT_MAX_MS)
		wait *= 2;
	if (wait > WAIT_MAX_MS)
		wait = WAIT_MAX_MS;
	return wait - wait / 5 + (int64_t)random_below((uint64_t)(wait / 5 * 2 + 1));
}

bool webhook_wants(const char *patterns, const char *kind)
{
	struct span rest = span_of(patterns), word;

	while (rest.size > 0) {
		char pattern[EVENT_PATTERN_MAX + 1];

		(void)span_split(&rest, ' ', &word);
		if (word.size == 0 || word.size > EVENT_PATTERN_MAX)
			continue;
		memcpy(pattern, word.data, word.size);
		pattern[word.size] = '\0';
		if (event_pattern_matches(pattern, kind))
			return true;
	}
	return false;
}
