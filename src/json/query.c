/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include <stdlib.h>

#include "json/shape.h"

/* Limit of parts: each part costs a tree value. */
#define PARTS_MAX 256

int json_decode_query(struct arena *a, struct span in, struct span *ret, struct error *err)
{
	char *out = (char *)arena_alloc(a, in.size + 1);
	size_t size = 0;

	while (in.size > 0) {
		bool is_blank = in.data[0] == '+';
		int byte = span_take_escaped(&in);

		if (byte < 0)
			return FAIL(err, ERROR_INVALID,
			            "query: '%%' is not followed by two hexadecimal digits");
		if (byte == 0)
			return FAIL(err, ERROR_INVALID, "query: NUL is not allowed");
		out[size++] = is_blank ? ' ' : (char)byte;
	}
	if (!span_is_utf8((struct span){out, size}))
		return FAIL(err, ERROR_INVALID, "query: not valid UTF-8");
	*ret = (struct span){out, size};
	return 0;
}

static bool parse_whole(struct span text, struct json_value *ret)
{
	struct error ignored;
	bool negative = text.size > 0 && text.data[0] == '-';

	if (negative)
		span_skip(&text, 1);
	if (span_parse_whole(text, 0, INT64_MAX, &ret->whole, &ignored) < 0)
		return false;
	ret->whole = negative ? -ret->whole : ret->whole;
	ret->kind = TREE_WHOLE;
	return true;
}

/* Decimal only: strtod(3) alone would take "0x10", "inf" and leading blanks. */
static bool parse_number(struct span text, struct json_value *ret)
{
	char *end;

	if (text.size == 0 || strspn(text.data, "0123456789.eE+-") != text.size)
		return false;
	ret->number = strtod(text.data, &end);
	ret->kind = TREE_NUMBER;
	return *end == '\0';
}

static bool parse_bool(struct span text, struct json_value *ret)
{
	ret->kind = TREE_BOOL;
	ret->truth = span_equals_text(text, "true") || span_equals_text(text, "1");
	return ret->truth || span_equals_text(text, "false") || span_equals_text(text, "0");
}

static bool (*const parsers[])(struct span text, struct json_value *ret) = {
        [JSON_WHOLE] = parse_whole,
        [JSON_NUMBER] = parse_number,
        [JSON_BOOL] = parse_bool,
};

/* A value that does not parse stays text; the shape then refuses it with a proper message. */
static struct json_value value_of(const struct json_member *m, struct span text)
{
	struct json_value value = {.kind = TREE_NULL};

	if (m->kind < (int)COUNT_OF(parsers) && parsers[m->kind] && parsers[m->kind](text, &value))
		return value;
	return (struct json_value){.kind = TREE_TEXT, .text = text};
}

/* A parsed query: the tree of its parts, with room for all of them. */
struct query_values {
	struct arena *arena;
	const struct json_shape *shape;
	struct json_value object;
	size_t parts;
};

static struct json_value *find_or_add(struct query_values *q, const char *name, bool *ret_added)
{
	struct json_value *object = &q->object;

	*ret_added = false;
	for (size_t i = 0; i < object->count; i++) {
		if (strcmp(object->keys[i], name) == 0)
			return &object->items[i];
	}
	*ret_added = true;
	object->keys[object->count] = name;
	return &object->items[object->count++];
}

static void append_text(struct query_values *q, struct json_value *list, struct span text)
{
	if (list->kind != TREE_LIST) {
		*list = (struct json_value){.kind = TREE_LIST};
		list->items = ARENA_ARRAY(q->arena, struct json_value, q->parts);
	}
	list->items[list->count++] = (struct json_value){.kind = TREE_TEXT, .text = text};
}

static int add_part(struct query_values *q, struct span part, struct error *err)
{
	struct span raw_name, name, text;
	const struct json_member *m;
	struct json_value *value;
	bool added;

	(void)span_split(&part, '=', &raw_name);
	if (json_decode_query(q->arena, raw_name, &name, err) < 0 ||
	    json_decode_query(q->arena, part, &text, err) < 0)
		return -1;
	m = shape_find(q->shape, name.data);
	if (!m && q->shape->is_open)
		return 0;
	if (!m)
		return shape_fail_unknown(q->shape, name.data, err);
	value = find_or_add(q, json_member_name(m), &added);
	if (m->kind == JSON_TEXT_LIST)
		append_text(q, value, text);
	else if (!added)
		return FAIL(err, ERROR_INVALID, "%s: given twice", json_member_name(m));
	else
		*value = value_of(m, text);
	return 0;
}

static size_t count_parts(struct span query)
{
	size_t parts = query.size > 0;

	for (size_t i = 0; i < query.size; i++)
		parts += query.data[i] == '&';
	return parts;
}

int json_parse_query(struct arena *a, struct span query, const struct json_shape *shape, void *out,
                     struct error *err)
{
	struct query_values q = {.arena = a, .shape = shape, .object.kind = TREE_OBJECT};
	struct span part;

	q.parts = count_parts(query);
	if (q.parts > PARTS_MAX)
		return FAIL(err, ERROR_INVALID, "query: more than %d parts", PARTS_MAX);
	q.object.items = ARENA_ARRAY(a, struct json_value, q.parts);
	q.object.keys = ARENA_ARRAY(a, const char *, q.parts);
	while (query.size > 0) {
		(void)span_split(&query, '&', &part);
		if (part.size > 0 && add_part(&q, part, err) < 0)
			return -1;
	}
	return shape_read(a, &q.object, shape, out, err);
}
