/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include "json/tree.h"

int json_load(struct arena *a, struct span text, const struct json_value **ret, struct error *err)
{
	struct json_value *value = ARENA_NEW(a, struct json_value);

	if (tree_parse(a, text, value, err) < 0)
		return -1;
	*ret = value;
	return 0;
}

const struct json_value *json_get(const struct json_value *v, const char *member)
{
	if (!v || v->kind != TREE_OBJECT)
		return NULL;
	for (size_t i = 0; i < v->count; i++) {
		if (strcmp(v->keys[i], member) == 0)
			return &v->items[i];
	}
	return NULL;
}

const struct json_value *json_item_at(const struct json_value *v, size_t index)
{
	if (!v || v->kind != TREE_LIST || index >= v->count)
		return NULL;
	return &v->items[index];
}

size_t json_count(const struct json_value *v)
{
	return v && (v->kind == TREE_LIST || v->kind == TREE_OBJECT) ? v->count : 0;
}

const char *json_text(const struct json_value *v, const char *fallback)
{
	return v && v->kind == TREE_TEXT ? v->text.data : fallback;
}

int64_t json_whole(const struct json_value *v, int64_t fallback)
{
	return v && v->kind == TREE_WHOLE ? v->whole : fallback;
}

const char **json_texts(struct arena *a, const struct json_value *v)
{
	const char **texts = ARENA_ARRAY(a, const char *, json_count(v) + 1);

	for (size_t i = 0; i < json_count(v); i++)
		texts[i] = json_text(json_item_at(v, i), "");
	return texts;
}

double json_number(const struct json_value *v, double fallback)
{
	if (v && v->kind == TREE_WHOLE)
		return (double)v->whole;
	return v && v->kind == TREE_NUMBER ? v->number : fallback;
}

bool json_bool(const struct json_value *v, bool fallback)
{
	return v && v->kind == TREE_BOOL ? v->truth : fallback;
}

const char *json_get_text(const struct json_value *v, const char *member, const char *fallback)
{
	return json_text(json_get(v, member), fallback);
}

int64_t json_get_whole(const struct json_value *v, const char *member, int64_t fallback)
{
	return json_whole(json_get(v, member), fallback);
}

bool json_get_bool(const struct json_value *v, const char *member, bool fallback)
{
	return json_bool(json_get(v, member), fallback);
}

const struct json_value *json_member_at(const struct json_value *v, size_t index,
                                        const char **ret_key)
{
	if (!v || v->kind != TREE_OBJECT || index >= v->count)
		return NULL;
	*ret_key = v->keys[index];
	return &v->items[index];
}
