/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/edit.h"

#include <inttypes.h>

#include "base/path.h"
#include "json/json.h"
#include "tool/builtin.h"
#include "tool/tool.h"
#include "wire/agent_files.h"

#define FILE_MAX (8 << 20)
#define TEXT_MAX (1 << 20)

struct edit_input {
	const char *path, *old_string, *new_string;
	bool replace_all;
};
static const struct json_member edit_input_members[] = {
        JSON_TEXT_MEMBER(edit_input, path, .flags = JSON_REQUIRED, .min = 1, .max = PATH_SIZE_MAX,
                         .about = "relative to the workspace", .example = "src/main.c"),
        JSON_TEXT_MEMBER(edit_input, old_string, .flags = JSON_REQUIRED, .min = 1, .max = TEXT_MAX,
                         .about = "the exact text to replace, with enough context to occur "
                                  "once"),
        JSON_TEXT_MEMBER(edit_input, new_string, .flags = JSON_REQUIRED, .max = TEXT_MAX,
                         .about = "the new text"),
        JSON_BOOL_MEMBER(edit_input, replace_all, .about = "replace every occurrence"),
};
static JSON_SHAPE(edit_input, "EditInput", edit_input, "A replacement in a file");

struct edit_output {
	const char *path;
	int64_t replacements, line;
};
static const struct json_member edit_output_members[] = {
        JSON_TEXT_MEMBER(edit_output, path),
        JSON_WHOLE_MEMBER(edit_output, replacements),
        JSON_WHOLE_MEMBER(edit_output, line, .about = "of the first replacement"),
};
static JSON_SHAPE(edit_output, "EditOutput", edit_output, "The replacements");

static ptrdiff_t find_text(struct span in, struct span text)
{
	const char *at =
	        in.size > 0 && text.data ? memmem(in.data, in.size, text.data, text.size) : NULL;

	return at ? at - in.data : -1;
}

static int64_t count_lines(struct span text)
{
	int64_t count = 0;

	for (size_t i = 0; i < text.size; i++)
		count += text.data[i] == '\n';
	return count;
}

/* Whether there are line feeds, and each follows a carriage return. */
static bool is_crlf(struct span text)
{
	bool any = false;

	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] != '\n')
			continue;
		if (i == 0 || text.data[i - 1] != '\r')
			return false;
		any = true;
	}
	return any;
}

static void add_crlf(struct buf *out, struct span text)
{
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] == '\n' && (i == 0 || text.data[i - 1] != '\r'))
			buf_add_byte(out, '\r');
		buf_add_byte(out, text.data[i]);
	}
}

static int replace_text(struct span content, const struct text_edit *e, struct buf *out,
                        struct text_edit_result *ret, struct error *err)
{
	struct text_edit_result done = {.count = 0};
	struct span rest = content;
	ptrdiff_t at;

	while ((at = find_text(rest, e->old_text)) >= 0) {
		if (done.count++ == 0)
			done.line = 1 + count_lines((struct span){rest.data, (size_t)at});
		buf_add(out, rest.data, (size_t)at);
		buf_add_span(out, e->new_text);
		span_skip(&rest, (size_t)at + e->old_text.size);
	}
	buf_add_span(out, rest);
	if (done.count == 0) {
		(void)FAIL(err, ERROR_CONFLICT, "old_string is not in the file");
		return FAIL_HINT(err, "read it again: every blank and line break counts, line "
		                      "numbers do not");
	}
	if (done.count > 1 && !e->all) {
		(void)FAIL(err, ERROR_CONFLICT, "old_string is in the file %" PRId64 " times",
		           done.count);
		return FAIL_HINT(err,
		                 "give more context around the one to replace, or set replace_all");
	}
	if (out->overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the file would have more than %zu bytes",
		            out->size_max);
	*ret = done;
	return 0;
}

int edit_apply(struct span content, const struct text_edit *edit, struct buf *out,
               struct text_edit_result *ret, struct error *err)
{
	AUTO(buf_done) struct buf old_text = BUF(2 * edit->old_text.size + 1);
	AUTO(buf_done) struct buf new_text = BUF(2 * edit->new_text.size + 1);
	struct text_edit copy = *edit;

	if (is_crlf(content)) {
		add_crlf(&old_text, edit->old_text);
		add_crlf(&new_text, edit->new_text);
		copy.old_text = buf_span(&old_text);
		copy.new_text = buf_span(&new_text);
	}
	if (span_equals(copy.old_text, copy.new_text))
		return FAIL(err, ERROR_INVALID, "old_string and new_string are the same");
	return replace_text(content, &copy, out, ret, err);
}

static int edit_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                     struct error *err)
{
	const struct edit_input *in = input;
	AUTO(buf_done) struct buf content = BUF(FILE_MAX), changed = BUF(FILE_MAX);
	const struct text_edit edit = {span_of(in->old_string), span_of(in->new_string),
	                               in->replace_all};
	struct edit_output *out = ARENA_NEW(call->arena, struct edit_output);
	struct text_edit_result done;
	struct agent_file file;

	if (tool_load_file(call, in->path, &content, err) < 0 ||
	    edit_apply(buf_span(&content), &edit, &changed, &done, err) < 0 ||
	    tool_write_file(call, in->path, buf_span(&changed), &file, err) < 0)
		return FAIL_CONTEXT(err, "edit '%.100s'", in->path);
	*out = (struct edit_output){in->path, done.count, done.line};
	tool_add_text(ret,
	              span_of(arena_format(call->arena,
	                                   "edited %s: %" PRId64 " replacement%s, %s line "
	                                   "%" PRId64,
	                                   in->path, done.count, done.count > 1 ? "s" : "",
	                                   done.count > 1 ? "the first at" : "at", done.line)));
	ret->structured = out;
	return 0;
}

const struct tool edit_tool = {
        .name = "edit",
        .title = "Edit a file",
        .description =
                "Replaces a text in a file of the workspace by another. old_string must be in the "
                "file to the letter, blanks and line breaks included, and just once, unless "
                "replace_all. Mode and line endings stay. Nothing is changed when it fails.",
        .input = &edit_input,
        .output = &edit_output,
        .class = TOOL_EDITS,
        .flags = TOOL_DESTRUCTIVE | TOOL_OF_WORKSPACE,
        .reason = USAGE_FILE_OPS,
        .call = edit_call,
};
