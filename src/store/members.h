/* SPDX-License-Identifier: Apache-2.0 */
/* store/members.h — users of a project.
 *
 * A project with members always has an admin: the first member must be an admin, and the last admin
 * cannot leave. Users who are disabled or have never signed in do not count as the others who stay.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

#define STORE_MEMBERS_MAX 1000 /* per project */
#define STORE_ROLE_ADMIN "admin"

struct member_record {
	const char *project_id;
	const char *user_id;
	const char *role; /* as account/ defines roles */
	int64_t created_at;
	int64_t updated_at;
};

struct member_list {
	struct member_record *items;
	size_t count;
};

/* ERROR_CONFLICT when the user is a member already. */
MUST_CHECK int store_member_insert(struct store *s, const struct member_record *r,
                                   struct error *err);
MUST_CHECK int store_member_find(struct store *s, struct arena *a, const char *project_id,
                                 const char *user_id, struct member_record *ret, struct error *err);
MUST_CHECK int store_member_list(struct store *s, struct arena *a, const char *project_id,
                                 struct member_list *ret, struct error *err);

/* Writes role and updated_at. Withdraws the pending invitations of a user who is no admin now. */
MUST_CHECK int store_member_set_role(struct store *s, const struct member_record *r,
                                     struct error *err);

/* Also revokes the user's keys of the project and withdraws the user's pending invitations. */
MUST_CHECK int store_member_remove(struct store *s, const char *project_id, const char *user_id,
                                   int64_t now, struct error *err);
