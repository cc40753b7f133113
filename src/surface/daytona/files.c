/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/toolbox/:id/files — calls for single files and folders. bulk.c transfers many files. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "calls/files.h"
#include "edge/activity.h"
#include "edge/target.h"
#include "json/write.h"
#include "provider/compute.h"
#include "provider/compute_run.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"
#include "surface/daytona/toolbox.h"
#include "tool/search.h"

#define BASE DAYTONA_TOOLBOX "/:id/files"
#define ENTRIES_MAX 100000
#define FILES_MAX 1000
#define REPLACE_MAX ((size_t)16 * 1024 * 1024)

struct daytona_files_query {
	const char *path, *pattern, *source, *destination, *mode, *owner, *group;
	int64_t depth;
	bool recursive;
};
#define PATH_ROW(m, ...)                                                                           \
	JSON_TEXT_MEMBER(daytona_files_query, m, .max = PATH_SIZE_MAX - 1, __VA_ARGS__)
static const struct json_member files_query_members[] = {
        PATH_ROW(path),
        PATH_ROW(source),
        PATH_ROW(destination),
        JSON_TEXT_MEMBER(daytona_files_query, pattern, .max = SEARCH_PATTERN_MAX),
        JSON_TEXT_MEMBER(daytona_files_query, mode, .max = 8),
        JSON_TEXT_MEMBER(daytona_files_query, owner, .max = 64),
        JSON_TEXT_MEMBER(daytona_files_query, group, .max = 64),
        JSON_WHOLE_MEMBER(daytona_files_query, depth, .min = 1, .max = 64),
        JSON_BOOL_MEMBER(daytona_files_query, recursive),
};
static JSON_OPEN_SHAPE(files_query, "DaytonaFilesQuery", daytona_files_query, "The file");

static int require_text(const char *text, const char *name, struct error *err)
{
	return text && text[0] ? 0 : FAIL(err, ERROR_INVALID, "%s: required", name);
}

/* "644", "0644" */
static int parse_mode(const char *text, uint32_t *ret, struct error *err)
{
	uint32_t mode = 0;

	for (const char *c = text; *c; c++) {
		if (*c < '0' || *c > '7' || mode > 07777)
			return FAIL(err, ERROR_INVALID, "mode: '%s' is not octal, such as 0644",
			            text);
		mode = mode << 3 | (uint32_t)(*c - '0');
	}
	if (mode > 07777)
		return FAIL(err, ERROR_INVALID, "mode: '%s' is more than 07777", text);
	*ret = mode;
	return 0;
}

/* Opens the sandbox and resolves one of its paths. */
static int open_path(struct request *rq, const char *path, struct api_target *t,
                     struct files_call *call, struct error *err)
{
	if (daytona_target_open(rq, t, err) < 0)
		return -1;
	call->path.user = t->user;
	return files_resolve(rq, t, path ? path : "", &call->path.path, err);
}

/* "drwxr-xr-x" */
static void format_mode(const struct agent_file *f, char ret[11])
{
	memcpy(ret, "-rwxrwxrwx", 11);
	if (f->type == AGENT_FILE_FOLDER || f->type == AGENT_FILE_SYMLINK)
		ret[0] = f->type == AGENT_FILE_FOLDER ? 'd' : 'L';
	for (unsigned i = 0; i < 9; i++)
		if (!(f->mode >> (8 - i) & 1))
			ret[1 + i] = '-';
}

static void add_number_text(struct buf *out, const char *name, uint32_t value, bool is_octal)
{
	char text[16];

	(void)snprintf(text, sizeof(text), is_octal ? "%04o" : "%u", value);
	json_add_text(out, name, text);
}

static void write_entry(struct buf *out, const struct agent_file *f, const char *path)
{
	char mode[11];

	format_mode(f, mode);
	json_begin_object(out, NULL);
	json_add_text(out, "name", path_last(path));
	json_add_text(out, "path", path);
	json_add_bool(out, "isDir", f->type == AGENT_FILE_FOLDER);
	json_add_whole(out, "size", (int64_t)f->size);
	json_add_text(out, "mode", mode);
	add_number_text(out, "permissions", f->mode & 07777, true);
	add_number_text(out, "owner", f->uid, false);
	add_number_text(out, "group", f->gid, false);
	json_add_epoch_time(out, "modTime", f->modified_unix_ms);
	json_add_epoch_time(out, "modifiedAt", f->modified_unix_ms);
	json_end_object(out);
}

static int get_file_info(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct daytona_files_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_STAT};
	struct agent_file file;

	if (require_text(q->path, "path", err) < 0 || open_path(rq, q->path, &t, &call, err) < 0 ||
	    toolbox_call_file(rq, &t, &call, &file, err) < 0)
		return -1;
	write_entry(reply_buf(reply, "application/json"), &file, call.path.path);
	return 0;
}

/* Entries of a folder, or matches of a pattern, written as the agent sends them. */
struct daytona_entry_list {
	struct buf *out;
	const char *folder;
	bool paths_only;
};

static int add_entry(void *context, const void *reply, struct error *err)
{
	struct daytona_entry_list *g = context;
	const struct agent_file *file = reply;
	AUTO(buf_done) struct buf path = BUF(2 * PATH_SIZE_MAX);

	buf_addf(&path, "%s%s%s", g->folder, strcmp(g->folder, "/") == 0 ? "" : "/", file->path);
	if (path.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "a path is longer than %d bytes", PATH_SIZE_MAX);
	if (g->paths_only)
		json_add_text(g->out, NULL, buf_text(&path));
	else
		write_entry(g->out, file, buf_text(&path));
	return 0;
}

static int collect_entries(struct request *rq, const struct api_target *t,
                           const struct files_call *call, struct daytona_entry_list *g,
                           struct error *err)
{
	const struct compute_file list = {call->type, &call->path, rq->deadline, add_entry, g};

	return compute_file(t->provider, t->id, rq->arena, &list, NULL, err);
}

static int list_folder(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const struct daytona_files_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_LIST, .path = {.size_max = ENTRIES_MAX}};
	struct daytona_entry_list g = {.out = reply_buf(reply, "application/json")};

	call.path.depth = q->depth ? (uint32_t)q->depth : 1;
	if (open_path(rq, q->path, &t, &call, err) < 0)
		return -1;
	g.folder = call.path.path;
	json_begin_list(g.out, NULL);
	if (collect_entries(rq, &t, &call, &g, err) < 0)
		return -1;
	json_end_list(g.out);
	return 0;
}

/* Lists files whose names match a pattern, at any depth below the folder. */
static int search_names(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	const struct daytona_files_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_GLOB, .path = {.size_max = ENTRIES_MAX}};
	struct daytona_entry_list g = {.out = reply_buf(reply, "application/json"),
	                               .paths_only = true};

	if (require_text(q->pattern, "pattern", err) < 0 ||
	    open_path(rq, q->path, &t, &call, err) < 0)
		return -1;
	call.path.target = arena_format(rq->arena, "**/%s", q->pattern);
	g.folder = call.path.path;
	json_begin_object(g.out, NULL);
	json_begin_list(g.out, "files");
	if (collect_entries(rq, &t, &call, &g, err) < 0)
		return -1;
	json_end_list(g.out);
	json_end_object(g.out);
	return 0;
}

/* Escapes the text, so that as a pattern it matches itself only. */
static const char *escape_pattern(struct arena *a, const char *text)
{
	AUTO(buf_done) struct buf out = BUF(2 * strlen(text) + 1);

	for (; *text; text++) {
		if (strchr("\\.[]{}()*+?^$|", *text))
			buf_add_byte(&out, '\\');
		buf_add_byte(&out, *text);
	}
	return arena_copy(a, buf_span(&out));
}

static void write_matches(struct buf *out, const char *root, const struct search_found *found)
{
	json_begin_list(out, NULL);
	for (size_t i = 0; i < found->count; i++) {
		struct span rest = found->files[i].lines, path = found->files[i].path;
		struct search_line line;

		while (search_line_next(&rest, &line)) {
			AUTO(buf_done) struct buf whole = BUF(2 * PATH_SIZE_MAX);

			buf_addf(&whole, "%s%s%.*s", root, strcmp(root, "/") == 0 ? "" : "/",
			         (int)path.size, path.data);
			json_begin_object(out, NULL);
			json_add_span(out, "file", buf_span(&whole));
			json_add_whole(out, "line", line.number);
			json_add_span(out, "content", line.text);
			json_end_object(out);
		}
	}
	json_end_list(out);
}

static int find_text(struct request *rq, UNUSED const void *body, struct reply *reply,
                     struct error *err)
{
	const struct daytona_files_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_STAT};
	struct search_request request = {.path = ".", .mode = SEARCH_CONTENT};
	struct search_scope scope = {.deadline = rq->deadline};
	struct search_found found;
	struct agent_file file;

	if (require_text(q->pattern, "pattern", err) < 0 ||
	    open_path(rq, q->path, &t, &call, err) < 0 ||
	    toolbox_call_file(rq, &t, &call, &file, err) < 0)
		return -1;
	request.pattern = escape_pattern(rq->arena, q->pattern);
	scope.root = call.path.path;
	if (file.type != AGENT_FILE_FOLDER) {
		request.path = path_last(call.path.path);
		scope.root = arena_copy(
		        rq->arena,
		        (struct span){call.path.path,
		                      (size_t)(request.path - call.path.path > 1
		                                       ? request.path - call.path.path - 1
		                                       : 1)});
	}
	scope.provider = t.provider;
	scope.id = t.id;
	scope.user = t.user;
	scope.env = t.env;
	if (search_run(rq->arena, &scope, &request, &found, err) < 0)
		return -1;
	write_matches(reply_buf(reply, "application/json"), scope.root, &found);
	return 0;
}

static int make_folder(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const struct daytona_files_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_MKDIR,
	                          .path = {.flags = AGENT_PATH_PARENTS | AGENT_PATH_MAY_EXIST}};

	if (require_text(q->path, "path", err) < 0 ||
	    (q->mode && parse_mode(q->mode, &call.path.mode, err) < 0) ||
	    open_path(rq, q->path, &t, &call, err) < 0 ||
	    toolbox_call_file(rq, &t, &call, NULL, err) < 0)
		return -1;
	reply_status(reply, 201);
	return 0;
}

static int delete_file(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const struct daytona_files_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_REMOVE};

	call.path.flags = q->recursive ? AGENT_PATH_RECURSIVE : 0;
	if (require_text(q->path, "path", err) < 0 || open_path(rq, q->path, &t, &call, err) < 0 ||
	    toolbox_call_file(rq, &t, &call, NULL, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

static int move_file(struct request *rq, UNUSED const void *body, struct reply *reply,
                     struct error *err)
{
	const struct daytona_files_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_RENAME};

	if (require_text(q->source, "source", err) < 0 ||
	    require_text(q->destination, "destination", err) < 0 ||
	    open_path(rq, q->source, &t, &call, err) < 0 ||
	    files_resolve(rq, &t, q->destination, &call.path.target, err) < 0 ||
	    toolbox_call_file(rq, &t, &call, NULL, err) < 0)
		return -1;
	reply_status(reply, 200);
	return 0;
}

static int check_change(struct arena *a, const struct compute_result *result, struct error *err)
{
	const char *complaint;

	if (result->process.exit_code == 0)
		return 0;
	complaint = toolbox_complaint(a, result);
	return FAIL(err, strstr(complaint, "invalid") ? ERROR_INVALID : ERROR_FORBIDDEN, "%s",
	            complaint);
}

/* `args`: a program of coreutils, "--", and its arguments. */
static int run_change(struct request *rq, const struct api_target *t, const char **args,
                      struct error *err)
{
	const struct toolbox_command run = {.args = args, .cwd = "/", .out_max = 4096};
	const struct api_activity_call call = {.kind = ACTIVITY_FILE, .operation = "permissions"};
	struct activity_note *note = api_activity_begin(rq, t, &call);
	struct compute_result result;

	api_activity_add_args(note, args);
	if (toolbox_run(rq, t, &run, &result, err) < 0)
		return files_end_note(note, -1, err);
	return files_end_note(note, check_change(rq->arena, &result, err), err);
}

static int check_name(const char *name, const char *field, struct error *err)
{
	if (!name || strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                          "0123456789_.-") == strlen(name))
		return 0;
	return FAIL(err, ERROR_INVALID, "%s: '%.40s' is not a valid name", field, name);
}

static int set_permissions(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	const struct daytona_files_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_STAT};
	const char *owner = q->owner ? q->owner : "", *group = q->group ? q->group : "";
	uint32_t mode;

	if (require_text(q->path, "path", err) < 0 ||
	    (q->mode && parse_mode(q->mode, &mode, err) < 0) ||
	    check_name(q->owner, "owner", err) < 0 || check_name(q->group, "group", err) < 0 ||
	    open_path(rq, q->path, &t, &call, err) < 0 ||
	    toolbox_call_file(rq, &t, &call, NULL, err) < 0)
		return -1;
	if ((owner[0] || group[0]) &&
	    run_change(rq, &t,
	               (const char *[]){
	                       "chown", "--",
	                       arena_format(rq->arena, "%s%s%s", owner, group[0] ? ":" : "", group),
	                       call.path.path, NULL},
	               err) < 0)
		return -1;
	if (q->mode && q->mode[0] &&
	    run_change(rq, &t, (const char *[]){"chmod", "--", q->mode, call.path.path, NULL},
	               err) < 0)
		return -1;
	reply_status(reply, 200);
	return 0;
}

struct daytona_replace_body {
	const char **files, *pattern, *value;
};
static const struct json_member replace_request_members[] = {
        JSON_TEXT_LIST_MEMBER(daytona_replace_body, files, .flags = JSON_REQUIRED,
                              .max = FILES_MAX),
        JSON_TEXT_MEMBER(daytona_replace_body, pattern, .flags = JSON_REQUIRED, .min = 1),
        JSON_TEXT_MEMBER(daytona_replace_body, value, .name = "newValue", .flags = JSON_REQUIRED),
};
static JSON_OPEN_SHAPE(replace_request, "DaytonaReplace", daytona_replace_body,
                       "The text to replace, and the files");

/* Returns the number of replacements. */
static size_t substitute_text(struct span content, const struct daytona_replace_body *b,
                              struct buf *out)
{
	size_t size = strlen(b->pattern), count = 0;
	const char *found;

	while (content.size >= size &&
	       (found = memmem(content.data, content.size, b->pattern, size))) {
		size_t before = (size_t)(found - content.data);

		buf_add(out, content.data, before);
		buf_add_text(out, b->value);
		span_skip(&content, before + size);
		count++;
	}
	buf_add_span(out, content);
	return count;
}

static int replace_in_file(struct request *rq, const struct api_target *t, const char *file,
                           const struct daytona_replace_body *b, struct error *err)
{
	AUTO(buf_done) struct buf before = BUF(REPLACE_MAX), after = BUF(2 * REPLACE_MAX);
	const char *path;

	if (files_resolve(rq, t, file, &path, err) < 0 ||
	    toolbox_read_file(rq, t, path, &before, err) < 0)
		return -1;
	if (substitute_text(buf_span(&before), b, &after) == 0)
		return 0;
	if (after.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "'%s' would be larger than %zu bytes", path,
		            2 * REPLACE_MAX);
	return toolbox_write_file(rq, t, path, buf_span(&after), err);
}

/* Each file has its own result. */
static int replace_in_files(struct request *rq, const void *body, struct reply *reply,
                            struct error *err)
{
	const struct daytona_replace_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct buf *out = reply_buf(reply, "application/json");

	if (daytona_target_open(rq, &t, err) < 0)
		return -1;
	json_begin_list(out, NULL);
	for (size_t i = 0; b->files[i]; i++) {
		struct error failed = {0};
		bool ok = replace_in_file(rq, &t, b->files[i], b, &failed) == 0;

		json_begin_object(out, NULL);
		json_add_text(out, "file", b->files[i]);
		json_add_bool(out, "success", ok);
		if (!ok)
			json_add_text(out, "error", failed.text);
		json_end_object(out);
	}
	json_end_list(out);
	return 0;
}

#define READ SCOPE_SANDBOX_READ, ROUTE_HIDDEN
#define WRITE SCOPE_SANDBOX_WRITE, ROUTE_HIDDEN
#define TAG .query = &files_query, .tag = "daytona"
const struct route daytona_files_routes[] = {
        {HTTP_GET, BASE, READ, .handle = list_folder, TAG, .summary = "List a folder"},
        {HTTP_DELETE, BASE, WRITE, .status = 204, .handle = delete_file, TAG,
         .summary = "Delete a file or folder"},
        {HTTP_GET, BASE "/info", READ, .handle = get_file_info, TAG,
         .summary = "Get information about a file"},
        {HTTP_POST, BASE "/folder", WRITE, .status = 201, .handle = make_folder, TAG,
         .summary = "Create a folder"},
        {HTTP_POST, BASE "/move", WRITE, .handle = move_file, TAG, .summary = "Move a file"},
        {HTTP_POST, BASE "/permissions", WRITE, .handle = set_permissions, TAG,
         .summary = "Set mode and owner"},
        {HTTP_GET, BASE "/find", READ, .handle = find_text, TAG, .summary = "Find text in files"},
        {HTTP_GET, BASE "/search", READ, .handle = search_names, TAG,
         .summary = "Find files by name"},
        {HTTP_POST, BASE "/replace", WRITE, ROUTE_CANCEL, .body = &replace_request,
         .handle = replace_in_files, .tag = "daytona", .summary = "Replace text in files"},
        {.path = NULL},
};
