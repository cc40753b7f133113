/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/path.h"
#include "json/json.h"
#include "tool/builtin.h"
#include "tool/tool.h"
#include "wire/agent_files.h"

#define CONTENT_MAX (8 << 20)

struct write_input {
	const char *path, *content;
	struct span content_base64;
};
static const struct json_member write_input_members[] = {
        JSON_TEXT_MEMBER(write_input, path, .flags = JSON_REQUIRED, .min = 1, .max = PATH_SIZE_MAX,
                         .about = "relative to the workspace", .example = "notes/a.txt"),
        JSON_TEXT_MEMBER(write_input, content, .max = CONTENT_MAX, .about = "the whole new text"),
        JSON_BYTES_MEMBER(write_input, content_base64,
                          .about = "instead of content: bytes that are not text"),
};
static JSON_SHAPE(write_input, "WriteInput", write_input, "A whole file");

struct write_output {
	const char *path;
	int64_t size;
};
static const struct json_member write_output_members[] = {
        JSON_TEXT_MEMBER(write_output, path),
        JSON_WHOLE_MEMBER(write_output, size, .about = "bytes"),
};
static JSON_SHAPE(write_output, "WriteOutput", write_output, "The file that was written");

static int write_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                      struct error *err)
{
	const struct write_input *in = input;
	struct span content = in->content ? span_of(in->content) : in->content_base64;
	struct write_output *out = ARENA_NEW(call->arena, struct write_output);
	struct agent_file file;

	if (in->content && in->content_base64.size > 0)
		return FAIL(err, ERROR_INVALID, "write: content and content_base64 are both given");
	if (!in->content && !in->content_base64.data)
		return FAIL(err, ERROR_INVALID, "write: content is missing");
	if (tool_write_file(call, in->path, content, &file, err) < 0)
		return -1;
	*out = (struct write_output){in->path, (int64_t)file.size};
	tool_add_text(ret, span_of(arena_format(call->arena, "wrote %s, %" PRId64 " bytes",
	                                        in->path, out->size)));
	ret->structured = out;
	return 0;
}

const struct tool write_tool = {
        .name = "write",
        .title = "Write a file",
        .description = "Writes a whole file of the workspace and replaces an existing file; "
                       "missing folders are made. To change a part of a file, use edit.",
        .input = &write_input,
        .output = &write_output,
        .class = TOOL_EDITS,
        .flags = TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT | TOOL_OF_WORKSPACE,
        .reason = USAGE_FILE_OPS,
        .call = write_call,
};
