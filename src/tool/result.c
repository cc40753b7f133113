/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/bytes.h"
#include "json/json.h"
#include "json/write.h"
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
		span_skip(&bytes, size);
	}
	return arena_copy(a, buf_span(&text));
}

static void write_content(struct buf *out, const struct tool_content *c)
{
	json_begin_object(out, NULL);
	switch (c->kind) {
	case TOOL_TEXT:
		json_add_text(out, "type", "text");
		json_add_span(out, "text", c->bytes);
		break;
	case TOOL_IMAGE:
	case TOOL_AUDIO:
		json_add_text(out, "type", c->kind == TOOL_IMAGE ? "image" : "audio");
		json_add_bytes(out, "data", c->bytes);
		json_add_text(out, "mimeType", c->media_type);
		break;
	case TOOL_RESOURCE:
		json_add_text(out, "type", "resource");
		json_begin_object(out, "resource");
		json_add_text(out, "uri", c->uri);
		json_add_text(out, "mimeType", c->media_type);
		json_add_bytes(out, "blob", c->bytes);
		json_end_object(out);
		break;
	}
	json_end_object(out);
}

void tool_write_result(struct buf *out, const struct tool *tool, const struct tool_result *result)
{
	json_begin_list(out, "content");
	for (unsigned i = 0; i < result->count; i++)
		write_content(out, &result->content[i]);
	json_end_list(out);
	if (result->structured)
		json_add_struct(out, "structuredContent", tool->output, result->structured);
}

/* The annotations describe the most that a call of the tool may do: a client reads them before it
 * knows the arguments, and may start a tool that only reads without asking its user. */
static void write_annotations(struct buf *out, const struct tool *tool)
{
	bool ends = tool->flags & TOOL_ENDS_OWN;

	json_begin_object(out, "annotations");
	json_add_text(out, "title", tool->title);
	json_add_bool(out, "readOnlyHint", tool->class == TOOL_READS && !ends);
	json_add_bool(out, "destructiveHint", ends || tool->flags & TOOL_DESTRUCTIVE);
	json_add_bool(out, "idempotentHint", tool->flags & TOOL_IDEMPOTENT);
	json_add_bool(out, "openWorldHint", tool->flags & TOOL_OPEN_WORLD);
	json_end_object(out);
}

void tool_write(struct buf *out, const struct tool *tool)
{
	json_begin_object(out, NULL);
	json_add_text(out, "name", tool->name);
	json_add_text(out, "title", tool->title);
	json_add_text(out, "description", tool->description);
	json_add_name(out, "inputSchema");
	json_write_whole_schema(out, tool->input);
	if (tool->output) {
		json_add_name(out, "outputSchema");
		json_write_whole_schema(out, tool->output);
	}
	write_annotations(out, tool);
	json_end_object(out);
}
