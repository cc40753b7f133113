/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/body.h"

#include "json/json.h"

static void add_name(struct buf *body, const char *name)
{
	if (body->size > 1)
		buf_add_byte(body, ',');
	json_write_text(body, span_of(name));
	buf_add_byte(body, ':');
}

void body_begin(struct buf *body)
{
	buf_reset(body);
	buf_add_byte(body, '{');
}

void body_add_text(struct buf *body, const char *name, const char *value)
{
	if (!value)
		return;
	add_name(body, name);
	json_write_text(body, span_of(value));
}

void body_add_texts(struct buf *body, const char *name, const char *const *values)
{
	if (!values || !values[0])
		return;
	add_name(body, name);
	for (unsigned i = 0; values[i]; i++) {
		buf_add_byte(body, i == 0 ? '[' : ',');
		json_write_text(body, span_of(values[i]));
	}
	buf_add_byte(body, ']');
}

int body_add_json(struct buf *body, const char *name, const char *value, struct error *err)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	const struct json_value *parsed;

	if (!value)
		return 0;
	if (json_load(&a, span_of(value), &parsed, err) < 0)
		return FAIL_CONTEXT(err, "%s: expected JSON", name);
	add_name(body, name);
	json_print(body, parsed, 0);
	return 0;
}

void body_add_whole(struct buf *body, const char *name, int64_t value)
{
	add_name(body, name);
	buf_addf(body, "%lld", (long long)value);
}

void body_add_bool(struct buf *body, const char *name, bool value)
{
	add_name(body, name);
	buf_add_text(body, value ? "true" : "false");
}

const char *body_end(struct buf *body)
{
	buf_add_byte(body, '}');
	return buf_text(body);
}
