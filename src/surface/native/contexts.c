/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/code/contexts — interpreters that keep their state (docs/use/code.md).
 */
#include "surface/native/contexts.h"

#include <string.h>

#include "base/path.h"
#include "calls/code_run.h"
#include "config/config.h"
#include "edge/api.h"
#include "edge/target.h"
#include "surface/native/native.h"

#define BASE "/api/sandbox/instances/:id/code/contexts"

struct context_answer {
	const char *id, *language, *cwd, *user, *state;
	int64_t process, exit_code, created_at;
};
static const struct json_member context_shape_members[] = {
        JSON_TEXT_MEMBER(context_answer, id),
        JSON_TEXT_MEMBER(context_answer, language, .about = CODE_LANGUAGES),
        JSON_TEXT_MEMBER(context_answer, cwd, .about = "working directory at its start"),
        JSON_TEXT_MEMBER(context_answer, user),
        JSON_TEXT_MEMBER(context_answer, state,
                         .about = "ready, or ended: its state is lost, and it can be restarted"),
        JSON_WHOLE_MEMBER(context_answer, process,
                          .about = "number of the process in this sandbox"),
        JSON_WHOLE_MEMBER(context_answer, exit_code,
                          .about = "exit code of an ended context; otherwise -1"),
        JSON_TIME_MEMBER(context_answer, created_at,
                         .about = "time of the creation or of the last restart"),
};
static JSON_SHAPE(context_shape, "CodeContext", context_answer,
                  "An interpreter that keeps its state from one block of code to the next");

static const struct json_member context_list_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &context_shape),
};
static JSON_SHAPE(context_list, "CodeContextList", list_answer, "Contexts, oldest first");

struct code_context_create_body {
	const char *language, *cwd;
};
static const struct json_member context_create_shape_members[] = {
        JSON_TEXT_MEMBER(code_context_create_body, language, .min = 1, .max = 32,
                         .about = "one of: " CODE_LANGUAGES "; python by default"),
        JSON_TEXT_MEMBER(code_context_create_body, cwd, .max = 4096,
                         .about = "working directory; a relative path is below the default folder"),
};
static JSON_SHAPE(context_create_shape, "CodeContextCreate", code_context_create_body,
                  "A new context");

static struct context_answer make_context_answer(const struct code_context *c)
{
	return (struct context_answer){
	        .id = c->id,
	        .language = code_languages[c->language],
	        .cwd = c->cwd,
	        .user = c->user,
	        .state = c->has_ended ? "ended" : "ready",
	        .process = (int64_t)c->process,
	        .exit_code = c->has_ended ? c->exit_code : -1,
	        .created_at = c->started_at,
	};
}

static struct code_at make_code_at(struct request *rq, const struct api_target *t)
{
	return (struct code_at){
	        .contexts = api_of(rq)->code_contexts,
	        .hold = t->hold,
	        .deadline = rq->deadline,
	};
}

static int contexts_list(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct context_answer *answers;
	struct code_list list;
	struct code_at at;

	(void)body;
	if (api_target_open(rq, &t, err) < 0)
		return -1;
	at = make_code_at(rq, &t);
	if (code_list(&at, rq->arena, &list, err) < 0)
		return -1;
	answers = ARENA_ARRAY(rq->arena, struct context_answer, list.count + 1);
	for (size_t i = 0; i < list.count; i++)
		answers[i] = make_context_answer(&list.items[i]);
	reply_list(reply, &context_list, answers, list.count);
	return 0;
}

static int context_create(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct code_context_create_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct code_open open = {.id = NULL};
	struct code_context made;
	struct context_answer answer;
	struct code_at at;

	if (b->language && code_language_parse(b->language, &open.language, err) < 0)
		return -1;
	if (api_target_open(rq, &t, err) < 0)
		return -1;
	at = make_code_at(rq, &t);
	open.cwd = t.workdir ? t.workdir : "";
	open.user = t.user;
	open.env = t.env;
	if (b->cwd && b->cwd[0] &&
	    path_resolve(rq->arena, path_or_root(open.cwd), span_of(b->cwd), &open.cwd, err) < 0)
		return -1;
	if (code_open(&at, rq->arena, &open, &made, err) < 0)
		return -1;
	answer = make_context_answer(&made);
	reply_status(reply, 201);
	reply_json(reply, &context_shape, &answer);
	return 0;
}

static int context_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct code_context found;
	struct context_answer answer;
	struct code_at at;

	(void)body;
	if (api_target_open(rq, &t, err) < 0)
		return -1;
	at = make_code_at(rq, &t);
	if (code_find(&at, rq->arena, request_param(rq, "context"), &found, err) < 0)
		return -1;
	answer = make_context_answer(&found);
	reply_json(reply, &context_shape, &answer);
	return 0;
}

static int context_restart(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct code_context made;
	struct context_answer answer;
	struct code_at at;

	(void)body;
	if (api_target_open(rq, &t, err) < 0)
		return -1;
	at = make_code_at(rq, &t);
	if (code_restart(&at, rq->arena, request_param(rq, "context"), t.env, &made, err) < 0)
		return -1;
	answer = make_context_answer(&made);
	reply_json(reply, &context_shape, &answer);
	return 0;
}

static int context_interrupt(struct request *rq, const void *body, struct reply *reply,
                             struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct code_context found;
	struct code_at at;

	(void)body;
	if (api_target_open(rq, &t, err) < 0)
		return -1;
	at = make_code_at(rq, &t);
	if (code_find(&at, rq->arena, request_param(rq, "context"), &found, err) < 0 ||
	    code_interrupt(&at, found.process, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

static int context_delete(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct code_at at;

	(void)body;
	if (api_target_open(rq, &t, err) < 0)
		return -1;
	at = make_code_at(rq, &t);
	if (code_close(&at, rq->arena, request_param(rq, "context"), err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

static int find_context(struct request *rq, const struct api_target *t,
                        const struct context_run *options, struct code_context *ret,
                        struct error *err)
{
	const struct code_at at = make_code_at(rq, t);
	struct code_open open = {
	        .cwd = t->workdir ? t->workdir : "",
	        .user = t->user,
	        .env = t->env,
	};

	if (code_language_parse(options->language, &open.language, err) < 0)
		return -1;
	if (strcmp(options->id, CONTEXT_DEFAULT) == 0) {
		open.id = arena_format(rq->arena, CONTEXT_DEFAULT "-%s",
		                       code_languages[open.language]);
		return code_open(&at, rq->arena, &open, ret, err);
	}
	if (code_find(&at, rq->arena, options->id, ret, err) < 0)
		return -1;
	if (ret->language != open.language)
		return FAIL(err, ERROR_INVALID, "context '%s' is of %s, not of %s", options->id,
		            code_languages[ret->language], options->language);
	if (!ret->has_ended)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "the interpreter of context '%s' has ended", options->id);
	error_hint(err, "POST …/code/contexts/%s/restart starts it again", options->id);
	return -1;
}

int context_run(struct request *rq, struct api_target *t, const struct context_run *options,
                struct reply *reply, struct error *err)
{
	struct code_context context;
	enum code_language language;
	const char *keep_root = NULL;

	if (code_language_parse(options->language, &language, err) < 0 ||
	    code_source_check(language, options->code, options->env, err) < 0 ||
	    request_may_block(rq, err) < 0 || find_context(rq, t, options, &context, err) < 0)
		return -1;
	if (options->artifacts && path_resolve(rq->arena, path_or_root(context.cwd),
	                                       span_of(options->artifacts), &keep_root, err) < 0)
		return -1;
	return code_run_start(rq, t,
	                      &(struct code_run_options){
	                              .context = &context,
	                              .code = options->code,
	                              .env = options->env,
	                              .timeout_ms = options->timeout_ms
	                                                    ? options->timeout_ms
	                                                    : api_of(rq)->config->exec_timeout_ms,
	                              .output_limit = options->output_limit,
	                              .keep_root = keep_root,
	                              .writer = &code_writers[options->form],
	                              .is_recorded = options->is_recorded,
	                      },
	                      reply, err);
}

#define TAG .tag = "code"
const struct route contexts_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &context_list, .handle = contexts_list, TAG,
         .summary = "List the contexts of a sandbox"},
        {HTTP_POST, BASE, SCOPE_SANDBOX_WRITE, .body = &context_create_shape,
         .answer = &context_shape, .status = 201, .handle = context_create, TAG,
         .summary = "Start an interpreter that keeps its state"},
        {HTTP_GET, BASE "/:context", SCOPE_SANDBOX_READ, .answer = &context_shape,
         .handle = context_get, TAG, .summary = "Get a context"},
        {HTTP_DELETE, BASE "/:context", SCOPE_SANDBOX_WRITE, .status = 204,
         .handle = context_delete, TAG,
         .summary = "Delete a context and end everything that runs in it"},
        {HTTP_POST, BASE "/:context/restart", SCOPE_SANDBOX_WRITE, .answer = &context_shape,
         .handle = context_restart, TAG, .summary = "Restart a context; its state is lost"},
        {HTTP_POST, BASE "/:context/interrupt", SCOPE_SANDBOX_WRITE, .status = 204,
         .handle = context_interrupt, TAG,
         .summary = "Interrupt the running block of code; the state is kept"},
        {.path = NULL},
};
