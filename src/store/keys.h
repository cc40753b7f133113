/* SPDX-License-Identifier: Apache-2.0 */
/* store/keys.h — API keys. Only the hash of a key's secret is stored. A revocation and a rotation
 * end the key's logins. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

#define KEY_HASH_SIZE 32
#define STORE_KEYS_MAX 1000 /* per project */
#define STORE_SECRETS_MAX 4 /* replaced secrets of a key that are still valid */

struct key_record {
	const char *id;
	const char *project_id;
	const char *name;
	const char *user_id;               /* the member that the key belongs to; "" = none */
	const char *made_by;               /* the user or key that made it; "" = not known */
	const char *role;                  /* the member's current role; set only by the store */
	const char *prefix;                /* first characters of the key, for people */
	unsigned char hash[KEY_HASH_SIZE]; /* SHA-256 of the key */
	int64_t scopes;                    /* bits of enum account_scope */
	int64_t created_at;
	int64_t expires_at;
	int64_t revoked_at;
	int64_t last_used_at;
};

struct key_list {
	struct key_record *items;
	size_t count;
};

MUST_CHECK int store_key_insert(struct store *s, const struct key_record *r, struct error *err);
MUST_CHECK int store_key_find_by_hash(struct store *s, struct arena *a,
                                      const unsigned char hash[KEY_HASH_SIZE],
                                      struct key_record *ret, struct error *err);
/* `project_id` NULL: any. */
MUST_CHECK int store_key_find(struct store *s, struct arena *a, const char *project_id,
                              const char *id, struct key_record *ret, struct error *err);
MUST_CHECK int store_key_list(struct store *s, struct arena *a, const char *project_id,
                              struct key_list *ret, struct error *err);
MUST_CHECK int store_key_revoke(struct store *s, const char *project_id, const char *id,
                                int64_t now, struct error *err);

/* Sets last_used_at; the write may be delayed and batched. */
void store_key_touch(struct store *s, const char *id, int64_t now);

struct key_rotation {
	const char *project_id;
	const char *id;
	unsigned char hash[KEY_HASH_SIZE]; /* of the new secret */
	const char *prefix;
	int64_t now;
	int64_t until; /* the old secret is valid until then */
};

/* ERROR_CONFLICT when the key is revoked or expired; ERROR_LIMIT when STORE_SECRETS_MAX old secrets
 * are still valid. */
MUST_CHECK int store_key_rotate(struct store *s, struct arena *a,
                                const struct key_rotation *rotation, struct key_record *ret,
                                struct error *err);
