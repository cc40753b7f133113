/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include <assert.h>
#include <string.h>

#include "json/shape.h"
#include "json/write.h"

/* What stands for an empty value. Kinds without a text here have no value of their own for
 * "absent": a zero is a zero. */
static const char *const empty_texts[] = {
        [JSON_TEXT] = "\"\"",    [JSON_BYTES] = "\"\"",  [JSON_CHOICE] = "null",
        [JSON_TEXT_LIST] = "[]", [JSON_TEXT_MAP] = "{}", [JSON_LIST] = "[]",
        [JSON_RAW] = "null",     [JSON_TIME] = "null",
};

static void write_value(struct buf *out, const struct json_member *m, const void *slot)
{
	const char *name = json_member_name(m);

	switch (m->kind) {
	case JSON_TEXT:
		json_add_text(out, name, *(const char *const *)slot);
		break;
	case JSON_BYTES:
		json_add_bytes(out, name, *(const struct span *)slot);
		break;
	case JSON_WHOLE:
		json_add_whole(out, name, *(const int64_t *)slot);
		break;
	case JSON_NUMBER:
		json_add_number(out, name, *(const double *)slot);
		break;
	case JSON_BOOL:
		json_add_bool(out, name, *(const bool *)slot);
		break;
	case JSON_CHOICE:
		json_add_text(out, name, m->choices[*(const int *)slot]);
		break;
	case JSON_TEXT_LIST:
		json_add_texts(out, name, *(const char *const *const *)slot);
		break;
	case JSON_TEXT_MAP:
		json_add_map(out, name, slot);
		break;
	case JSON_OBJECT:
		json_add_struct(out, name, m->of, slot);
		break;
	case JSON_LIST:
		json_add_structs(out, name, m->of, slot);
		break;
	case JSON_RAW:
		json_add_raw(out, name, *(const struct span *)slot);
		break;
	case JSON_TIME:
		json_add_time(out, name, *(const int64_t *)slot);
		break;
	}
}

static bool is_empty_object(const struct json_shape *shape, const void *in);

static bool is_empty(const struct json_member *m, const void *slot)
{
	bool is_omitted = m->flags & JSON_OMIT_EMPTY;
	const struct json_list *list = slot;
	const struct json_map *map = slot;
	const char *text;
	double number;

	switch (m->kind) {
	case JSON_TEXT:
		text = *(const char *const *)slot;
		return !text || (is_omitted && !text[0]);
	case JSON_BYTES:
	case JSON_RAW:
		return ((const struct span *)slot)->size == 0;
	case JSON_WHOLE:
	case JSON_TIME:
		return *(const int64_t *)slot == 0;
	case JSON_NUMBER:
		number = *(const double *)slot;
		return number >= 0 && number <= 0;
	case JSON_BOOL:
		return !*(const bool *)slot;
	case JSON_CHOICE:
		return *(const int *)slot < 0;
	case JSON_TEXT_LIST:
		return !*(const char *const *const *)slot ||
		       (is_omitted && !**(const char *const *const *)slot);
	case JSON_TEXT_MAP:
		return map->count == 0 && (is_omitted || !map->present);
	case JSON_LIST:
		return list->count == 0 && (is_omitted || !list->present);
	case JSON_OBJECT:
		return is_empty_object(m->of, slot);
	}
	return false;
}

static bool is_empty_object(const struct json_shape *shape, const void *in)
{
	for (const struct json_member *m = shape->members; m < json_shape_end(shape); m++)
		if (!is_empty(m, shape_const_slot(m, in)))
			return false;
	return true;
}

static bool has_bit(const struct json_shape *shape, const struct json_member *m, const void *in)
{
	uint64_t present;

	if (shape->present_offset == SIZE_MAX)
		return false;
	memcpy(&present, (const char *)in + shape->present_offset, sizeof(present));
	return present >> (m - shape->members) & 1;
}

static void write_member(struct buf *out, const struct json_shape *shape,
                         const struct json_member *m, const void *in)
{
	const void *slot = shape_const_slot(m, in);
	const char *instead = is_empty(m, slot) ? empty_texts[m->kind] : NULL;
	bool is_absent = is_empty(m, slot) && !has_bit(shape, m, in) &&
	                 (instead || m->kind == JSON_OBJECT || shape->present_offset != SIZE_MAX);

	if (is_absent && m->flags & JSON_NULLABLE)
		json_add_null(out, json_member_name(m));
	else if (instead)
		json_add_raw(out, json_member_name(m), span_of(instead));
	else
		write_value(out, m, slot);
}

void json_write_members(struct buf *out, const struct json_shape *shape, const void *in,
                        uint64_t members)
{
	buf_add_byte(out, '{');
	for (const struct json_member *m = shape->members; m < json_shape_end(shape); m++) {
		size_t row = (size_t)(m - shape->members);

		if (row < 64 && !(members >> row & 1))
			continue;
		if (m->flags & JSON_OMIT_EMPTY && !has_bit(shape, m, in) &&
		    is_empty(m, shape_const_slot(m, in)))
			continue;
		write_member(out, shape, m, in);
	}
	json_end_object(out);
}

void json_write(struct buf *out, const struct json_shape *shape, const void *in)
{
	json_write_members(out, shape, in, UINT64_MAX);
}

int json_parse_members(struct arena *a, const char *list, const struct json_shape *shape,
                       uint64_t *ret, struct error *err)
{
	struct span rest = span_of(list), part;
	uint64_t members = 0;

	assert(shape->member_count <= 64);
	while (rest.size > 0) {
		const struct json_member *m;
		const char *name;

		(void)span_split(&rest, ',', &part);
		name = arena_copy(a, span_trim(part));
		m = shape_find_spelled(shape, name);
		if (!m)
			return shape_fail_unknown(shape, name, err);
		members |= UINT64_C(1) << (m - shape->members);
	}
	if (members == 0)
		return FAIL(err, ERROR_INVALID, "no member is named");
	*ret = members;
	return 0;
}
