/* SPDX-License-Identifier: Apache-2.0 */
/* store/logins.h — logins: sessions of people in browsers, and what limits guesses of passwords.
 * Only the hash of a login's token is stored. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/keys.h"
#include "store/users.h"

struct store;

#define STORE_LOGINS_MAX 50 /* per user or key; the oldest is ended for a new one */

/* The database holds the words: they may be added to, never changed. */
enum login_kind { LOGIN_USER, LOGIN_KEY, LOGIN_KIND_COUNT };
const char *login_kind_name(enum login_kind kind);

struct login_record {
	const char *id;
	unsigned char hash[KEY_HASH_SIZE]; /* SHA-256 of the token */
	enum login_kind kind;
	const char *owner_id;   /* of the user or the key */
	const char *project_id; /* of the key; "" for a user */
	const char *address, *user_agent;
	int64_t created_at, expires_at, last_used_at;
};

struct login_list {
	struct login_record *items;
	size_t count;
};

/* Ends the oldest logins of the owner beyond STORE_LOGINS_MAX, expired ones, and the login with the
 * hash `replaces` (NULL: none). */
MUST_CHECK int store_login_insert(struct store *s, const struct login_record *r,
                                  const unsigned char *replaces, struct error *err);
MUST_CHECK int store_login_find(struct store *s, struct arena *a,
                                const unsigned char hash[KEY_HASH_SIZE], struct login_record *ret,
                                struct error *err);
/* The newest first. */
MUST_CHECK int store_login_list(struct store *s, struct arena *a, const char *owner_id,
                                struct login_list *ret, struct error *err);
MUST_CHECK int store_login_end(struct store *s, const char *owner_id, const char *id,
                               struct error *err);
MUST_CHECK int store_login_end_all(struct store *s, const char *owner_id, struct error *err);
/* Sets last_used_at; the write may be delayed and batched. */
void store_login_touch(struct store *s, const char *id, int64_t now);

/* A project in which a user has a role. */
struct membership {
	const char *project_id, *project_name;
	const char *role; /* "" for an admin of the server who is no member */
};
struct membership_list {
	struct membership *items;
	size_t count;
};
#define STORE_MEMBERSHIPS_MAX 1000
/* The projects of a user, or all for an admin; without those that are being deleted; by name. */
struct membership_lookup {
	const char *email;
	bool is_admin;
	const char *project_id; /* only this one; NULL = all */
	int64_t limit;
};
MUST_CHECK int store_memberships(struct store *s, struct arena *a,
                                 const struct membership_lookup *lookup,
                                 struct membership_list *ret, struct error *err);

/* The last attempts to sign in of an address or an account. */
struct attempt_record {
	const char *id;
	int64_t attempts, began_at;
};
struct attempt_limit {
	const char *id;
	int64_t max, window_ms, now;
};
/* Counts an attempt. ERROR_LIMIT beyond `max` in the window, with the seconds to wait; then it is
 * not counted. */
MUST_CHECK int store_attempt_count(struct store *s, const struct attempt_limit *limit,
                                   struct error *err);
/* Takes a counted attempt back; all of them with `all`. */
MUST_CHECK int store_attempt_forgive(struct store *s, const char *id, bool all, struct error *err);
