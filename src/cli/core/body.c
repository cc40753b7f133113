/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/body.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "json/json.h"
#include "json/write.h"

#define SETTING_MAX 65536

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

static int read_input(struct buf *out, struct error *err)
{
	char piece[4096];
	ssize_t count;

	while ((count = read(STDIN_FILENO, piece, sizeof(piece))) > 0)
		buf_add_span(out, (struct span){piece, (size_t)count});
	if (count < 0)
		return FAIL_ERRNO(err, "read the standard input");
	return out->overflowed ? FAIL(err, ERROR_TOO_LARGE, "the value is too long") : 0;
}

int body_add_setting(struct buf *body, const char *text, struct error *err)
{
	AUTO(buf_done) struct buf file = BUF(SETTING_MAX);
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	struct span value = span_of(text), key;
	bool is_file, is_input;

	if (!span_split(&value, '=', &key))
		return FAIL(err, ERROR_INVALID, "expected KEY=VALUE, not '%s'", text);
	is_file = value.size > 1 && value.data[0] == '@';
	is_input = span_equals_text(value, "-");
	if ((is_file && file_read(AT_FDCWD, value.data + 1, &file, err) < 0) ||
	    (is_input && read_input(&file, err) < 0))
		return FAIL_CONTEXT(err, "%.*s", (int)key.size, key.data);
	if (is_file || is_input)
		value = (struct span){file.data, strcspn(buf_text(&file), "\r\n")};
	json_add_text(body, arena_copy(&a, key), arena_copy(&a, value));
	return 0;
}

const char *body_end(struct buf *body)
{
	json_end_object(body);
	return buf_text(body);
}
