/* SPDX-License-Identifier: Apache-2.0 */
/* process.Process/{List,SendSignal,CloseStdin,Update}: calls without streams. */
#include <signal.h>
#include <string.h>

#include "edge/target.h"
#include "json/write.h"
#include "provider/compute.h"
#include "surface/envd/envd.h"
#include "surface/envd/unary.h"
#include "wire/agent.h"
#include "wire/agent_terminal.h"

#define TERMINAL_SIDE_MAX 10000

/* Finds a running process. */
static int find_running(struct unary_call *c, struct agent_process *ret, struct error *err)
{
	const struct json_value *selector = json_get(c->body, "process");

	if (envd_process_find(c->rq, c->target, selector, ret, err) < 0)
		return -1;
	if (ret->state != AGENT_PROCESS_RUNNING)
		return FAIL(err, ERROR_NOT_FOUND, "process with pid %u not found", ret->pid);
	return 0;
}

static void write_process(struct buf *out, const struct agent_process *p)
{
	json_begin_object(out, NULL);
	json_begin_object(out, "config");
	json_add_text(out, "cmd", p->args[0] ? p->args[0] : "");
	json_add_texts(out, "args", p->args[0] ? p->args + 1 : NULL);
	json_begin_object(out, "envs");
	json_end_object(out);
	if (p->cwd[0])
		json_add_text(out, "cwd", p->cwd);
	json_end_object(out);
	json_add_whole(out, "pid", p->pid);
	if (p->label[0])
		json_add_text(out, "tag", p->label);
	json_end_object(out);
}

static void add_process(void *context, const struct agent_process *p)
{
	if (p->state == AGENT_PROCESS_RUNNING && !(p->flags & AGENT_EXEC_RESIDENT))
		write_process(context, p);
}

static int list_processes(struct unary_call *c, struct error *err)
{
	json_begin_object(c->out, NULL);
	json_begin_list(c->out, "processes");
	if (compute_processes(c->target->provider, c->target->id, add_process, c->out,
	                      c->rq->deadline, err) < 0)
		return -1;
	json_end_list(c->out);
	json_end_object(c->out);
	return 0;
}

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

static int send_signal(struct unary_call *c, struct error *err)
{
	struct agent_signal message = {.signal = signal_of(json_get(c->body, "signal"))};
	struct agent_process p;

	if (!message.signal)
		return FAIL(err, ERROR_INVALID,
		            "signal is neither SIGNAL_SIGTERM nor "
		            "SIGNAL_SIGKILL");
	if (find_running(c, &p, err) < 0)
		return -1;
	message.process = p.process;
	buf_add_text(c->out, "{}");
	return compute_signal(c->target->provider, c->target->id, AGENT_SIGNAL, &message,
	                      c->rq->deadline, err);
}

static int close_stdin(struct unary_call *c, struct error *err)
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
	return compute_feed(c->target->provider, c->target->id, &message, c->rq->deadline, err);
}

int envd_pty_size(const struct json_value *pty, uint32_t *ret_rows, uint32_t *ret_columns,
                  struct error *err)
{
	const struct json_value *size = json_get(pty, "size");
	int64_t rows = json_whole(json_get(size, "rows"), 0);
	int64_t columns = json_whole(json_get(size, "cols"), 0);

	if (rows < 0 || rows > TERMINAL_SIDE_MAX || columns < 0 || columns > TERMINAL_SIDE_MAX)
		return FAIL(err, ERROR_INVALID, "pty.size has no rows and cols from 0 to %d",
		            TERMINAL_SIDE_MAX);
	*ret_rows = (uint32_t)rows;
	*ret_columns = (uint32_t)columns;
	return 0;
}

static int update_terminal(struct unary_call *c, struct error *err)
{
	const struct json_value *pty = json_get(c->body, "pty");
	struct agent_terminal message = {.process = 0};
	struct agent_terminal_state state;
	struct agent_process p;

	if (find_running(c, &p, err) < 0)
		return -1;
	buf_add_text(c->out, "{}");
	if (!pty)
		return 0;
	message.process = p.process;
	if (envd_pty_size(pty, &message.rows, &message.columns, err) < 0)
		return -1;
	return compute_terminal(c->target->provider, c->target->id, &message, c->rq->deadline,
	                        &state, err);
}

#define PATH "/process.Process/"
const struct unary_method process_methods[] = {
        {PATH "List", list_processes},
        {PATH "SendSignal", send_signal},
        {PATH "CloseStdin", close_stdin},
        {PATH "Update", update_terminal},
        {.path = NULL},
};
const struct route envd_process_routes[] = {
        UNARY_ROW(PATH "List", ROUTE_CANCEL),
        UNARY_ROW(PATH "SendSignal", 0),
        UNARY_ROW(PATH "CloseStdin", 0),
        UNARY_ROW(PATH "Update", 0),
        {.path = NULL},
};
