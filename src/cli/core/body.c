/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/body.h"

#include "json/json.h"
#include "json/write.h"

void body_begin(struct buf *body)
{
	buf_reset(body);
	json_begin_object(body, NULL);
}

void body_add_text(struct buf *body, const char *name, const char *value)
{
	if (value)
		json_add_text(body, name, value);
}

void body_add_texts(struct buf *body, const char *name, const char *const *values)
{
	if (values && values[0])
		json_add_texts(body, name, values);
}

int body_add_json(struct buf *body, const char *name, const char *value, struct error *err)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	const struct json_value *parsed;

	if (!value)
		return 0;
	if (json_load(&a, span_of(value), &parsed, err) < 0)
		return FAIL_CONTEXT(err, "%s: expected JSON", name);
	json_add_value(body, name, parsed);
	return 0;
}

const char *body_end(struct buf *body)
{
	json_end_object(body);
	return buf_text(body);
}
