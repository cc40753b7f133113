/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/sandbox — commands and file edits for agents, addressed by tenant and session. A session's
 * workspace is created when it is first used. */
#include "surface/gateway/gateway.h"

#include <string.h>

#include "base/path.h"
#include "calls/command.h"
#include "calls/files.h"
#include "calls/jobs.h"
#include "calls/shapes.h"
#include "config/config.h"
#include "edge/session.h"
#include "edge/target.h"
#include "job/job.h"
#include "provider/provider.h"
#include "sandbox/lease.h"
#include "sandbox/usage_reason.h"

#define BASE "/v1/sandbox"
#define READ_LINES 2000
#define READ_BYTES (1024 * 1024)
#define BINARY_MAX (8 * 1024 * 1024)
#define TIMEOUT_MAX ((int64_t)24 * 3600 * 1000)
#define PATHS_MAX 10000

int gateway_open(struct request *rq, const struct gateway_body *b, struct api_target *ret,
                 struct error *err)
{
	const struct lease_session session = {b->tenant_id ? b->tenant_id : "default",
	                                      b->session_id};

	return session_open(rq, &session, ret, err);
}

int gateway_call(struct request *rq, const struct api_target *t, const char *path,
                 struct files_call *ret, struct error *err)
{
	ret->path.root = path_or_root(t->workdir);
	ret->path.user = t->user;
	ret->path.flags |= AGENT_PATH_BENEATH;
	return path_check_relative(rq->arena, span_of(path ? path : "."), &ret->path.path, err);
}

struct gateway_run_body {
	struct gateway_body session;
	const char *code, *command, *stdin_text, *artifacts;
	int language;
	struct json_map env;
	int64_t timeout_ms, output_limit_bytes;
	const char *conversation;
	struct job_origin origin;
	bool background;
};
#define RUN_ROWS                                                                                   \
	JSON_TEXT_MEMBER(gateway_run_body, stdin_text, .name = "stdin"),                           \
	        JSON_TEXT_MAP_MEMBER(gateway_run_body, env, .max = 256, .flags = JSON_SECRET),     \
	        JSON_WHOLE_MEMBER(gateway_run_body, timeout_ms, .min = 0, .max = TIMEOUT_MAX,      \
	                          .about = "0: the server's default"),                             \
	        JSON_WHOLE_MEMBER(gateway_run_body, output_limit_bytes, .min = 1,                  \
	                          .max = CONFIG_OUTPUT_LIMIT_MAX, .name = "outputLimitBytes",      \
	                          .about = "bytes that are kept of each stream"),                  \
	        JSON_TEXT_MEMBER(gateway_run_body, artifacts, .max = 4095,                         \
	                         .about = "folder below the workspace; its files that the "        \
	                                  "command creates or changes are kept as artifacts and "  \
	                                  "reported before the exit event"),                       \
	        JSON_BOOL_MEMBER(gateway_run_body, background,                                     \
	                         .about = "run as a background job; the reply comes at once and "  \
	                                  "has a resultId"),                                       \
	        JSON_TEXT_MEMBER(gateway_run_body, conversation, .max = USAGE_CONVERSATION_MAX,    \
	                         .about = "conversation that the job belongs to; only that "       \
	                                  "conversation can query it"),                            \
	        JSON_OBJECT_MEMBER(gateway_run_body, origin, &job_origin_shape,                    \
	                           .about = "where the end of the job is reported")
static const struct json_member execute_request_members[] = {
        GATEWAY_ROWS(gateway_run_body),
        JSON_TEXT_MEMBER(gateway_run_body, code, .flags = JSON_REQUIRED, .example = "print(42)"),
        JSON_CHOICE_MEMBER(gateway_run_body, language, .choices = command_languages,
                           .about = "default python"),
        RUN_ROWS,
};
static JSON_SHAPE(execute_request, "GatewayExecute", gateway_run_body, "A block of code");
static const struct json_member bash_request_members[] = {
        GATEWAY_ROWS(gateway_run_body),
        JSON_TEXT_MEMBER(gateway_run_body, command, .flags = JSON_REQUIRED,
                         .about = "a shell line"),
        RUN_ROWS,
};
static JSON_SHAPE(bash_request, "GatewayBash", gateway_run_body, "A shell command");

/* A whole root contains /proc and other folders that change all the time, so changes below it are
 * not reported. */
static bool has_workspace(const struct provider *provider, const struct api_target *t)
{
	unsigned abilities = provider_ops_of(provider)->abilities;

	return abilities & PROVIDER_CAN_FILES &&
	       (strcmp(path_or_root(t->workdir), "/") != 0 || !(abilities & PROVIDER_CAN_ISOLATE));
}

/* Files that change in the folder are kept as artifacts. Without a folder, changes in the whole
 * workspace are only reported. */
static int set_artifacts(struct request *rq, const struct api_target *t, const char *folder,
                         struct sandbox_command *c, struct error *err)
{
	if (folder)
		return path_resolve(rq->arena, path_or_root(t->workdir), span_of(folder),
		                    &c->keep_root, err);
	if (has_workspace(api_of(rq)->provider, t))
		c->artifacts_root = path_or_root(t->workdir);
	return 0;
}

static int run_in_session(struct request *rq, const struct gateway_run_body *b,
                          struct sandbox_command *c, struct reply *reply, struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	const char *folder = NULL;
	int64_t timeout_ms = b->timeout_ms || b->background ? b->timeout_ms
	                                                    : api_of(rq)->config->exec_timeout_ms;

	api_set_conversation(rq, b->conversation);
	if (b->artifacts && path_check_relative(rq->arena, span_of(b->artifacts), &folder, err) < 0)
		return FAIL_CONTEXT(err, "artifacts");
	if (output_form_parse(NULL, request_header(rq, "Accept"), OUTPUT_RESULT, &c->form, err) <
	            0 ||
	    gateway_open(rq, &b->session, &t, err) < 0 ||
	    api_target_env(rq, &t, &b->env, &c->exec.env, err) < 0 ||
	    set_artifacts(rq, &t, folder, c, err) < 0)
		return -1;
	c->exec.user = t.user;
	c->exec.cwd = path_or_root(t.workdir);
	c->exec.timeout_ms = (uint64_t)timeout_ms;
	c->stdin_bytes = span_of(b->stdin_text);
	c->output_limit = b->output_limit_bytes;
	if (b->background) {
		const struct background_command background = {b->conversation, &b->origin,
		                                              b->command ? b->command : b->code};

		return background_command_start(rq, &t, c, &background, reply, err);
	}
	return command_start(rq, &t, c, reply, err);
}

static int gateway_execute(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct gateway_run_body *b = body;
	struct sandbox_command c = {.count = 0};

	if (command_set_code(&c, rq->arena, (enum command_language)b->language, b->code, err) < 0)
		return -1;
	return run_in_session(rq, b, &c, reply, err);
}

static int gateway_bash(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct gateway_run_body *b = body;
	struct sandbox_command c = {.count = 0};

	command_set_line(&c, rq->arena, b->command);
	return run_in_session(rq, b, &c, reply, err);
}

struct gateway_file_body {
	struct gateway_body session;
	const char *path, *content, *pattern;
	struct span content_base64;
	int64_t offset, limit;
	bool append;
};
#define PATH_ROW                                                                                   \
	JSON_TEXT_MEMBER(gateway_file_body, path, .flags = JSON_REQUIRED, .max = 4096,             \
	                 .about = "path relative to the workspace")
static const struct json_member read_request_members[] = {
        GATEWAY_ROWS(gateway_file_body),
        PATH_ROW,
        JSON_WHOLE_MEMBER(gateway_file_body, offset, .min = 1,
                          .about = "first line to read (default 1)"),
        JSON_WHOLE_MEMBER(gateway_file_body, limit, .min = 1, .max = 100000,
                          .about = "maximum number of lines (default 2000)"),
};
static JSON_SHAPE(read_request, "GatewayRead", gateway_file_body, "Lines of a text file");
static const struct json_member read_binary_request_members[] = {
        GATEWAY_ROWS(gateway_file_body),
        PATH_ROW,
        JSON_WHOLE_MEMBER(gateway_file_body, offset, .min = 0, .about = "offset of the first byte"),
        JSON_WHOLE_MEMBER(gateway_file_body, limit, .min = 1, .max = BINARY_MAX,
                          .about = "maximum number of bytes (default 8 MiB)"),
};
static JSON_SHAPE(read_binary_request, "GatewayReadBinary", gateway_file_body, "Bytes of a file");
static const struct json_member write_request_members[] = {
        GATEWAY_ROWS(gateway_file_body),
        PATH_ROW,
        JSON_TEXT_MEMBER(gateway_file_body, content),
        JSON_BYTES_MEMBER(gateway_file_body, content_base64, .about = "bytes, instead of content"),
        JSON_BOOL_MEMBER(gateway_file_body, append),
};
static JSON_SHAPE(write_request, "GatewayWrite", gateway_file_body, "A file to write");
static const struct json_member glob_request_members[] = {
        GATEWAY_ROWS(gateway_file_body),
        JSON_TEXT_MEMBER(gateway_file_body, pattern, .flags = JSON_REQUIRED, .min = 1, .max = 1024,
                         .about = "pattern with ? * [a-z], and ** for any depth of folders",
                         .example = "**/*.py"),
        JSON_TEXT_MEMBER(gateway_file_body, path, .max = 4096,
                         .about = "folder to search (default: the workspace)"),
        JSON_WHOLE_MEMBER(gateway_file_body, limit, .min = 1, .max = PATHS_MAX,
                          .about = "maximum number of paths (default 1000)"),
};
static JSON_SHAPE(glob_request, "GatewayGlob", gateway_file_body, "A pattern of paths");

struct gateway_glob_answer {
	const char **paths;
	bool truncated;
};
static const struct json_member glob_shape_members[] = {
        JSON_TEXT_LIST_MEMBER(gateway_glob_answer, paths,
                              .about = "paths relative to the searched folder"),
        JSON_BOOL_MEMBER(gateway_glob_answer, truncated),
};
static JSON_SHAPE(glob_shape, "GatewayPaths", gateway_glob_answer, "Paths that match");

/* The path is checked first, so that a bad path creates no sandbox. */
static int open_file(struct request *rq, const struct gateway_file_body *b, struct api_target *t,
                     struct files_call *call, struct error *err)
{
	const char *checked;

	if (path_check_relative(rq->arena, span_of(b->path ? b->path : "."), &checked, err) < 0 ||
	    gateway_open(rq, &b->session, t, err) < 0)
		return -1;
	return gateway_call(rq, t, b->path, call, err);
}

static int gateway_read(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct gateway_file_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_READ};
	struct files_read_options options = {
	        .path = b->path,
	        .by_lines = true,
	        .first_line = b->offset ? b->offset : 1,
	        .line_count = b->limit ? b->limit : READ_LINES,
	        .bytes_max = READ_BYTES,
	};

	if (open_file(rq, b, &t, &call, err) < 0)
		return -1;
	return files_read(rq, &t, &call, &options, reply, err);
}

static int gateway_read_binary(struct request *rq, const void *body, struct reply *reply,
                               struct error *err)
{
	const struct gateway_file_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_READ, .path = {.offset = (uint64_t)b->offset}};
	struct files_read_options options = {
	        .path = b->path,
	        .as_base64 = true,
	        .bytes_max = b->limit ? (size_t)b->limit : BINARY_MAX,
	};

	if (open_file(rq, b, &t, &call, err) < 0)
		return -1;
	return files_read(rq, &t, &call, &options, reply, err);
}

static int gateway_write(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct gateway_file_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_WRITE, .path = {.flags = AGENT_PATH_PARENTS}};

	if (b->content && b->content_base64.size > 0)
		return FAIL(err, ERROR_INVALID, "content and content_base64 are both given");
	if (b->append)
		call.path.flags |= AGENT_PATH_APPEND;
	if (open_file(rq, b, &t, &call, err) < 0)
		return -1;
	return files_answer(rq, &t, &call, b->content ? span_of(b->content) : b->content_base64,
	                    reply, err);
}

static int gateway_glob(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct gateway_file_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_GLOB, .path = {.target = b->pattern}};
	struct files_list_options options = {
	        .max = b->limit ? (uint64_t)b->limit : 1000,
	        .paths_only = true,
	};

	if (open_file(rq, b, &t, &call, err) < 0)
		return -1;
	return files_list(rq, &t, &call, &options, reply, err);
}

struct gateway_copy_file {
	const char *path, *content;
	struct span content_base64;
};
static const struct json_member copy_file_shape_members[] = {
        JSON_TEXT_MEMBER(gateway_copy_file, path, .flags = JSON_REQUIRED, .max = 4096),
        JSON_TEXT_MEMBER(gateway_copy_file, content),
        JSON_BYTES_MEMBER(gateway_copy_file, content_base64),
};
static JSON_SHAPE(copy_file_shape, "GatewayFile", gateway_copy_file, "A file and its content");
struct gateway_copy_body {
	struct json_list files;
};
static const struct json_member copy_request_members[] = {
        JSON_LIST_MEMBER(gateway_copy_body, files, &copy_file_shape, .flags = JSON_REQUIRED,
                         .min = 1, .max = 1000),
};
static JSON_SHAPE(copy_request, "GatewayCopy", gateway_copy_body,
                  "Files to write into a session's workspace");

static int fill_writes(struct request *rq, const struct api_target *t,
                       const struct gateway_copy_body *b, struct files_write *writes,
                       struct error *err)
{
	const struct gateway_copy_file *files = b->files.items;

	for (size_t i = 0; i < b->files.count; i++) {
		const struct gateway_copy_file *f = &files[i];
		struct files_call call = {.type = AGENT_WRITE,
		                          .path = {.flags = AGENT_PATH_PARENTS}};

		if (f->content && f->content_base64.size > 0)
			return FAIL(err, ERROR_INVALID,
			            "files[%zu]: content and content_base64 are both given", i);
		if (gateway_call(rq, t, f->path, &call, err) < 0)
			return FAIL_CONTEXT(err, "files[%zu]", i);
		writes[i].path = call.path;
		writes[i].content = f->content ? span_of(f->content) : f->content_base64;
	}
	return 0;
}

static int gateway_copy(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct gateway_copy_body *b = body;
	const struct gateway_body session = {request_param(rq, "tenant"),
	                                     request_param(rq, "session")};
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_write *writes = ARENA_ARRAY(rq->arena, struct files_write, b->files.count);

	if (gateway_open(rq, &session, &t, err) < 0 || fill_writes(rq, &t, b, writes, err) < 0)
		return -1;
	return files_write_all(rq, &t, writes, b->files.count, reply, err);
}

static const struct {
	const char *path;
	http_handler *run;
} calls[] = {
        {BASE "/execute", gateway_execute}, {BASE "/bash", gateway_bash},
        {BASE "/read", gateway_read},       {BASE "/read_binary", gateway_read_binary},
        {BASE "/write", gateway_write},     {BASE "/grep", gateway_grep},
        {BASE "/glob", gateway_glob},       {BASE "/sessions/:tenant/:session/copy", gateway_copy},
};

static int gateway_handle(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		if (strcmp(calls[i].path, rq->route->path) == 0)
			return session_retry(rq, body, reply, calls[i].run, err);
	return FAIL(err, ERROR_UNSUPPORTED, "no handler for route '%s'", rq->route->path);
}

#define TAG .tag = "gateway"
#define WRITE SCOPE_SANDBOX_WRITE
const struct route gateway_routes[] = {
        {HTTP_POST, BASE "/execute", WRITE, ROUTE_SLOW, .body = &execute_request,
         .answer = &gateway_result_shape, .handle = gateway_handle, TAG,
         .summary = "Run a block of code"},
        {HTTP_POST, BASE "/bash", WRITE, ROUTE_SLOW, .body = &bash_request,
         .answer = &gateway_result_shape, .handle = gateway_handle, TAG,
         .summary = "Run a shell command"},
        {HTTP_POST, BASE "/read", WRITE, ROUTE_SLOW | ROUTE_CANCEL, .body = &read_request,
         .answer = &file_content_shape, .handle = gateway_handle, TAG,
         .summary = "Read lines of a text file, in pages"},
        {HTTP_POST, BASE "/read_binary", WRITE, ROUTE_SLOW | ROUTE_CANCEL,
         .body = &read_binary_request, .answer = &file_content_shape, .handle = gateway_handle, TAG,
         .summary = "Read bytes of a file as base64, in pages"},
        {HTTP_POST, BASE "/write", WRITE, ROUTE_SLOW, .body_max = 16 * 1024 * 1024,
         .body = &write_request, .answer = &file_entry_shape, .handle = gateway_handle, TAG,
         .summary = "Write a file"},
        {HTTP_POST, BASE "/grep", WRITE, ROUTE_SLOW | ROUTE_CANCEL, .body = &gateway_grep_request,
         .answer = &gateway_grep_answer, .handle = gateway_handle, TAG,
         .summary = "Search the contents of files"},
        {HTTP_POST, BASE "/glob", WRITE, ROUTE_SLOW | ROUTE_CANCEL, .body = &glob_request,
         .answer = &glob_shape, .handle = gateway_handle, TAG,
         .summary = "Find files by a pattern of their paths"},
        {HTTP_POST, BASE "/sessions/:tenant/:session/copy", WRITE, ROUTE_SLOW,
         .body_max = 64 * 1024 * 1024, .body = &copy_request, .answer = &count_shape,
         .handle = gateway_handle, TAG, .summary = "Write many files into a session's workspace"},
        {.path = NULL},
};
