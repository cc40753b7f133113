/* SPDX-License-Identifier: Apache-2.0 */
/* edge/keys.h — keys that were found lately, so that a request need not ask the store. Private to
 * this folder; any thread.
 *
 * An entry lives API_KEY_CACHE_MS at most; a revocation, or a change of roles, here empties the
 * cache at once; one by another atolld on the same store is seen when the entry has aged. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "store/store.h"

#define API_KEY_CACHE_MS 5000

struct api_key_cache;
struct api_key_cache *api_key_cache_new(void);
void api_key_cache_free(struct api_key_cache *c);
struct api_key_found {
	struct key_record record; /* its texts are in the arena */
	uint64_t ticket;          /* for api_key_cache_put, when it was not found */
};
/* Whether the key is known; `now` is monotonic ms. */
bool api_key_cache_find(struct api_key_cache *c, struct arena *a,
                        const unsigned char hash[KEY_HASH_SIZE], int64_t now,
                        struct api_key_found *ret);
/* Forgets the record instead if the cache was emptied since the ticket was given. */
void api_key_cache_put(struct api_key_cache *c, uint64_t ticket, const struct key_record *r,
                       int64_t now);
void api_key_cache_clear(struct api_key_cache *c);
