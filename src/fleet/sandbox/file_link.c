/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/sandbox/file_link.h"

#include <sodium.h>
#include <string.h>

#include "fleet/core/fleet_state.h"
#include "store/sandbox_record.h"

#define MAC_SIZE crypto_auth_hmacsha256_BYTES
_Static_assert(sodium_base64_ENCODED_LEN(MAC_SIZE, sodium_base64_VARIANT_URLSAFE_NO_PADDING) <=
                       FLEET_FILE_LINK_TEXT_MAX,
               "a signature fits its text");

static void add_text(crypto_auth_hmacsha256_state *state, const char *text)
{
	/* With its NUL, so that no two lists of texts are signed alike. */
	crypto_auth_hmacsha256_update(state, (const unsigned char *)text, strlen(text) + 1);
}

/* The first text keeps the key's other signatures apart from these. */
static void sign_link(const struct fleet *f, const struct sandbox_record *r,
                      const struct fleet_file_link *link, unsigned char ret[MAC_SIZE])
{
	crypto_auth_hmacsha256_state state;
	unsigned char expires[8];

	for (unsigned i = 0; i < sizeof(expires); i++)
		expires[i] = (unsigned char)((uint64_t)link->expires_at >> 8 * i);
	crypto_auth_hmacsha256_init(&state, f->preview_key, sizeof(f->preview_key));
	add_text(&state, "atoll file link");
	add_text(&state, r->id);
	crypto_auth_hmacsha256_update(&state, expires, sizeof(expires));
	add_text(&state, link->user);
	add_text(&state, link->path);
	crypto_auth_hmacsha256_final(&state, ret);
	sodium_memzero(&state, sizeof(state));
}

void fleet_file_link_sign(const struct fleet *fleet, const struct sandbox_record *r,
                          const struct fleet_file_link *link, char ret[FLEET_FILE_LINK_TEXT_MAX])
{
	unsigned char mac[MAC_SIZE];

	sign_link(fleet, r, link, mac);
	sodium_bin2base64(ret, FLEET_FILE_LINK_TEXT_MAX, mac, sizeof(mac),
	                  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

int fleet_file_link_refuse(struct error *err)
{
	return FAIL(err, ERROR_UNAUTHENTICATED, "this link is invalid or has expired");
}

int fleet_file_link_check(const struct fleet *fleet, const struct sandbox_record *r,
                          const struct fleet_file_link *link, const char *signature, int64_t now_ms,
                          struct error *err)
{
	unsigned char mac[MAC_SIZE], given[MAC_SIZE];
	size_t size;

	if (link->expires_at <= now_ms / 1000 ||
	    link->expires_at > now_ms / 1000 + FLEET_FILE_LINK_MAX_S ||
	    sodium_base642bin(given, sizeof(given), signature, strlen(signature), NULL, &size, NULL,
	                      sodium_base64_VARIANT_URLSAFE_NO_PADDING) < 0 ||
	    size != sizeof(given))
		return fleet_file_link_refuse(err);
	sign_link(fleet, r, link, mac);
	return sodium_memcmp(mac, given, sizeof(mac)) == 0 ? 0 : fleet_file_link_refuse(err);
}
