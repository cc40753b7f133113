/* SPDX-License-Identifier: Apache-2.0 */
/* Port 49999 of a sandbox: E2B's code interpreter, translated to contexts (code/code.h). Its
 * default contexts have the ids "default-python" and "default-javascript". */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/path.h"
#include "calls/code_run.h"
#include "code/reader.h"
#include "edge/api.h"
#include "edge/target.h"
#include "fleet/core/access.h"
#include "fleet/core/sandboxes.h"
#include "json/write.h"
#include "store/sandbox_record.h"
#include "surface/envd/envd.h"

#define KEEPALIVE_MS 10000
#define HOME "/home/user"
#define EXECUTE "/execute"

/* Running code needs the token for commands. E2B's SDK makes and ends contexts with the token for
 * ports only, so that token is enough for those calls. */
static int check_access(struct request *rq, const char *id, bool is_code, struct error *err)
{
	const char *given = request_header(rq, "E2B-Traffic-Access-Token");
	struct fleet *fleet = api_of(rq)->fleet;

	if (!is_code && given &&
	    fleet_access_check(fleet, id, FLEET_ACCESS_TRAFFIC, span_of(given)))
		return 0;
	return envd_token_check(rq, id, err);
}

/* Works as envd_target_open. */
static int open_sandbox(struct request *rq, struct reply *reply, struct api_target *ret,
                        struct error *err)
{
	bool is_code = strcmp(rq->route->path, EXECUTE) == 0;
	struct envd_address address;
	int found = envd_address_require(rq, reply, &address, err);

	if (found != 0)
		return found;
	if (check_access(rq, address.id, is_code, err) < 0 || request_may_block(rq, err) < 0)
		return -1;
	return envd_target_hold(rq, reply, address.id, ret, err);
}

static struct code_at at_of(struct request *rq, const struct api_target *t)
{
	return (struct code_at){
	        .contexts = api_of(rq)->code_contexts,
	        .hold = t->hold,
	        .deadline = rq->deadline,
	};
}

static void write_context(struct buf *out, const char *id, enum code_language language,
                          const char *cwd)
{
	json_begin_object(out, NULL);
	json_add_text(out, "id", id);
	json_add_text(out, "language", code_languages[language]);
	json_add_text(out, "cwd", cwd[0] ? cwd : HOME);
	json_end_object(out);
}

static const char *default_context_id(struct arena *a, enum code_language language)
{
	return arena_format(a, "default-%s", code_languages[language]);
}

static bool has_context(const struct code_list *list, const char *id)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].id, id) == 0)
			return true;
	return false;
}

/* The default contexts are always listed: their first block of code starts them. */
static void write_defaults(struct request *rq, const struct code_list *list, const char *cwd,
                           struct buf *out)
{
	static const enum code_language defaults[] = {CODE_PYTHON, CODE_JAVASCRIPT};

	for (unsigned i = 0; i < COUNT_OF(defaults); i++) {
		const char *id = default_context_id(rq->arena, defaults[i]);

		if (!has_context(list, id))
			write_context(out, id, defaults[i], cwd);
	}
}

static int answer_contexts(struct request *rq, struct reply *reply, struct api_target *t,
                           UNUSED const void *body, struct error *err)
{
	const struct code_at at = at_of(rq, t);
	struct code_list list;
	struct buf *out;

	if (code_list(&at, rq->arena, &list, err) < 0)
		return -1;
	out = reply_buf(reply, "application/json");
	json_begin_list(out, NULL);
	write_defaults(rq, &list, envd_workdir_of(t), out);
	for (size_t i = 0; i < list.count; i++)
		write_context(out, list.items[i].id, list.items[i].language, list.items[i].cwd);
	json_end_list(out);
	return 0;
}

static int list_contexts(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	return envd_call_run(rq, reply, &(struct envd_call){open_sandbox, answer_contexts}, err);
}

/* Contexts run like envd's commands: as the same user, in that user's home. */
static int start_options(struct request *rq, const struct api_target *t, struct code_open *ret,
                         struct error *err)
{
	ret->env = t->env;
	ret->cwd = envd_workdir_of(t);
	return envd_user_find(rq, t, NULL, &ret->user, err);
}

static int read_language(const struct json_value *body, enum code_language *ret, struct error *err)
{
	const char *name = json_text(json_get(body, "language"), NULL);

	*ret = CODE_PYTHON;
	return name ? code_language_parse(name, ret, err) : 0;
}

/* E2B's own kernels run as root, so a context may begin in a folder that only root can enter: there
 * the kernel is root's as well. */
static int open_context(const struct code_at *at, struct arena *a, struct code_open *open,
                        struct code_context *ret, struct error *err)
{
	static const char folder[] = "working folder '";

	if (code_open(at, a, open, ret, err) == 0)
		return 0;
	if (err->code != ERROR_FORBIDDEN || strncmp(err->text, folder, strlen(folder)) != 0)
		return -1;
	error_clear(err);
	open->user = "root";
	return code_open(at, a, open, ret, err);
}

static int make_context(struct request *rq, struct reply *reply, struct api_target *t,
                        const void *body, struct error *err)
{
	const struct code_at at = at_of(rq, t);
	struct code_open open = {.id = NULL};
	const char *cwd = json_text(json_get(body, "cwd"), "");
	struct code_context made;

	if (read_language(body, &open.language, err) < 0 || start_options(rq, t, &open, err) < 0)
		return -1;
	if (cwd[0] && path_resolve(rq->arena, open.cwd[0] ? open.cwd : HOME, span_of(cwd),
	                           &open.cwd, err) < 0)
		return -1;
	if (open_context(&at, rq->arena, &open, &made, err) < 0)
		return -1;
	write_context(reply_buf(reply, "application/json"), made.id, made.language, made.cwd);
	return 0;
}

/* The body is checked first, so that a bad one does not wake the sandbox. */
static int create_context(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	const struct json_value *given;
	enum code_language language;

	if (envd_read_json(rq, &given, err) < 0 || read_language(given, &language, err) < 0)
		return -1;
	return envd_call_run(rq, reply, &(struct envd_call){open_sandbox, make_context, given},
	                     err);
}

/* A default context that has not started: there is nothing to end. */
static bool is_unstarted_default(struct arena *a, const char *id, const struct error *err)
{
	return err->code == ERROR_NOT_FOUND &&
	       (strcmp(id, default_context_id(a, CODE_PYTHON)) == 0 ||
	        strcmp(id, default_context_id(a, CODE_JAVASCRIPT)) == 0);
}

static int fail_without_context(const char *id, struct error *err)
{
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	return FAIL(err, ERROR_NOT_FOUND, "Context %.40s not found", id);
}

static int restart_named(struct request *rq, struct reply *reply, struct api_target *t,
                         UNUSED const void *body, struct error *err)
{
	const struct code_at at = at_of(rq, t);
	const char *id = request_param(rq, "context");
	struct code_context made;

	if (code_restart(&at, rq->arena, id, t->env, &made, err) < 0 &&
	    !is_unstarted_default(rq->arena, id, err))
		return fail_without_context(id, err);
	reply_status(reply, 204);
	return 0;
}

static int restart_context(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	return envd_call_run(rq, reply, &(struct envd_call){open_sandbox, restart_named}, err);
}

static int end_named(struct request *rq, struct reply *reply, struct api_target *t,
                     UNUSED const void *body, struct error *err)
{
	const struct code_at at = at_of(rq, t);
	const char *id = request_param(rq, "context");

	if (code_close(&at, rq->arena, id, err) < 0 && !is_unstarted_default(rq->arena, id, err))
		return fail_without_context(id, err);
	reply_status(reply, 204);
	return 0;
}

static int delete_context(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	return envd_call_run(rq, reply, &(struct envd_call){open_sandbox, end_named}, err);
}

static const struct json_member interpreter_result_shape_members[] = {
        JSON_BOOL_MEMBER(code_result, is_main, .name = "is_main_result"),
        JSON_TEXT_MEMBER(code_result, text, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(code_result, html, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(code_result, markdown, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(code_result, svg, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(code_result, png, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(code_result, jpeg, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(code_result, pdf, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(code_result, latex, .flags = JSON_OMIT_EMPTY),
        JSON_RAW_MEMBER(code_result, json, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(code_result, javascript, .flags = JSON_OMIT_EMPTY),
        JSON_RAW_MEMBER(code_result, data, .flags = JSON_OMIT_EMPTY),
        JSON_RAW_MEMBER(code_result, chart, .flags = JSON_OMIT_EMPTY),
        JSON_RAW_MEMBER(code_result, extra, .flags = JSON_OMIT_EMPTY),
};
static JSON_SHAPE(interpreter_result_shape, "E2bResult", code_result,
                  "A result in the form that E2B's SDKs read");

/* Removes the quotes that Python's repr puts around a text. */
static void write_result(const struct code_outcome *outcome, const struct code_result *given,
                         struct buf *out)
{
	AUTO(arena_done) struct arena arena = {0};
	struct code_result result = *given;
	size_t size = result.text ? strlen(result.text) : 0, at;

	if (outcome->language == CODE_PYTHON && size >= 2 && strchr("'\"", result.text[0]) &&
	    result.text[size - 1] == result.text[0])
		result.text = arena_copy(&arena, (struct span){result.text + 1, size - 2});
	json_begin_object(out, NULL);
	json_add_text(out, "type", "result");
	at = out->size;
	json_write(out, &interpreter_result_shape, &result);
	if (!out->overflowed)
		out->data[at] = ',';
	buf_add_byte(out, '\n');
}

static void end_line(struct buf *out)
{
	json_end_object(out);
	buf_add_byte(out, '\n');
}

static void write_text(const char *type, struct span text, struct buf *out)
{
	json_begin_object(out, NULL);
	json_add_text(out, "type", type);
	json_add_span(out, "text", text);
	json_add_time(out, "timestamp", clock_unix_ms());
	end_line(out);
}

static void write_failure(const char *name, const char *value, const char *traceback,
                          struct buf *out)
{
	json_begin_object(out, NULL);
	json_add_text(out, "type", "error");
	json_add_text(out, "name", name);
	json_add_text(out, "value", value);
	json_add_text(out, "traceback", traceback);
	end_line(out);
}

/* A shell block that fails has no error: its exit status is reported as one. */
static void write_status(int64_t status, struct buf *out)
{
	AUTO(buf_done) struct buf value = BUF(32);

	if (status == 0)
		return;
	buf_addf(&value, "%" PRId64, status);
	write_failure("ExitCode", buf_text(&value), "", out);
}

static void write_event(const struct code_outcome *outcome, const struct code_event *event,
                        struct buf *out)
{
	switch (event->kind) {
	case CODE_BEGIN:
		json_begin_object(out, NULL);
		json_add_text(out, "type", "number_of_executions");
		json_add_whole(out, "execution_count", event->count);
		end_line(out);
		break;
	case CODE_STDOUT:
		write_text("stdout", event->text, out);
		break;
	case CODE_STDERR:
		write_text("stderr", event->text, out);
		break;
	case CODE_RESULT:
		write_result(outcome, event->result, out);
		break;
	case CODE_ERROR:
		write_failure(event->name, event->value, event->traceback, out);
		break;
	case CODE_END:
		write_status(event->status, out);
		break;
	}
}

static void write_end(UNUSED const struct code_outcome *outcome, struct buf *out)
{
	json_begin_object(out, NULL);
	json_add_text(out, "type", "end_of_execution");
	end_line(out);
}

static const struct code_writer writer = {
        .content_type = "application/json",
        .outlives_sandbox = true,
        .idle_ms = KEEPALIVE_MS,
        .idle = "{\"type\":\"keepalive\"}\n",
        .write = write_event,
        .write_end = write_end,
};

struct execute_request {
	const char *code, *context; /* NULL: the default context of the language */
	enum code_language language;
	struct json_map env;
};

static int read_env(struct arena *a, const struct json_value *given, struct json_map *ret,
                    struct error *err)
{
	size_t count = json_count(given);

	*ret = (struct json_map){ARENA_ARRAY(a, struct json_pair, count + 1), count, true};
	for (size_t i = 0; i < count; i++) {
		const char *key = NULL;
		const struct json_value *value = json_member_at(given, i, &key);

		if (!key || !json_text(value, NULL))
			return FAIL(err, ERROR_INVALID,
			            "env_vars: must be an object whose values are texts");
		ret->pairs[i] = (struct json_pair){key, json_text(value, NULL)};
	}
	return 0;
}

static int read_execute(struct request *rq, struct execute_request *ret, struct error *err)
{
	const struct json_value *body;

	if (envd_read_json(rq, &body, err) < 0)
		return -1;
	ret->code = json_text(json_get(body, "code"), NULL);
	ret->context = json_text(json_get(body, "context_id"), NULL);
	if (!ret->code)
		return FAIL(err, ERROR_INVALID, "code: a text is needed");
	if (ret->context && json_text(json_get(body, "language"), NULL))
		return FAIL(err, ERROR_INVALID,
		            "Only one of context_id or language can be provided");
	if (read_language(body, &ret->language, err) < 0)
		return -1;
	return read_env(rq->arena, json_get(body, "env_vars"), &ret->env, err);
}

static int find_context(struct request *rq, const struct api_target *t,
                        const struct execute_request *e, struct code_context *ret,
                        struct error *err)
{
	const struct code_at at = at_of(rq, t);
	struct code_open open = {.language = e->language};

	if (start_options(rq, t, &open, err) < 0)
		return -1;
	open.id = e->context ? e->context : default_context_id(rq->arena, e->language);
	if (!e->context || strcmp(e->context, default_context_id(rq->arena, CODE_PYTHON)) == 0)
		return code_open(&at, rq->arena, &open, ret, err);
	if (strcmp(e->context, default_context_id(rq->arena, CODE_JAVASCRIPT)) == 0) {
		open.language = CODE_JAVASCRIPT;
		return code_open(&at, rq->arena, &open, ret, err);
	}
	if (code_find(&at, rq->arena, e->context, ret, err) < 0)
		return fail_without_context(e->context, err);
	if (!ret->has_ended)
		return 0;
	return FAIL(err, ERROR_CONFLICT, "the interpreter of context %s has ended: restart it",
	            e->context);
}

static int run_code(struct request *rq, struct reply *reply, struct api_target *t, const void *body,
                    struct error *err)
{
	const struct execute_request *e = body;
	struct code_context context;

	if (find_context(rq, t, e, &context, err) < 0 ||
	    code_source_check(context.language, e->code, &e->env, err) < 0)
		return -1;
	return code_run_start(rq, t,
	                      &(struct code_run_options){
	                              .context = &context,
	                              .code = e->code,
	                              .env = &e->env,
	                              .timeout_ms = CODE_TIMEOUT_MS_MAX,
	                              .writer = &writer,
	                      },
	                      reply, err);
}

static int execute_code(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	struct execute_request e = {.code = NULL};

	if (read_execute(rq, &e, err) < 0)
		return -1;
	return envd_call_run(rq, reply, &(struct envd_call){open_sandbox, run_code, &e}, err);
}

static int get_health(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	struct fleet_ref ref = {.project_id = NULL};
	struct sandbox_record r;
	struct envd_address address;

	if (envd_address_find(rq, &address, err) < 0 || request_may_block(rq, err) < 0)
		return -1;
	ref.id_or_name = address.id;
	if (!address.id[0] || fleet_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0 ||
	    (r.actual != SANDBOX_STARTED &&
	     !sandbox_is_asleep(r.actual, r.reason, (unsigned)r.traits))) {
		envd_reply_gone(reply, address.id);
		return 0;
	}
	reply_text(reply, "text/plain", SPAN("OK"));
	return 0;
}

#define FLAGS ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_HIDDEN
#define INTERPRETER_ROW .tag = ENVD_TAG, .summary = "E2B's code interpreter"
const struct route envd_interpreter_routes[] = {
        {HTTP_GET, "/health", 0, FLAGS, .handle = get_health, INTERPRETER_ROW},
        {HTTP_POST, EXECUTE, 0, FLAGS, .handle = execute_code, INTERPRETER_ROW},
        {HTTP_GET, "/contexts", 0, FLAGS, .handle = list_contexts, INTERPRETER_ROW},
        {HTTP_POST, "/contexts", 0, FLAGS, .handle = create_context, INTERPRETER_ROW},
        {HTTP_DELETE, "/contexts/:context", 0, FLAGS, .handle = delete_context, INTERPRETER_ROW},
        {HTTP_POST, "/contexts/:context/restart", 0, FLAGS, .handle = restart_context,
         INTERPRETER_ROW},
        {.path = NULL},
};
