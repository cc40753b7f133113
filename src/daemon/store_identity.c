/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store_identity.h"

#include <sodium.h>
#include <string.h>

#include "store/access.h"

#define LETTERS 26

_Static_assert(PROVIDER_SHARED_KEY_SIZE == STORE_SERVER_KEY_SIZE &&
                       STORE_SERVER_KEY_SIZE == crypto_auth_hmacsha256_KEYBYTES,
               "one key");
_Static_assert(ID_SIZE <= crypto_auth_hmacsha256_BYTES, "a byte for each character");

/* In the form of base/id.h. */
static void write_id(const unsigned char *bytes, char ret[ID_SIZE + 1])
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";

	ret[0] = digits[bytes[0] % LETTERS];
	for (unsigned i = 1; i < ID_SIZE; i++)
		ret[i] = digits[bytes[i] % (sizeof(digits) - 1)];
	ret[ID_SIZE] = '\0';
}

int store_identity_read(struct store *s, struct provider_shared *ret, struct error *err)
{
	static const char purpose[] = "atoll store id";
	unsigned char mac[crypto_auth_hmacsha256_BYTES];

	if (store_server_key(s, "providers", ret->key, err) < 0)
		return -1;
	crypto_auth_hmacsha256(mac, (const unsigned char *)purpose, strlen(purpose), ret->key);
	write_id(mac, ret->id);
	return 0;
}
