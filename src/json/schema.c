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

static void write_type(struct buf *out, const struct json_member *m, bool *first)
{
	bool nullable = m->flags & JSON_NULLABLE || m->kind == JSON_TIME;

	if (!kinds[m->kind].type)
		return;
	write_name(out, "type", first);
	buf_addf(out, nullable ? "[\"%s\",\"null\"]" : "\"%s\"", kinds[m->kind].type);
	if (kinds[m->kind].more)
		buf_addf(out, ",%s", kinds[m->kind].more);
}

static void write_nested(struct buf *out, const struct json_member *m, shape_writer *write,
                         bool *first)
{
	if (m->kind == JSON_LIST) {
		write_name(out, "items", first);
		write(out, m->of);
	} else if (m->kind == JSON_OBJECT && m->flags & JSON_NULLABLE) {
		write_name(out, "anyOf", first);
		buf_add_byte(out, '[');
		write(out, m->of);
		buf_add_text(out, ",{\"type\":\"null\"}]");
	} else if (m->kind == JSON_OBJECT) {
		write_name(out, "allOf", first);
		buf_add_byte(out, '[');
		write(out, m->of);
		buf_add_byte(out, ']');
	}
}

static void write_choices(struct buf *out, const struct json_member *m, bool *first)
{
	if (m->kind != JSON_CHOICE)
		return;
	write_name(out, "enum", first);
	buf_add_byte(out, '[');
	for (size_t i = 0; m->choices[i]; i++) {
		if (i > 0)
			buf_add_byte(out, ',');
		json_write_text(out, span_of(m->choices[i]));
	}
	buf_add_text(out, m->flags & JSON_NULLABLE ? ",null]" : "]");
}

/* A number's lower bound is 0 unless its row sets another, so the schema always states it. */
static void write_bounds(struct buf *out, const struct json_member *m, bool *first)
{
	bool is_number = m->kind == JSON_WHOLE || m->kind == JSON_NUMBER;

	if (kinds[m->kind].min && m->min != INT64_MIN && (is_number || m->min > 0)) {
		write_name(out, kinds[m->kind].min, first);
		buf_addf(out, "%lld", (long long)m->min);
	}
	if (kinds[m->kind].max && m->max != 0) {
		write_name(out, kinds[m->kind].max, first);
		buf_addf(out, "%lld", (long long)m->max);
	}
}

static void write_notes(struct buf *out, const struct json_member *m, bool *first)
{
	bool is_text = kinds[m->kind].type && strcmp(kinds[m->kind].type, "string") == 0;

	if (m->flags & JSON_SECRET) {
		write_name(out, "writeOnly", first);
		buf_add_text(out, "true");
	}
	if (m->flags & JSON_OMIT_EMPTY) {
		write_name(out, "x-omitted-when-empty", first);
		buf_add_text(out, "true");
	}
	if (m->about) {
		write_name(out, "description", first);
		json_write_text(out, span_of(m->about));
	}
	if (m->example) {
		write_name(out, "examples", first);
		buf_add_byte(out, '[');
		if (is_text)
			json_write_text(out, span_of(m->example));
		else
			buf_add_text(out, m->example);
		buf_add_byte(out, ']');
	}
}

static void write_member(struct buf *out, const struct json_member *m, shape_writer *write)
{
	bool first = true;

	buf_add_byte(out, '{');
	write_type(out, m, &first);
	write_nested(out, m, write, &first);
	write_choices(out, m, &first);
	write_bounds(out, m, &first);
	write_notes(out, m, &first);
	buf_add_byte(out, '}');
}

void json_write_member_schema(struct buf *out, const struct json_member *m)
{
	write_member(out, m, write_reference);
}

static void write_required(struct buf *out, const struct json_shape *shape, bool *first)
{
	bool first_required = true;

	for (const struct json_member *m = shape->members; m->kind != JSON_END_OF_SHAPE; m++) {
		if (!(m->flags & JSON_REQUIRED))
			continue;
		if (first_required) {
			write_name(out, "required", first);
			buf_add_byte(out, '[');
		} else {
			buf_add_byte(out, ',');
		}
		first_required = false;
		json_write_text(out, span_of(json_member_name(m)));
	}
	if (!first_required)
		buf_add_byte(out, ']');
}

static void write_shape(struct buf *out, const struct json_shape *shape, shape_writer *write)
{
	bool first = true, first_property = true;

	buf_add_byte(out, '{');
	write_name(out, "type", &first);
	buf_add_text(out, "\"object\"");
	if (shape->about) {
		write_name(out, "description", &first);
		json_write_text(out, span_of(shape->about));
	}
	write_name(out, "properties", &first);
	buf_add_byte(out, '{');
	for (const struct json_member *m = shape->members; m->kind != JSON_END_OF_SHAPE; m++) {
		write_name(out, json_member_name(m), &first_property);
		write_member(out, m, write);
	}
	buf_add_byte(out, '}');
	write_required(out, shape, &first);
	write_name(out, "additionalProperties", &first);
	buf_add_text(out, shape->is_open ? "true}" : "false}");
}

void json_write_schema(struct buf *out, const struct json_shape *shape)
{
	write_shape(out, shape, write_reference);
}

void json_write_whole_schema(struct buf *out, const struct json_shape *shape)
{
	write_shape(out, shape, json_write_whole_schema);
}
