/* SPDX-License-Identifier: Apache-2.0 */
/* process.Process/{Start,Connect}: the output of a process, from its start or from now on. */
#include <inttypes.h>
#include <string.h>

#include "calls/configs.h"
#include "edge/activity.h"
#include "edge/target.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"
#include "surface/envd/connect.h"
#include "surface/envd/connect_stream.h"
#include "surface/envd/envd.h"
#include "surface/envd/events.h"
#include "wire/agent.h"

#define BODY_MAX_BYTES ((size_t)1024 * 1024)
#define TAG_MAX 256

struct process_stream {
	struct connect_stream base;
	bool is_start, is_tty;
};

static struct process_stream *process_stream_of(struct stream *s)
{
	return CONTAINER_OF(s, struct process_stream, base.stream);
}

static int on_started(struct process_stream *p, struct relay *relay,
                      const struct agent_process *info, struct error *err)
{
	if (p->base.begun)
		return stream_unexpected(AGENT_STARTED, err);
	events_write_start(&p->base.out, info->pid);
	connect_stream_flush(&p->base, relay);
	return 0;
}

static int on_output(struct process_stream *p, struct relay *relay, const struct agent_output *o,
                     struct error *err)
{
	if (!p->base.begun || (o->stream != AGENT_STDOUT && o->stream != AGENT_STDERR))
		return stream_unexpected(AGENT_OUTPUT, err);
	events_write_data(&p->base.out,
	                  p->is_tty                   ? "pty"
	                  : o->stream == AGENT_STDOUT ? "stdout"
	                                              : "stderr",
	                  o->bytes);
	connect_stream_flush(&p->base, relay);
	return 0;
}

static int on_exit(struct process_stream *p, struct relay *relay, const struct agent_process *info,
                   struct error *err)
{
	struct error late;

	if (!p->base.begun)
		return stream_unexpected(AGENT_EXIT, err);
	p->base.stream.ended = true;
	if (p->is_start && info->timed_out) {
		(void)FAIL(&late, ERROR_TIMEOUT, "the process was ended: its time was over");
		connect_stream_finish(&p->base, relay, &late);
		return 0;
	}
	events_write_end(&p->base.out, info);
	connect_stream_finish(&p->base, relay, NULL);
	return 0;
}

static int on_message(struct stream *s, struct relay *relay, uint16_t type, struct span payload,
                      struct error *err)
{
	struct process_stream *p = process_stream_of(s);
	struct agent_process info;
	struct agent_output o;

	if (type == AGENT_FAILED) {
		connect_stream_fail(&p->base, relay, payload);
		return 0;
	}
	if (type == AGENT_OUTPUT) {
		if (stream_decode(s, payload, agent_output_shape, &o, sizeof(o), err) < 0)
			return -1;
		return on_output(p, relay, &o, err);
	}
	if (type != AGENT_STARTED && type != AGENT_EXIT)
		return stream_unexpected(type, err);
	if (stream_decode(s, payload, agent_process_shape, &info, sizeof(info), err) < 0)
		return -1;
	return type == AGENT_STARTED ? on_started(p, relay, &info, err)
	                             : on_exit(p, relay, &info, err);
}

static const struct stream_ops process_ops = {
        .size = sizeof(struct process_stream),
        .on_message = on_message,
        .on_tick = connect_stream_on_tick,
        .on_sandbox_end = connect_stream_on_sandbox_end,
        .done = connect_stream_done,
        .takes_failures = true,
        .is_process = true,
};

struct process_stream_request {
	struct compute_request request;
	int64_t within_ms; /* 0 = no limit */
	bool is_start, is_tty;
	const char *const *args; /* of a started command that is recorded as activity; or NULL */
};

static struct activity_note *begin_note(const struct request *rq, const struct api_target *t,
                                        const char *const *args)
{
	const struct api_activity_call call = {.kind = ACTIVITY_COMMAND, .operation = "exec"};
	struct activity_note *n = args ? api_activity_begin(rq, t, &call) : NULL;

	if (n)
		api_activity_add_args(n, args);
	return n;
}

static int start_stream(struct request *rq, struct api_target *t,
                        const struct process_stream_request *as, struct reply *reply,
                        struct error *err)
{
	const struct connect_stream_options options = {
	        .ping = EVENTS_PING,
	        /* A piece of output as base64 and the JSON around it. */
	        .out_max = 2 * (size_t)AGENT_DATA_MAX + 4096,
	        .within_ms = as->within_ms,
	};
	struct connect_stream *c;
	struct process_stream *p;

	if (provider_require(t->provider, PROVIDER_CAN_EXEC, err) < 0)
		return -1;
	c = connect_stream_new(rq, &process_ops, t->hold, &options);
	c->stream.note = begin_note(rq, t, as->args);
	p = process_stream_of(&c->stream);
	p->is_start = as->is_start;
	p->is_tty = as->is_tty;
	return connect_stream_start(rq, c, &as->request, reply, err);
}

static const char **list_of(struct request *rq, const char *first, const struct json_value *list)
{
	size_t count = json_count(list);
	const char **out = ARENA_ARRAY(rq->arena, const char *, count + 2);

	out[0] = first;
	for (size_t i = 0; i < count; i++)
		out[1 + i] = json_text(json_item_at(list, i), "");
	return out;
}

/* The variables that E2B sets for every process; the request's own override them. */
static struct json_map map_of(struct request *rq, const struct api_target *t,
                              const struct json_value *envs)
{
	const struct json_pair own[] = {{"E2B_SANDBOX", "true"},
	                                {"E2B_SANDBOX_ID", t->id},
	                                {"E2B_TEMPLATE_ID", t->record->template_id}};
	size_t count = json_count(envs), used = COUNT_OF(own);
	struct json_pair *pairs = ARENA_ARRAY(rq->arena, struct json_pair, used + count);

	memcpy(pairs, own, sizeof(own));
	for (size_t i = 0; i < count; i++) {
		const char *key = "";
		const char *value = json_text(json_member_at(envs, i, &key), "");

		pairs[used++] = (struct json_pair){key, value};
	}
	return (struct json_map){pairs, used, true};
}

static int fill_exec(struct request *rq, const struct api_target *t, const struct json_value *body,
                     struct agent_exec *ret, struct error *err)
{
	const struct json_value *process = json_get(body, "process"), *pty = json_get(body, "pty");
	const struct json_map envs = map_of(rq, t, json_get(process, "envs"));
	const char *cmd = json_text(json_get(process, "cmd"), "");
	int64_t timeout_ms;

	if (!cmd[0])
		return FAIL(err, ERROR_INVALID, "process.cmd is missing");
	if (api_target_env(rq, t, &envs, &ret->env, err) < 0 ||
	    envd_user_find(rq, t, NULL, &ret->user, err) < 0 ||
	    connect_timeout_parse(request_header(rq, "Connect-Timeout-Ms"), &timeout_ms, err) < 0)
		return -1;
	ret->args = list_of(rq, cmd, json_get(process, "args"));
	ret->cwd = json_text(json_get(process, "cwd"), "");
	if (!ret->cwd[0])
		ret->cwd = envd_workdir_of(t);
	ret->label = json_text(json_get(body, "tag"), "");
	if (strlen(ret->label) > TAG_MAX)
		return FAIL(err, ERROR_INVALID, "tag is longer than %d bytes", TAG_MAX);
	ret->timeout_ms = (uint64_t)timeout_ms;
	if (json_bool(json_get(body, "stdin"), true))
		ret->flags |= AGENT_EXEC_STDIN;
	if (!pty)
		return 0;
	ret->flags |= AGENT_EXEC_TTY | AGENT_EXEC_STDIN;
	return envd_pty_size(pty, &ret->rows, &ret->columns, err);
}

static int start_process(struct request *rq, struct reply *reply, struct api_target *t,
                         struct error *err)
{
	struct agent_exec exec = {.flags = 0};
	struct process_stream_request as = {.request = {AGENT_EXEC, agent_exec_shape, &exec},
	                                    .is_start = true};
	const struct json_value *body;
	struct run_limits limits;

	if (connect_stream_read(rq, &body, err) < 0 || fill_exec(rq, t, body, &exec, err) < 0 ||
	    run_limits_find(rq, t->record, &limits, err) < 0 ||
	    run_limits_check(&limits, exec.args, err) < 0)
		return -1;
	as.is_tty = exec.flags & AGENT_EXEC_TTY;
	/* The time limit of calls does not apply to a terminal: it runs while a client is
	 * connected. */
	if (!as.is_tty) {
		exec.timeout_ms =
		        (uint64_t)run_limit_apply((int64_t)exec.timeout_ms, limits.timeout_ms);
		as.args = exec.args;
	}
	return start_stream(rq, t, &as, reply, err);
}

static int attach_process(struct request *rq, struct reply *reply, struct api_target *t,
                          struct error *err)
{
	struct agent_attach message = {.read_only = 1, .until_end = 1};
	struct process_stream_request as = {
	        .request = {AGENT_ATTACH, agent_attach_shape, &message}};
	const struct json_value *body;
	struct agent_process p;

	if (connect_stream_read(rq, &body, err) < 0 || request_may_block(rq, err) < 0 ||
	    connect_timeout_parse(request_header(rq, "Connect-Timeout-Ms"), &as.within_ms, err) <
	            0 ||
	    envd_process_find(rq, t, json_get(body, "process"), &p, err) < 0)
		return -1;
	message.process = p.process;
	/* The stream starts behind the output that exists already. */
	memcpy(message.since, p.output_end, sizeof(message.since));
	as.is_tty = p.flags & AGENT_EXEC_TTY;
	return start_stream(rq, t, &as, reply, err);
}

static int handle_start(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	return connect_stream_run(rq, reply, start_process, err);
}

static int handle_connect(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	return connect_stream_run(rq, reply, attach_process, err);
}

#define ROW(name, handle_)                                                                         \
	{                                                                                          \
		.method = HTTP_POST, .path = "/process.Process/" name,                             \
		.flags = ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_HIDDEN | ROUTE_TRY,                 \
		.body_max = BODY_MAX_BYTES, .handle = (handle_), .tag = CONNECT_TAG,               \
		.summary = "process." name                                                         \
	}
const struct route envd_stream_routes[] = {
        ROW("Start", handle_start),
        ROW("Connect", handle_connect),
        {.path = NULL},
};
