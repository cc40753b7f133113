/* SPDX-License-Identifier: Apache-2.0 */
/* sign_in/groups.h — private: the roles that groups of a provider give. */
#pragma once

#include <stdbool.h>

#include "account/account.h"
#include "store/users.h"

struct json_value;
struct store;

#define GROUP_PROJECTS_MAX 256
struct group_role {
	const char *project;
	enum account_role role; /* ROLE_NONE: the groups give none */
};
struct group_roles {
	struct group_role items[GROUP_PROJECTS_MAX]; /* each project of the option once */
	size_t count;
	bool decides_admin, is_admin; /* whether the option names admins of the server; whether they
	                                 include this person */
	bool gives_any;
};
/* `option`: "GROUP=ROLE@PROJECT,…", checked before; `groups`: a list of texts, or one. */
void group_roles_read(struct arena *a, const char *option, const struct json_value *groups,
                      struct group_roles *ret);
/* Makes the user's roles in the named projects what they should be. What the store refuses (the
 * last admin, a first member that is no admin) is logged and stays. */
void group_roles_apply(struct store *store, struct arena *a, const struct user_record *user,
                       const struct group_roles *roles);
