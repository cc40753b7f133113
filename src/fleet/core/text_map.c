/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/text_map.h"

#include <string.h>

#include "json/json.h"
#include "sandbox/sandbox.h"

#define ENV_COUNT_MAX 256
#define ENV_BYTES_MAX (128 * 1024)

int environment_check(const struct json_map *env, struct error *err)
{
	size_t bytes = 0;

	if (env->count > ENV_COUNT_MAX)
		return FAIL(err, ERROR_LIMIT, "more than %d environment variables", ENV_COUNT_MAX);
	for (size_t i = 0; i < env->count; i++) {
		if (sandbox_env_check(env->pairs[i].key, env->pairs[i].value, err) < 0)
			return -1;
		bytes += strlen(env->pairs[i].key) + strlen(env->pairs[i].value) + 2;
	}
	if (bytes > ENV_BYTES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "the environment is larger than %d bytes",
		            ENV_BYTES_MAX);
	return 0;
}

int text_map_of_json(struct arena *a, const char *text, struct json_map *ret, struct error *err)
{
	const struct json_value *value;

	if (json_load(a, span_of(text), &value, err) < 0)
		return -1;
	*ret = (struct json_map){.pairs = ARENA_ARRAY(a, struct json_pair, json_count(value) + 1),
	                         .present = true};
	for (size_t i = 0; i < json_count(value); i++) {
		const struct json_value *member = json_member_at(value, i, &ret->pairs[i].key);

		ret->pairs[i].value = json_text(member, "");
		ret->count++;
	}
	return 0;
}

const char *text_map_find(const struct json_map *map, const char *key)
{
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->pairs[i].key, key) == 0)
			return map->pairs[i].value;
	return NULL;
}
