/* SPDX-License-Identifier: Apache-2.0 */
/* process.Process/{List,SendSignal,CloseStdin,Update}: calls without streams. */
#include <assert.h>
#include <signal.h>
#include <string.h>

#include "base/path.h"
#include "provider/compute.h"
#include "surface/envd/connect.h"
#include "surface/envd/envd.h"
#include "wire/agent.h"
#include "wire/agent_terminal.h"

#define BODY_MAX_BYTES ((size_t)64 * 1024)
#define TERMINAL_SIDE_MAX 10000

struct process_call {
	struct request *rq;
	struct api_target target;
	const struct json_value *body;
	struct buf *out;
};

static void process_call_done(struct process_call *c)
{
	api_target_done(&c->target);
}

static int call_agent(struct process_call *c, const struct compute_call *call, struct error *err)
{
	return compute_call(c->target.hold.provider, c->target.hold.id, c->rq->arena, call,
	                    c->rq->deadline, err);
}

/* Finds a running process. */
static int find_running(struct process_call *c, struct agent_process *ret, struct error *err)
{
	const struct json_value *selector = json_get(c->body, "process");

	if (envd_process_find(c->rq, &c->target, selector, ret, err) < 0)
		return -1;
	if (ret->state != AGENT_PROCESS_RUNNING)
		return FAIL(err, ERROR_NOT_FOUND, "process with pid %u not found", ret->pid);
	return 0;
}

/* ---- List ---- */

struct process_listing {
	struct buf *out;
	unsigned written;
};

static void write_process(struct buf *out, const struct agent_process *p)
{
	buf_add_text(out, "{\"config\":{\"cmd\":");
	json_write_text(out, span_of(p->args[0] ? p->args[0] : ""));
	buf_add_text(out, ",\"args\":[");
	for (size_t i = 1; p->args[0] && p->args[i]; i++) {
		buf_add_text(out, i > 1 ? "," : "");
		json_write_text(out, span_of(p->args[i]));
	}
	buf_add_text(out, "],\"envs\":{}");
	if (p->cwd[0]) {
		buf_add_text(out, ",\"cwd\":");
		json_write_text(out, span_of(p->cwd));
	}
	buf_addf(out, "},\"pid\":%u", p->pid);
	if (p->label[0]) {
		buf_add_text(out, ",\"tag\":");
		json_write_text(out, span_of(p->label));
	}
	buf_add_byte(out, '}');
}

static void add_process(void *context, const struct agent_process *p)
{
	struct process_listing *l = context;

	if (p->state != AGENT_PROCESS_RUNNING || p->flags & AGENT_EXEC_RESIDENT)
		return;
	if (l->written++ > 0)
		buf_add_byte(l->out, ',');
	write_process(l->out, p);
}

static int list_processes(struct process_call *c, struct error *err)
{
	struct process_listing listing = {.out = c->out};

	buf_add_text(c->out, "{\"processes\":[");
	if (compute_processes(c->target.hold.provider, c->target.hold.id, add_process, &listing,
	                      c->rq->deadline, err) < 0)
		return -1;
	buf_add_text(c->out, "]}");
	return 0;
}

/* ---- SendSignal, CloseStdin, Update ---- */

/* By name or by number: the JSON form of protocol buffers allows both. */
static uint32_t signal_of(const struct json_value *v)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {{"SIGNAL_SIGTERM", SIGTERM}, {"SIGNAL_SIGKILL", SIGKILL}};
	const char *name = json_text(v, "");

	for (size_t i = 0; i < COUNT_OF(signals); i++)
		if (strcmp(name, signals[i].name) == 0 || json_whole(v, 0) == signals[i].number)
			return (uint32_t)signals[i].number;
	return 0;
}

static int send_signal(struct process_call *c, struct error *err)
{
	struct agent_signal message = {.signal = signal_of(json_get(c->body, "signal"))};
	const struct compute_call call = {
	        .type = AGENT_SIGNAL, .shape = agent_signal_shape, .message = &message};
	struct agent_process p;

	if (!message.signal)
		return FAIL(err, ERROR_INVALID,
		            "signal is neither SIGNAL_SIGTERM nor "
		            "SIGNAL_SIGKILL");
	if (find_running(c, &p, err) < 0)
		return -1;
	message.process = p.process;
	buf_add_text(c->out, "{}");
	return call_agent(c, &call, err);
}

static int close_stdin(struct process_call *c, struct error *err)
{
	struct agent_feed message = {.end = 1};
	struct agent_process p;

	if (find_running(c, &p, err) < 0)
		return -1;
	if (p.flags & AGENT_EXEC_TTY)
		return FAIL(err, ERROR_CONFLICT,
		            "a terminal has no end of input: send Ctrl+D (0x04)");
	message.process = p.process;
	buf_add_text(c->out, "{}");
	return compute_feed(c->target.hold.provider, c->target.hold.id, &message, c->rq->deadline,
	                    err);
}

int envd_pty_size(const struct json_value *pty, uint32_t *ret_rows, uint32_t *ret_columns,
                  struct error *err)
{
	const struct json_value *size = json_get(pty, "size");
	int64_t rows = json_whole(json_get(size, "rows"), 0);
	int64_t columns = json_whole(json_get(size, "cols"), 0);

	if (rows < 1 || rows > TERMINAL_SIDE_MAX || columns < 1 || columns > TERMINAL_SIDE_MAX)
		return FAIL(err, ERROR_INVALID, "pty.size has no rows and cols from 1 to %d",
		            TERMINAL_SIDE_MAX);
	*ret_rows = (uint32_t)rows;
	*ret_columns = (uint32_t)columns;
	return 0;
}

static int update_terminal(struct process_call *c, struct error *err)
{
	const struct json_value *pty = json_get(c->body, "pty");
	struct agent_terminal message = {.process = 0};
	struct agent_terminal_state state;
	const struct compute_call call = {
	        .type = AGENT_TERMINAL,
	        .shape = agent_terminal_shape,
	        .message = &message,
	        .reply_type = AGENT_TERMINAL_STATE,
	        .reply_shape = agent_terminal_state_shape,
	        .reply = &state,
	        .reply_size = sizeof(state),
	};
	struct agent_process p;

	if (find_running(c, &p, err) < 0)
		return -1;
	buf_add_text(c->out, "{}");
	if (!pty)
		return 0;
	message.process = p.process;
	if (envd_pty_size(pty, &message.rows, &message.columns, err) < 0)
		return -1;
	return call_agent(c, &call, err);
}

/* ---- routes ---- */

static int run_call(struct request *rq, struct reply *reply,
                    int (*call)(struct process_call *, struct error *), struct error *err)
{
	AUTO(process_call_done) struct process_call c = {.rq = rq};
	int opened = envd_target_open(rq, reply, &c.target, err);

	if (opened != 0)
		return opened < 0 ? -1 : 0;
	if (request_may_block(rq, err) < 0 || envd_read_json(rq, &c.body, err) < 0)
		return -1;
	c.out = reply_buf(reply, "application/json");
	return call(&c, err);
}

static int handle_call(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	static const struct {
		const char *name;
		int (*call)(struct process_call *c, struct error *err);
	} calls[] = {
	        {"List", list_processes},
	        {"SendSignal", send_signal},
	        {"CloseStdin", close_stdin},
	        {"Update", update_terminal},
	};
	const char *name = path_last(rq->route->path);
	size_t i = 0;

	while (i < COUNT_OF(calls) && strcmp(calls[i].name, name) != 0)
		i++;
	assert(i < COUNT_OF(calls)); /* every route row has a call */
	return run_call(rq, reply, calls[i].call, err);
}

#define ROW(name, cancel)                                                                          \
	{                                                                                          \
		.method = HTTP_POST, .path = "/process.Process/" name,                             \
		.flags = ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_HIDDEN | (cancel),                  \
		.body_max = BODY_MAX_BYTES, .handle = handle_call, .tag = CONNECT_TAG,             \
		.summary = "process." name                                                         \
	}
const struct route envd_process_routes[] = {
        ROW("List", ROUTE_CANCEL), ROW("SendSignal", 0), ROW("CloseStdin", 0),
        ROW("Update", 0),          {.path = NULL},
};
