/* SPDX-License-Identifier: Apache-2.0 */
/* The variables by which programs in a sandbox find its authority. */
#include <string.h>

#include "credential/authority.h"
#include "fleet/lifecycle/create.h"
#include "fleet/sandbox/settings.h"
#include "grant/state.h"
#include "json/json.h"
#include "store/sandbox_record.h"

#define VARIABLES_MAX 64

static bool map_has(const struct json_map *map, const char *key)
{
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->pairs[i].key, key) == 0)
			return true;
	return false;
}

/* A value that the caller gave stays. */
static struct json_map add_variables(struct arena *a, const struct json_map *env)
{
	struct json_map all = {ARENA_ARRAY(a, struct json_pair, env->count + VARIABLES_MAX), 0,
	                       true};

	for (; all.count < env->count; all.count++)
		all.pairs[all.count] = env->pairs[all.count];
	for (const struct credential_variable *v = credential_variables;
	     v->name && all.count < env->count + VARIABLES_MAX; v++)
		if (!map_has(env, v->name))
			all.pairs[all.count++] = (struct json_pair){v->name, v->value};
	return all;
}

void grant_prepare_create(struct arena *a, const char *rules, struct fleet_create *request)
{
	if (!*rules)
		return;
	request->rules_json = rules;
	request->env = add_variables(a, &request->env);
}

int grant_add_variables(struct grants *g, struct arena *a, const struct fleet_ref *ref,
                        struct sandbox_record *r, struct error *err)
{
	const struct json_value *object;
	struct json_map env, all;
	struct fleet_environment change = {.set = &all};

	if (json_load(a, span_of(r->env_json), &object, err) < 0)
		return -1;
	env = (struct json_map){ARENA_ARRAY(a, struct json_pair, json_count(object) + 1),
	                        json_count(object), true};
	for (size_t i = 0; i < env.count; i++)
		env.pairs[i].value = json_text(json_member_at(object, i, &env.pairs[i].key), "");
	all = add_variables(a, &env);
	if (all.count == env.count)
		return 0;
	return fleet_set_environment(g->options.fleet, a, ref, &change, r, err);
}
