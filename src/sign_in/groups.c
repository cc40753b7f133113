/* SPDX-License-Identifier: Apache-2.0 */
#include "sign_in/groups.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "json/json.h"
#include "sign_in/oidc.h"
#include "store/members.h"
#include "store/projects.h"

static bool groups_have(const struct json_value *groups, struct span name)
{
	const char *one = json_text(groups, NULL);

	if (one)
		return span_equals_text(name, one);
	for (size_t i = 0; i < json_count(groups); i++)
		if (span_equals_text(name, json_text(json_item_at(groups, i), "")))
			return true;
	return false;
}

static struct group_role *find_project(struct group_roles *roles, const char *project)
{
	for (size_t i = 0; i < roles->count; i++)
		if (strcmp(roles->items[i].project, project) == 0)
			return &roles->items[i];
	if (roles->count == GROUP_PROJECTS_MAX)
		return NULL;
	roles->items[roles->count] = (struct group_role){.project = project};
	return &roles->items[roles->count++];
}

/* "GROUP=ROLE@PROJECT" */
static void read_row(struct arena *a, struct span row, const struct json_value *groups,
                     struct group_roles *ret)
{
	struct span rest = row, group, role_name;
	enum account_role role;
	struct group_role *found;
	struct error ignored;
	const char *project;
	bool applies;

	if (!span_split(&rest, '=', &group) || !span_split(&rest, '@', &role_name) ||
	    account_role_parse(arena_copy(a, span_trim(role_name)), &role, &ignored) < 0)
		return;
	project = arena_copy(a, span_trim(rest));
	applies = groups_have(groups, span_trim(group));
	ret->gives_any |= applies;
	if (strcmp(project, OIDC_EVERYWHERE) == 0) {
		ret->decides_admin = true;
		ret->is_admin |= applies && role == ROLE_ADMIN;
		return;
	}
	found = find_project(ret, project);
	if (found && applies && role > found->role)
		found->role = role;
}

void group_roles_read(struct arena *a, const char *option, const struct json_value *groups,
                      struct group_roles *ret)
{
	struct span rest = span_of(option), row;

	*ret = (struct group_roles){.count = 0};
	while (rest.size) {
		(void)span_split(&rest, ',', &row);
		read_row(a, row, groups, ret);
	}
}

static int apply_role(struct store *store, struct arena *a, const struct user_record *user,
                      const struct group_role *wanted, struct error *err)
{
	struct project_record project;
	struct member_record present, next = {.user_id = user->email,
	                                      .role = account_role_name(wanted->role),
	                                      .created_at = clock_unix_ms()};
	bool is_member;

	if (store_project_find_named(store, a, wanted->project, &project, err) < 0)
		return -1;
	next.project_id = project.id;
	next.updated_at = next.created_at;
	is_member = store_member_find(store, a, project.id, user->email, &present, err) == 0;
	if (!is_member && err->code != ERROR_NOT_FOUND)
		return -1;
	if (wanted->role == ROLE_NONE)
		return is_member ? store_member_remove(store, project.id, user->email,
		                                       next.updated_at, err)
		                 : 0;
	if (!is_member)
		return store_member_insert(store, &next, err);
	return strcmp(present.role, next.role) == 0 ? 0 : store_member_set_role(store, &next, err);
}

void group_roles_apply(struct store *store, struct arena *a, const struct user_record *user,
                       const struct group_roles *roles)
{
	struct error err;

	for (size_t i = 0; i < roles->count; i++)
		if (apply_role(store, a, user, &roles->items[i], &err) < 0)
			log_warning("a role that groups give is not applied",
			            TEXT("user", user->email),
			            TEXT("project", roles->items[i].project), FAILURE(&err));
}
