/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/skill.h"

#include <string.h>

#include "base/path.h"
#include "store/skills.h"
#include "tool/builtin.h"
#include "tool/tool.h"
#include "wire/agent_files.h"

#define FOLDER ".claude/skills"
#define MAIN_FILE "SKILL.md"

static const struct json_member skill_file_shape_members[] = {
        JSON_TEXT_MEMBER(skill_file, path, .flags = JSON_REQUIRED, .min = 1, .max = 512,
                         .about = "relative to the skill's folder", .example = "SKILL.md"),
        JSON_BYTES_MEMBER(skill_file, content, .about = "base64"),
};
JSON_SHAPE(skill_file_shape, "SkillFile", skill_file, "A file of a skill");

static const struct json_member skill_bundle_shape_members[] = {
        JSON_LIST_MEMBER(skill_bundle, files, &skill_file_shape, .flags = JSON_REQUIRED, .min = 1,
                         .max = SKILL_FILES_MAX),
};
JSON_SHAPE(skill_bundle_shape, "SkillBundle", skill_bundle, "The files of a skill");

int skill_name_check(const char *name, struct error *err)
{
	size_t size = strlen(name);

	if (size > 0 && size <= SKILL_NAME_MAX && name[0] != '-' &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == size)
		return 0;
	return FAIL(err, ERROR_INVALID, "a skill's name has 1 to %d of a-z, 0-9 and -",
	            SKILL_NAME_MAX);
}

int skill_bundle_check(struct arena *a, const struct skill_bundle *bundle, int64_t *ret_size,
                       struct error *err)
{
	struct skill_file *files = bundle->files.items;
	bool has_main = false;
	size_t size = 0;

	for (size_t i = 0; i < bundle->files.count; i++) {
		if (path_check_relative(a, span_of(files[i].path), &files[i].path, err) < 0)
			return FAIL_CONTEXT(err, "files[%zu]", i);
		if (strcmp(files[i].path, ".") == 0)
			return FAIL(err, ERROR_INVALID, "files[%zu]: path is a folder", i);
		for (size_t before = 0; before < i; before++)
			if (strcmp(files[before].path, files[i].path) == 0)
				return FAIL(err, ERROR_INVALID, "'%s' is given twice",
				            files[i].path);
		has_main = has_main || strcmp(files[i].path, MAIN_FILE) == 0;
		size += files[i].content.size;
	}
	if (size > SKILL_SIZE_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "a skill has at most %d bytes", SKILL_SIZE_MAX);
	if (!has_main)
		return FAIL(err, ERROR_INVALID, "a skill has a file " MAIN_FILE);
	*ret_size = (int64_t)size;
	return 0;
}

struct skill_input {
	const char *name;
};
static const struct json_member skill_input_members[] = {
        JSON_TEXT_MEMBER(skill_input, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = SKILL_NAME_MAX),
};
static JSON_SHAPE(skill_input, "LoadSkillInput", skill_input, "Which skill");

struct skill_output {
	const char *folder;
	const char **files;
};
static const struct json_member skill_output_members[] = {
        JSON_TEXT_MEMBER(skill_output, folder, .about = "relative to the workspace"),
        JSON_TEXT_LIST_MEMBER(skill_output, files, .about = "relative to the folder"),
};
static JSON_SHAPE(skill_output, "LoadSkillOutput", skill_output, "The skill's folder and files");

static int write_skill_files(const struct tool_call *call, const struct skill_bundle *bundle,
                             const struct skill_output *out, struct span *ret_main,
                             struct error *err)
{
	const struct skill_file *files = bundle->files.items;
	struct agent_file written;

	for (size_t i = 0; i < bundle->files.count; i++) {
		const char *path = arena_format(call->arena, "%s/%s", out->folder, files[i].path);

		if (tool_write_file(call, path, files[i].content, &written, err) < 0)
			return FAIL_CONTEXT(err, "'%s'", path);
		out->files[i] = files[i].path;
		if (strcmp(files[i].path, MAIN_FILE) == 0)
			*ret_main = files[i].content;
	}
	return 0;
}

static int skill_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                      struct error *err)
{
	const struct skill_input *in = input;
	struct skill_output *out = ARENA_NEW(call->arena, struct skill_output);
	struct span main_file = {NULL, 0};
	struct skill_bundle bundle;
	struct skill_record record;

	if (store_skill_find(call->store, call->arena, call->project_id, in->name, &record, err) <
	            0 ||
	    json_parse(call->arena, span_of(record.files_json), &skill_bundle_shape, &bundle, err) <
	            0)
		return -1;
	out->folder = arena_format(call->arena, FOLDER "/%s", record.name);
	out->files = ARENA_ARRAY(call->arena, const char *, bundle.files.count + 1);
	if (write_skill_files(call, &bundle, out, &main_file, err) < 0)
		return FAIL_CONTEXT(err, "load_skill");
	tool_add_text(ret, span_of(arena_format(call->arena, "%zu files are in %s. " MAIN_FILE ":",
	                                        bundle.files.count, out->folder)));
	tool_add_text(ret, main_file);
	ret->structured = out;
	return 0;
}

const struct tool load_skill_tool = {
        .name = "load_skill",
        .title = "Load a skill",
        .description = "Copies the files of a stored skill of the project into " FOLDER
                       "/NAME of the workspace, and returns its " MAIN_FILE
                       ": instructions, and scripts to run with bash.",
        .input = &skill_input,
        .output = &skill_output,
        .class = TOOL_EDITS,
        .flags = TOOL_IDEMPOTENT,
        .call = skill_call,
};
