/* SPDX-License-Identifier: Apache-2.0 */
/* store/users.h — people who sign in.
 *
 * A user's role in a project is a member row (members.h) whose user_id is the user's e-mail
 * address. An address is in lower case and never changes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct store;

#define STORE_USERS_MAX 100000

struct user_record {
	const char *id;
	const char *email;
	const char *name;
	const char *password; /* the hash, with its parameters; "" = signs in without a password */
	bool is_admin;        /* of the whole server */
	const char *issuer;   /* of OpenID Connect; "" = none */
	const char *subject;  /* the user's id at the issuer */
	int64_t created_at, updated_at;
	int64_t disabled_at; /* 0 = not disabled */
	int64_t last_used_at;
};

struct user_list {
	struct user_record *items;
	size_t count;
};

/* ERROR_CONFLICT when the address is taken. */
MUST_CHECK int store_user_insert(struct store *s, const struct user_record *r, struct error *err);
MUST_CHECK int store_user_find(struct store *s, struct arena *a, const char *id,
                               struct user_record *ret, struct error *err);
MUST_CHECK int store_user_find_by_email(struct store *s, struct arena *a, const char *email,
                                        struct user_record *ret, struct error *err);
MUST_CHECK int store_user_find_by_subject(struct store *s, struct arena *a, const char *issuer,
                                          const char *subject, struct user_record *ret,
                                          struct error *err);
MUST_CHECK int store_user_count(struct store *s, int64_t *ret, struct error *err);

struct user_page {
	const char *after; /* last address of the previous page; "" at first */
	int64_t limit;
};
/* Sorted by address. */
MUST_CHECK int store_user_list(struct store *s, struct arena *a, const struct user_page *page,
                               struct user_list *ret, struct error *err);

struct user_edit {
	const char *id;
	/* Changes the current record, except id, email and created_at. May be called more than
	 * once. */
	int (*edit)(struct user_record *r, const void *context, struct error *err);
	const void *context;
	/* Ends the user's logins, but not this one. NULL: none is ended; "": all are. */
	const char *ends_logins_but;
};
/* ERROR_CONFLICT when the server would lose its last admin that is not disabled. */
MUST_CHECK int store_user_edit(struct store *s, struct arena *a, const struct user_edit *edit,
                               struct user_record *ret, struct error *err);
/* Removes the user with logins and memberships, and revokes the keys of these memberships.
 * ERROR_CONFLICT as above, or when a project would lose its last admin. */
MUST_CHECK int store_user_remove(struct store *s, const char *id, int64_t now, struct error *err);
