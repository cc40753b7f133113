/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include "json/write.h"

/* JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
static const struct {
	const char *type, *more, *min, *max; /* `more`: members that the kind always has */
} kinds[] = {
        [JSON_TEXT] = {"string", NULL, "minLength", "maxLength"},
        [JSON_BYTES] = {"string", "\"contentEncoding\":\"base64\"", NULL, NULL},
        [JSON_WHOLE] = {"integer", "\"format\":\"int64\"", "minimum", "maximum"},
        [JSON_NUMBER] = {"number", "\"format\":\"double\"", "minimum", "maximum"},
        [JSON_BOOL] = {"boolean", NULL, NULL, NULL},
        [JSON_CHOICE] = {"string", NULL, NULL, NULL},
        [JSON_TEXT_LIST] = {"array", "\"items\":{\"type\":\"string\"}", "minItems", "maxItems"},
        [JSON_TEXT_MAP] = {"object", "\"additionalProperties\":{\"type\":\"string\"}",
                           "minProperties", "maxProperties"},
        [JSON_OBJECT] = {NULL, NULL, NULL, NULL},
        [JSON_LIST] = {"array", NULL, "minItems", "maxItems"},
        [JSON_RAW] = {NULL, NULL, NULL, NULL},
        [JSON_TIME] = {"string", "\"format\":\"date-time\"", NULL, NULL},
};

/* How a nested shape is written. */
typedef void shape_writer(struct buf *out, const struct json_shape *shape);

static void write_reference(struct buf *out, const struct json_shape *shape)
{
	buf_addf(out, "{\"$ref\":\"#/components/schemas/%s\"}", shape->name);
}

static void write_type(struct buf *out, const struct json_member *m)
{
	bool nullable = m->flags & JSON_NULLABLE || m->kind == JSON_TIME;

	if (!kinds[m->kind].type)
		return;
	json_add_name(out, "type");
	buf_addf(out, nullable ? "[\"%s\",\"null\"]" : "\"%s\"", kinds[m->kind].type);
	if (kinds[m->kind].more)
		buf_addf(out, ",%s", kinds[m->kind].more);
}

static void write_nested(struct buf *out, const struct json_member *m, shape_writer *write)
{
	bool nullable = m->flags & JSON_NULLABLE;

	if (m->kind == JSON_LIST) {
		json_add_name(out, "items");
		write(out, m->of);
	} else if (m->kind == JSON_OBJECT) {
		json_begin_list(out, nullable ? "anyOf" : "allOf");
		write(out, m->of);
		buf_add_text(out, nullable ? ",{\"type\":\"null\"}]" : "]");
	}
}

static void write_choices(struct buf *out, const struct json_member *m)
{
	if (!m->choices)
		return;
	json_begin_list(out, m->flags & JSON_OPEN_CHOICES ? "x-extensible-enum" : "enum");
	for (size_t i = 0; m->choices[i]; i++)
		json_add_text(out, NULL, m->choices[i]);
	if (m->flags & JSON_NULLABLE)
		json_add_null(out, NULL);
	json_end_list(out);
}

/* A number's lower bound is 0 unless its row sets another, so the schema always states it. */
static void write_bounds(struct buf *out, const struct json_member *m)
{
	bool is_number = m->kind == JSON_WHOLE || m->kind == JSON_NUMBER;

	if (kinds[m->kind].min && m->min != INT64_MIN && (is_number || m->min > 0))
		json_add_whole(out, kinds[m->kind].min, m->min);
	if (kinds[m->kind].max && m->max != 0)
		json_add_whole(out, kinds[m->kind].max, m->max);
}

static void write_notes(struct buf *out, const struct json_member *m)
{
	bool is_text = kinds[m->kind].type && strcmp(kinds[m->kind].type, "string") == 0;

	if (m->flags & JSON_SECRET)
		json_add_bool(out, "writeOnly", true);
	if (m->flags & JSON_OMIT_EMPTY)
		json_add_bool(out, "x-omitted-when-empty", true);
	if (m->about)
		json_add_text(out, "description", m->about);
	if (!m->example)
		return;
	json_begin_list(out, "examples");
	if (is_text)
		json_add_text(out, NULL, m->example);
	else
		json_add_raw(out, NULL, span_of(m->example));
	json_end_list(out);
}

static void write_member(struct buf *out, const struct json_member *m, shape_writer *write)
{
	buf_add_byte(out, '{');
	write_type(out, m);
	write_nested(out, m, write);
	write_choices(out, m);
	write_bounds(out, m);
	write_notes(out, m);
	buf_add_byte(out, '}');
}

static void write_required(struct buf *out, const struct json_shape *shape)
{
	bool is_first = true;

	for (const struct json_member *m = shape->members; m < json_shape_end(shape); m++) {
		if (!(m->flags & JSON_REQUIRED))
			continue;
		if (is_first)
			json_begin_list(out, "required");
		is_first = false;
		json_add_text(out, NULL, json_member_name(m));
	}
	if (!is_first)
		json_end_list(out);
}

static void write_shape(struct buf *out, const struct json_shape *shape, shape_writer *write)
{
	buf_add_byte(out, '{');
	json_add_text(out, "type", "object");
	if (shape->about)
		json_add_text(out, "description", shape->about);
	json_begin_object(out, "properties");
	for (const struct json_member *m = shape->members; m < json_shape_end(shape); m++) {
		json_add_name(out, json_member_name(m));
		write_member(out, m, write);
	}
	json_end_object(out);
	write_required(out, shape);
	json_add_bool(out, "additionalProperties", shape->is_open);
	buf_add_byte(out, '}');
}

void json_write_schema(struct buf *out, const struct json_shape *shape)
{
	write_shape(out, shape, write_reference);
}

void json_write_whole_schema(struct buf *out, const struct json_shape *shape)
{
	write_shape(out, shape, json_write_whole_schema);
}
