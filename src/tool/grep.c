/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/path.h"
#include "json/json.h"
#include "tool/builtin.h"
#include "tool/search.h"
#include "tool/tool.h"
#include "wire/agent_files.h"
#include "fleet/core/fleet_hold.h"

#define TEXT_MAX 1000 /* bytes of a line */
#define LIMIT_MAX 10000
#define LIMIT_DEFAULT 250
#define CONTEXT_MAX 50

static const char *const modes[] = {"files_with_matches", "content", "count", NULL};

struct grep_input {
	const char *pattern, *path, *glob, *type;
	int output_mode;
	bool ignore_case, multiline;
	int64_t before, after, context, head_limit;
	uint64_t present;
};
enum { GREP_MODE };
static const struct json_member grep_input_members[] = {
        [GREP_MODE] = JSON_CHOICE_MEMBER(grep_input, output_mode, .choices = modes,
                                         .about = "default files_with_matches"),
        JSON_TEXT_MEMBER(
                grep_input, pattern, .flags = JSON_REQUIRED, .min = 1, .max = SEARCH_PATTERN_MAX,
                .about = "a regular expression in the syntax of rg", .example = "TODO|FIXME"),
        JSON_TEXT_MEMBER(grep_input, path, .max = PATH_SIZE_MAX,
                         .about = "file or folder; default: the workspace"),
        JSON_TEXT_MEMBER(grep_input, glob, .min = 1, .max = 1024,
                         .about = "only files whose name matches", .example = "*.py"),
        JSON_TEXT_MEMBER(grep_input, type, .min = 1, .max = 32,
                         .about = "only files of this type: py, js, rust, c …"),
        JSON_BOOL_MEMBER(grep_input, ignore_case),
        JSON_BOOL_MEMBER(grep_input, multiline, .about = "a match may cross lines"),
        JSON_WHOLE_MEMBER(grep_input, before, .min = 0, .max = CONTEXT_MAX,
                          .about = "lines of context before each match; for content"),
        JSON_WHOLE_MEMBER(grep_input, after, .min = 0, .max = CONTEXT_MAX,
                          .about = "lines of context after each match"),
        JSON_WHOLE_MEMBER(grep_input, context, .min = 0, .max = CONTEXT_MAX,
                          .about = "both before and after"),
        JSON_WHOLE_MEMBER(grep_input, head_limit, .min = 0, .max = LIMIT_MAX,
                          .about = "at most so many lines or files (default 250)"),
};
static JSON_BITS_SHAPE(grep_input, "GrepInput", grep_input, "What to search for");

struct tool_grep_match {
	const char *path, *text;
	int64_t line, count;
	bool context;
};
static const struct json_member tool_grep_match_members[] = {
        JSON_TEXT_MEMBER(tool_grep_match, path, .about = "relative to the workspace"),
        JSON_WHOLE_MEMBER(tool_grep_match, line, .flags = JSON_OMIT_EMPTY, .about = "for content"),
        JSON_TEXT_MEMBER(tool_grep_match, text, .flags = JSON_OMIT_EMPTY,
                         .about = "for content: at most 1000 bytes of the line"),
        JSON_BOOL_MEMBER(tool_grep_match, context, .flags = JSON_OMIT_EMPTY,
                         .about = "a line of context"),
        JSON_WHOLE_MEMBER(tool_grep_match, count, .flags = JSON_OMIT_EMPTY,
                          .about = "for count: number of matching lines"),
};
static JSON_SHAPE(tool_grep_match, "GrepMatch", tool_grep_match, "A line or a file");

struct grep_output {
	struct json_list matches;
	int64_t files;
	bool truncated;
};
static const struct json_member grep_output_members[] = {
        JSON_LIST_MEMBER(grep_output, matches, &tool_grep_match),
        JSON_WHOLE_MEMBER(grep_output, files, .about = "number of matching files"),
        JSON_BOOL_MEMBER(grep_output, truncated, .about = "there is more"),
};
static JSON_SHAPE(grep_output, "GrepOutput", grep_output, "Matching lines or files");

struct grep_page {
	struct arena *arena;
	enum search_mode mode;
	struct buf text;
	struct tool_grep_match *matches;
	size_t count, limit;
	bool is_full;
};

static void grep_page_done(struct grep_page *a)
{
	buf_done(&a->text);
}

static void add_match(struct grep_page *a, const struct tool_grep_match *match)
{
	if (a->count == a->limit)
		a->is_full = true;
	else
		a->matches[a->count++] = *match;
}

static void add_line(struct grep_page *a, const char *path, struct search_line line)
{
	char mark = line.is_context ? '-' : ':';
	struct tool_grep_match match = {
	        .path = path, .line = line.number, .context = line.is_context};

	if (line.text.size > TEXT_MAX) {
		line.text.size = TEXT_MAX;
		line.text.size -= span_begun(line.text);
	}
	match.text = tool_text(a->arena, line.text);
	add_match(a, &match);
	if (!a->is_full)
		buf_addf(&a->text, "%s%c%" PRId64 "%c%s\n", path, mark, line.number, mark,
		         match.text);
}

static void add_content(struct grep_page *a, const char *path, struct span lines)
{
	struct search_line line;

	while (!a->is_full && search_line_next(&lines, &line)) {
		if (line.number == 0)
			buf_add_text(&a->text, "--\n");
		else
			add_line(a, path, line);
	}
}

static void add_file(struct grep_page *a, const struct search_file *file)
{
	const char *path = tool_text(a->arena, file->path);
	const struct tool_grep_match match = {.path = path, .count = file->count};

	if (a->mode == SEARCH_CONTENT) {
		add_content(a, path, file->lines);
		return;
	}
	add_match(a, &match);
	if (a->is_full)
		return;
	if (a->mode == SEARCH_COUNT)
		buf_addf(&a->text, "%s:%" PRId64 "\n", path, file->count);
	else
		buf_addf(&a->text, "%s\n", path);
}

static void write_matches(const struct tool_call *call, const struct grep_input *in,
                          const struct search_found *found, struct tool_result *ret)
{
	size_t limit = in->head_limit ? (size_t)in->head_limit : LIMIT_DEFAULT;
	AUTO(grep_page_done) struct grep_page a = {
	        .arena = call->arena,
	        .mode = (enum search_mode)in->output_mode,
	        .text = BUF(SIZE_MAX / 2),
	        .matches = ARENA_ARRAY(call->arena, struct tool_grep_match, limit),
	        .limit = limit,
	};
	struct grep_output *out = ARENA_NEW(call->arena, struct grep_output);

	for (size_t i = 0; i < found->count && !a.is_full; i++)
		add_file(&a, &found->files[i]);
	if (a.is_full || found->truncated)
		buf_add_text(&a.text, "[more was found: narrow the search, or raise head_limit]\n");
	if (found->count == 0)
		buf_add_text(&a.text, "[no matches]\n");
	*out = (struct grep_output){
	        {a.matches, a.count, true}, (int64_t)found->count, a.is_full || found->truncated};
	tool_add_text(ret, (struct span){arena_copy(call->arena, buf_span(&a.text)), a.text.size});
	ret->structured = out;
}

static int grep_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                     struct error *err)
{
	const struct grep_input *in = input;
	struct agent_path path = {.root = NULL};
	const struct search_scope place = {
	        .provider = call->hold->provider,
	        .id = call->hold->id,
	        .root = call->root,
	        .user = call->user,
	        .env = call->env,
	        .deadline = call->deadline,
	        .cancel = call->cancel,
	};
	struct search_request search = {
	        .pattern = in->pattern,
	        .glob = in->glob,
	        .type = in->type,
	        .mode = (enum search_mode)in->output_mode,
	        .ignore_case = in->ignore_case,
	        .multiline = in->multiline,
	};
	struct search_found found;

	if (search.mode == SEARCH_CONTENT) {
		search.before = in->before > in->context ? in->before : in->context;
		search.after = in->after > in->context ? in->after : in->context;
	}
	if (tool_resolve_path(call, in->path, &path, err) < 0)
		return -1;
	search.path = path.path;
	if (search_run(call->arena, &place, &search, &found, err) < 0)
		return FAIL_CONTEXT(err, "grep");
	write_matches(call, in, &found, ret);
	return 0;
}

const struct tool grep_tool = {
        .name = "grep",
        .title = "Search in files",
        .description =
                "Searches the files of the workspace by a regular expression, with ripgrep where "
                "the sandbox has it (files that .gitignore names and hidden ones are then left "
                "out), else with grep. output_mode: files_with_matches lists paths (the default), "
                "content lists lines with numbers and context, count lists the number of "
                "matching lines of each file.",
        .input = &grep_input,
        .output = &grep_output,
        .class = TOOL_READS,
        .flags = TOOL_IDEMPOTENT | TOOL_OF_WORKSPACE,
        .reason = USAGE_FILE_OPS,
        .call = grep_call,
};
