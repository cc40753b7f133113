/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/keys.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"

#define ENTRIES 1024u /* a power of two; keys with the same index replace each other */
#define TEXT_MAX 64
#define USER_SIZE (ACCOUNT_USER_MAX + 1)

struct key_cache_entry {
	unsigned char hash[KEY_HASH_SIZE];
	char id[TEXT_MAX], project_id[TEXT_MAX], user_id[USER_SIZE];
	int64_t scopes, expires_at, revoked_at;
	int64_t until; /* monotonic ms; 0 = empty */
};

struct api_key_cache {
	pthread_mutex_t lock;
	uint64_t generation;
	struct key_cache_entry entries[ENTRIES];
};

struct api_key_cache *api_key_cache_new(void)
{
	struct api_key_cache *c = memory_new(sizeof(*c));

	(void)pthread_mutex_init(&c->lock, NULL);
	return c;
}

void api_key_cache_free(struct api_key_cache *c)
{
	if (!c)
		return;
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}

static struct key_cache_entry *find_cache_entry(struct api_key_cache *c, const unsigned char *hash)
{
	return &c->entries[(hash[0] | (unsigned)hash[1] << 8) & (ENTRIES - 1)];
}

bool api_key_cache_find(struct api_key_cache *c, struct arena *a,
                        const unsigned char hash[KEY_HASH_SIZE], int64_t now,
                        struct api_key_found *ret)
{
	const struct key_cache_entry *e = find_cache_entry(c, hash);
	bool found;

	(void)pthread_mutex_lock(&c->lock);
	ret->ticket = c->generation;
	found = e->until > now && account_hash_equals(e->hash, hash);
	if (found) {
		ret->record = (struct key_record){
		        .id = arena_text(a, e->id),
		        .project_id = arena_text(a, e->project_id),
		        .user_id = arena_text(a, e->user_id),
		        .scopes = e->scopes,
		        .expires_at = e->expires_at,
		        .revoked_at = e->revoked_at,
		};
		memcpy(ret->record.hash, hash, KEY_HASH_SIZE);
	}
	(void)pthread_mutex_unlock(&c->lock);
	return found;
}

void api_key_cache_put(struct api_key_cache *c, uint64_t ticket, const struct key_record *r,
                       int64_t now)
{
	struct key_cache_entry made = {
	        .scopes = r->scopes,
	        .expires_at = r->expires_at,
	        .revoked_at = r->revoked_at,
	        .until = now + API_KEY_CACHE_MS,
	};

	if (strlen(r->id) >= TEXT_MAX || strlen(r->project_id) >= TEXT_MAX ||
	    strlen(r->user_id) >= USER_SIZE)
		return;
	memcpy(made.hash, r->hash, KEY_HASH_SIZE);
	(void)snprintf(made.id, TEXT_MAX, "%s", r->id);
	(void)snprintf(made.project_id, TEXT_MAX, "%s", r->project_id);
	(void)snprintf(made.user_id, USER_SIZE, "%s", r->user_id);
	(void)pthread_mutex_lock(&c->lock);
	if (ticket == c->generation)
		*find_cache_entry(c, r->hash) = made;
	(void)pthread_mutex_unlock(&c->lock);
}

void api_key_cache_clear(struct api_key_cache *c)
{
	(void)pthread_mutex_lock(&c->lock);
	c->generation++;
	for (unsigned i = 0; i < ENTRIES; i++)
		c->entries[i].until = 0;
	(void)pthread_mutex_unlock(&c->lock);
}
