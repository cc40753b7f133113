/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of files: glob and list_files. */
#include <stdlib.h>

#include "base/path.h"
#include "json/json.h"
#include "provider/compute.h"
#include "tool/builtin.h"
#include "tool/tool.h"
#include "wire/agent.h"
#include "wire/agent_files.h"
#include "fleet/core/fleet_hold.h"

#define FOUND_MAX 100000 /* that are sorted */
#define LIMIT_MAX 10000
#define LIMIT_DEFAULT 1000
#define DEPTH_MAX 16

struct file_item {
	const char *path, *type;
	int64_t size, modified_at;
};
static const struct json_member file_item_members[] = {
        JSON_TEXT_MEMBER(file_item, path, .about = "relative to the workspace"),
        JSON_TEXT_MEMBER(file_item, type, .about = "file, directory, symlink or other"),
        JSON_WHOLE_MEMBER(file_item, size),
        JSON_TIME_MEMBER(file_item, modified_at),
};
static JSON_SHAPE(file_item, "ToolFile", file_item, "A file");

struct files_output {
	struct json_list files;
	int64_t total;
	bool truncated;
};
static const struct json_member files_output_members[] = {
        JSON_LIST_MEMBER(files_output, files, &file_item),
        JSON_WHOLE_MEMBER(files_output, total, .about = "number of matching files"),
        JSON_BOOL_MEMBER(files_output, truncated, .about = "`files` has not all of them"),
};
static JSON_SHAPE(files_output, "FilesOutput", files_output, "Files that were found");

struct file_collection {
	const struct tool_call *call;
	const char *below; /* what paths are relative to; "" = the workspace */
	struct file_item *items;
	size_t count, room;
};

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {"other", "file", "directory", "symlink"};

	return type < COUNT_OF(names) ? names[type] : names[0];
}

static int on_file(void *context, const void *reply, struct error *err)
{
	struct file_collection *c = context;
	const struct agent_file *file = reply;
	const char *path = tool_text(c->call->arena, span_of(file->path));

	if (c->count >= FOUND_MAX)
		return FAIL(err, ERROR_SYSTEM, "the agent listed more files than it was asked for");
	if (c->count == c->room) {
		struct file_item *grown =
		        ARENA_ARRAY(c->call->arena, struct file_item, 2 * c->room + 64);

		if (c->count > 0)
			memcpy(grown, c->items, c->count * sizeof(*grown));
		c->items = grown;
		c->room = 2 * c->room + 64;
	}
	c->items[c->count++] = (struct file_item){
	        .path = *c->below ? arena_format(c->call->arena, "%s/%s", c->below, path) : path,
	        .type = type_name(file->type),
	        .size = (int64_t)(file->size & INT64_MAX),
	        .modified_at = file->modified_unix_ms,
	};
	return 0;
}

static int collect_files(struct file_collection *c, uint16_t type, const struct agent_path *what,
                         struct error *err)
{
	const struct tool_call *call = c->call;
	struct agent_path message = *what;
	const struct compute_file file = {type, &message, call->deadline, on_file, c};

	message.size_max = FOUND_MAX;
	if (tool_resolve_path(call, what->path, &message, err) < 0)
		return -1;
	c->below = strcmp(message.path, ".") == 0 ? "" : message.path;
	return compute_file(call->hold->provider, call->hold->id, call->arena, &file, NULL, err);
}

static void write_files(const struct file_collection *c, int64_t limit, bool with_type,
                        struct tool_result *ret)
{
	AUTO(buf_done) struct buf text = BUF(SIZE_MAX / 2);
	struct arena *a = c->call->arena;
	struct files_output *out = ARENA_NEW(a, struct files_output);
	size_t count = c->count < (size_t)limit ? c->count : (size_t)limit;

	for (size_t i = 0; i < count; i++) {
		bool is_folder = with_type && strcmp(c->items[i].type, "directory") == 0;

		buf_addf(&text, "%s%s\n", c->items[i].path, is_folder ? "/" : "");
	}
	if (count < c->count)
		buf_addf(&text, "[%zu more]\n", c->count - count);
	if (c->count == 0)
		buf_add_text(&text, "[no files]\n");
	*out = (struct files_output){
	        .files = {c->items, count, true},
	        .total = (int64_t)c->count,
	        .truncated = count < c->count || c->count == FOUND_MAX,
	};
	tool_add_text(ret, (struct span){arena_copy(a, buf_span(&text)), text.size});
	ret->structured = out;
}

struct glob_input {
	const char *pattern, *path;
	int64_t limit;
};
static const struct json_member glob_input_members[] = {
        JSON_TEXT_MEMBER(glob_input, pattern, .flags = JSON_REQUIRED, .min = 1, .max = 1024,
                         .about = "? * [a-z] {a,b}, and ** across folders", .example = "**/*.py"),
        JSON_TEXT_MEMBER(glob_input, path, .max = PATH_SIZE_MAX,
                         .about = "folder to search; default: the workspace"),
        JSON_WHOLE_MEMBER(glob_input, limit, .min = 0, .max = LIMIT_MAX,
                          .about = "at most so many paths (default 1000)"),
};
static JSON_SHAPE(glob_input, "GlobInput", glob_input, "A pattern of paths");

static int compare_newest_first(const void *left, const void *right)
{
	const struct file_item *a = left, *b = right;

	if (a->modified_at != b->modified_at)
		return a->modified_at > b->modified_at ? -1 : 1;
	return strcmp(a->path, b->path);
}

static int glob_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                     struct error *err)
{
	const struct glob_input *in = input;
	const struct agent_path what = {.path = in->path, .target = in->pattern};
	struct file_collection c = {.call = call};

	if (collect_files(&c, AGENT_GLOB, &what, err) < 0)
		return -1;
	if (c.count > 1)
		qsort(c.items, c.count, sizeof(*c.items), compare_newest_first);
	write_files(&c, in->limit ? in->limit : LIMIT_DEFAULT, false, ret);
	return 0;
}

const struct tool glob_tool = {
        .name = "glob",
        .title = "Find files",
        .description = "Finds files of the workspace by a pattern of their paths, such as "
                       "**/*.py or src/*.{c,h}, the last changed first. Hidden files match only "
                       "patterns that begin with a dot. To search in files, use grep.",
        .input = &glob_input,
        .output = &files_output,
        .class = TOOL_READS,
        .flags = TOOL_IDEMPOTENT | TOOL_OF_WORKSPACE,
        .reason = USAGE_FILE_OPS,
        .call = glob_call,
};

struct list_input {
	const char *path;
	int64_t depth, limit;
};
static const struct json_member list_input_members[] = {
        JSON_TEXT_MEMBER(list_input, path, .max = PATH_SIZE_MAX,
                         .about = "folder; default: the workspace"),
        JSON_WHOLE_MEMBER(list_input, depth, .min = 0, .max = DEPTH_MAX,
                          .about = "levels of folders (default 1)"),
        JSON_WHOLE_MEMBER(list_input, limit, .min = 0, .max = LIMIT_MAX,
                          .about = "at most so many entries (default 1000)"),
};
static JSON_SHAPE(list_input, "ListFilesInput", list_input, "A folder");

static int compare_paths(const void *left, const void *right)
{
	const struct file_item *a = left, *b = right;

	return strcmp(a->path, b->path);
}

static int list_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                     struct error *err)
{
	const struct list_input *in = input;
	const struct agent_path what = {.path = in->path,
	                                .depth = in->depth ? (uint32_t)in->depth : 1};
	struct file_collection c = {.call = call};

	if (collect_files(&c, AGENT_LIST, &what, err) < 0)
		return -1;
	if (c.count > 1)
		qsort(c.items, c.count, sizeof(*c.items), compare_paths);
	write_files(&c, in->limit ? in->limit : LIMIT_DEFAULT, true, ret);
	return 0;
}

int tool_list_folder(const struct tool_call *call, const char *folder, const char ***ret,
                     struct error *err)
{
	const struct agent_path what = {.path = folder, .depth = 1};
	struct file_collection c = {.call = call};
	const char **paths;

	if (collect_files(&c, AGENT_LIST, &what, err) < 0)
		return -1;
	if (c.count > 1)
		qsort(c.items, c.count, sizeof(*c.items), compare_paths);
	paths = ARENA_ARRAY(call->arena, const char *, c.count + 1);
	for (size_t i = 0; i < c.count; i++)
		paths[i] = strcmp(c.items[i].type, "directory") == 0
		                   ? arena_format(call->arena, "%s/", c.items[i].path)
		                   : c.items[i].path;
	*ret = paths;
	return 0;
}

const struct tool list_files_tool = {
        .name = "list_files",
        .title = "List a folder",
        .description = "Lists the content of a folder of the workspace, also hidden files; folders "
                       "end in a slash.",
        .input = &list_input,
        .output = &files_output,
        .class = TOOL_READS,
        .flags = TOOL_IDEMPOTENT,
        .reason = USAGE_FILE_OPS,
        .call = list_call,
};
