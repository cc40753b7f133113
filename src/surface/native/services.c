/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/services — commands that the server keeps running
 * (docs/use/services.md).
 */
#include <string.h>

#include "edge/api.h"
#include "edge/target.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/services.h"
#include "http/server/shares.h"
#include "store/sandbox_record.h"
#include "surface/native/native.h"
#include "wire/agent.h"

#define BASE "/api/sandbox/instances/:id/services"
#define TAIL_USUAL (64 * 1024)

static const char *const restarts[] = {
        [SERVICE_RESTART_ALWAYS] = "always",
        [SERVICE_RESTART_ON_FAILURE] = "on-failure",
        [SERVICE_RESTART_NO] = "no",
        [SERVICE_RESTART_COUNT] = NULL,
};

struct service_body {
	const char *command, *cmd, *cwd, *user;
	const char **args;
	struct json_map env;
	int restart;
	int64_t restart_limit, restart_delay_ms, stop_timeout_ms;
	bool keep_awake;
};
static const struct json_member service_request_members[] = {
        JSON_TEXT_MEMBER(service_body, command, .max = FLEET_SERVICE_COMMAND_MAX,
                         .about = "shell command line; or cmd and args:"),
        JSON_TEXT_MEMBER(service_body, cmd, .max = 4096, .about = "program to run without a shell"),
        JSON_TEXT_LIST_MEMBER(service_body, args, .max = AGENT_ARGS_MAX - 1,
                              .about = "its arguments"),
        JSON_TEXT_MEMBER(service_body, cwd, .max = 4096),
        JSON_TEXT_MEMBER(service_body, user, .max = 64,
                         .about = "name or number of the user in the sandbox"),
        JSON_TEXT_MAP_MEMBER(service_body, env, .max = 256, .flags = JSON_SECRET,
                             .about = "overrides the sandbox's environment; never returned"),
        JSON_CHOICE_MEMBER(service_body, restart, .choices = restarts,
                           .about = "when to restart the command (default always)"),
        JSON_WHOLE_MEMBER(service_body, restart_limit, .min = 0, .max = FLEET_SERVICE_FAILURES_MAX,
                          .about = "number of consecutive early exits after which the service has "
                                   "failed; 0: no limit"),
        JSON_WHOLE_MEMBER(
                service_body, restart_delay_ms, .min = 0, .max = FLEET_SERVICE_DELAY_MAX_MS,
                .about = "delay of the first restart, doubled up to a minute (default 500)"),
        JSON_WHOLE_MEMBER(service_body, stop_timeout_ms, .min = 0, .max = FLEET_SERVICE_STOP_MAX_MS,
                          .about = "time from SIGTERM to SIGKILL (default 5000)"),
        JSON_BOOL_MEMBER(service_body, keep_awake,
                         .about = "a running service keeps the sandbox from being idle"),
};
static JSON_SHAPE(service_request, "ServiceRequest", service_body,
                  "A service: either command, or cmd and args");

struct service_answer {
	const char *name, *state, *restart, *command, *cwd, *user, *error;
	struct span args;
	int64_t pid, process, restarts, failures, exit_code, signal, restart_in_ms, restart_limit,
	        restart_delay_ms, stop_timeout_ms, started_at, ended_at, created_at, updated_at;
	bool wanted, keep_awake;
};
static const struct json_member service_shape_members[] = {
        JSON_TEXT_MEMBER(service_answer, name),
        JSON_TEXT_MEMBER(service_answer, state,
                         .about = "starting, running, backoff (waits for its restart), stopping, "
                                  "stopped (on request), exited (by itself) or failed; down or "
                                  "paused if the sandbox is; unknown"),
        JSON_BOOL_MEMBER(service_answer, wanted, .about = "false: a client stopped the service"),
        JSON_WHOLE_MEMBER(service_answer, pid, .about = "process id in the sandbox; 0: none"),
        JSON_WHOLE_MEMBER(service_answer, process, .about = "number of the process in the sandbox"),
        JSON_WHOLE_MEMBER(service_answer, restarts,
                          .about = "automatic restarts since the service was started or changed"),
        JSON_WHOLE_MEMBER(service_answer, failures, .about = "consecutive early exits"),
        JSON_WHOLE_MEMBER(service_answer, exit_code,
                          .about = "exit code of the last finished run; -1: no run has finished"),
        JSON_WHOLE_MEMBER(service_answer, signal, .about = "signal that ended the last run, or 0"),
        JSON_TEXT_MEMBER(service_answer, error, .flags = JSON_NULLABLE,
                         .about = "why the last start failed"),
        JSON_WHOLE_MEMBER(service_answer, restart_in_ms,
                          .about = "time until the next restart, while the state is backoff"),
        JSON_TIME_MEMBER(service_answer, started_at, .flags = JSON_NULLABLE,
                         .about = "start of the last run"),
        JSON_TIME_MEMBER(service_answer, ended_at, .flags = JSON_NULLABLE,
                         .about = "end of the last finished run"),
        JSON_TEXT_MEMBER(service_answer, command, .flags = JSON_NULLABLE),
        JSON_RAW_MEMBER(service_answer, args,
                        .about = "program and arguments, if the service has no shell line"),
        JSON_TEXT_MEMBER(service_answer, cwd),
        JSON_TEXT_MEMBER(service_answer, user),
        JSON_TEXT_MEMBER(service_answer, restart),
        JSON_WHOLE_MEMBER(service_answer, restart_limit),
        JSON_WHOLE_MEMBER(service_answer, restart_delay_ms),
        JSON_WHOLE_MEMBER(service_answer, stop_timeout_ms),
        JSON_BOOL_MEMBER(service_answer, keep_awake),
        JSON_TIME_MEMBER(service_answer, created_at),
        JSON_TIME_MEMBER(service_answer, updated_at),
};
static JSON_SHAPE(service_shape, "Service", service_answer,
                  "A command that the server keeps running");

static const struct json_member service_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &service_shape),
};
static JSON_SHAPE(service_list_shape, "ServiceList", list_answer, "Services, sorted by name");

struct service_log_query {
	int64_t since_stdout, since_stderr, tail;
	uint64_t present;
};
enum { LOG_SINCE_STDOUT, LOG_SINCE_STDERR };
static const struct json_member service_log_query_members[] = {
        [LOG_SINCE_STDOUT] =
                JSON_WHOLE_MEMBER(service_log_query, since_stdout, .min = 0,
                                  .about = "offset of the first byte (default: the last bytes)"),
        [LOG_SINCE_STDERR] = JSON_WHOLE_MEMBER(service_log_query, since_stderr, .min = 0),
        JSON_WHOLE_MEMBER(service_log_query, tail, .min = 1, .max = AGENT_SERVICE_LOG_MAX,
                          .about = "maximum number of bytes of each stream (default 65536)"),
};
static JSON_BITS_SHAPE(service_log_query, "ServiceLogQuery", service_log_query, NULL);
struct service_log_answer {
	const char *name, *out, *err;
	int64_t out_offset, err_offset, out_next, err_next, out_end, err_end;
};
static const struct json_member service_log_shape_members[] = {
        JSON_TEXT_MEMBER(service_log_answer, name),
        JSON_TEXT_MEMBER(service_log_answer, out, .name = "stdout"),
        JSON_TEXT_MEMBER(service_log_answer, err, .name = "stderr"),
        JSON_WHOLE_MEMBER(service_log_answer, out_offset, .name = "stdout_offset",
                          .about = "offset of the first returned byte; earlier bytes are lost or "
                                   "were not requested"),
        JSON_WHOLE_MEMBER(service_log_answer, err_offset, .name = "stderr_offset"),
        JSON_WHOLE_MEMBER(service_log_answer, out_next, .name = "stdout_next",
                          .about = "value of since_stdout for the next call"),
        JSON_WHOLE_MEMBER(service_log_answer, err_next, .name = "stderr_next"),
        JSON_WHOLE_MEMBER(service_log_answer, out_end, .name = "stdout_bytes",
                          .about = "bytes written by all runs since the start of the sandbox"),
        JSON_WHOLE_MEMBER(service_log_answer, err_end, .name = "stderr_bytes"),
};
static JSON_SHAPE(service_log_shape, "ServiceLog", service_log_answer, "Output of a service");

static struct service_answer make_service_answer(const struct fleet_service_view *v)
{
	const struct service_record *r = &v->record;
	const struct agent_service_state *agent = &v->agent;

	return (struct service_answer){
	        .name = r->name,
	        .state = v->state,
	        .wanted = r->wish == SERVICE_RUNNING,
	        .pid = agent->pid,
	        .process = (int64_t)agent->process,
	        .restarts = (int64_t)agent->restarts,
	        .failures = agent->failures,
	        .exit_code = agent->exit_code,
	        .signal = agent->signal,
	        .error = agent->error && *agent->error ? agent->error : NULL,
	        .restart_in_ms = (int64_t)agent->again_ms,
	        .started_at = (int64_t)agent->started_unix_ms,
	        .ended_at = (int64_t)agent->ended_unix_ms,
	        .command = *r->command ? r->command : NULL,
	        .args = span_of(r->args_json),
	        .cwd = r->cwd,
	        .user = r->run_as,
	        .restart = service_restart_name(r->restart),
	        .restart_limit = r->failures_max,
	        .restart_delay_ms = r->delay_ms,
	        .stop_timeout_ms = r->stop_ms,
	        .keep_awake = r->keeps_awake,
	        .created_at = r->created_at,
	        .updated_at = r->updated_at,
	};
}

static void reply_service(struct reply *reply, const struct fleet_service_view *v)
{
	struct service_answer answer = make_service_answer(v);

	reply_json(reply, &service_shape, &answer);
}

/* The state of services comes from the sandbox's agent, so the call counts as a call into the
 * sandbox. */
static int may_call_sandbox(struct request *rq, struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct request_sandbox sandbox;
	struct sandbox_record r;

	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0)
		return -1;
	sandbox = (struct request_sandbox){r.project_id, r.id};
	return request_may_call(rq, &sandbox, err);
}

static struct fleet_service_ref path_service_ref(struct request *rq)
{
	return (struct fleet_service_ref){.project_id = api_project(rq),
	                                  .sandbox = request_param(rq, "id"),
	                                  .name = request_param(rq, "service")};
}

static int services_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct fleet_service_views views;
	struct service_answer *answers;

	if (may_call_sandbox(rq, err) < 0 ||
	    fleet_services(api_of(rq)->fleet, rq->arena, &ref, &views, err) < 0)
		return -1;
	answers = ARENA_ARRAY(rq->arena, struct service_answer, views.count + 1);
	for (size_t i = 0; i < views.count; i++)
		answers[i] = make_service_answer(&views.items[i]);
	reply_list(reply, &service_list_shape, answers, views.count);
	return 0;
}

static int service_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const struct fleet_service_ref ref = path_service_ref(rq);
	struct fleet_service_view view;

	if (may_call_sandbox(rq, err) < 0 ||
	    fleet_service_find(api_of(rq)->fleet, rq->arena, &ref, &view, err) < 0)
		return -1;
	reply_service(reply, &view);
	return 0;
}

/* Program and arguments as one list; NULL without a program. */
static int make_service_args(struct arena *a, const struct service_body *b, const char *const **ret,
                             struct error *err)
{
	const char **words;
	size_t count = 0;

	*ret = NULL;
	if (!b->command == !b->cmd || (b->args && !b->cmd)) {
		(void)FAIL(err, ERROR_INVALID, "either command, or cmd with args, is needed");
		error_hint(err, "{\"command\":\"npm start\"} or "
		                "{\"cmd\":\"node\",\"args\":[\"server.js\"]}");
		return -1;
	}
	if (!b->cmd)
		return 0;
	while (b->args && b->args[count])
		count++;
	words = ARENA_ARRAY(a, const char *, count + 2);
	words[0] = b->cmd;
	for (size_t i = 0; i < count; i++)
		words[i + 1] = b->args[i];
	*ret = words;
	return 0;
}

static int service_put(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct service_body *b = body;
	const struct fleet_ref ref = api_path_ref(rq);
	struct fleet_service service = {
	        .name = request_param(rq, "service"),
	        .command = b->command,
	        .cwd = b->cwd,
	        .user = b->user,
	        .env = &b->env,
	        .restart = (enum service_restart)b->restart,
	        .failures_max = b->restart_limit,
	        .delay_ms = b->restart_delay_ms,
	        .stop_ms = b->stop_timeout_ms,
	        .keeps_awake = b->keep_awake,
	};
	struct fleet_service_view view;

	if (make_service_args(rq->arena, b, &service.args, err) < 0 ||
	    may_call_sandbox(rq, err) < 0 ||
	    fleet_service_put(api_of(rq)->fleet, rq->arena, &ref, &service, &view, err) < 0)
		return -1;
	reply_service(reply, &view);
	return 0;
}

static int run_service_verb(struct request *rq, enum fleet_service_verb verb, struct reply *reply,
                            struct error *err)
{
	const struct fleet_service_ref ref = path_service_ref(rq);
	struct fleet_service_view view;

	if (may_call_sandbox(rq, err) < 0 ||
	    fleet_service_do(api_of(rq)->fleet, rq->arena, &ref, verb, &view, err) < 0)
		return -1;
	if (verb == FLEET_SERVICE_REMOVE)
		reply_status(reply, 204);
	else
		reply_service(reply, &view);
	return 0;
}

static int service_start(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	return run_service_verb(rq, FLEET_SERVICE_START, reply, err);
}

static int service_stop(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	return run_service_verb(rq, FLEET_SERVICE_STOP, reply, err);
}

static int service_restart(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	return run_service_verb(rq, FLEET_SERVICE_RESTART, reply, err);
}

static int service_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	return run_service_verb(rq, FLEET_SERVICE_REMOVE, reply, err);
}

/* JSON texts cannot hold NUL: NUL bytes become U+FFFD. */
static const char *replace_nul_bytes(struct arena *a, struct span bytes)
{
	AUTO(buf_done) struct buf text = BUF(3 * AGENT_SERVICE_LOG_MAX + 1);
	const char *nul;

	while (bytes.size > 0 && (nul = memchr(bytes.data, 0, bytes.size))) {
		size_t size = (size_t)(nul - bytes.data);

		buf_add(&text, bytes.data, size);
		buf_add_text(&text, "\xef\xbf\xbd");
		bytes = (struct span){nul + 1, bytes.size - size - 1};
	}
	buf_add_span(&text, bytes);
	return arena_text(a, buf_text(&text));
}

static int service_logs(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	const struct service_log_query *q = rq->query;
	struct fleet_service_log_request wanted = {.max = q->tail ? (size_t)q->tail : TAIL_USUAL};
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct fleet_service_ref ref = path_service_ref(rq);
	struct fleet_service_log log;
	struct service_log_answer answer;

	wanted.since[0] =
	        row_is_given(q->present, LOG_SINCE_STDOUT) ? q->since_stdout : -(int64_t)wanted.max;
	wanted.since[1] =
	        row_is_given(q->present, LOG_SINCE_STDERR) ? q->since_stderr : -(int64_t)wanted.max;
	if (api_target_open(rq, &t, err) < 0)
		return -1;
	ref.sandbox = t.id;
	if (fleet_service_log(api_of(rq)->fleet, rq->arena, &ref, &wanted, &log, err) < 0)
		return -1;
	answer = (struct service_log_answer){
	        .name = ref.name,
	        .out = replace_nul_bytes(rq->arena, log.out[0]),
	        .err = replace_nul_bytes(rq->arena, log.out[1]),
	        .out_offset = (int64_t)log.offset[0],
	        .err_offset = (int64_t)log.offset[1],
	        .out_next = (int64_t)(log.offset[0] + log.out[0].size),
	        .err_next = (int64_t)(log.offset[1] + log.out[1].size),
	        .out_end = (int64_t)log.end[0],
	        .err_end = (int64_t)log.end[1],
	};
	reply_json(reply, &service_log_shape, &answer);
	return 0;
}

#define TAG .tag = "services"
const struct route services_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &service_list_shape, .handle = services_list,
         TAG, .summary = "List the services of a sandbox"},
        {HTTP_GET, BASE "/:service", SCOPE_SANDBOX_READ, .answer = &service_shape,
         .handle = service_get, TAG, .summary = "Get the state of a service"},
        {HTTP_PUT, BASE "/:service", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_NEEDS_BODY,
         .body = &service_request, .answer = &service_shape, .handle = service_put, TAG,
         .summary = "Create or change a service; an unchanged service continues undisturbed"},
        {HTTP_DELETE, BASE "/:service", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .status = 204,
         .handle = service_delete, TAG, .summary = "Stop a service and delete it"},
        {HTTP_GET, BASE "/:service/logs", SCOPE_SANDBOX_READ, ROUTE_SLOW,
         .query = &service_log_query, .answer = &service_log_shape, .handle = service_logs, TAG,
         .summary = "Get the output of a background job: the last bytes, or from an offset"},
        {HTTP_POST, BASE "/:service/start", SCOPE_SANDBOX_WRITE, ROUTE_SLOW,
         .answer = &service_shape, .handle = service_start, TAG,
         .summary = "Start a service that was stopped or has ended"},
        {HTTP_POST, BASE "/:service/stop", SCOPE_SANDBOX_WRITE, ROUTE_SLOW,
         .answer = &service_shape, .handle = service_stop, TAG,
         .summary = "Stop a service; it stays stopped when the sandbox starts again"},
        {HTTP_POST, BASE "/:service/restart", SCOPE_SANDBOX_WRITE, ROUTE_SLOW,
         .answer = &service_shape, .handle = service_restart, TAG,
         .summary = "Stop a service and start it again"},
        {.path = NULL},
};
