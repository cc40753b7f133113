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

#include "base/bytes.h"
#include "store/keys.h"

#define API_KEY_CACHE_MS 5000

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
