/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/mcp/calls.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "edge/audit.h"
#include "edge/forward.h"
#include "edge/hooks.h"
#include "http/server/http.h"
#include "http/server/relay.h"
#include "json/write.h"
#include "surface/mcp/client.h"
#include "surface/mcp/mcp.h"
#include "surface/mcp/surface.h"

#define ANSWER_MAX ((size_t)64 << 20)
#define TICK_MS 1000
#define NOTE_MAX 160                    /* bytes of a line of progress */
#define UNSENT_MAX ((size_t)64 * 1024)  /* with more unsent bytes, progress is not sent */
#define DEADLINE_MS 60000               /* the deadline of other requests */
#define OUTBOX_MAX ((size_t)256 * 1024) /* further messages are dropped */
#define LOG_TEXT_MAX 4096
#define CANCELLED (-32800)
#define OWNER_MAX 160
#define STATUS_CLIENT_LEFT 499 /* for the audit: the call was cancelled before it ran */
#define EARLY_COUNT 32
#define EARLY_MS 5000

/* A cancellation that arrived before its call, by another connection. */
struct early_cancellation {
	char owner[OWNER_MAX + 1], id[MCP_ID_MAX + 1];
	int64_t until_ms;
};
struct mcp_calls {
	pthread_mutex_t mutex;
	struct list running;
	struct early_cancellation early[EARLY_COUNT];
	unsigned early_next;
};

/* Held by the thread that runs it and by the relay, on the loop. */
struct mcp_call {
	struct worker_task task;
	atomic_uint holders;
	struct mcp_calls *calls;
	struct list item; /* of calls->running; under its mutex */
	struct arena arena;
	struct request request;
	struct mcp mcp;
	struct cancel cancel;
	struct mcp_headers headers;
	mcp_answer *answer;
	const char *owner;
	struct span id; /* JSON */
	struct api_audit_call audit;
	struct mcp_client client;
	bool ends_with_client, may_pass, has_begun;
	int64_t started_ms;
	int done_fd; /* eventfd: `is_done`, or the outbox is not empty */
	pthread_mutex_t mutex;
	/* Under it: */
	char note[NOTE_MAX + 1];
	struct buf outbox; /* events that the loop has not sent yet */
	/* The thread's, until is_done; then the relay's. */
	atomic_bool is_done;
	struct buf out;
	int status;
	/* The connection to the server that has the sandbox and answers in place of `out`. The call
	 * stays in calls->running until that server has answered, so that it can be cancelled
	 * there.
	 */
	struct api_hop hop;
};

struct mcp_calls *mcp_calls_new(void)
{
	struct mcp_calls *calls = memory_new(sizeof(*calls));

	pthread_mutex_init(&calls->mutex, NULL);
	list_init(&calls->running);
	return calls;
}

void mcp_calls_free(struct mcp_calls *calls)
{
	if (!calls)
		return;
	assert(list_is_empty(&calls->running));
	pthread_mutex_destroy(&calls->mutex);
	free(calls);
}

static bool call_matches(const struct mcp_call *call, const char *owner, struct span id)
{
	return call->owner && strcmp(call->owner, owner) == 0 && span_equals(call->id, id);
}

/* The caller holds the mutex. */
static void remember_cancellation(struct mcp_calls *calls, const char *owner, struct span id)
{
	struct early_cancellation *early = &calls->early[calls->early_next++ % EARLY_COUNT];

	if (strlen(owner) > OWNER_MAX || id.size > MCP_ID_MAX)
		return;
	*early = (struct early_cancellation){.until_ms = clock_monotonic_ms() + EARLY_MS};
	memcpy(early->owner, owner, strlen(owner));
	memcpy(early->id, id.data, id.size);
}

/* The same. */
static bool call_was_cancelled(const struct mcp_calls *calls, const struct mcp_call *call)
{
	int64_t now = clock_monotonic_ms();

	for (unsigned i = 0; i < EARLY_COUNT; i++)
		if (calls->early[i].until_ms > now &&
		    call_matches(call, calls->early[i].owner, span_of(calls->early[i].id)))
			return true;
	return false;
}

static void remove_running(struct mcp_call *call)
{
	pthread_mutex_lock(&call->calls->mutex);
	list_remove(&call->item);
	pthread_mutex_unlock(&call->calls->mutex);
}

void mcp_calls_cancel(struct mcp_calls *calls, const char *owner, struct span id,
                      char ret_node[ERROR_NODE_MAX])
{
	bool is_found = false;

	pthread_mutex_lock(&calls->mutex);
	LIST_EACH (&calls->running, struct mcp_call, call, item) {
		if (!call_matches(call, owner, id))
			continue;
		is_found = true;
		if (call->hop.node[0])
			memcpy(ret_node, call->hop.node, ERROR_NODE_MAX);
		else
			cancel_say(&call->cancel);
	}
	if (!is_found)
		remember_cancellation(calls, owner, id);
	pthread_mutex_unlock(&calls->mutex);
}

void mcp_calls_cancel_all(struct mcp_calls *calls)
{
	pthread_mutex_lock(&calls->mutex);
	LIST_EACH (&calls->running, struct mcp_call, call, item)
		cancel_say(&call->cancel);
	pthread_mutex_unlock(&calls->mutex);
}

static void call_release(struct mcp_call *call)
{
	if (atomic_fetch_sub(&call->holders, 1) > 1)
		return;
	remove_running(call);
	api_hop_close(&call->hop);
	cancel_done(&call->cancel);
	auto_close(&call->done_fd);
	pthread_mutex_destroy(&call->mutex);
	buf_done(&call->out);
	buf_done(&call->outbox);
	arena_done(&call->arena);
	free(call);
}

/* The last line that is not empty. A carriage return starts a line again. */
static struct span last_line(struct span text)
{
	struct span line = {NULL, 0}, item;
	size_t start = 0;

	for (size_t i = 0; i <= text.size; i++) {
		if (i < text.size && text.data[i] != '\n' && text.data[i] != '\r')
			continue;
		item = span_trim((struct span){text.data + start, i - start});
		start = i + 1;
		if (item.size > 0)
			line = item;
	}
	return line;
}

static void wake_loop(struct mcp_call *call)
{
	const uint64_t one = 1;

	if (write(call->done_fd, &one, sizeof(one)) < 0)
		abort(); /* an eventfd takes 2^64 - 2 of these */
}

static void add_event(struct buf *out, struct span message)
{
	buf_add_text(out, "event: message\ndata: ");
	buf_add_span(out, message);
	buf_add_text(out, "\n\n");
}

/* For mcp_client. */
static bool queue_message(void *context, struct span message)
{
	struct mcp_call *call = context;
	bool has_room;

	pthread_mutex_lock(&call->mutex);
	has_room = call->outbox.size + message.size + 64 < OUTBOX_MAX;
	if (has_room)
		add_event(&call->outbox, message);
	pthread_mutex_unlock(&call->mutex);
	if (has_room)
		wake_loop(call);
	return has_room;
}

/* Control characters are removed, because clients may print the line on a terminal. */
static void on_progress(void *context, struct span text)
{
	struct mcp_call *call = context;
	struct span line = last_line(text);
	struct span logged = {text.data, text.size < LOG_TEXT_MAX ? text.size : LOG_TEXT_MAX};
	char note[NOTE_MAX + 1];
	size_t size = 0;

	mcp_client_log(&call->client, MCP_LOG_DEBUG, "output", logged);
	for (size_t i = 0; i < line.size && size < NOTE_MAX; i++)
		if ((unsigned char)line.data[i] >= 0x20 && line.data[i] != 0x7f)
			note[size++] = line.data[i];
	if (size == 0)
		return;
	note[size - span_begun((struct span){note, size})] = '\0';
	pthread_mutex_lock(&call->mutex);
	memcpy(call->note, note, sizeof(note));
	pthread_mutex_unlock(&call->mutex);
}

static void keep_hop(struct mcp_call *call, const struct api_hop *hop)
{
	pthread_mutex_lock(&call->calls->mutex);
	call->hop = *hop;
	pthread_mutex_unlock(&call->calls->mutex);
}

/* Before the answer. A call that never ran was cancelled. */
static void end_audit(struct mcp_call *call, bool is_passed_on)
{
	int status = call->mcp.tool_status ? call->mcp.tool_status : call->status;

	if (is_passed_on)
		status = 0;
	else if (status == 0)
		status = STATUS_CLIENT_LEFT;
	api_audit_call_end(&call->audit, &call->arena, status);
}

static void run_call(struct worker_task *task)
{
	struct mcp_call *call = CONTAINER_OF(task, struct mcp_call, task);
	struct api_hop hop = {.fd = -1};

	log_request_set(call->request.id);
	call->mcp.hop = call->may_pass ? &hop : NULL;
	call->request.deadline = deadline_after(DEADLINE_MS);
	api_audit_call_collect(&call->audit, true);
	if (!cancel_is_said(&call->cancel))
		call->status = call->answer(&call->mcp, &call->headers, &call->out);
	api_audit_call_collect(&call->audit, false);
	end_audit(call, hop.fd >= 0);
	log_request_set(NULL);
	if (hop.fd >= 0)
		keep_hop(call, &hop);
	else
		remove_running(call);
	atomic_store(&call->is_done, true);
	wake_loop(call);
	call_release(call);
}

static bool wants_progress(const struct mcp_call *call)
{
	return call->client.token.size > 0;
}

static void write_event(struct relay *relay, struct span message)
{
	AUTO(buf_done) struct buf event = BUF(message.size + 64);

	add_event(&event, message);
	relay_write(relay, buf_span(&event));
}

/* Not before the first event: until then another server may answer. */
static void begin_stream(struct mcp_call *call, struct relay *relay)
{
	if (call->has_begun)
		return;
	call->has_begun = true;
	relay_begin_header(relay, "Cache-Control", "no-cache");
	relay_begin_header(relay, "X-Accel-Buffering", "no");
	relay_begin(relay, 200, "text/event-stream", -1);
}

static void send_outbox(struct mcp_call *call, struct relay *relay)
{
	AUTO(buf_done) struct buf events = BUF(OUTBOX_MAX);

	pthread_mutex_lock(&call->mutex);
	buf_add_span(&events, buf_span(&call->outbox));
	buf_reset(&call->outbox);
	pthread_mutex_unlock(&call->mutex);
	if (events.size == 0)
		return;
	begin_stream(call, relay);
	relay_write(relay, buf_span(&events));
}

static void on_passed_end(void *context)
{
	struct mcp_call *call = context;

	remove_running(call);
	call_release(call);
}

/* False when the call is answered here: also when it was cancelled while connecting. */
static bool pass_call_on(struct mcp_call *call, struct relay *relay)
{
	const struct api_hop_options options = {call->request.body, on_passed_end, call};

	if (call->hop.fd < 0 || call->has_begun || cancel_is_said(&call->cancel))
		return false;
	atomic_fetch_add(&call->holders, 1);
	api_hop_pass(relay, &call->hop, &options);
	return true;
}

static void write_cancelled(struct mcp_call *call)
{
	const struct mcp_fault fault = {.code = CANCELLED, .text = "the call was cancelled"};

	buf_reset(&call->out);
	mcp_write_fault(&call->out, call->id, &fault);
}

/* After a cancellation the client expects no answer, but a reply that is not a stream needs one. */
static int on_upstream(void *state, struct relay *relay, struct span *in, struct error *err)
{
	struct mcp_call *call = state;
	bool is_cancelled = cancel_is_said(&call->cancel), is_done = atomic_load(&call->is_done);

	(void)err;
	in->size = 0;
	/* What a slow client does not take stays in the outbox, which drops the rest. */
	if (is_done || relay_unsent(relay) <= UNSENT_MAX)
		send_outbox(call, relay);
	if (!is_done || pass_call_on(call, relay))
		return 0;
	if (wants_progress(call) || call->has_begun) {
		begin_stream(call, relay);
		if (!is_cancelled)
			write_event(relay, buf_span(&call->out));
		relay_finish(relay);
		return 0;
	}
	if (is_cancelled && call->headers.absent) {
		relay_answer(relay, 202, NULL, (struct span){NULL, 0});
		return 0;
	}
	if (is_cancelled)
		write_cancelled(call);
	relay_answer(relay, is_cancelled ? 200 : call->status, "application/json",
	             buf_span(&call->out));
	return 0;
}

static void on_tick(void *state, struct relay *relay)
{
	struct mcp_call *call = state;
	AUTO(buf_done) struct buf out = BUF(4096);
	int64_t ms = clock_monotonic_ms() - call->started_ms;
	char note[NOTE_MAX + 1];

	if (atomic_load(&call->is_done) || relay_unsent(relay) > UNSENT_MAX)
		return;
	send_outbox(call, relay);
	if (!wants_progress(call))
		return;
	pthread_mutex_lock(&call->mutex);
	memcpy(note, call->note, sizeof(note));
	pthread_mutex_unlock(&call->mutex);
	begin_stream(call, relay);
	json_begin_object(&out, NULL);
	json_add_text(&out, "jsonrpc", "2.0");
	json_add_text(&out, "method", "notifications/progress");
	json_begin_object(&out, "params");
	json_add_raw(&out, "progressToken", call->client.token);
	json_add_number(&out, "progress", (double)ms / 1000);
	json_add_text(&out, "message", note[0] ? note : "running");
	json_end_object(&out);
	json_end_object(&out);
	write_event(relay, buf_span(&out));
}

static void release_call(void *state, int upstream_fd, bool clean)
{
	struct mcp_call *call = state;

	(void)clean;
	if (upstream_fd >= 0)
		(void)close(upstream_fd);
	if (call->ends_with_client && !atomic_load(&call->is_done))
		cancel_say(&call->cancel);
	call_release(call);
}

static const struct relay_ops ops = {
        .on_upstream = on_upstream,
        .on_tick = on_tick,
        .release = release_call,
};

static const char *keep_text(struct arena *a, const char *text)
{
	return text ? arena_text(a, text) : NULL;
}

static struct tools_target keep_target(struct arena *a, const struct tools_target *t)
{
	return (struct tools_target){
	        .sandbox = keep_text(a, t->sandbox),
	        .lease = keep_text(a, t->lease),
	        .tenant = keep_text(a, t->tenant),
	        .session = keep_text(a, t->session),
	        .config = keep_text(a, t->config),
	        .conversation = keep_text(a, t->conversation),
	        .is_ephemeral = t->is_ephemeral,
	        .workspace = keep_text(a, t->workspace),
	        .template = keep_text(a, t->template),
	        .image = keep_text(a, t->image),
	        .provider = keep_text(a, t->provider),
	        .isolation = keep_text(a, t->isolation),
	        .approval_wait_ms = t->approval_wait_ms,
	};
}

/* A text or a number; other values do not ask for progress. */
static struct span find_token(struct arena *a, const struct mcp_message *message)
{
	const struct json_value *meta = json_get(message->params, "_meta");
	AUTO(buf_done) struct buf text = BUF(MCP_ID_MAX);

	mcp_print_id(&text, json_get(meta, "progressToken"));
	return (struct span){arena_copy(a, buf_span(&text)), text.size};
}

static struct mcp_call *call_new(const struct mcp *m, const struct mcp_call_options *options,
                                 struct error *err)
{
	struct mcp_call *call = memory_new(sizeof(*call));
	struct arena *a = &call->arena;

	*call = (struct mcp_call){
	        .task = {.lane = WORKER_AGENT, .run = run_call},
	        .calls = api_of(m->rq)->mcp->calls,
	        .cancel = {.fd = -1},
	        .answer = options->answer,
	        .ends_with_client = options->ends_with_client,
	        .may_pass = api_hop_is_allowed(m->rq),
	        .hop = {.fd = -1},
	        .started_ms = clock_monotonic_ms(),
	        .done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	        .out = BUF(ANSWER_MAX),
	        .outbox = BUF(OUTBOX_MAX),
	};
	atomic_init(&call->holders, 1);
	atomic_init(&call->is_done, false);
	list_init(&call->item);
	pthread_mutex_init(&call->mutex, NULL);
	api_request_copy(m->rq, a, &call->request);
	call->request.body = (struct span){arena_copy(a, m->rq->body), m->rq->body.size};
	call->headers = (struct mcp_headers){
	        .version = keep_text(a, options->headers->version),
	        .method = keep_text(a, options->headers->method),
	        .name = keep_text(a, options->headers->name),
	        .absent = options->headers->absent,
	};
	api_find_shares(&call->request, call->task.shares);
	tools_find_shares(&m->target, call->task.shares);
	call->owner = keep_text(a, options->owner);
	call->id = (struct span){arena_copy(a, m->message.id), m->message.id.size};
	call->client = (struct mcp_client){
	        .send = queue_message,
	        .context = call,
	        .asks = api_of(m->rq)->mcp->asks,
	        .owner = call->owner,
	        .abilities = m->abilities,
	        .cancel = &call->cancel,
	};
	if (options->streams)
		call->client.token = find_token(a, &m->message);
	call->mcp = (struct mcp){
	        .rq = &call->request,
	        .target = keep_target(a, &m->target),
	        .origin = keep_text(a, m->origin),
	        .abilities = m->abilities,
	        .cancel = &call->cancel,
	        .client = options->streams ? &call->client : NULL,
	        .on_progress = options->streams ? on_progress : NULL,
	        .progress_context = call,
	};
	if (call->done_fd >= 0 && cancel_init(&call->cancel, err) == 0)
		return call;
	if (call->done_fd < 0)
		(void)FAIL_ERRNO(err, "eventfd");
	call_release(call);
	return NULL;
}

static int submit_call(struct mcp_call *call, struct error *err)
{
	const struct api *api = api_of(&call->request);
	int result;

	pthread_mutex_lock(&call->calls->mutex);
	list_append(&call->calls->running, &call->item);
	if (call_was_cancelled(call->calls, call))
		cancel_say(&call->cancel);
	pthread_mutex_unlock(&call->calls->mutex);
	atomic_fetch_add(&call->holders, 1);
	result = worker_submit(api->waiters ? api->waiters : api->workers, &call->task, err);
	if (result == 0)
		return 0;
	api_audit_call_end(&call->audit, &call->arena, error_kind_get(err->code)->http_status);
	remove_running(call);
	atomic_fetch_sub(&call->holders, 1);
	return -1;
}

static int begin_audit(const struct mcp *m, const struct mcp_call_options *options,
                       struct mcp_call *call, struct error *err)
{
	const struct api_audit_subject subject = {"mcp.tools.call", "tools", options->tool};

	return options->tool ? api_audit_call_begin(m->rq, &subject, &call->audit, err) : 0;
}

int mcp_call_start(const struct mcp *m, const struct mcp_call_options *options, struct reply *reply,
                   struct mcp_fault *fault)
{
	struct error err;
	struct mcp_call *call = call_new(m, options, &err);
	int fd = call ? fcntl(call->done_fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (call && fd < 0)
		(void)FAIL_ERRNO(&err, "duplicate a descriptor");
	if (fd < 0 || begin_audit(m, options, call, &err) < 0 || submit_call(call, &err) < 0) {
		if (fd >= 0)
			(void)close(fd);
		if (call)
			call_release(call);
		return mcp_refuse(fault, MCP_INTERNAL, 503, "%s", err.text);
	}
	reply_relay(reply, &(struct relay_options){
	                           .upstream_fd = fd,
	                           .ops = &ops,
	                           .state = call,
	                           .tick_ms = options->streams ? TICK_MS : 0,
	                   });
	return 0;
}
