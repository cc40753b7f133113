/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/shared.h"

#include <sodium.h>
#include <string.h>

#define LETTERS 26

_Static_assert(PROVIDER_SHARED_KEY_SIZE == crypto_auth_hmacsha256_KEYBYTES, "one key");
_Static_assert(ID_SIZE <= crypto_auth_hmacsha256_BYTES, "a byte for each character");

void provider_shared_id(const struct provider_shared *shared, const char *name,
                        char ret[ID_SIZE + 1])
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	static const char purpose[] = "atoll provider";
	crypto_auth_hmacsha256_state state;
	unsigned char mac[crypto_auth_hmacsha256_BYTES];

	crypto_auth_hmacsha256_init(&state, shared->key, sizeof(shared->key));
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)purpose, sizeof(purpose));
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)name, strlen(name));
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_memzero(&state, sizeof(state));
	ret[0] = digits[mac[0] % LETTERS];
	for (unsigned i = 1; i < ID_SIZE; i++)
		ret[i] = digits[mac[i] % (sizeof(digits) - 1)];
	ret[ID_SIZE] = '\0';
}
