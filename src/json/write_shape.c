/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include <string.h>

#include "json/shape.h"
#include "json/write.h"

static void write_text(struct buf *out, const struct json_member *m, const void *slot)
{
	json_add_text(out, json_member_name(m), *(const char *const *)slot);
}

static void write_bytes(struct buf *out, const struct json_member *m, const void *slot)
{
	json_add_bytes(out, json_member_name(m), *(const struct span *)slot);
}

static void write_whole(struct buf *out, const struct json_member *m, const void *slot)
{
	json_add_whole(out, json_member_name(m), *(const int64_t *)slot);
}

static void write_number(struct buf *out, const struct json_member *m, const void *slot)
{
	json_add_number(out, json_member_name(m), *(const double *)slot);
}

static void write_bool(struct buf *out, const struct json_member *m, const void *slot)
{
	json_add_bool(out, json_member_name(m), *(const bool *)slot);
}

static void write_choice(struct buf *out, const struct json_member *m, const void *slot)
{
	json_add_text(out, json_member_name(m), m->choices[*(const int *)slot]);
}

static void write_text_list(struct buf *out, const struct json_member *m, const void *slot)
{
	json_add_texts(out, json_member_name(m), *(const char *const *const *)slot);
}

static void write_text_map(struct buf *out, const struct json_member *m, const void *slot)
{
	json_add_map(out, json_member_name(m), slot);
}

static void write_object(struct buf *out, const struct json_member *m, const void *slot)
{
	json_add_struct(out, json_member_name(m), m->of, slot);
}

static void write_list(struct buf *out, const struct json_member *m, const void *slot)
{
	json_add_structs(out, json_member_name(m), m->of, slot);
}

static void write_raw(struct buf *out, const struct json_member *m, const void *slot)
{
	json_add_raw(out, json_member_name(m), *(const struct span *)slot);
}

static void write_time(struct buf *out, const struct json_member *m, const void *slot)
{
	json_add_time(out, json_member_name(m), *(const int64_t *)slot);
}

static bool is_empty_text(const struct json_member *m, const void *slot)
{
	const char *text = *(const char *const *)slot;

	return !text || (m->flags & JSON_OMIT_EMPTY && text[0] == '\0');
}

static bool is_empty_span(UNUSED const struct json_member *m, const void *slot)
{
	return ((const struct span *)slot)->size == 0;
}

static bool is_empty_whole(UNUSED const struct json_member *m, const void *slot)
{
	return *(const int64_t *)slot == 0;
}

static bool is_empty_double(UNUSED const struct json_member *m, const void *slot)
{
	double number = *(const double *)slot;

	return number >= 0 && number <= 0;
}

static bool is_empty_bool(UNUSED const struct json_member *m, const void *slot)
{
	return !*(const bool *)slot;
}

static bool is_empty_choice(UNUSED const struct json_member *m, const void *slot)
{
	return *(const int *)slot < 0;
}

static bool is_empty_text_list(const struct json_member *m, const void *slot)
{
	const char *const *texts = *(const char *const *const *)slot;

	return !texts || (m->flags & JSON_OMIT_EMPTY && !texts[0]);
}

static bool is_empty_text_map(const struct json_member *m, const void *slot)
{
	const struct json_map *map = slot;

	return map->count == 0 && (!map->present || m->flags & JSON_OMIT_EMPTY);
}

static bool is_empty_list(const struct json_member *m, const void *slot)
{
	const struct json_list *list = slot;

	return list->count == 0 && (!list->present || m->flags & JSON_OMIT_EMPTY);
}

static bool is_empty_object(const struct json_member *m, const void *slot);

/* How a kind is written, when it counts as empty, and what stands for an empty one. Kinds without
 * `instead` have no value of their own for "absent": a zero is a zero. */
static const struct {
	void (*write)(struct buf *out, const struct json_member *m, const void *slot);
	bool (*is_empty)(const struct json_member *m, const void *slot);
	const char *instead;
} kinds[] = {
        [JSON_TEXT] = {write_text, is_empty_text, "\"\""},
        [JSON_BYTES] = {write_bytes, is_empty_span, "\"\""},
        [JSON_WHOLE] = {write_whole, is_empty_whole, NULL},
        [JSON_NUMBER] = {write_number, is_empty_double, NULL},
        [JSON_BOOL] = {write_bool, is_empty_bool, NULL},
        [JSON_CHOICE] = {write_choice, is_empty_choice, "null"},
        [JSON_TEXT_LIST] = {write_text_list, is_empty_text_list, "[]"},
        [JSON_TEXT_MAP] = {write_text_map, is_empty_text_map, "{}"},
        [JSON_OBJECT] = {write_object, is_empty_object, NULL},
        [JSON_LIST] = {write_list, is_empty_list, "[]"},
        [JSON_RAW] = {write_raw, is_empty_span, "null"},
        [JSON_TIME] = {write_time, is_empty_whole, "null"},
};

static bool is_empty_object(const struct json_member *m, const void *slot)
{
	for (const struct json_member *in = m->of->members; in < json_shape_end(m->of); in++) {
		if (!kinds[in->kind].is_empty(in, shape_const_slot(in, slot)))
			return false;
	}
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
	bool is_empty = kinds[m->kind].is_empty(m, slot);
	bool is_absent = is_empty && !has_bit(shape, m, in) &&
	                 (kinds[m->kind].instead || m->kind == JSON_OBJECT ||
	                  shape->present_offset != SIZE_MAX);

	if (is_absent && m->flags & JSON_NULLABLE)
		json_add_null(out, json_member_name(m));
	else if (is_empty && kinds[m->kind].instead)
		json_add_raw(out, json_member_name(m), span_of(kinds[m->kind].instead));
	else
		kinds[m->kind].write(out, m, slot);
}

void json_write(struct buf *out, const struct json_shape *shape, const void *in)
{
	buf_add_byte(out, '{');
	for (const struct json_member *m = shape->members; m < json_shape_end(shape); m++) {
		if (m->flags & JSON_OMIT_EMPTY && !has_bit(shape, m, in) &&
		    kinds[m->kind].is_empty(m, shape_const_slot(m, in)))
			continue;
		write_member(out, shape, m, in);
	}
	json_end_object(out);
}
