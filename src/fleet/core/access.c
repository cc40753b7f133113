/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/access.h"

#include <sodium.h>
#include <string.h>

#include "base/random.h"
#include "fleet/core/fleet_state.h"
#include "store/access.h"
#include "store/sandbox_record.h"

#define MAC_SIZE crypto_auth_hmacsha256_BYTES

_Static_assert(FLEET_ACCESS_KEY_SIZE == crypto_auth_hmacsha256_KEYBYTES &&
                       FLEET_ACCESS_KEY_SIZE == STORE_SERVER_KEY_SIZE,
               "one key");
_Static_assert(FLEET_ACCESS_TOKEN_SIZE == 2 * MAC_SIZE, "two digits a byte");

static void open_key(struct fleet *f, const char *name, unsigned char ret[FLEET_ACCESS_KEY_SIZE])
{
	struct error err = {0};

	if (store_server_key(f->store, name, ret, &err) == 0)
		return;
	log_warning("a key that signs tokens is not known, using one of this process",
	            TEXT("key", name), FAILURE(&err));
	random_bytes(ret, FLEET_ACCESS_KEY_SIZE);
}

void access_open(struct fleet *f)
{
	open_key(f, "sandbox-access", f->access_key);
	open_key(f, "preview-links", f->preview_key);
}

/* A token for one purpose is not valid for another. */
static const char *const purposes[] = {
        [FLEET_ACCESS_AGENT] = "atoll sandbox agent",
        [FLEET_ACCESS_TRAFFIC] = "atoll sandbox traffic",
        [FLEET_ACCESS_VOLUME] = "atoll volume",
        [FLEET_ACCESS_UPLOAD] = "atoll build upload",
        [FLEET_ACCESS_BUILD] = "atoll build",
        [FLEET_ACCESS_SIGNING] = "atoll file signing",
        [FLEET_ACCESS_TICKET] = "atoll ticket",
};

void fleet_access_token(const struct fleet *fleet, const char *id, enum fleet_access access,
                        char ret[FLEET_ACCESS_TOKEN_SIZE + 1])
{
	const char *purpose = purposes[access];
	crypto_auth_hmacsha256_state state;
	unsigned char mac[MAC_SIZE];

	crypto_auth_hmacsha256_init(&state, fleet->access_key, sizeof(fleet->access_key));
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)purpose, strlen(purpose) + 1);
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)id, strlen(id));
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_memzero(&state, sizeof(state));
	(void)sodium_bin2hex(ret, FLEET_ACCESS_TOKEN_SIZE + 1, mac, sizeof(mac));
}

bool fleet_access_check(const struct fleet *fleet, const char *id, enum fleet_access access,
                        struct span token)
{
	char right[FLEET_ACCESS_TOKEN_SIZE + 1];

	fleet_access_token(fleet, id, access, right);
	return token.size == FLEET_ACCESS_TOKEN_SIZE &&
	       sodium_memcmp(token.data, right, FLEET_ACCESS_TOKEN_SIZE) == 0;
}

int fleet_access_port(const struct fleet *fleet, const struct sandbox_record *r, struct span token,
                      struct error *err)
{
	bool is_guarded = r->traits & SANDBOX_PORTS_GUARDED;

	if (r->preview_off)
		return FAIL(err, ERROR_FORBIDDEN, "previews of sandbox '%s' are switched off",
		            r->id);
	if (!is_guarded && r->traits & SANDBOX_PORTS_OPEN)
		return 0;
	if (is_guarded && token.size > 0 &&
	    fleet_access_check(fleet, r->id, FLEET_ACCESS_TRAFFIC, token))
		return 0;
	if (is_guarded)
		return FAIL(err, ERROR_FORBIDDEN,
		            "the ports of this sandbox want its traffic access token");
	(void)FAIL(err, ERROR_UNAUTHENTICATED, "this preview is not open to everybody");
	return FAIL_HINT(err, "come by a link of 'atoll preview', or send a key");
}
