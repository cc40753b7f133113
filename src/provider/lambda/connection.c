/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as an agent would: a command becomes an invocation. All of it runs on the thread of
 * http/client/async.h, but for lambda_connect and lambda_connections_end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "http/client/async.h"
#include "loop/loop.h"
#include "provider/lambda/lambda.h"
#include "wire/agent.h"

#define CONNECTIONS_MAX 4096
#define READ_SIZE 65536
#define ROOM ((size_t)2 * (WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX))
#define BODY_MAX ((size_t)6 * 1000 * 1000) /* the service's limit of a request */
#define ANSWER_MAX ((size_t)2 * 1024 * 1024)
#define TRIES_MAX 4

enum lambda_phase {
	LAMBDA_WAITS,   /* for a request */
	LAMBDA_GATHERS, /* the standard input of its command */
	LAMBDA_RESTS,   /* until the service allows another call */
	LAMBDA_INVOKES,
	LAMBDA_IS_OVER, /* it answers no more: its socket is closed, and a call may be under way */
};

struct lambda_connection {
	struct list item;
	struct lambda *lambda;
	struct lambda_sandbox sandbox;
	struct loop_task begin;
	struct loop_timer timer;
	int fd; /* our end of the pair */
	struct loop_watch *watch;
	struct buf in, out;
	enum lambda_phase phase;
	/* Of the command: */
	struct arena arena;
	struct agent_exec exec;
	struct buf input;
	struct lambda_settings *settings;
	struct lambda_call call;
	struct buf body;
	struct agent_process process;
	bool is_told; /* STARTED was sent */
	unsigned tries;
	uint64_t process_last;
};

static void forget_command(struct lambda_connection *c)
{
	buf_done(&c->body);
	buf_done(&c->input);
	lambda_settings_release(TAKE(c->settings));
	arena_reset(&c->arena);
}

static void free_connection(struct lambda_connection *c)
{
	list_remove(&c->item);
	loop_timer_stop(http_async_loop(c->lambda->http), &c->timer);
	loop_watch_free(c->watch);
	fd_forget(&c->fd);
	forget_command(c);
	arena_done(&c->arena);
	buf_done(&c->in);
	buf_done(&c->out);
	atomic_fetch_sub(&c->lambda->connection_count, 1);
	free(c);
}

/* An invocation under way keeps the memory until its answer comes. */
static void close_connection(struct lambda_connection *c)
{
	if (c->phase != LAMBDA_INVOKES) {
		free_connection(c);
		return;
	}
	c->phase = LAMBDA_IS_OVER;
	loop_watch_free(TAKE(c->watch));
	fd_forget(&c->fd);
}

static void answer_message(struct lambda_connection *c, uint16_t type,
                           const struct wire_member *shape, const void *message)
{
	struct error ignored = {0};

	/* What does not fit is an end without an answer: send_answers sees the overflow. */
	if (wire_encode(&c->out, type, shape, message, &ignored) < 0)
		c->out.overflowed = true;
}

static void answer_failed(struct lambda_connection *c, const struct error *err)
{
	const struct agent_failed failed = agent_failed_of(err);

	answer_message(c, AGENT_FAILED, agent_failed_shape, &failed);
}

static void fail_command(struct lambda_connection *c, const struct error *err)
{
	answer_failed(c, err);
	forget_command(c);
	c->phase = LAMBDA_WAITS;
}

static void answer_started(struct lambda_connection *c)
{
	if (!c->is_told)
		answer_message(c, AGENT_STARTED, agent_process_shape, &c->process);
	c->is_told = true;
}

static void answer_stream(struct lambda_connection *c, enum agent_stream stream, struct span bytes)
{
	struct agent_output output = {.stream = stream};

	while (bytes.size > 0) {
		output.bytes = span_take(&bytes, AGENT_DATA_MAX);
		answer_message(c, AGENT_OUTPUT, agent_output_shape, &output);
		output.offset += output.bytes.size;
	}
}

static void answer_result(struct lambda_connection *c, const struct lambda_result *result)
{
	answer_started(c);
	answer_stream(c, AGENT_STDOUT, result->out[0]);
	answer_stream(c, AGENT_STDERR, result->out[1]);
	c->process.state = AGENT_PROCESS_ENDED;
	c->process.exit_code = result->exit_code;
	c->process.signal = (uint32_t)result->signal;
	c->process.timed_out = result->timed_out;
	c->process.duration_ms = (uint64_t)result->duration_ms;
	c->process.output_end[0] = (uint64_t)result->bytes[0];
	c->process.output_end[1] = (uint64_t)result->bytes[1];
	answer_message(c, AGENT_EXIT, agent_process_shape, &c->process);
	forget_command(c);
	c->phase = LAMBDA_WAITS;
}

static void pump_connection(struct lambda_connection *c);
static void begin_invocation(struct lambda_connection *c);

static void on_rested(void *context)
{
	struct lambda_connection *c = context;

	begin_invocation(c);
	pump_connection(c);
}

static void rest_connection(struct lambda_connection *c, int64_t pause_ms)
{
	c->phase = LAMBDA_RESTS;
	loop_timer_start(http_async_loop(c->lambda->http), &c->timer, pause_ms);
}

/* 0: the call is made again after the service's pause. */
static int obey_limit(struct lambda_connection *c, const struct error *err)
{
	if (err->retry_after_s == 0)
		return -1;
	lambda_limit_note(c->lambda, INT64_C(1000) * err->retry_after_s);
	if (c->tries >= TRIES_MAX || INT64_C(1000) * err->retry_after_s > LAMBDA_PAUSE_MAX_MS)
		return -1;
	rest_connection(c, INT64_C(1000) * err->retry_after_s);
	return 0;
}

static void on_answer(void *context, struct http_async_answer *answer, const struct error *failure)
{
	struct lambda_connection *c = context;
	struct lambda_result result;
	struct error err = {0};

	if (c->phase == LAMBDA_IS_OVER) {
		free_connection(c);
		return;
	}
	if (failure) {
		err = *failure;
		(void)FAIL_CONTEXT(&err, "AWS Lambda");
		fail_command(c, &err);
	} else if (lambda_answer_read(&c->arena, &c->call, answer, &result, &err) == 0) {
		answer_result(c, &result);
	} else if (obey_limit(c, &err) < 0) {
		fail_command(c, &err);
	}
	pump_connection(c);
}

/* A long pause fails the call, so that the caller may go elsewhere. */
static int await_limit(struct lambda_connection *c, struct error *err)
{
	int64_t pause_ms = lambda_limit_ms(c->lambda);

	if (pause_ms == 0)
		return 1;
	if (pause_ms > LAMBDA_PAUSE_MAX_MS)
		return FAIL(err, ERROR_UNAVAILABLE,
		            "AWS Lambda allows no more calls of '%s' for %lld ms", c->lambda->name,
		            (long long)pause_ms);
	rest_connection(c, pause_ms);
	return 0;
}

static void begin_invocation(struct lambda_connection *c)
{
	struct http_async_call http;
	struct error err = {0};
	int status = await_limit(c, &err);

	if (status == 1)
		status = lambda_call_sign(&c->arena, &c->call, &http, &err) < 0 ? -1 : 1;
	if (status < 0)
		fail_command(c, &err);
	if (status != 1)
		return;
	c->tries++;
	c->phase = LAMBDA_INVOKES;
	c->process.started_unix_ms = (uint64_t)clock_unix_ms();
	http_async_call(c->lambda->http, &http, on_answer, c);
}

/* The command is whole. */
static void invoke_function(struct lambda_connection *c)
{
	struct error err = {0};

	if (c->exec.flags & AGENT_EXEC_STDIN)
		c->exec.stdin_bytes = buf_span(&c->input);
	c->body = BUF(BODY_MAX);
	if (lambda_command_write(&c->body, &c->sandbox, &c->exec, &err) < 0) {
		fail_command(c, &err);
		return;
	}
	c->settings = lambda_settings_hold(c->lambda);
	c->call = (struct lambda_call){.settings = c->settings,
	                               .function = lambda_function_of(c->settings, &c->sandbox),
	                               .body = buf_span(&c->body)};
	c->tries = 0;
	if (!*c->call.function) {
		(void)FAIL(&err, ERROR_UNAVAILABLE,
		           "provider '%s' has no function for this call any more", c->lambda->name);
		fail_command(c, &err);
		return;
	}
	begin_invocation(c);
}

static int take_ping(struct lambda_connection *c, UNUSED struct span payload,
                     UNUSED struct error *err)
{
	const struct agent_pong pong = {
	        .protocol = AGENT_PROTOCOL, .connections = 1, .boot_id = c->sandbox.id};

	answer_message(c, AGENT_PONG, agent_pong_shape, &pong);
	return 0;
}

static int take_listing(struct lambda_connection *c, UNUSED struct span payload,
                        UNUSED struct error *err)
{
	answer_message(c, AGENT_DONE, agent_done_shape, &(struct agent_done){0});
	return 0;
}

static int check_command(const struct lambda_connection *c, struct error *err)
{
	const char *name = c->lambda->name;

	if (c->exec.flags & AGENT_EXEC_TTY)
		return FAIL(err, ERROR_UNSUPPORTED, "provider '%s' cannot do this: terminal", name);
	if (c->exec.flags & (AGENT_EXEC_DETACH | AGENT_EXEC_RESIDENT | AGENT_EXEC_SHELL))
		return FAIL(err, ERROR_UNSUPPORTED,
		            "provider '%s' keeps no process after the answer to its call", name);
	if (c->exec.user && *c->exec.user)
		return FAIL(
		        err, ERROR_UNSUPPORTED,
		        "provider '%s' runs commands as the user of its functions, not as '%.60s'",
		        name, c->exec.user);
	return c->exec.args[0] ? 0 : FAIL(err, ERROR_INVALID, "a command without a program");
}

/* The payload is a copy: the texts of the command outlive the frame. */
static int take_command(struct lambda_connection *c, struct span payload, struct error *err)
{
	const struct span copy = {arena_copy(&c->arena, payload), payload.size};

	if (wire_decode(&c->arena, copy, agent_exec_shape, &c->exec, sizeof(c->exec), err) < 0 ||
	    check_command(c, err) < 0)
		return -1;
	c->process = (struct agent_process){
	        .process = ++c->process_last,
	        .pid = 1,
	        .exit_code = -1,
	        .started_unix_ms = (uint64_t)clock_unix_ms(),
	        .flags = c->exec.flags & ~(uint32_t)AGENT_EXEC_WARM,
	        .label = c->exec.label,
	        .cwd = c->exec.cwd,
	        .args = c->exec.args,
	};
	c->is_told = false;
	if (!(c->exec.flags & AGENT_EXEC_STDIN)) {
		invoke_function(c);
		return 0;
	}
	/* The caller sends the input when it knows that the command has started. */
	c->input = BUF(LAMBDA_INPUT_MAX);
	c->phase = LAMBDA_GATHERS;
	answer_started(c);
	return 0;
}

static int take_input(struct lambda_connection *c, struct span payload, struct error *err)
{
	buf_add_span(&c->input, payload);
	if (c->input.overflowed)
		return FAIL(err, ERROR_TOO_LARGE,
		            "provider '%s' takes at most %d bytes of standard input",
		            c->lambda->name, LAMBDA_INPUT_MAX);
	return 0;
}

static int take_input_end(struct lambda_connection *c, UNUSED struct span payload,
                          UNUSED struct error *err)
{
	invoke_function(c);
	return 0;
}

/* What may come after a command has ended, or cannot reach a function. Without an answer. */
static int take_late(UNUSED struct lambda_connection *c, UNUSED struct span payload,
                     UNUSED struct error *err)
{
	return 0;
}

typedef int lambda_take(struct lambda_connection *c, struct span payload, struct error *err);

static lambda_take *const requests[AGENT_TYPE_COUNT] = {
        [AGENT_PING] = take_ping,   [AGENT_EXEC] = take_command,   [AGENT_PROCESSES] = take_listing,
        [AGENT_STDIN] = take_late,  [AGENT_STDIN_END] = take_late, [AGENT_RESIZE] = take_late,
        [AGENT_SIGNAL] = take_late, [AGENT_DETACH] = take_late,    [AGENT_STOP] = take_late,
        [AGENT_DATA] = take_late,   [AGENT_DATA_END] = take_late,
};

static lambda_take *const inputs[AGENT_TYPE_COUNT] = {
        [AGENT_STDIN] = take_input,
        [AGENT_STDIN_END] = take_input_end,
        [AGENT_SIGNAL] = take_late,
        [AGENT_RESIZE] = take_late,
};

static int take_other(struct lambda_connection *c, UNUSED struct span payload, struct error *err)
{
	return FAIL(err, ERROR_UNSUPPORTED,
	            "provider '%s' runs commands only: it has no files, jobs, services, contexts "
	            "or servers inside",
	            c->lambda->name);
}

static void take_request(struct lambda_connection *c, uint16_t type, struct span payload)
{
	lambda_take *const *table = c->phase == LAMBDA_GATHERS ? inputs : requests;
	lambda_take *take = type < AGENT_TYPE_COUNT && table[type] ? table[type] : take_other;
	struct error err = {0};

	if (take(c, payload, &err) < 0)
		fail_command(c, &err);
}

static bool takes_requests(const struct lambda_connection *c)
{
	return c->phase == LAMBDA_WAITS || c->phase == LAMBDA_GATHERS;
}

/* -1: it is malformed. */
static int take_requests(struct lambda_connection *c)
{
	struct span frames = buf_span(&c->in), payload;
	struct error ignored = {0};
	uint16_t type;
	int status = 1;

	while (takes_requests(c) && c->out.size < READ_SIZE &&
	       (status = wire_next(&frames, &type, &payload, NULL, &ignored)) == 1)
		take_request(c, type, payload);
	buf_consume(&c->in, c->in.size - frames.size);
	return status < 0 ? -1 : 0;
}

static bool has_room(const struct lambda_connection *c)
{
	return c->in.size + READ_SIZE <= c->in.size_max;
}

/* 1: some came; 0: none for now; -1: the caller is gone. */
static int receive_bytes(struct lambda_connection *c)
{
	char *room = has_room(c) ? buf_reserve(&c->in, READ_SIZE) : NULL;

	if (!room)
		return 0;
	ssize_t got = recv(c->fd, room, READ_SIZE, MSG_DONTWAIT);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	buf_commit(&c->in, (size_t)got);
	return got > 0 ? 1 : -1;
}

static int send_answers(struct lambda_connection *c)
{
	if (c->out.overflowed)
		return -1;
	while (c->out.size > 0) {
		ssize_t sent = send(c->fd, c->out.data, c->out.size, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		buf_consume(&c->out, (size_t)sent);
	}
	return 0;
}

static void pump_connection(struct lambda_connection *c)
{
	if (take_requests(c) < 0 || send_answers(c) < 0 || take_requests(c) < 0) {
		close_connection(c);
		return;
	}
	loop_watch_set(c->watch, (has_room(c) ? (uint32_t)EPOLLIN : 0) |
	                                 (c->out.size > 0 ? (uint32_t)EPOLLOUT : 0));
}

static void on_ready(void *context, uint32_t events)
{
	struct lambda_connection *c = context;
	int got = 0;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		got = receive_bytes(c);
	if (got < 0 || (events & (EPOLLHUP | EPOLLERR) && got == 0))
		close_connection(c);
	else
		pump_connection(c);
}

static void begin_connection(struct loop_task *task)
{
	struct lambda_connection *c = CONTAINER_OF(task, struct lambda_connection, begin);
	const struct loop_watch_options watch = {
	        .fd = c->fd, .epoll_events = EPOLLIN, .on_ready = on_ready, .context = c};
	struct error err = {0};

	list_append(&c->lambda->connections, &c->item);
	if (loop_watch_add(http_async_loop(c->lambda->http), &watch, &c->watch, &err) < 0)
		free_connection(c);
}

int lambda_connect(struct lambda *l, const struct lambda_sandbox *s, int *ret_fd, struct error *err)
{
	struct lambda_connection *c;
	int ends[2];

	if (atomic_load(&l->connection_count) >= CONNECTIONS_MAX)
		return FAIL(err, ERROR_LIMIT, "provider '%s' has %d calls", l->name,
		            CONNECTIONS_MAX);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	atomic_fetch_add(&l->connection_count, 1);
	c = memory_new(sizeof(*c));
	*c = (struct lambda_connection){.lambda = l,
	                                .sandbox = *s,
	                                .begin.run = begin_connection,
	                                .fd = ends[1],
	                                .in = BUF(ROOM + READ_SIZE),
	                                .out = BUF(ANSWER_MAX)};
	c->timer = (struct loop_timer){.on_timer = on_rested, .context = c};
	list_init(&c->item);
	loop_post(http_async_loop(l->http), &c->begin);
	*ret_fd = ends[0];
	return 0;
}

struct connection_ending {
	struct loop_task task;
	struct lambda *lambda;
	char id[ID_SIZE + 1]; /* "" = all */
};

static void end_connections(struct loop_task *task)
{
	struct connection_ending *e = CONTAINER_OF(task, struct connection_ending, task);

	LIST_EACH (&e->lambda->connections, struct lambda_connection, c, item)
		if (c->phase != LAMBDA_IS_OVER && (!e->id[0] || strcmp(c->sandbox.id, e->id) == 0))
			close_connection(c);
	free(e);
}

void lambda_connections_end(struct lambda *l, const char *id)
{
	struct connection_ending *e = memory_new(sizeof(*e));

	e->task.run = end_connections;
	e->lambda = l;
	(void)snprintf(e->id, sizeof(e->id), "%s", id ? id : "");
	loop_post(http_async_loop(l->http), &e->task);
}
