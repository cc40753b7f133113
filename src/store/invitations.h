/* SPDX-License-Identifier: Apache-2.0 */
/* store/invitations.h — links that are valid once: the one that makes the first user, and
 * invitations. Only the hash of a link's token is stored. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/keys.h"
#include "store/users.h"

struct store;

#define STORE_INVITATIONS_MAX 1000 /* per project that can be used still */
#define STORE_SETUP_LINKS_MAX 8    /* a new one replaces the oldest */

/* The database holds the words: they may be added to, never changed. */
enum invitation_kind { INVITATION_SETUP, INVITATION_JOIN, INVITATION_KIND_COUNT };

struct invitation_record {
	const char *id;
	unsigned char hash[KEY_HASH_SIZE]; /* SHA-256 of the token */
	enum invitation_kind kind;
	const char *project_id; /* "" = none */
	const char *email;      /* "" for INVITATION_SETUP */
	const char *role;       /* in the project; "" without one */
	bool is_admin;          /* makes an admin of the server */
	const char *invited_by;
	int64_t created_at, expires_at;
};

struct invitation_list {
	struct invitation_record *items;
	size_t count;
};

/* INVITATION_SETUP: ERROR_CONFLICT when a user exists. INVITATION_JOIN: ERROR_CONFLICT when the
 * address is a member of the project already, or when the project has no admin and the role is
 * another. */
MUST_CHECK int store_invitation_insert(struct store *s, const struct invitation_record *r,
                                       struct error *err);
/* ERROR_NOT_FOUND also for one that has expired by `now`. */
MUST_CHECK int store_invitation_find(struct store *s, struct arena *a,
                                     const unsigned char hash[KEY_HASH_SIZE], int64_t now,
                                     struct invitation_record *ret, struct error *err);
/* Those of the project that can be used still, the newest first. */
MUST_CHECK int store_invitation_list(struct store *s, struct arena *a, const char *project_id,
                                     int64_t now, struct invitation_list *ret, struct error *err);
MUST_CHECK int store_invitation_remove(struct store *s, const char *project_id, const char *id,
                                       struct error *err);

struct invitation_acceptance {
	const struct invitation_record *invitation;
	const struct user_record *user; /* to insert, or one that exists */
	bool is_new;
	bool sets_password; /* gives user->password to the user that exists, and ends its logins */
	const char *project_id; /* that the first user becomes an admin of; for INVITATION_SETUP */
	int64_t now;
};
/* Uses the invitation up, inserts the user and the membership. ERROR_NOT_FOUND when it was used or
 * has expired. */
MUST_CHECK int store_invitation_accept(struct store *s, const struct invitation_acceptance *accept,
                                       struct error *err);
