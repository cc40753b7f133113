/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/exec and /code — commands and blocks of code. */
#include "surface/native/exec.h"

#include "base/path.h"
#include "calls/command.h"
#include "calls/jobs.h"
#include "calls/shapes.h"
#include "code/code.h"
#include "config/config.h"
#include "edge/target.h"
#include "job/job.h"
#include "sandbox/usage_reason.h"
#include "surface/native/contexts.h"
#include "surface/native/ephemeral.h"
#include "surface/native/native.h"

#define BASE "/api/sandbox/instances/:id"
#define TIMEOUT_MAX ((int64_t)7 * 24 * 3600 * 1000)

struct exec_query {
	const char *stream;
};
static const struct json_member exec_query_members[] = {
        JSON_TEXT_MEMBER(
                exec_query, stream, .max = 16,
                .about = "result, sse, ndjson or text; without it the header Accept decides"),
};
JSON_SHAPE(exec_query, "ExecQuery", exec_query, "Format of the reply");

/* Members of both bodies. */
struct run_options_body {
	const char *artifacts, *cwd, *user, *label, *stdin_text, *conversation;
	struct job_origin origin;
	struct json_map env;
	struct span stdin_base64;
	int64_t timeout_ms, output_limit_bytes, rows, columns;
	bool background, stdin_open, tty, end_on_disconnect, record;
};
struct exec_body {
	const char *command, *cmd;
	const char **args;
	struct run_options_body run;
};
struct code_body {
	int language;
	const char *code, *context_id;
	struct run_options_body run;
};

#define RUN_ROWS(s)                                                                                \
	{.kind = JSON_TEXT,                                                                        \
	 .name = "cwd",                                                                            \
	 .offset = offsetof(struct s, run.cwd),                                                    \
	 .max = 4096,                                                                              \
	 .about = "working directory; a relative path is below the default folder"},               \
	        {.kind = JSON_TEXT_MAP,                                                            \
	         .name = "env",                                                                    \
	         .offset = offsetof(struct s, run.env),                                            \
	         .max = 256,                                                                       \
	         .flags = JSON_SECRET,                                                             \
	         .about = "environment variables; they override the sandbox's variables"},         \
	        {.kind = JSON_TEXT,                                                                \
	         .name = "user",                                                                   \
	         .offset = offsetof(struct s, run.user),                                           \
	         .max = 64,                                                                        \
	         .about = "name or number of the user (default: the template's user)"},            \
	        {.kind = JSON_TEXT,                                                                \
	         .name = "stdin",                                                                  \
	         .offset = offsetof(struct s, run.stdin_text),                                     \
	         .about = "text for its standard input"},                                          \
	        {.kind = JSON_BYTES,                                                               \
	         .name = "stdin_base64",                                                           \
	         .offset = offsetof(struct s, run.stdin_base64),                                   \
	         .about = "bytes for its standard input"},                                         \
	        {.kind = JSON_BOOL,                                                                \
	         .name = "stdin_open",                                                             \
	         .offset = offsetof(struct s, run.stdin_open),                                     \
	         .about = "keep standard input open for POST …/processes/:process/stdin"},         \
	        {.kind = JSON_WHOLE,                                                               \
	         .name = "timeout_ms",                                                             \
	         .offset = offsetof(struct s, run.timeout_ms),                                     \
	         .min = 0,                                                                         \
	         .max = TIMEOUT_MAX,                                                               \
	         .about = "time limit; the command and all its processes are killed afterwards; "  \
	                  "0: the server's default"},                                              \
	        {.kind = JSON_WHOLE,                                                               \
	         .name = "outputLimitBytes",                                                       \
	         .offset = offsetof(struct s, run.output_limit_bytes),                             \
	         .min = 1,                                                                         \
	         .max = CONFIG_OUTPUT_LIMIT_MAX,                                                   \
	         .about = "bytes that a collected result keeps of each stream"},                   \
	        {.kind = JSON_BOOL,                                                                \
	         .name = "background",                                                             \
	         .offset = offsetof(struct s, run.background),                                     \
	         .about = "run as a background job; the reply comes at once and has a resultId "   \
	                  "to query the job by"},                                                  \
	        {.kind = JSON_TEXT,                                                                \
	         .name = "conversation",                                                           \
	         .offset = offsetof(struct s, run.conversation),                                   \
	         .max = USAGE_CONVERSATION_MAX,                                                    \
	         .about = "conversation that the job belongs to; only that conversation can "      \
	                  "query it; default: the header Atoll-Conversation"},                     \
	        {.kind = JSON_OBJECT,                                                              \
	         .name = "origin",                                                                 \
	         .offset = offsetof(struct s, run.origin),                                         \
	         .of = &job_origin_shape,                                                          \
	         .about = "where the end of the job is reported"},                                 \
	        {.kind = JSON_BOOL,                                                                \
	         .name = "end_on_disconnect",                                                      \
	         .offset = offsetof(struct s, run.end_on_disconnect),                              \
	         .about = "kill the command when this connection breaks; by default the command "  \
	                  "continues"},                                                            \
	        {.kind = JSON_BOOL,                                                                \
	         .name = "tty",                                                                    \
	         .offset = offsetof(struct s, run.tty),                                            \
	         .about = "run on a terminal; all output is stdout"},                              \
	        {.kind = JSON_WHOLE,                                                               \
	         .name = "rows",                                                                   \
	         .offset = offsetof(struct s, run.rows),                                           \
	         .min = 0,                                                                         \
	         .max = 10000},                                                                    \
	        {.kind = JSON_WHOLE,                                                               \
	         .name = "columns",                                                                \
	         .offset = offsetof(struct s, run.columns),                                        \
	         .min = 0,                                                                         \
	         .max = 10000},                                                                    \
	        {.kind = JSON_TEXT,                                                                \
	         .name = "artifacts",                                                              \
	         .offset = offsetof(struct s, run.artifacts),                                      \
	         .max = 4095,                                                                      \
	         .about = "folder; its files that the command creates or changes are kept as "     \
	                  "artifacts and reported before the exit event"},                         \
	        {.kind = JSON_BOOL,                                                                \
	         .name = "record",                                                                 \
	         .offset = offsetof(struct s, run.record),                                         \
	         .about =                                                                          \
	                 "record its output as asciicast, at most 1 MiB, with background 16 MiB; " \
	                 "see /api/sandbox/recordings"},                                           \
	{                                                                                          \
		.kind = JSON_TEXT, .name = "label", .offset = offsetof(struct s, run.label),       \
		.max = 128, .about = "label shown in lists"                                        \
	}

/* clang-format off */
#define EXEC_ROWS                                                                                  \
	JSON_TEXT_MEMBER(exec_body, command, .about = "a shell line (bash, else sh)",              \
	                 .example = "ls -l | wc -l"),                                              \
	JSON_TEXT_MEMBER(exec_body, cmd, .min = 1, .max = 4096,                                    \
	                 .about = "a program, run without a shell"),                               \
	JSON_TEXT_LIST_MEMBER(exec_body, args, .max = AGENT_ARGS_MAX - 1,                          \
	                      .about = "arguments of cmd"),                                        \
	RUN_ROWS(exec_body)
#define CODE_ROWS                                                                                  \
	JSON_CHOICE_MEMBER(code_body, language, .flags = JSON_REQUIRED,                            \
	                   .choices = command_languages),                                          \
	JSON_TEXT_MEMBER(code_body, code, .flags = JSON_REQUIRED, .about = "at most 128 KiB",      \
	                 .example = "print(6 * 7)"),                                               \
	JSON_TEXT_MEMBER(code_body, context_id, .name = "contextId", .min = 1, .max = CODE_ID_MAX, \
	                 .about = "context that runs the code and keeps its state; 'default': the "\
	                          "default context of the language, created if missing"),          \
	RUN_ROWS(code_body)
/* clang-format on */

static const struct json_member exec_request_members[] = {EXEC_ROWS};
JSON_SHAPE(exec_request, "Exec", exec_body, "A command: either command, or cmd and args");

static const struct json_member code_request_members[] = {CODE_ROWS};
JSON_SHAPE(code_request, "Code", code_body, "A block of code");

struct ephemeral_exec {
	struct exec_body exec;
	struct native_ephemeral target;
};
static const struct json_member ephemeral_exec_members[] = {
        EXEC_ROWS,
        NATIVE_EPHEMERAL_ROWS(ephemeral_exec, target),
};
static JSON_SHAPE(ephemeral_exec, "EphemeralExec", ephemeral_exec,
                  "A command, and the sandbox that is made for it");
struct ephemeral_code {
	struct code_body code;
	struct native_ephemeral target;
};
static const struct json_member ephemeral_code_members[] = {
        CODE_ROWS,
        NATIVE_EPHEMERAL_ROWS(ephemeral_code, target),
};
static JSON_SHAPE(ephemeral_code, "EphemeralCode", ephemeral_code,
                  "A block of code, and the sandbox that is made for it");

static int set_stdin(struct sandbox_command *c, const struct run_options_body *b, struct error *err)
{
	if (b->stdin_text && b->stdin_base64.size > 0)
		return FAIL(err, ERROR_INVALID, "stdin and stdin_base64 are both given");
	if (b->stdin_open && (b->stdin_text || b->stdin_base64.size > 0))
		return FAIL(err, ERROR_INVALID, "stdin_open cannot be combined with stdin");
	c->stdin_bytes = b->stdin_text ? span_of(b->stdin_text) : b->stdin_base64;
	return 0;
}

static int set_artifacts(struct request *rq, const struct api_target *t,
                         const struct run_options_body *b, struct sandbox_command *c,
                         struct error *err)
{
	const char *base = c->exec.cwd[0] ? c->exec.cwd : path_or_root(t->workdir);

	return path_resolve(rq->arena, base, span_of(b->artifacts), &c->keep_root, err);
}

static uint32_t exec_flags(const struct run_options_body *b)
{
	return (b->tty ? AGENT_EXEC_TTY | AGENT_EXEC_STDIN : 0) |
	       (b->stdin_open ? AGENT_EXEC_STDIN : 0) |
	       (b->end_on_disconnect ? AGENT_EXEC_END_ON_CLOSE : 0);
}

static int fill_command(struct request *rq, const struct api_target *t,
                        const struct run_options_body *b, struct sandbox_command *c,
                        struct error *err)
{
	const struct exec_query *query = rq->query;

	if (set_stdin(c, b, err) < 0 || command_set_cwd(c, rq->arena, t, b->cwd, err) < 0 ||
	    output_form_parse(query->stream, request_header(rq, "Accept"), OUTPUT_RESULT, &c->form,
	                      err) < 0 ||
	    api_target_env(rq, t, &b->env, &c->exec.env, err) < 0)
		return -1;
	if (b->artifacts && set_artifacts(rq, t, b, c, err) < 0)
		return -1;
	c->exec.user = b->user ? b->user : t->user;
	c->exec.label = b->label;
	c->exec.flags = exec_flags(b);
	c->exec.rows = b->rows ? (uint32_t)b->rows : 24;
	c->exec.columns = b->columns ? (uint32_t)b->columns : 80;
	/* No client waits for a background job, so it has no default timeout. */
	c->exec.timeout_ms =
	        (uint64_t)(b->timeout_ms || b->background ? b->timeout_ms
	                                                  : api_of(rq)->config->exec_timeout_ms);
	c->output_limit = b->output_limit_bytes;
	c->is_recorded = b->record;
	return 0;
}

/* A short description for people: the shell line, the code, or the program. */
static const char *command_summary(const struct sandbox_command *c)
{
	const char *const *args = c->alternatives[0].args;

	return args[1] && args[2] && !args[3] ? args[2] : args[0];
}

static int start_command(struct request *rq, struct api_target *t, struct sandbox_command *c,
                         const struct run_options_body *b, struct reply *reply, struct error *err)
{
	const struct background_command background = {b->conversation, &b->origin,
	                                              command_summary(c), b->record};

	if (fill_command(rq, t, b, c, err) < 0)
		return -1;
	if (!b->background)
		return command_start(rq, t, c, reply, err);
	return background_command_start(rq, t, c, &background, reply, err);
}

int exec_check(const struct request *rq, const struct exec_body *b, struct error *err)
{
	api_set_conversation(rq, b->run.conversation);
	if (!b->command != !b->cmd && (b->cmd || !b->args))
		return 0;
	(void)FAIL(err, ERROR_INVALID, "either command, or cmd with args, is needed");
	error_hint(err, "{\"command\":\"ls | wc\"} or {\"cmd\":\"ls\",\"args\":[\"-l\"]}");
	return -1;
}

/* Refuses members that a context determines itself or does not support. */
static int check_context(const struct code_body *b, struct error *err)
{
	const struct run_options_body *run = &b->run;
	const struct {
		const char *name;
		bool is_given;
	} others[] = {
	        {"cwd", run->cwd != NULL},
	        {"user", run->user != NULL},
	        {"label", run->label != NULL},
	        {"stdin", run->stdin_text || run->stdin_base64.size > 0 || run->stdin_open},
	        {"tty", run->tty},
	        {"background", run->background},
	};

	for (unsigned i = 0; i < COUNT_OF(others); i++)
		if (others[i].is_given)
			return FAIL(err, ERROR_INVALID, "%s cannot be combined with contextId",
			            others[i].name);
	return 0;
}

int code_check(const struct request *rq, const struct code_body *b, struct error *err)
{
	struct sandbox_command c = {.count = 0};

	api_set_conversation(rq, b->run.conversation);
	if (b->context_id)
		return check_context(b, err);
	return command_set_code(&c, rq->arena, (enum command_language)b->language, b->code, err);
}

int exec_run(struct request *rq, struct api_target *t, const struct exec_body *b,
             struct reply *reply, struct error *err)
{
	struct sandbox_command c = {.count = 0};

	if (b->command)
		command_set_line(&c, rq->arena, b->command);
	else
		command_set_program(&c, rq->arena, b->cmd, b->args);
	return start_command(rq, t, &c, &b->run, reply, err);
}

static int exec_command(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	AUTO(api_target_done) struct api_target target = {.hold = NULL};

	if (exec_check(rq, body, err) < 0 || api_target_open(rq, &target, err) < 0)
		return -1;
	return exec_run(rq, &target, body, reply, err);
}

static int run_code_in_context(struct request *rq, struct api_target *t, const struct code_body *b,
                               struct reply *reply, struct error *err)
{
	const struct exec_query *query = rq->query;
	struct context_run options = {
	        .id = b->context_id,
	        .language = command_languages[b->language],
	        .code = b->code,
	        .env = &b->run.env,
	        .timeout_ms = b->run.timeout_ms,
	        .output_limit = b->run.output_limit_bytes,
	        .artifacts = b->run.artifacts,
	        .is_recorded = b->run.record,
	};

	if (output_form_parse(query->stream, request_header(rq, "Accept"), OUTPUT_RESULT,
	                      &options.form, err) < 0)
		return -1;
	return context_run(rq, t, &options, reply, err);
}

int code_run(struct request *rq, struct api_target *t, const struct code_body *b,
             struct reply *reply, struct error *err)
{
	struct sandbox_command c = {.count = 0};

	if (b->context_id)
		return run_code_in_context(rq, t, b, reply, err);
	if (command_set_code(&c, rq->arena, (enum command_language)b->language, b->code, err) < 0)
		return -1;
	return start_command(rq, t, &c, &b->run, reply, err);
}

static int exec_code(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	AUTO(api_target_done) struct api_target target = {.hold = NULL};

	if (code_check(rq, body, err) < 0 || api_target_open(rq, &target, err) < 0)
		return -1;
	return code_run(rq, &target, body, reply, err);
}

static int open_ephemeral(struct request *rq, const struct native_ephemeral *e,
                          const struct run_options_body *run, struct reply *reply,
                          struct api_target *ret, struct error *err)
{
	if (run->background) {
		(void)FAIL(err, ERROR_INVALID, "a background job needs a sandbox that stays");
		return FAIL_HINT(err, "run it in a sandbox or a lease");
	}
	if (native_ephemeral_open(rq, e, ret, err) < 0)
		return -1;
	reply_header(reply, "Atoll-Sandbox", ret->id);
	return 0;
}

static int exec_ephemeral(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	AUTO(api_target_done) struct api_target target = {.hold = NULL};
	const struct ephemeral_exec *b = body;

	if (exec_check(rq, &b->exec, err) < 0 ||
	    open_ephemeral(rq, &b->target, &b->exec.run, reply, &target, err) < 0)
		return -1;
	return exec_run(rq, &target, &b->exec, reply, err);
}

static int code_ephemeral(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	AUTO(api_target_done) struct api_target target = {.hold = NULL};
	const struct ephemeral_code *b = body;

	if (code_check(rq, &b->code, err) < 0 ||
	    open_ephemeral(rq, &b->target, &b->code.run, reply, &target, err) < 0)
		return -1;
	return code_run(rq, &target, &b->code, reply, err);
}

#define EPHEMERAL "/v1/ephemeral"
const struct route ephemeral_routes[] = {
        {HTTP_POST, EPHEMERAL "/exec", SCOPE_SANDBOX_WRITE,
         ROUTE_SLOW | ROUTE_NEEDS_BODY | ROUTE_CANCEL | ROUTE_PROGRESS, .query = &exec_query,
         .body = &ephemeral_exec, .answer = &result_shape, .handle = exec_ephemeral,
         .tag = "commands",
         .summary = "Run a command in a sandbox that is made for it and ends with it"},
        {HTTP_POST, EPHEMERAL "/code", SCOPE_SANDBOX_WRITE,
         ROUTE_SLOW | ROUTE_CANCEL | ROUTE_PROGRESS, .query = &exec_query, .body = &ephemeral_code,
         .answer = &result_shape, .handle = code_ephemeral, .tag = "commands",
         .summary = "Run a block of code in a sandbox that is made for it and ends with it"},
        {.path = NULL},
};

const struct route exec_routes[] = {
        {HTTP_POST, BASE "/exec", SCOPE_SANDBOX_WRITE, ROUTE_TRY | ROUTE_NEEDS_BODY,
         .query = &exec_query, .body = &exec_request, .answer = &result_shape,
         .handle = exec_command, .tag = "commands",
         .summary = "Run a command and collect its output, or stream it as server-sent events or "
                    "NDJSON"},
        {HTTP_POST, BASE "/code", SCOPE_SANDBOX_WRITE, ROUTE_TRY, .query = &exec_query,
         .body = &code_request, .answer = &result_shape, .handle = exec_code, .tag = "commands",
         .summary = "Run a block of " CODE_LANGUAGES},
        {.path = NULL},
};
