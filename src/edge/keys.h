/* SPDX-License-Identifier: Apache-2.0 */
/* edge/keys.h — a cache of recently used keys, so that most requests do not query the store. Any
 * thread.
 *
 * An entry lives at most API_KEY_CACHE_MS. A revocation or a change of roles by this server empties
 * the cache at once. A change by another server on the same store takes effect when the entry
 * expires. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"
#include "base/bytes.h"
#include "store/keys.h"

#define API_KEY_CACHE_MS 1500

struct api_key_cache;
struct api_key_cache *api_key_cache_new(void);
void api_key_cache_free(struct api_key_cache *c);
struct api_key_found {
	struct key_record record; /* its texts are in the arena */
	uint64_t ticket;          /* for api_key_cache_put, when it was not found */
};
/* Whether the key is in the cache; `now` is monotonic ms. */
bool api_key_cache_find(struct api_key_cache *c, struct arena *a,
                        const unsigned char hash[KEY_HASH_SIZE], int64_t now,
                        struct api_key_found *ret);
/* Does nothing if the cache was emptied after the ticket was given: the record may be outdated. */
void api_key_cache_put(struct api_key_cache *c, uint64_t ticket, const struct key_record *r,
                       int64_t now);
void api_key_cache_clear(struct api_key_cache *c);

/* What a credential may do now. These calls query the store and block. */

struct api;
/* auth.c: ERROR_UNAUTHENTICATED for an unknown key. `scopes` are limited by the member's role. */
MUST_CHECK int api_key_look(struct api *api, struct arena *a,
                            const unsigned char hash[ACCOUNT_HASH_SIZE], struct key_record *ret,
                            struct error *err);
/* auth.c: ERROR_UNAUTHENTICATED when the key was revoked or has expired. */
MUST_CHECK int api_key_check(const struct key_record *r, struct error *err);

/* login.c: the login of a browser, as a key that acts in `project`; NULL: in its first. */
struct login_lookup {
	const unsigned char *hash;
	const char *project;
	bool is_use; /* it counts as a use of the session */
};
MUST_CHECK int api_login_look(struct api *api, struct arena *a, const struct login_lookup *lookup,
                              struct key_record *ret, struct error *err);
