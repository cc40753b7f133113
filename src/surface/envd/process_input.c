/* SPDX-License-Identifier: Apache-2.0 */
/* process.Process/{SendInput,StreamInput}: bytes for a process's standard input or terminal. If the
 * process does not read them, the call waits without a worker. */
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "edge/target.h"
#include "edge/text.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "surface/envd/connect.h"
#include "surface/envd/connect_stream.h"
#include "surface/envd/envd.h"
#include "wire/agent.h"

#define BODY_MAX_BYTES ((size_t)6 * 1024 * 1024)
#define STREAM_MAX_BYTES ((size_t)1 << 40)
#define PENDING_MAX (CONNECT_MESSAGE_MAX + CONNECT_HEAD_SIZE)
#define TICK_MS 1000

struct input_stream {
	struct stream stream;
	struct buf pending; /* an incomplete envelope */
	struct buf texts;   /* the tag that the first message names */
	uint64_t process;
	int64_t end_ms;   /* monotonic; 0 = never */
	unsigned waiting; /* messages without an answer from the agent */
	bool is_stream, is_tty, is_over;
	bool finds; /* the agent is sending the list of processes */
	bool body_ended;
	int64_t pid; /* the pid that the first message names */
	struct agent_process found;
	bool has_found;
};

static struct input_stream *input_stream_of(struct stream *s)
{
	return CONTAINER_OF(s, struct input_stream, stream);
}

static void input_stream_done(struct stream *s)
{
	buf_done(&input_stream_of(s)->pending);
	buf_done(&input_stream_of(s)->texts);
}

static void finish_reply(struct input_stream *i, struct relay *relay, const struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	i->stream.ended = err == NULL;
	i->is_over = true;
	if (i->is_stream && !err) {
		size_t begun = connect_begin_envelope(&out);

		buf_add_text(&out, "{}");
		connect_end_envelope(&out, begun, 0);
	}
	if (i->is_stream)
		connect_write_end(&out, err);
	if (i->is_stream)
		relay_answer(relay, 200, CONNECT_STREAM_TYPE, buf_span(&out));
	else if (err)
		relay_fail(relay, err);
	else
		relay_answer(relay, 200, "application/json", SPAN("{}"));
}

static void answer_finished_input(struct input_stream *i, struct relay *relay)
{
	if (!i->is_over && i->body_ended && i->waiting == 0 && !i->finds)
		finish_reply(i, relay, NULL);
}

static int feed_bytes(struct input_stream *i, struct relay *relay, struct span bytes,
                      struct error *err)
{
	while (bytes.size > 0) {
		const struct agent_feed message = {.process = i->process,
		                                   .bytes = span_take(&bytes, AGENT_DATA_MAX)};

		if (stream_send(relay, AGENT_FEED, agent_feed_shape, &message, err) < 0)
			return -1;
		i->waiting++;
	}
	return 0;
}

/* {"stdin":"…"} or {"pty":"…"}, whichever the process has. */
static int bytes_of(struct arena *a, const struct json_value *input, bool is_tty, struct span *ret,
                    struct error *err)
{
	const char *text = json_text(json_get(input, is_tty ? "pty" : "stdin"), NULL);

	if (!text && json_text(json_get(input, is_tty ? "stdin" : "pty"), NULL))
		return FAIL(err, ERROR_CONFLICT, "the process has %s terminal",
		            is_tty ? "a" : "no");
	if (!text) {
		*ret = (struct span){NULL, 0};
		return 0;
	}
	return text_read_bytes(a, span_of(text), ret, err);
}

static int take_message(struct input_stream *i, struct relay *relay, struct span text,
                        struct error *err)
{
	struct arena *a = &i->stream.arena;
	const struct json_value *message, *start, *input;
	struct span bytes;
	const char *tag;

	if (json_load(a, text.size ? text : SPAN("{}"), &message, err) < 0)
		return -1;
	start = json_get(message, "start");
	input = json_get(json_get(message, "data"), "input");
	if (start) {
		if (i->process || i->finds)
			return FAIL(err, ERROR_INVALID, "the stream has begun already");
		start = json_get(start, "process");
		i->pid = json_whole(json_get(start, "pid"), 0);
		tag = json_text(json_get(start, "tag"), NULL);
		if (i->pid <= 0 && !tag)
			return FAIL(err, ERROR_INVALID, "process has neither a pid nor a tag");
		if (tag)
			buf_add_text(&i->texts, tag);
		i->finds = true;
		return stream_send(relay, AGENT_PROCESSES, NULL, NULL, err);
	}
	if (!input)
		return 0; /* a keepalive */
	if (!i->process)
		return FAIL(err, ERROR_INVALID, "the first message names no process");
	if (bytes_of(a, input, i->is_tty, &bytes, err) < 0)
		return -1;
	return feed_bytes(i, relay, bytes, err);
}

/* Takes all complete messages. While the search for the process runs, they wait. */
static int take_messages(struct input_stream *i, struct relay *relay, struct error *err)
{
	struct span rest = buf_span(&i->pending), message;
	unsigned flags;
	int result = 0;

	while (!i->finds && (result = connect_take_envelope(&rest, &flags, &message, err)) > 0) {
		result = flags ? 0 : take_message(i, relay, message, err);
		arena_reset(&i->stream.arena);
		if (result < 0)
			break;
	}
	if (result < 0)
		return -1;
	buf_consume(&i->pending, i->pending.size - rest.size);
	return 0;
}

static int on_client(struct stream *s, struct relay *relay, struct span bytes, bool last,
                     struct error *err)
{
	struct input_stream *i = input_stream_of(s);

	if (i->body_ended || i->is_over)
		return 0;
	buf_add_span(&i->pending, bytes);
	if (i->pending.overflowed)
		(void)FAIL(err, ERROR_TOO_LARGE, "more than %zu bytes of input are waiting",
		           PENDING_MAX);
	if (i->pending.overflowed || take_messages(i, relay, err) < 0) {
		finish_reply(i, relay, err);
		return 0;
	}
	i->body_ended = last;
	answer_finished_input(i, relay);
	return 0;
}

static int end_search(struct input_stream *i, struct relay *relay, struct error *err)
{
	i->finds = false;
	if (!i->has_found || i->found.state != AGENT_PROCESS_RUNNING)
		return FAIL(err, ERROR_NOT_FOUND, "the process was not found");
	i->process = i->found.process;
	i->is_tty = i->found.flags & AGENT_EXEC_TTY;
	if (take_messages(i, relay, err) < 0)
		return -1;
	answer_finished_input(i, relay);
	return 0;
}

static void compare_process(struct input_stream *i, const struct agent_process *p)
{
	bool fits = i->texts.size > 0 ? strcmp(p->label, buf_text(&i->texts)) == 0
	                              : (int64_t)p->pid == i->pid;

	if (!fits || p->flags & AGENT_EXEC_RESIDENT ||
	    (i->has_found && p->state != AGENT_PROCESS_RUNNING))
		return;
	i->found =
	        (struct agent_process){.process = p->process, .state = p->state, .flags = p->flags};
	i->has_found = true;
}

static int take_reply(struct input_stream *i, struct relay *relay, uint16_t type,
                      struct span payload, struct error *err)
{
	struct agent_process p;

	if (type == AGENT_FAILED)
		return compute_failed(payload, err);
	if (i->finds && type == AGENT_PROCESS) {
		if (stream_decode(&i->stream, payload, agent_process_shape, &p, sizeof(p), err) < 0)
			return -1;
		compare_process(i, &p);
		return 0;
	}
	if (i->finds && type == AGENT_DONE)
		return end_search(i, relay, err);
	if (type != AGENT_DONE || i->waiting == 0)
		return stream_unexpected(type, err);
	i->waiting--;
	answer_finished_input(i, relay);
	return 0;
}

static int on_message(struct stream *s, struct relay *relay, uint16_t type, struct span payload,
                      struct error *err)
{
	if (!input_stream_of(s)->is_over &&
	    take_reply(input_stream_of(s), relay, type, payload, err) < 0)
		finish_reply(input_stream_of(s), relay, err);
	return 0;
}

static void on_tick(struct stream *s, struct relay *relay)
{
	struct input_stream *i = input_stream_of(s);
	struct error late;

	if (i->is_over || !i->end_ms || clock_monotonic_ms() < i->end_ms)
		return;
	(void)FAIL(&late, ERROR_TIMEOUT, "the process does not read its input");
	finish_reply(i, relay, &late);
}

static const struct stream_ops send_ops = {
        .size = sizeof(struct input_stream),
        .on_message = on_message,
        .on_tick = on_tick,
        .done = input_stream_done,
        .takes_failures = true,
};
static const struct stream_ops stream_ops = {
        .size = sizeof(struct input_stream),
        .on_message = on_message,
        .on_client = on_client,
        .on_tick = on_tick,
        .done = input_stream_done,
        .takes_failures = true,
};

static int connect_agent(struct request *rq, const struct api_target *t, int *ret_fd,
                         struct error *err)
{
	if (provider_require(t->provider, PROVIDER_CAN_EXEC, err) < 0)
		return -1;
	return compute_connect(t->provider, t->id, rq->deadline, ret_fd, err);
}

static struct input_stream *input_new(const struct stream_ops *ops, struct api_target *t,
                                      int64_t timeout_ms)
{
	struct input_stream *i = input_stream_of(stream_new(ops, t->hold));

	i->pending = BUF(PENDING_MAX);
	i->texts = BUF(4096);
	i->end_ms = timeout_ms ? clock_monotonic_ms() + timeout_ms : 0;
	return i;
}

/* Encodes the bytes as frames; the agent answers each with a DONE. */
static int add_frames(struct buf *out, uint64_t process, struct span bytes, unsigned *ret_count,
                      struct error *err)
{
	while (bytes.size > 0) {
		const struct agent_feed message = {.process = process,
		                                   .bytes = span_take(&bytes, AGENT_DATA_MAX)};

		if (wire_encode(out, AGENT_FEED, agent_feed_shape, &message, err) < 0)
			return -1;
		++*ret_count;
	}
	return 0;
}

static int send_input(struct request *rq, struct reply *reply, struct api_target *t,
                      UNUSED const void *unused, struct error *err)
{
	AUTO(buf_done) struct buf frames = BUF(2 * BODY_MAX_BYTES);
	struct stream_options options = {.fd = -1, .tick_ms = TICK_MS};
	const struct json_value *body;
	struct input_stream *i;
	struct agent_process p;
	struct span bytes;
	int64_t timeout_ms;
	unsigned count = 0;

	if (envd_read_json(rq, &body, err) < 0 ||
	    connect_timeout_parse(request_header(rq, "Connect-Timeout-Ms"), &timeout_ms, err) < 0 ||
	    envd_process_find(rq, t, json_get(body, "process"), &p, err) < 0)
		return -1;
	if (p.state != AGENT_PROCESS_RUNNING)
		return FAIL(err, ERROR_NOT_FOUND, "process with pid %u not found", p.pid);
	if (bytes_of(rq->arena, json_get(body, "input"), p.flags & AGENT_EXEC_TTY, &bytes, err) <
	            0 ||
	    add_frames(&frames, p.process, bytes, &count, err) < 0)
		return -1;
	if (count == 0) {
		buf_add_text(reply_buf(reply, "application/json"), "{}");
		return 0;
	}
	if (connect_agent(rq, t, &options.fd, err) < 0)
		return -1;
	i = input_new(&send_ops, t, timeout_ms);
	i->waiting = count;
	i->body_ended = true;
	options.upstream_first = buf_span(&frames);
	stream_start(&i->stream, reply, &options);
	return 0;
}

static int handle_send_input(struct request *rq, UNUSED const void *body, struct reply *reply,
                             struct error *err)
{
	return envd_call_run(rq, reply, &(struct envd_call){envd_target_open, send_input}, err);
}

static int stream_input(struct request *rq, struct reply *reply, struct api_target *t,
                        struct error *err)
{
	struct stream_options options = {.fd = -1, .tick_ms = TICK_MS};
	const char *type = request_header(rq, "Content-Type");
	struct input_stream *i;
	int64_t timeout_ms;

	if (!type || strncasecmp(type, CONNECT_STREAM_TYPE, sizeof(CONNECT_STREAM_TYPE) - 1) != 0)
		return FAIL(err, ERROR_INVALID, "the body is not " CONNECT_STREAM_TYPE);
	if (connect_timeout_parse(request_header(rq, "Connect-Timeout-Ms"), &timeout_ms, err) < 0 ||
	    connect_agent(rq, t, &options.fd, err) < 0)
		return -1;
	i = input_new(&stream_ops, t, timeout_ms);
	i->is_stream = true;
	stream_start(&i->stream, reply, &options);
	return 0;
}

static int handle_stream_input(struct request *rq, UNUSED const void *body, struct reply *reply,
                               struct error *err)
{
	return connect_stream_run(rq, reply, stream_input, err);
}

#define FLAGS (ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_HIDDEN)
#define ROW(name, flags_, max_, handle_)                                                           \
	{                                                                                          \
		.method = HTTP_POST, .path = "/process.Process/" name, .flags = FLAGS | (flags_),  \
		.body_max = (max_), .handle = (handle_), .tag = CONNECT_TAG,                       \
		.summary = "process." name                                                         \
	}
const struct route envd_input_routes[] = {
        ROW("SendInput", 0, BODY_MAX_BYTES, handle_send_input),
        ROW("StreamInput", ROUTE_STREAM_BODY, STREAM_MAX_BYTES, handle_stream_input),
        {.path = NULL},
};
