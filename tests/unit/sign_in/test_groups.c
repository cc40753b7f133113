/* SPDX-License-Identifier: Apache-2.0 */
#include "sign_in/groups.h"

#include <string.h>

#include "json/json.h"
#include "unit.h"

#define OPTION "admins=admin@default, devs = member@default,devs=viewer@other,root=admin@*"

static void read_groups(struct arena *a, const char *groups, struct group_roles *ret)
{
	const struct json_value *value;
	struct error err;

	assert_int_equal(json_load(a, span_of(groups), &value, &err), 0);
	group_roles_read(a, OPTION, json_get(value, "groups"), ret);
}

TEST(the_highest_role_of_a_project_counts)
{
	AUTO(arena_done) struct arena a = {0};
	struct group_roles roles;

	read_groups(&a, "{\"groups\":[\"devs\",\"admins\",\"more\"]}", &roles);
	assert_int_equal(roles.count, 2);
	assert_string_equal(roles.items[0].project, "default");
	assert_int_equal(roles.items[0].role, ROLE_ADMIN);
	assert_string_equal(roles.items[1].project, "other");
	assert_int_equal(roles.items[1].role, ROLE_VIEWER);
	assert_true(roles.gives_any && roles.decides_admin && !roles.is_admin);
	read_groups(&a, "{\"groups\":\"devs\"}", &roles);
	assert_int_equal(roles.items[0].role, ROLE_MEMBER);
	read_groups(&a, "{\"groups\":[\"root\"]}", &roles);
	assert_true(roles.is_admin && roles.gives_any);
	assert_int_equal(roles.items[0].role, ROLE_NONE);
}

TEST(what_is_no_group_gives_nothing)
{
	static const char *const cases[] = {"{}",
	                                    "{\"groups\":null}",
	                                    "{\"groups\":[]}",
	                                    "{\"groups\":[7,{}]}",
	                                    "{\"groups\":{\"admins\":1}}",
	                                    "{\"groups\":[\"Admins\",\"admins \"]}"};
	AUTO(arena_done) struct arena a = {0};
	struct group_roles roles;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		read_groups(&a, cases[i], &roles);
		assert_false(roles.gives_any || roles.is_admin);
		assert_int_equal(roles.items[0].role, ROLE_NONE);
	}
}

int main(void)
{
	return RUN(CASE(the_highest_role_of_a_project_counts),
	           CASE(what_is_no_group_gives_nothing));
}
