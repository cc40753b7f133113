/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/compute.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "provider/agent_health.h"
#include "provider/command_ends.h"
#include "provider/agent_reader.h"
#include "provider/compute_run.h"
#include "provider/provider.h"
#include "wire/agent_files.h"
#include "trace/timing.h"
#include "wire/agent_terminal.h"
#include "wire/names.h"
#include "wire/agent_secrets.h"

/* Set as the socket priority of file connections, so that the descriptor itself shows its use. A
 * unix socket ignores it, and no table of descriptors can become stale. */
#define FILE_CONNECTION 1

static int mark_file_connection(int fd, struct error *err)
{
	int mark = FILE_CONNECTION;

	if (setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &mark, sizeof(mark)) < 0)
		return FAIL_ERRNO(err, "mark a file connection");
	return 0;
}

static bool is_file_connection(int fd)
{
	int mark = FILE_CONNECTION;
	socklen_t size = sizeof(mark);

	return getsockopt(fd, SOL_SOCKET, SO_PRIORITY, &mark, &size) < 0 || mark == FILE_CONNECTION;
}

/* One encoded request on its way to a sandbox. */
struct sending {
	struct provider *provider;
	const char *id;
	uint16_t type;
	struct span frame;
	int64_t deadline;
	const struct cancel *cancel;
};

static int send_frame(const struct sending *s, int fd, struct error *err)
{
	const struct wire_peer peer = {fd, s->deadline, s->cancel};

	return wire_send_to(&peer, s->frame, err);
}

/* The agent may have closed a waiting connection a moment ago. The agent has not seen a request
 * that could not be sent, so a new connection is tried. */
static int send_on_waiting(const struct sending *s)
{
	const struct compute_ops *ops = provider_ops_of(s->provider)->compute;

	if (!ops->take || agent_type_is_of_files(s->type))
		return -1;
	AUTO_CLOSE int fd = ops->take(s->provider, s->id);
	if (fd < 0 || send_frame(s, fd, &(struct error){0}) < 0)
		return -1;
	return TAKE_FD(fd);
}

/* An agent that accepts nothing makes this wait. */
static int connect_agent(const struct sending *s, int *ret_fd, struct error *err)
{
	const struct compute_ops *ops = provider_ops_of(s->provider)->compute;
	const struct cancel *outer = cancel_current();

	cancel_set_current(s->cancel);
	int ret = ops->connect(s->provider, s->id, s->deadline, ret_fd, err);
	cancel_set_current(outer);
	return ret;
}

static int send_on_new(const struct sending *s, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (connect_agent(s, &fd, err) < 0)
		return -1;
	if (agent_type_is_of_files(s->type) && mark_file_connection(fd, err) < 0)
		return -1;
	if (send_frame(s, fd, err) < 0)
		return FAIL_CONTEXT(err, "sandbox '%s'", s->id);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int compute_open(struct provider *p, const char *id, const struct compute_request *request,
                 int64_t deadline, int *ret_fd, struct error *err)
{
	/* A request may have values of credentials. */
	AUTO(buf_done) struct buf frame = BUF_SECRET(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);

	if (agent_health_admit(id, err) < 0 ||
	    wire_encode(&frame, request->type, request->shape, request->message, err) < 0)
		return -1;
	const struct cancel *cancel = request->cancel ? request->cancel : cancel_current();
	struct sending sending = {p, id, request->type, buf_span(&frame), deadline, cancel};
	int fd = send_on_waiting(&sending);
	if (fd < 0 && send_on_new(&sending, &fd, err) < 0)
		return -1;
	*ret_fd = fd;
	return 0;
}

int compute_connect(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                    struct error *err)
{
	return provider_ops_of(p)->compute->connect(p, id, deadline, ret_fd, err);
}

void compute_preconnect(struct provider *p, const char *id)
{
	const struct compute_ops *ops = provider_ops_of(p)->compute;
	int fd;

	if (ops->take && ops->connect(p, id, deadline_after(0), &fd, &(struct error){0}) == 0)
		ops->give_back(p, id, fd);
}

void compute_give_back(struct provider *p, const char *id, int fd)
{
	const struct compute_ops *ops = provider_ops_of(p)->compute;

	if (ops->give_back && !is_file_connection(fd))
		ops->give_back(p, id, fd);
	else
		close(fd);
}

static void replace_controls(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

/* "Unauthenticated" is about the caller's key, which an agent never sees. */
static enum error_code code_of_agent(uint32_t code)
{
	if (code == ERROR_NONE || code == ERROR_UNAUTHENTICATED || code >= ERROR_CODE_COUNT)
		return ERROR_SYSTEM;
	return code;
}

int compute_failed(struct span payload, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct agent_failed failed;
	struct error malformed = {0};

	if (wire_decode(&a, payload, agent_failed_shape, &failed, sizeof(failed), &malformed) < 0)
		return FAIL(err, ERROR_SYSTEM, "the agent failed and did not say why");
	error_set(err, code_of_agent(failed.code), 0, HERE, "%s", failed.text);
	err->sys_errno = (int)(failed.sys_errno & 0xfff);
	error_hint(err, "%s", failed.hint);
	replace_controls(err->text);
	replace_controls(err->hint);
	return -1;
}

bool compute_lacks_program(const struct error *err)
{
	return err->code == ERROR_NOT_FOUND && strncmp(err->text, "command not found", 17) == 0;
}

static int take_reply(struct agent_reader *r, struct arena *a, const struct compute_call *call,
                      struct error *err)
{
	if (r->type != call->reply_type || !call->reply_shape)
		return agent_reader_refuse(r, err);
	if (wire_decode(a, buf_span(&r->payload), call->reply_shape, call->reply, call->reply_size,
	                err) < 0)
		return FAIL_CONTEXT(err, "agent");
	return call->on_reply ? call->on_reply(call->context, call->reply, err) : 0;
}

static int take_done(struct agent_reader *r, struct arena *a, const struct compute_call *call,
                     struct error *err)
{
	struct agent_done done;

	if (wire_decode(a, buf_span(&r->payload), agent_done_shape, &done, sizeof(done), err) < 0)
		return FAIL_CONTEXT(err, "agent");
	if (call->done)
		*call->done = done;
	return 0;
}

static int take_replies(struct agent_reader *r, struct arena *a, const struct compute_call *call,
                        struct error *err)
{
	while (!r->has_ended) {
		if (agent_reader_next(r, err) < 0)
			return -1;
		if (!call->on_reply && r->type != AGENT_DONE && r->frames > 1)
			return agent_reader_refuse(r, err);
		int ret = r->type == AGENT_DONE ? take_done(r, a, call, err)
		                                : take_reply(r, a, call, err);
		if (ret < 0)
			return -1;
	}
	return 0;
}

int compute_call(struct provider *p, const char *id, struct arena *a,
                 const struct compute_call *call, int64_t deadline, struct error *err)
{
	const struct agent_limits limits = {.deadline = deadline, .cancel = call->cancel};
	const struct compute_request request = {call->type, call->shape, call->message, NULL};
	AUTO(agent_reader_done) struct agent_reader r;
	struct timed_call timed;
	int result;

	timed_begin(&timed, TRACE_AGENT, agent_type_name(call->type));
	agent_reader_init(&r, p, id, &limits);
	result = agent_reader_ask(&r, &request, err);
	if (result == 0)
		result = take_replies(&r, a, call, err);
	timed_end(&timed, result < 0 ? err : NULL);
	return result;
}

int compute_file(struct provider *p, const char *id, struct arena *a,
                 const struct compute_file *file, struct agent_file *ret, struct error *err)
{
	struct agent_file unused;
	const struct compute_call call = {
	        .type = file->type,
	        .shape = agent_path_shape,
	        .message = file->path,
	        .reply_type = AGENT_FILE,
	        .reply_shape = agent_file_shape,
	        .reply = ret ? ret : &unused,
	        .reply_size = sizeof(unused),
	        .on_reply = file->on_file,
	        .context = file->context,
	};

	if (provider_require(p, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	return compute_call(p, id, a, &call, file->deadline, err);
}

int compute_start(struct provider *p, const char *id, const struct compute_start *start,
                  struct agent_process *ret, struct error *err)
{
	bool is_secret = start->exec->secrets && start->exec->secrets[0];
	const struct compute_call call = {
	        .type = AGENT_EXEC,
	        .shape = is_secret ? agent_secret_exec_shape : agent_exec_shape,
	        .message = start->exec,
	        WIRE_REPLY(AGENT_STARTED, agent_process_shape, *ret),
	};

	return compute_call(p, id, start->arena, &call, start->deadline, err);
}

int compute_feed(struct provider *p, const char *id, const struct agent_feed *feed,
                 int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct compute_call call = {
	        .type = AGENT_FEED, .shape = agent_feed_shape, .message = feed};

	return compute_call(p, id, &arena, &call, deadline, err);
}

int compute_signal(struct provider *p, const char *id, uint16_t type,
                   const struct agent_signal *signal, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct compute_call call = {
	        .type = type, .shape = agent_signal_shape, .message = signal};

	return compute_call(p, id, &arena, &call, deadline, err);
}

int compute_terminal(struct provider *p, const char *id, const struct agent_terminal *change,
                     int64_t deadline, struct agent_terminal_state *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct agent_terminal_state state = {.rows = 0};
	const struct compute_call call = {
	        .type = AGENT_TERMINAL,
	        .shape = agent_terminal_shape,
	        .message = change,
	        WIRE_REPLY(AGENT_TERMINAL_STATE, agent_terminal_state_shape, state),
	};

	if (compute_call(p, id, &arena, &call, deadline, err) < 0)
		return -1;
	*ret = state;
	return 0;
}

struct process_walk {
	compute_process *each;
	void *context;
	unsigned seen;
};

static int on_process(void *context, const void *reply, struct error *err)
{
	struct process_walk *w = context;

	if (++w->seen > COMPUTE_PROCESSES_MAX)
		return FAIL(err, ERROR_LIMIT, "the sandbox tells of too many processes");
	w->each(w->context, reply);
	return 0;
}

int compute_processes(struct provider *p, const char *id, compute_process *each, void *context,
                      int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct process_walk walk = {.each = each, .context = context};
	struct agent_process process;
	const struct compute_call call = {
	        .type = AGENT_PROCESSES,
	        WIRE_REPLY(AGENT_PROCESS, agent_process_shape, process),
	        .on_reply = on_process,
	        .context = &walk,
	};

	return compute_call(p, id, &arena, &call, deadline, err);
}

int compute_await_end(struct provider *p, const char *id, const struct compute_wait *wait,
                      struct error *err)
{
	const struct agent_attach message = {.process = wait->process,
	                                     .since = {wait->since[0], wait->since[1]},
	                                     .read_only = 1,
	                                     .until_end = 1};
	const struct compute_request request = {AGENT_ATTACH, agent_attach_shape, &message, NULL};
	const struct agent_limits limits = {.deadline = wait->deadline, .cancel = wait->cancel};
	AUTO(agent_reader_done) struct agent_reader r;

	agent_reader_init(&r, p, id, &limits);
	if (agent_reader_ask(&r, &request, err) < 0)
		return -1;
	while (!r.has_ended)
		if (agent_reader_next(&r, err) < 0)
			return -1;
	if (r.type != AGENT_EXIT)
		return agent_reader_refuse(&r, err);
	return 0;
}

struct collector {
	const struct compute_run *run;
	const char *id; /* of the sandbox */
	struct arena *arena;
	struct buf out[2];
	struct compute_result *result;
};

static void collector_done(struct collector *c)
{
	buf_done(&c->out[0]);
	buf_done(&c->out[1]);
}

static int collect_output(struct collector *c, struct span payload, struct error *err)
{
	struct agent_output output;

	if (wire_decode(c->arena, payload, agent_output_shape, &output, sizeof(output), err) < 0)
		return FAIL_CONTEXT(err, "agent");
	if (output.stream != AGENT_STDOUT && output.stream != AGENT_STDERR)
		return FAIL(err, ERROR_SYSTEM, "the agent sent output of stream %u", output.stream);
	if (c->run->on_output)
		return c->run->on_output(c->run->context, &output, err);
	unsigned i = output.stream - AGENT_STDOUT;
	size_t room = c->out[i].size_max - c->out[i].size;
	if (output.bytes.size > room) {
		output.bytes.size = room;
		c->result->truncated[i] = true;
	}
	buf_add_span(&c->out[i], output.bytes);
	return 0;
}

static int collect_exit(struct collector *c, struct span payload, struct error *err)
{
	struct compute_result *result = c->result;

	if (wire_decode(c->arena, payload, agent_process_shape, &result->process,
	                sizeof(result->process), err) < 0)
		return FAIL_CONTEXT(err, "agent");
	if (result->process.state != AGENT_PROCESS_ENDED)
		return FAIL(err, ERROR_SYSTEM, "the agent reported an end that is none");
	command_ends_note(c->id, &result->process);
	for (unsigned i = 0; i < 2; i++)
		result->out[i] =
		        (struct span){arena_copy(c->arena, buf_span(&c->out[i])), c->out[i].size};
	return 0;
}

static int collect_frames(struct agent_reader *r, struct collector *c, struct error *err)
{
	while (!r->has_ended) {
		if (agent_reader_next(r, err) < 0)
			return -1;
		int ret = 0;
		if (r->type == AGENT_OUTPUT)
			ret = collect_output(c, buf_span(&r->payload), err);
		else if (r->type == AGENT_EXIT)
			ret = collect_exit(c, buf_span(&r->payload), err);
		else if (r->type != AGENT_STARTED)
			ret = agent_reader_refuse(r, err);
		if (ret < 0)
			return -1;
	}
	return 0;
}

int compute_run(struct provider *p, const char *id, struct arena *a, const struct compute_run *run,
                struct compute_result *ret, struct error *err)
{
	const struct agent_limits limits = {.deadline = run->deadline, .cancel = run->cancel};
	AUTO(agent_reader_done) struct agent_reader r;
	struct compute_result result = {0};
	AUTO(collector_done) struct collector collector = {
	        .run = run,
	        .id = id,
	        .arena = a,
	        .out = {BUF(run->out_max), BUF(run->out_max)},
	        .result = &result,
	};
	struct agent_exec exec = *run->exec;
	const struct compute_request request = {AGENT_EXEC, agent_exec_shape, &exec, NULL};

	agent_reader_init(&r, p, id, &limits);
	/* Closing the connection, as a deadline that passed does, must not leave it running. */
	exec.flags |= AGENT_EXEC_END_ON_CLOSE;
	if (agent_reader_ask(&r, &request, err) < 0 || collect_frames(&r, &collector, err) < 0)
		return -1;
	*ret = result;
	return 0;
}
