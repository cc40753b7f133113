/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "tool/tool.h"

void tool_add_text(struct tool_result *result, struct span text)
{
	assert(result->count < TOOL_CONTENT_MAX);
	result->content[result->count++] = (struct tool_content){.kind = TOOL_TEXT, .bytes = text};
}

#define REPLACEMENT "\xEF\xBF\xBD"

/* Size of the well-formed character without NUL at the front, 0 when there is none. */
static size_t character_size(struct span rest)
{
	for (size_t size = 1; size <= 4 && size <= rest.size; size++)
		if (rest.data[0] != '\0' && span_is_utf8((struct span){rest.data, size}))
			return size;
	return 0;
}

const char *tool_text(struct arena *a, struct span bytes)
{
	AUTO(buf_done) struct buf text = BUF(3 * bytes.size + 1);

	if (span_is_utf8(bytes) && span_find(bytes, '\0') < 0)
		return arena_copy(a, bytes);
	while (bytes.size > 0) {
		size_t size = character_size(bytes);

		if (size > 0)
			buf_add(&text, bytes.data, size);
		else
			buf_add_text(&text, REPLACEMENT);
		size += size == 0;
		bytes.data += size;
		bytes.size -= size;
	}
	return arena_copy(a, buf_span(&text));
}

/* ---- JSON, by the names of MCP ---- */

static void write_member(struct buf *out, const char *name, const char *text)
{
	buf_addf(out, ",\"%s\":", name);
	json_write_text(out, span_of(text));
}

static void write_bytes(struct buf *out, const char *name, struct span bytes)
{
	buf_addf(out, ",\"%s\":\"", name);
	json_write_base64(out, bytes);
	buf_add_byte(out, '"');
}

static void write_content(struct buf *out, const struct tool_content *c)
{
	switch (c->kind) {
	case TOOL_TEXT:
		buf_add_text(out, "{\"type\":\"text\",\"text\":");
		json_write_text(out, c->bytes);
		buf_add_byte(out, '}');
		return;
	case TOOL_IMAGE:
		buf_add_text(out, "{\"type\":\"image\"");
		write_bytes(out, "data", c->bytes);
		write_member(out, "mimeType", c->media_type);
		buf_add_byte(out, '}');
		return;
	case TOOL_RESOURCE:
		buf_add_text(out, "{\"type\":\"resource\",\"resource\":{\"uri\":");
		json_write_text(out, span_of(c->uri));
		write_member(out, "mimeType", c->media_type);
		write_bytes(out, "blob", c->bytes);
		buf_add_text(out, "}}");
		return;
	}
}

void tool_write_result(struct buf *out, const struct tool *tool, const struct tool_result *result)
{
	buf_add_text(out, "\"content\":[");
	for (unsigned i = 0; i < result->count; i++) {
		if (i > 0)
			buf_add_byte(out, ',');
		write_content(out, &result->content[i]);
	}
	buf_add_byte(out, ']');
	if (!result->structured)
		return;
	buf_add_text(out, ",\"structuredContent\":");
	json_write(out, tool->output, result->structured);
}

static void write_hint(struct buf *out, const char *name, bool value)
{
	buf_addf(out, ",\"%s\":%s", name, value ? "true" : "false");
}

void tool_write(struct buf *out, const struct tool *tool)
{
	buf_addf(out, "{\"name\":\"%s\"", tool->name);
	write_member(out, "title", tool->title);
	write_member(out, "description", tool->description);
	buf_add_text(out, ",\"inputSchema\":");
	json_write_whole_schema(out, tool->input);
	if (tool->output) {
		buf_add_text(out, ",\"outputSchema\":");
		json_write_whole_schema(out, tool->output);
	}
	buf_add_text(out, ",\"annotations\":{\"title\":");
	json_write_text(out, span_of(tool->title));
	write_hint(out, "readOnlyHint", tool->class == TOOL_READS);
	write_hint(out, "destructiveHint", tool->flags & TOOL_DESTRUCTIVE);
	write_hint(out, "idempotentHint", tool->flags & TOOL_IDEMPOTENT);
	write_hint(out, "openWorldHint", tool->flags & TOOL_OPEN_WORLD);
	buf_add_text(out, "}}");
}
