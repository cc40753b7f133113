/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/processes and /logs — processes that earlier calls started. */
#include <inttypes.h>
#include <signal.h>

#include "account/account.h"
#include "calls/command.h"
#include "calls/process_answer.h"
#include "calls/shapes.h"
#include "calls/stream.h"
#include "config/config.h"
#include "edge/target.h"
#include "json/write.h"
#include "provider/compute.h"
#include "surface/native/native.h"
#include "wire/agent_cause.h"

#define BASE "/api/sandbox/instances/:id/processes"

static const struct json_member process_list_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &process_shape),
};
static JSON_SHAPE(process_list, "ProcessList", list_answer, "Processes, oldest first");

struct process_scan {
	struct buf *out;
	uint64_t wanted; /* 0: all */
	uint64_t newest;
	struct agent_process last; /* the last process counted; its texts are no longer valid */
	unsigned count;
};

static void scan_process(void *context, const struct agent_process *p)
{
	struct process_scan *g = context;

	if (p->process > g->newest)
		g->newest = p->process;
	if (g->wanted && p->process != g->wanted)
		return;
	if (g->out) {
		json_add_name(g->out, NULL);
		process_write(g->out, p);
	}
	g->last = *p;
	g->count++;
}

static int list_processes(struct request *rq, const struct api_target *t, struct process_scan *g,
                          struct error *err)
{
	return compute_processes(t->provider, t->id, scan_process, g, rq->deadline, err);
}

static int processes_list(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct process_scan g = {.out = reply_buf(reply, "application/json")};

	(void)body;
	json_begin_object(g.out, NULL);
	json_begin_list(g.out, "items");
	if (api_target_open(rq, &t, err) < 0 || list_processes(rq, &t, &g, err) < 0)
		return -1;
	json_end_list(g.out);
	json_end_object(g.out);
	return 0;
}

static int parse_process_number(struct request *rq, uint64_t *ret, struct error *err)
{
	int64_t number;

	if (span_parse_whole(span_of(request_param(rq, "process")), 1, INT64_MAX, &number, err) < 0)
		return FAIL_CONTEXT(err, "process");
	*ret = (uint64_t)number;
	return 0;
}

static int process_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct process_scan g = {.out = reply_buf(reply, "application/json")};

	(void)body;
	if (parse_process_number(rq, &g.wanted, err) < 0 || api_target_open(rq, &t, err) < 0 ||
	    list_processes(rq, &t, &g, err) < 0)
		return -1;
	if (g.count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "there is no process %" PRIu64, g.wanted);
	return 0;
}

struct stdin_feed {
	struct stream stream;
	uint64_t process, bytes;
	unsigned waiting; /* messages that the agent has not answered yet */
	bool end, body_ended;
};

static void reply_feed_count(struct stdin_feed *f, struct relay *relay)
{
	AUTO(buf_done) struct buf out = BUF(64);

	if (!f->body_ended || f->waiting > 0)
		return;
	f->stream.ended = true;
	json_begin_object(&out, NULL);
	json_add_whole(&out, "count", (int64_t)f->bytes);
	json_end_object(&out);
	relay_answer(relay, 200, "application/json", buf_span(&out));
}

static int feed_send(struct stdin_feed *f, struct relay *relay, struct span bytes, bool end,
                     struct error *err)
{
	struct agent_feed message = {.process = f->process, .end = end, .bytes = bytes};

	f->waiting++;
	f->bytes += bytes.size;
	return stream_send(relay, AGENT_FEED, agent_feed_shape, &message, err);
}

static int feed_on_client(struct stream *s, struct relay *relay, struct span bytes, bool last,
                          struct error *err)
{
	struct stdin_feed *f = CONTAINER_OF(s, struct stdin_feed, stream);

	while (bytes.size > 0)
		if (feed_send(f, relay, span_take(&bytes, AGENT_DATA_MAX), false, err) < 0)
			return -1;
	if (!last || f->body_ended)
		return 0;
	f->body_ended = true;
	if (f->end && feed_send(f, relay, (struct span){NULL, 0}, true, err) < 0)
		return -1;
	reply_feed_count(f, relay);
	return 0;
}

static int feed_on_message(struct stream *s, struct relay *relay, uint16_t type,
                           struct span payload, struct error *err)
{
	struct stdin_feed *f = CONTAINER_OF(s, struct stdin_feed, stream);

	(void)payload;
	if (type != AGENT_DONE || f->waiting == 0)
		return stream_unexpected(type, err);
	f->waiting--;
	reply_feed_count(f, relay);
	return 0;
}

static const struct stream_ops stdin_feed_ops = {
        .size = sizeof(struct stdin_feed),
        .on_message = feed_on_message,
        .on_client = feed_on_client,
};

struct stdin_query {
	bool end;
};
static const struct json_member stdin_query_members[] = {
        JSON_BOOL_MEMBER(stdin_query, end, .about = "close standard input after these bytes"),
};
static JSON_SHAPE(stdin_query, "StdinQuery", stdin_query, "Options of an input");

static int process_stdin(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct stdin_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct stream_options options = {.fd = -1};
	uint64_t process;
	struct stdin_feed *f;

	(void)body;
	if (parse_process_number(rq, &process, err) < 0 || api_target_open(rq, &t, err) < 0)
		return -1;
	/* Each piece is a request of its own, so the connection is opened without a request. */
	if (compute_connect(t.provider, t.id, rq->deadline, &options.fd, err) < 0)
		return -1;
	f = CONTAINER_OF(stream_new(&stdin_feed_ops, t.hold), struct stdin_feed, stream);
	f->process = process;
	f->end = q->end;
	stream_start(&f->stream, reply, &options);
	return 0;
}

struct process_signal_body {
	const char *signal;
	bool tree;
};
static const struct json_member signal_request_members[] = {
        JSON_TEXT_MEMBER(process_signal_body, signal, .flags = JSON_REQUIRED, .max = 16,
                         .about = "SIGTERM, TERM or 15"),
        JSON_BOOL_MEMBER(
                process_signal_body, tree,
                .about = "signal all processes that it started, not only its process group"),
};
static JSON_SHAPE(signal_request, "Signal", process_signal_body, "A signal for a process");

static int send_signal(struct request *rq, const struct api_target *t, uint16_t type,
                       const struct agent_signal *message, struct error *err)
{
	return compute_signal(t->provider, t->id, type, message, rq->deadline, err);
}

static int process_signal(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct process_signal_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct agent_signal message = {.whole_tree = b->tree};

	if (parse_process_number(rq, &message.process, err) < 0 ||
	    agent_signal_parse(b->signal, &message.signal, err) < 0 ||
	    api_target_open(rq, &t, err) < 0 ||
	    send_signal(rq, &t, AGENT_SIGNAL, &message, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

static int await_process_end(struct request *rq, const struct api_target *t,
                             const struct process_scan *g, struct error *err)
{
	const struct compute_wait wait = {
	        .process = g->wanted,
	        .since = {g->last.output_end[0], g->last.output_end[1]},
	        .deadline = rq->deadline,
	};

	return compute_await_end(t->provider, t->id, &wait, err);
}

/* Kills a running process, waits for its end, and deletes its output. */
static int process_delete(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct agent_signal message = {.signal = SIGKILL, .whole_tree = 1};
	struct process_scan g = {.out = NULL};

	(void)body;
	if (parse_process_number(rq, &message.process, err) < 0 || api_target_open(rq, &t, err) < 0)
		return -1;
	g.wanted = message.process;
	if (list_processes(rq, &t, &g, err) < 0)
		return -1;
	if (g.count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "there is no process %" PRIu64, g.wanted);
	if (g.last.state == AGENT_PROCESS_RUNNING &&
	    (send_signal(rq, &t, AGENT_SIGNAL, &message, err) < 0 ||
	     await_process_end(rq, &t, &g, err) < 0))
		return -1;
	if (send_signal(rq, &t, AGENT_FORGET, &message, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

struct process_wait_query {
	int64_t timeout_ms, output_limit_bytes;
};
static const struct json_member process_wait_query_members[] = {
        JSON_WHOLE_MEMBER(process_wait_query, timeout_ms, .min = 0, .max = 3600 * 1000,
                          .about = "answer 504 if the process still runs after this time; 0: wait "
                                   "without limit"),
        JSON_WHOLE_MEMBER(process_wait_query, output_limit_bytes, .min = 1,
                          .max = CONFIG_OUTPUT_LIMIT_MAX, .name = "outputLimitBytes",
                          .about = "bytes that are kept of each stream"),
};
static JSON_SHAPE(process_wait_query, "WaitQuery", process_wait_query, "Options of a wait");

static int process_wait(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct process_wait_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct command_attach attach = {
	        .form = OUTPUT_RESULT,
	        .follow = true,
	        .wait_ms = q->timeout_ms,
	        .output_limit = q->output_limit_bytes,
	};

	(void)body;
	if (parse_process_number(rq, &attach.process, err) < 0 || api_target_open(rq, &t, err) < 0)
		return -1;
	return command_attach(rq, &t, &attach, reply, err);
}

struct process_stream_query {
	const char *stream, *since;
	int64_t since_stdout, since_stderr, process;
	bool follow;
	uint64_t present;
};
enum { STREAM_FOLLOW };
static const struct json_member process_stream_query_members[] = {
        [STREAM_FOLLOW] = JSON_BOOL_MEMBER(process_stream_query, follow,
                                           .about = "true (default): stream until the process "
                                                    "ends; false: return the existing output"),
        JSON_TEXT_MEMBER(
                process_stream_query, stream, .max = 16,
                .about = "sse, ndjson or text; without it the header Accept decides; default sse"),
        JSON_TEXT_MEMBER(
                process_stream_query, since, .max = 64,
                .about = "\"STDOUT.STDERR\" of the last event; same as the header Last-Event-ID"),
        JSON_WHOLE_MEMBER(process_stream_query, since_stdout, .min = 0,
                          .about = "offset of the first byte of stdout"),
        JSON_WHOLE_MEMBER(process_stream_query, since_stderr, .min = 0),
};
static JSON_BITS_SHAPE(process_stream_query, "StreamQuery", process_stream_query, NULL);
static const struct json_member logs_query_members[] = {
        [STREAM_FOLLOW] = JSON_BOOL_MEMBER(process_stream_query, follow,
                                           .about = "stream until the process ends"),
        JSON_TEXT_MEMBER(
                process_stream_query, stream, .max = 16,
                .about = "text, sse or ndjson; without it the header Accept decides; default text"),
        JSON_TEXT_MEMBER(process_stream_query, since, .max = 64, .about = "as for …/stream"),
        JSON_WHOLE_MEMBER(process_stream_query, since_stdout, .min = 0),
        JSON_WHOLE_MEMBER(process_stream_query, since_stderr, .min = 0),
        JSON_WHOLE_MEMBER(process_stream_query, process, .min = 1,
                          .about = "number of the process (default: the newest)"),
};
static JSON_BITS_SHAPE(logs_query, "LogsQuery", process_stream_query, NULL);

static int fill_attach(struct request *rq, enum output_form fallback, struct command_attach *a,
                       struct error *err)
{
	const struct process_stream_query *q = rq->query;
	const char *last = request_header(rq, "Last-Event-ID"), *since = q->since ? q->since : last;

	if (output_form_parse(q->stream, request_header(rq, "Accept"), fallback, &a->form, err) < 0)
		return -1;
	if (a->form == OUTPUT_RESULT)
		a->form = fallback;
	a->since[0] = (uint64_t)q->since_stdout;
	a->since[1] = (uint64_t)q->since_stderr;
	return since ? output_since_parse(span_of(since), a->since, err) : 0;
}

static int process_stream(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct process_stream_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct command_attach attach = {
	        .follow = !row_is_given(q->present, STREAM_FOLLOW) || q->follow,
	};

	(void)body;
	if (parse_process_number(rq, &attach.process, err) < 0 ||
	    fill_attach(rq, OUTPUT_SSE, &attach, err) < 0 || api_target_open(rq, &t, err) < 0)
		return -1;
	return command_attach(rq, &t, &attach, reply, err);
}

static int sandbox_logs(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct process_stream_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct command_attach attach = {.follow = q->follow, .process = (uint64_t)q->process};
	struct process_scan g = {.wanted = attach.process};

	(void)body;
	if (fill_attach(rq, OUTPUT_TEXT, &attach, err) < 0 || api_target_open(rq, &t, err) < 0 ||
	    list_processes(rq, &t, &g, err) < 0)
		return -1;
	if (g.count == 0 && g.wanted)
		return FAIL(err, ERROR_NOT_FOUND, "there is no process %" PRIu64, g.wanted);
	if (g.count == 0) {
		reply_text(reply, output_content_type(attach.form), (struct span){NULL, 0});
		return 0;
	}
	if (!attach.process)
		attach.process = g.newest;
	return command_attach(rq, &t, &attach, reply, err);
}

#define TAG .tag = "processes"
const struct route processes_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &process_list, .handle = processes_list, TAG,
         .summary = "List the processes of a sandbox, including ended ones"},
        {HTTP_GET, BASE "/:process", SCOPE_SANDBOX_READ, .answer = &process_shape,
         .handle = process_get, TAG, .summary = "Get a process"},
        {HTTP_DELETE, BASE "/:process", SCOPE_SANDBOX_WRITE, ROUTE_CANCEL, .status = 204,
         .handle = process_delete, TAG, .summary = "Kill a process and forget its output"},
        {HTTP_POST, BASE "/:process/stdin", SCOPE_SANDBOX_WRITE, ROUTE_STREAM_BODY,
         .query = &stdin_query, .answer = &count_shape, .handle = process_stdin, TAG,
         .summary = "Write the request's body to a process's standard input"},
        {HTTP_POST, BASE "/:process/signal", SCOPE_SANDBOX_WRITE, .body = &signal_request,
         .status = 204, .handle = process_signal, TAG, .summary = "Send a signal to a process"},
        {HTTP_GET, BASE "/:process/wait", SCOPE_SANDBOX_READ, .query = &process_wait_query,
         .answer = &result_shape, .handle = process_wait, TAG,
         .summary = "Wait for the end of a process and get the collected result"},
        {HTTP_GET, BASE "/:process/stream", SCOPE_SANDBOX_READ, .query = &process_stream_query,
         .handle = process_stream, TAG, .summary = "Stream the output of a process from an offset"},
        {HTTP_GET, "/api/sandbox/instances/:id/logs", SCOPE_SANDBOX_READ, .query = &logs_query,
         .handle = sandbox_logs, TAG,
         .summary = "Get the output of a process, by default of the newest one"},
        {.path = NULL},
};
