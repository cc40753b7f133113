/* SPDX-License-Identifier: Apache-2.0 */
/* sign_in/sign_in.h — people and keys that sign in from a browser, and what their sessions may do.
 *
 * A session of a browser is called a login here: "session" means a sandbox's elsewhere. Its token
 * is known to the browser only. Blocks: call it on a worker, in the slow lane where a password is
 * checked. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sign_in/token.h"
#include "store/logins.h"

struct config;
struct invitation_record;
struct sign_in;

/* `config` and `store` must outlive it. */
struct sign_in *sign_in_new(const struct config *config, struct store *store);
void sign_in_free(struct sign_in *s); /* NULL is fine */

/* Since the start of this server. */
struct sign_in_counts {
	uint64_t made, refused, limited; /* logins, and attempts that made none */
	uint64_t forged; /* requests refused because they may come from another page */
};
struct sign_in_counts sign_in_counts_get(struct sign_in *s);
/* Counts a refused request; NULL is fine. */
void sign_in_count_forged(struct sign_in *s);

/* Who asks, as far as it is known. */
struct sign_in_client {
	const char *address; /* without port; "" = not known */
	const char *user_agent;
	const struct sign_in_token *replaces; /* the browser's old login, which ends; NULL = none */
};

/* Failed attempts in SIGN_IN_WINDOW_MS. All servers on one store count together. */
#define SIGN_IN_WINDOW_MS (INT64_C(15) * 60000)
#define SIGN_IN_PER_ADDRESS_MAX 30
#define SIGN_IN_PER_PLACE_MAX 10    /* for one account from one address */
#define SIGN_IN_PER_ACCOUNT_MAX 200 /* for one account from all addresses */

/* login.c */

struct sign_in_made {
	struct sign_in_token token;
	struct login_record login;
	const char *who; /* the user's address; "" for a key */
};
/* What a caller offers; the members of one form are given, the others are NULL. */
struct sign_in_offer {
	const char *email, *password;
	const char *key;
	const char *setup_token, *invitation; /* with `password` and `name` */
	const char *name;
};
/* Makes a login. ERROR_UNAUTHENTICATED when the offer is not right; the same, after the same time,
 * for an address that does not exist. ERROR_LIMIT after too many attempts of an address or for an
 * account. */
MUST_CHECK int sign_in_begin(struct sign_in *s, struct arena *a,
                             const struct sign_in_client *client, const struct sign_in_offer *offer,
                             struct sign_in_made *ret, struct error *err);

/* A login that is valid, and whose it is. */
struct sign_in_found {
	struct login_record login;
	struct user_record user; /* of LOGIN_USER */
	struct key_record key;   /* of LOGIN_KEY; its scopes are limited by its member's role */
};
/* ERROR_UNAUTHENTICATED when it has ended or expired, the user is disabled, or the key is no longer
 * valid. Counts as a use. */
MUST_CHECK int sign_in_find_login(struct sign_in *s, struct arena *a,
                                  const unsigned char hash[ACCOUNT_HASH_SIZE],
                                  struct sign_in_found *ret, struct error *err);
/* The same without counting as a use. */
MUST_CHECK int sign_in_look_login(struct sign_in *s, struct arena *a,
                                  const unsigned char hash[ACCOUNT_HASH_SIZE],
                                  struct sign_in_found *ret, struct error *err);
/* The project that a user acts in, and the scopes of the user's role there. `wanted` NULL: the
 * first project. ERROR_NOT_FOUND for a project in which the user has no role, ERROR_FORBIDDEN
 * without any project. */
struct sign_in_place {
	const char *project_id;
	unsigned scopes;
};
MUST_CHECK int sign_in_choose_project(struct sign_in *s, struct arena *a,
                                      const struct user_record *user, const char *wanted,
                                      struct sign_in_place *ret, struct error *err);
/* ERROR_FORBIDDEN; always -1. */
int sign_in_refuse_without_project(struct error *err);
/* The scopes that a membership gives to a user. */
unsigned sign_in_scopes(const struct user_record *user, const struct membership *m);

/* Sets a password. `old` NULL: an admin sets it. Ends the user's logins but `kept` ("": none). */
struct sign_in_password {
	const char *user_id, *old, *new, *kept;
	const char *address;
};
MUST_CHECK int sign_in_set_password(struct sign_in *s, struct arena *a,
                                    const struct sign_in_password *change, struct error *err);

/* links.c */

#define SIGN_IN_SETUP_MS (INT64_C(8) * 3600000)
/* The token of a one-time link that makes the first user. ERROR_CONFLICT when a user exists. */
MUST_CHECK int sign_in_make_setup(struct store *store, struct sign_in_token *ret,
                                  int64_t *ret_expires_at, struct error *err);
/* Makes a user from email, name and is_admin; `password` NULL: the user has none yet. */
MUST_CHECK int sign_in_add_user(struct sign_in *s, struct arena *a,
                                const struct user_record *wanted, const char *password,
                                struct user_record *ret, struct error *err);
/* Completes the record (id, hash, times) and stores it. An invitation without a project sets the
 * password of the user with that address; only an admin of the server may make it. */
MUST_CHECK int sign_in_invite(struct sign_in *s, struct arena *a, struct invitation_record *r,
                              struct sign_in_token *ret, struct error *err);
/* "ADDRESS/console/setup#TOKEN" and "ADDRESS/console/join#TOKEN". A fragment reaches no server and
 * no log. */
const char *sign_in_setup_link(struct arena *a, const char *address,
                               const struct sign_in_token *token);
const char *sign_in_join_link(struct arena *a, const char *address,
                              const struct sign_in_token *token);
