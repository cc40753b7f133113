/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/compute.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "provider/provider.h"

/* Together with what one message may hold, the most that an agent can make us keep for one call. */
#define REPLIES_MAX 200000
#define REPLY_BYTES_MAX ((size_t)64 << 20)

/* Set as a socket priority on file connections, so that a descriptor alone tells what it is for:
 * a unix socket does nothing with it, and no table of descriptors can go stale. */
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
};

/* A connection that waited may have been closed by its agent a moment ago; what could not be sent
 * on it was not seen, so a new one is tried. */
static int send_on_waiting(const struct sending *s)
{
	const struct compute_ops *ops = provider_ops_of(s->provider)->compute;
	struct error ignored = {0};

	if (!ops->take || agent_type_is_of_files(s->type))
		return -1;
	AUTO_CLOSE int fd = ops->take(s->provider, s->id);
	if (fd < 0 || wire_send(fd, s->frame, s->deadline, &ignored) < 0)
		return -1;
	return TAKE_FD(fd);
}

static int send_on_new(const struct sending *s, int *ret_fd, struct error *err)
{
	const struct compute_ops *ops = provider_ops_of(s->provider)->compute;
	AUTO_CLOSE int fd = -1;

	if (ops->connect(s->provider, s->id, s->deadline, &fd, err) < 0)
		return -1;
	if (agent_type_is_of_files(s->type) && mark_file_connection(fd, err) < 0)
		return -1;
	if (wire_send(fd, s->frame, s->deadline, err) < 0)
		return FAIL_CONTEXT(err, "sandbox '%s'", s->id);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int compute_open(struct provider *p, const char *id, const struct compute_request *request,
                 int64_t deadline, int *ret_fd, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);

	if (wire_encode(&frame, request->type, request->shape, request->message, err) < 0)
		return -1;
	struct sending sending = {p, id, request->type, buf_span(&frame), deadline};
	int fd = send_on_waiting(&sending);
	if (fd < 0 && send_on_new(&sending, &fd, err) < 0)
		return -1;
	*ret_fd = fd;
	return 0;
}

void compute_expect(struct provider *p, const char *id)
{
	const struct compute_ops *ops = provider_ops_of(p)->compute;
	struct error ignored = {0};
	int fd;

	if (ops->take && ops->connect(p, id, deadline_in(0), &fd, &ignored) == 0)
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

/* ---- replies: the agent may be hostile ---- */

static void replace_controls(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

/* "Unauthenticated" is about the caller's key, of which an agent knows nothing. */
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

/* The replies to one request, as they come in. */
struct replies {
	int fd;
	int64_t deadline;
	const struct cancel *cancel; /* or NULL */
	uint16_t type;
	struct buf payload;
	size_t count, bytes;
	bool ended; /* the connection may carry another request */
};

static void replies_done(struct replies *r)
{
	buf_done(&r->payload);
}

static int replies_next(struct replies *r, struct error *err)
{
	/* Receiving looks at the clock only when it has to wait: a flood would never end. */
	if (deadline_poll_ms(r->deadline) == 0)
		return FAIL(err, ERROR_TIMEOUT, "the agent did not finish its answer in time");
	if (r->cancel && cancel_wait(r->cancel, r->fd, POLLIN, r->deadline, err) < 0)
		return -1;
	if (wire_receive(r->fd, r->deadline, &r->type, &r->payload, err) < 0)
		return FAIL_CONTEXT(err, "agent");
	r->bytes += r->payload.size;
	if (r->type == AGENT_FAILED) {
		r->ended = true;
		return compute_failed(buf_span(&r->payload), err);
	}
	return 0;
}

static int replies_unexpected(const struct replies *r, struct error *err)
{
	return FAIL(err, ERROR_SYSTEM, "the agent sent a message of type %u out of order", r->type);
}

static int take_reply(struct replies *r, struct arena *a, const struct compute_call *call,
                      struct error *err)
{
	bool is_one = !call->on_reply;

	if (r->type != call->reply_type || !call->reply_shape || (is_one && r->count > 0))
		return replies_unexpected(r, err);
	if (++r->count > REPLIES_MAX || r->bytes > REPLY_BYTES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "the agent's answer is too long");
	if (wire_decode(a, buf_span(&r->payload), call->reply_shape, call->reply, call->reply_size,
	                err) < 0)
		return FAIL_CONTEXT(err, "agent");
	/* The only reply that no DONE follows. */
	r->ended = r->type == AGENT_PONG;
	return is_one ? 0 : call->on_reply(call->context, call->reply, err);
}

static int take_done(struct replies *r, struct arena *a, const struct compute_call *call,
                     struct error *err)
{
	struct agent_done done;

	if (wire_decode(a, buf_span(&r->payload), agent_done_shape, &done, sizeof(done), err) < 0)
		return FAIL_CONTEXT(err, "agent");
	if (call->done)
		*call->done = done;
	r->ended = true;
	return 0;
}

static int take_replies(struct replies *r, struct arena *a, const struct compute_call *call,
                        struct error *err)
{
	while (!r->ended) {
		if (replies_next(r, err) < 0)
			return -1;
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
	AUTO(replies_done) struct replies r = {
	        .fd = -1,
	        .deadline = deadline,
	        .payload = BUF(WIRE_PAYLOAD_MAX),
	};

	struct compute_request request = {call->type, call->shape, call->message};

	if (compute_open(p, id, &request, deadline, &r.fd, err) < 0)
		return -1;
	int ret = take_replies(&r, a, call, err);
	if (r.ended)
		compute_give_back(p, id, r.fd);
	else
		close(r.fd);
	return ret;
}

int compute_start(struct provider *p, const char *id, const struct compute_start *start,
                  struct agent_process *ret, struct error *err)
{
	const struct compute_call call = {
	        .type = AGENT_EXEC,
	        .shape = agent_exec_shape,
	        .message = start->exec,
	        .reply_type = AGENT_STARTED,
	        .reply_shape = agent_process_shape,
	        .reply = ret,
	        .reply_size = sizeof(*ret),
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

/* ---- the agent's processes ---- */

struct walk {
	compute_process *each;
	void *context;
	unsigned seen;
};

static int on_process(void *context, const void *reply, struct error *err)
{
	struct walk *w = context;

	if (++w->seen > COMPUTE_PROCESSES_MAX)
		return FAIL(err, ERROR_LIMIT, "the sandbox tells of too many processes");
	w->each(w->context, reply);
	return 0;
}

int compute_processes(struct provider *p, const char *id, compute_process *each, void *context,
                      int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct walk walk = {.each = each, .context = context};
	struct agent_process process;
	const struct compute_call call = {
	        .type = AGENT_PROCESSES,
	        .reply_type = AGENT_PROCESS,
	        .reply_shape = agent_process_shape,
	        .reply = &process,
	        .reply_size = sizeof(process),
	        .on_reply = on_process,
	        .context = &walk,
	};

	return compute_call(p, id, &arena, &call, deadline, err);
}

/* ---- a command, run to its end ---- */

struct collector {
	const struct compute_run *run;
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
	for (unsigned i = 0; i < 2; i++)
		result->out[i] =
		        (struct span){arena_copy(c->arena, buf_span(&c->out[i])), c->out[i].size};
	return 0;
}

static int collect(struct replies *r, struct collector *c, struct error *err)
{
	while (!r->ended) {
		if (replies_next(r, err) < 0)
			return -1;
		int ret = 0;
		if (r->type == AGENT_OUTPUT)
			ret = collect_output(c, buf_span(&r->payload), err);
		else if (r->type == AGENT_EXIT)
			ret = collect_exit(c, buf_span(&r->payload), err);
		else if (r->type != AGENT_STARTED)
			ret = replies_unexpected(r, err);
		if (ret < 0)
			return -1;
		r->ended = r->type == AGENT_EXIT;
	}
	return 0;
}

int compute_run(struct provider *p, const char *id, struct arena *a, const struct compute_run *run,
                struct compute_result *ret, struct error *err)
{
	AUTO(replies_done) struct replies r = {
	        .fd = -1,
	        .deadline = run->deadline,
	        .cancel = run->cancel,
	        .payload = BUF(WIRE_PAYLOAD_MAX),
	};
	struct compute_result result = {0};
	AUTO(collector_done) struct collector collector = {
	        .run = run,
	        .arena = a,
	        .out = {BUF(run->out_max), BUF(run->out_max)},
	        .result = &result,
	};
	struct agent_exec exec = *run->exec;
	struct compute_request request = {AGENT_EXEC, agent_exec_shape, &exec};

	/* Closing the connection, as a deadline that passed does, must not leave it running. */
	exec.flags |= AGENT_EXEC_END_ON_CLOSE;
	if (compute_open(p, id, &request, run->deadline, &r.fd, err) < 0)
		return -1;
	int failed = collect(&r, &collector, err);
	if (r.ended)
		compute_give_back(p, id, r.fd);
	else
		close(r.fd);
	if (failed == 0)
		*ret = result;
	return failed;
}
