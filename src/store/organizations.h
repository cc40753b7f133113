/* SPDX-License-Identifier: Apache-2.0 */
/* store/organizations.h — organisations above projects.
 *
 * A project belongs to one; those that existed before belong to STORE_ORGANIZATION_FIRST. Owners
 * and admins have the role admin in each project (store_memberships). The last owner stays. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct store;

#define STORE_ORGANIZATION_FIRST "default"
#define STORE_ORGANIZATIONS_MAX 1000
#define STORE_ORGANIZATION_MEMBERS_MAX 1000
#define STORE_ORGANIZATION_OWNER "owner"

struct organization_record {
	const char *id, *name;
	int64_t created_at, updated_at;
};
struct organization_list {
	struct organization_record *items;
	size_t count;
};
struct organization_member {
	const char *organization_id, *user_id;
	const char *role; /* owner, admin or member */
	int64_t created_at, updated_at;
};
struct organization_member_list {
	struct organization_member *items;
	size_t count;
};
struct organization_lookup {
	const char *user_id;
};

/* With its first owner. ERROR_CONFLICT when the name or id is taken. */
MUST_CHECK int store_organization_insert(struct store *s, const struct organization_record *r,
                                         const char *owner, struct error *err);
MUST_CHECK int store_organization_find(struct store *s, struct arena *a, const char *id,
                                       struct organization_record *ret, struct error *err);
/* Those of a user by name; `user_id` NULL: all. */
MUST_CHECK int store_organization_list(struct store *s, struct arena *a, const char *user_id,
                                       struct organization_list *ret, struct error *err);
/* Writes name and updated_at. */
MUST_CHECK int store_organization_rename(struct store *s, const struct organization_record *r,
                                         struct error *err);
/* ERROR_CONFLICT while it has a project, and for the first. */
MUST_CHECK int store_organization_remove(struct store *s, const char *id, struct error *err);

MUST_CHECK int store_organization_member_find(struct store *s, struct arena *a,
                                              const char *organization_id, const char *user_id,
                                              struct organization_member *ret, struct error *err);
MUST_CHECK int store_organization_member_list(struct store *s, struct arena *a,
                                              const char *organization_id,
                                              struct organization_member_list *ret,
                                              struct error *err);
/* Adds the member or changes its role. ERROR_CONFLICT when no owner would be left. */
MUST_CHECK int store_organization_member_put(struct store *s, const struct organization_member *r,
                                             struct error *err);
MUST_CHECK int store_organization_member_remove(struct store *s,
                                                const struct organization_member *r,
                                                struct error *err);
