/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/toolbox/:id/process/interpreter — contexts of code (code/code.h), and a WebSocket that
 * runs a block in one. The client's first message is the block; its output comes as messages. */
#include <string.h>

#include "calls/code_run.h"
#include "calls/command.h"
#include "code/reader.h"
#include "edge/target.h"
#include "json/write.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"

#define BASE DAYTONA_TOOLBOX "/:id/process/interpreter"
#define DEFAULT_ID "default-python"
#define TIMEOUT_DEFAULT_S 600
#define TIMEOUT_MAX_S (24 * 3600)
#define TIMED_OUT 4008

struct interpreter_call {
	struct api_target target;
	struct code_at at;
};

static void interpreter_call_done(struct interpreter_call *p)
{
	api_target_done(&p->target);
}
#define INTERPRETER_CALL AUTO(interpreter_call_done) struct interpreter_call

static int open_interpreter(struct request *rq, struct interpreter_call *ret, struct error *err)
{
	if (daytona_target_open(rq, &ret->target, err) < 0)
		return -1;
	ret->at = (struct code_at){
	        .contexts = api_of(rq)->code_contexts,
	        .hold = ret->target.hold,
	        .deadline = rq->deadline,
	};
	return 0;
}

static void write_context(struct buf *out, const struct code_context *c)
{
	json_begin_object(out, NULL);
	json_add_text(out, "id", c->id);
	json_add_text(out, "language", code_languages[c->language]);
	json_add_bool(out, "active", !c->has_ended);
	json_add_text(out, "cwd", c->cwd);
	json_add_time(out, "createdAt", c->started_at);
	json_end_object(out);
}

static int list_contexts(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	INTERPRETER_CALL p = {.target = {.hold = NULL}};
	struct code_list found;

	if (open_interpreter(rq, &p, err) < 0 || code_list(&p.at, rq->arena, &found, err) < 0)
		return -1;
	json_begin_object(out, NULL);
	json_begin_list(out, "contexts");
	for (size_t i = 0; i < found.count; i++)
		write_context(out, &found.items[i]);
	json_end_list(out);
	json_end_object(out);
	return 0;
}

struct daytona_context_body {
	const char *cwd, *language;
};
static const struct json_member create_request_members[] = {
        JSON_TEXT_MEMBER(daytona_context_body, cwd, .flags = JSON_NULLABLE, .max = 4096),
        JSON_TEXT_MEMBER(daytona_context_body, language, .flags = JSON_NULLABLE, .max = 32),
};
static JSON_OPEN_SHAPE(create_request, "DaytonaContextCreate", daytona_context_body,
                       "A context to create");

static int open_context(struct request *rq, const struct interpreter_call *p,
                        const struct daytona_context_body *b, const char *id,
                        struct code_context *ret, struct error *err)
{
	struct sandbox_command c = {.count = 0};
	struct code_open open = {
	        .id = id,
	        .language = CODE_PYTHON,
	        .user = p->target.user,
	        .env = p->target.env,
	};

	if ((b->language && code_language_parse(b->language, &open.language, err) < 0) ||
	    command_set_cwd(&c, rq->arena, &p->target, b->cwd, err) < 0)
		return -1;
	open.cwd = c.exec.cwd;
	return code_open(&p->at, rq->arena, &open, ret, err);
}

static int create_context(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	INTERPRETER_CALL p = {.target = {.hold = NULL}};
	struct code_context made;

	if (open_interpreter(rq, &p, err) < 0 || open_context(rq, &p, body, NULL, &made, err) < 0)
		return -1;
	write_context(reply_buf(reply, "application/json"), &made);
	return 0;
}

static int delete_context(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	INTERPRETER_CALL p = {.target = {.hold = NULL}};

	if (open_interpreter(rq, &p, err) < 0 ||
	    code_close(&p.at, rq->arena, request_param(rq, "context"), err) < 0)
		return -1;
	return daytona_reply_member(reply, "message", "Context deleted");
}

struct daytona_code_block {
	const char *code, *context;
	struct json_map envs;
	int64_t timeout;
	uint64_t present;
};
enum { BLOCK_TIMEOUT };
static const struct json_member block_shape_members[] = {
        [BLOCK_TIMEOUT] = JSON_WHOLE_MEMBER(daytona_code_block, timeout, .flags = JSON_NULLABLE,
                                            .max = TIMEOUT_MAX_S),
        JSON_TEXT_MEMBER(daytona_code_block, code, .flags = JSON_REQUIRED, .min = 1),
        JSON_TEXT_MEMBER(daytona_code_block, context, .name = "contextId", .flags = JSON_NULLABLE,
                         .max = CODE_ID_MAX),
        JSON_TEXT_MAP_MEMBER(daytona_code_block, envs, .flags = JSON_NULLABLE | JSON_SECRET,
                             .max = 256),
};
static JSON_OPEN_BITS_SHAPE(block_shape, "DaytonaBlock", daytona_code_block, NULL);

static int read_block(struct arena *a, struct span message, struct code_socket_request *ret,
                      struct error *err)
{
	struct daytona_code_block b;

	if (json_parse(a, message, &block_shape, &b, err) < 0)
		return -1;
	*ret = (struct code_socket_request){
	        .context = b.context && b.context[0] ? b.context : DEFAULT_ID,
	        .code = b.code,
	        .env = b.envs,
	        .timeout_ms =
	                1000 * (b.present >> BLOCK_TIMEOUT & 1 ? b.timeout : TIMEOUT_DEFAULT_S),
	};
	return 0;
}

static void write_message(struct buf *out, const char *type, struct span text,
                          const struct code_event *error)
{
	json_begin_object(out, NULL);
	json_add_text(out, "type", type);
	json_add_span(out, "text", text);
	json_add_text(out, "name", error ? error->name : "");
	json_add_text(out, "value", error ? error->value : "");
	json_add_text(out, "traceback", error ? error->traceback : "");
	json_end_object(out);
}

static void write_event(UNUSED const struct code_outcome *outcome, const struct code_event *event,
                        struct buf *out)
{
	if (event->kind == CODE_STDOUT)
		write_message(out, "stdout", event->text, NULL);
	if (event->kind == CODE_STDERR)
		write_message(out, "stderr", event->text, NULL);
	if (event->kind == CODE_ERROR)
		write_message(out, "error", (struct span){NULL, 0}, event);
}

/* A timeout is reported by the close frame only. */
static void write_end(const struct code_outcome *outcome, struct buf *out)
{
	if (!outcome->timed_out)
		write_message(out, "control", SPAN("completed"), NULL);
}

static const struct code_writer writer = {.write = write_event, .write_end = write_end};

static int execute_code(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	static const struct daytona_context_body defaults = {NULL, NULL};
	INTERPRETER_CALL p = {.target = {.hold = NULL}};
	struct code_context ignored;
	struct code_list contexts;

	if (!request_header(rq, "Upgrade"))
		return FAIL(err, ERROR_INVALID, "this path needs a WebSocket upgrade");
	/* The client names the context in a later message, so the default context must exist by
	 * then. */
	if (open_interpreter(rq, &p, err) < 0 ||
	    open_context(rq, &p, &defaults, DEFAULT_ID, &ignored, err) < 0 ||
	    code_list(&p.at, rq->arena, &contexts, err) < 0)
		return -1;
	return code_run_websocket(rq, &p.target,
	                          &(struct code_socket){.contexts = &contexts,
	                                                .writer = &writer,
	                                                .read = read_block,
	                                                .timed_out_code = TIMED_OUT},
	                          reply, err);
}

#define READ SCOPE_SANDBOX_READ, ROUTE_HIDDEN
#define WRITE SCOPE_SANDBOX_WRITE, ROUTE_HIDDEN
#define TAG .tag = "daytona"
const struct route daytona_interpreter_routes[] = {
        {HTTP_GET, BASE "/context", READ, .handle = list_contexts, TAG, .summary = "List contexts"},
        {HTTP_POST, BASE "/context", WRITE, .body = &create_request, .handle = create_context, TAG,
         .summary = "Create a context"},
        {HTTP_DELETE, BASE "/context/:context", WRITE, .handle = delete_context, TAG,
         .summary = "End a context"},
        {HTTP_GET, BASE "/execute", WRITE, .handle = execute_code, TAG,
         .summary = "Run a block of code over a WebSocket"},
        {.path = NULL},
};
