/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/exchange.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/server/cors.h"
#include "http/server/failure.h"
#include "http/server/hang_up.h"
#include "http/server/reply.h"
#include "http/server/router.h"
#include "http/server/connection_state.h"
#include "http/server/server_state.h"
#include "http/server/shares.h"
#include "json/json.h"

#define SPARE_MAX 64
#define REPLY_BODY_MAX ((size_t)64 * 1024 * 1024)
#define REPLY_HEADERS_MAX ((size_t)32 * 1024)
/* A reused exchange keeps at most this much of each buffer. */
#define KEEP_MAX ((size_t)16 * 1024)
static void buf_recycle(struct buf *b)
{
	if (b->capacity > KEEP_MAX)
		buf_done(b);
	else
		buf_reset(b);
}

static void forget_cancel(struct http_exchange *ex)
{
	if (atomic_exchange(&ex->has_cancel, false))
		cancel_done(&ex->cancel);
	atomic_store(&ex->client_left, false);
}

static void free_exchange(struct http_exchange *ex)
{
	forget_cancel(ex);
	buf_done(&ex->head_text);
	buf_done(&ex->body);
	buf_done(&ex->reply.headers);
	buf_done(&ex->reply.body);
	arena_done(&ex->arena);
	free(ex);
}

static void reset_exchange(struct http_exchange *ex)
{
	forget_cancel(ex);
	buf_recycle(&ex->head_text);
	buf_recycle(&ex->body);
	buf_recycle(&ex->reply.headers);
	buf_recycle(&ex->reply.body);
	if (ex->arena.total)
		arena_reset(&ex->arena);
}

static bool request_id_is_valid(const char *id)
{
	size_t size = strlen(id);

	if (size == 0 || size >= REQUEST_ID_SIZE)
		return false;
	return strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
	       size;
}

static void start_exchange(struct http_exchange *ex, struct http_connection *conn)
{
	const size_t kept = offsetof(struct http_exchange, request);

	memset((char *)ex + kept, 0, sizeof(*ex) - kept);
	ex->connection = conn;
	ex->request = (struct request){.arena = &ex->arena,
	                               .context = ex->server->options.context,
	                               .exchange = ex,
	                               .path = "",
	                               .method_name = "",
	                               .peer = conn->peer,
	                               .is_tls = conn->out.tls != NULL};
	ex->head.field_count = 0;
	ex->head.keep_alive = false;
	ex->head.content_length = -1;
	ex->target.part_count = 0;
	ex->run_ns = ex->started_ns = clock_monotonic_ns();
	ex->reply = (struct reply){.headers = ex->reply.headers, .body = ex->reply.body};
}

struct http_exchange *exchange_new(struct http_server *server, struct http_connection *connection)
{
	struct http_exchange *ex = server->spare;

	if (ex) {
		server->spare = ex->next;
		server->spare_count--;
	} else {
		ex = memory_new(sizeof(*ex));
		ex->server = server;
		ex->reply.headers = BUF(REPLY_HEADERS_MAX);
		ex->reply.body = BUF(REPLY_BODY_MAX);
	}
	start_exchange(ex, connection);
	return ex;
}

void exchange_done(struct http_exchange *ex, int status)
{
	struct http_server *server = ex->server;
	int64_t took_us = (clock_monotonic_ns() - ex->started_ns) / 1000;

	assert(!ex->is_parked && !ex->waits_in_queue);
	server->counts.requests_total++;
	server->counts.responses[status / 100 % COUNT_OF(server->counts.responses)]++;
	if (server->options.on_done)
		server->options.on_done(&ex->request, status, took_us);
	if (server->spare_count == SPARE_MAX) {
		free_exchange(ex);
		return;
	}
	reset_exchange(ex);
	ex->next = server->spare;
	server->spare = ex;
	server->spare_count++;
}

void exchange_free_spare(struct http_server *server)
{
	while (server->spare) {
		struct http_exchange *ex = server->spare;

		server->spare = ex->next;
		free_exchange(ex);
	}
}

static void set_request_id(struct http_exchange *ex)
{
	const char *given = ex->head.known[HEAD_REQUEST_ID];

	if (given && request_id_is_valid(given))
		memcpy(ex->request.id, given, strlen(given) + 1);
	else
		server_make_id(ex->server, ex->request.id);
}

/* Every line and span of this thread belongs to the request. */
static void enter_request(struct http_exchange *ex)
{
	log_request_set(ex->request.id);
	(void)trace_swap(&ex->trace);
}

static void leave_request(void)
{
	(void)trace_swap(NULL);
	log_request_set(NULL);
}

static bool media_type_is_json(const char *type)
{
	static const char json[] = "application/json";
	size_t size = sizeof(json) - 1;

	return strncasecmp(type, json, size) == 0 && (!type[size] || strchr("; \t", type[size]));
}

static bool has_body(const struct http_head *head)
{
	return head->chunked || head->content_length > 0;
}

void exchange_set_deadline(struct http_exchange *ex)
{
	const struct server_options *options = &ex->server->options;
	bool is_slow = ex->request.route->flags & (ROUTE_SLOW | ROUTE_QUICK);

	ex->request.deadline =
	        deadline_after(is_slow ? options->slow_deadline_ms : options->fast_deadline_ms);
}

static enum http_fault check_route(struct http_exchange *ex, struct router_match match)
{
	const struct route *route = match.route;
	const char *type = ex->head.known[HEAD_CONTENT_TYPE];

	if (!route && cors_answer_preflight(ex))
		return FAULT_METHOD;
	if (!route && !match.methods)
		return FAULT_ROUTE;
	if (!route) {
		buf_add_text(&ex->reply.headers, "Allow: ");
		router_write_methods(&ex->reply.headers, match.methods);
		buf_add_text(&ex->reply.headers, "\r\n");
		return FAULT_METHOD;
	}
	if (route->method == HTTP_ANY)
		ex->origin = NULL;
	if (ex->server->is_draining && !(route->flags & ROUTE_LAST))
		return FAULT_DRAINING;
	ex->request.route = route;
	/* Probes and scrapes come every second and have no span. */
	if (route->flags & ROUTE_LAST)
		ex->trace.is_known = ex->trace.is_recorded = false;
	exchange_set_deadline(ex);
	if (ex->head.content_length > 0 &&
	    (uint64_t)ex->head.content_length > exchange_body_max(ex))
		return FAULT_BODY_SIZE;
	if (route->body && !(route->flags & (ROUTE_STREAM_BODY | ROUTE_RAW_BODY)) && type &&
	    has_body(&ex->head) && !media_type_is_json(type))
		return FAULT_MEDIA;
	return FAULT_NONE;
}

/* Replaces an alias in the target. The result is never longer. */
static struct span resolve_alias(struct http_exchange *ex, struct span target)
{
	const struct path_alias *alias = ex->server->options.aliases;
	struct span rest;
	size_t size;
	char *text;

	for (; alias && alias->from; alias++) {
		size = strlen(alias->from);
		if (!span_starts_with(target, alias->from) ||
		    (target.size > size && !strchr("/?", target.data[size])))
			continue;
		rest = (struct span){target.data + size, target.size - size};
		size = strlen(alias->to);
		text = arena_alloc(&ex->arena, size + rest.size + 1);
		memcpy(text, alias->to, size);
		memcpy(text + size, rest.data, rest.size);
		return (struct span){text, size + rest.size};
	}
	return target;
}

static struct http_host find_host(const struct http_exchange *ex)
{
	const struct server_options *options = &ex->server->options;

	if (!options->find_host)
		return (struct http_host){.route = NULL};
	return options->find_host(options->context, &ex->request);
}

static bool is_below(struct span path, const char *above)
{
	return !above || span_starts_with(path, above);
}

static enum http_fault find_route(struct http_exchange *ex)
{
	struct http_host host = find_host(ex);
	/* The path is never longer than the target; it goes where the head's text has room. */
	char *room = buf_reserve(&ex->head_text, ex->head.target.size + 1);
	struct request *rq = &ex->request;
	enum http_fault fault;

	assert(room);
	fault = target_parse(resolve_alias(ex, ex->head.target), room, &ex->target);
	if (fault)
		return fault;
	rq->path = ex->target.path;
	rq->raw_path = ex->target.raw_path;
	rq->raw_query = ex->target.raw_query;
	if (host.is_elsewhere)
		return FAULT_NODE;
	if (host.is_refused)
		return FAULT_HOST_UNKNOWN;
	if (host.route)
		return check_route(ex, (struct router_match){.route = host.route});
	cors_begin(ex);
	if (!is_below(ex->target.raw_path, host.below))
		return FAULT_ROUTE;
	if (span_equals_text(ex->head.target, "*"))
		return check_route(ex, (struct router_match){.methods = 1U << HTTP_ANY});
	return check_route(ex, router_find(host.router ? host.router : ex->server->router,
	                                   rq->method, &ex->target));
}

enum http_fault exchange_begin(struct http_exchange *ex, struct span head_text)
{
	enum http_fault fault;

	/* Room for the decoded path as well: the buffer must not move once it is parsed. */
	ex->head_text.size_max = 2 * head_text.size + HEAD_TARGET_MAX;
	(void)buf_reserve(&ex->head_text, 2 * head_text.size + 1);
	buf_add_span(&ex->head_text, head_text);
	fault = head_parse(ex->head_text.data, head_text.size, &ex->head);
	set_request_id(ex);
	if (trace_is_open())
		trace_accept(&ex->trace, head_find(&ex->head, "traceparent"));
	if (fault)
		return fault;
	ex->request.method = router_method_of(ex->head.method);
	ex->request.method_name = ex->head.method;
	return find_route(ex);
}

size_t exchange_body_max(const struct http_exchange *ex)
{
	const struct route *route = ex->request.route;

	if (route->body_max)
		return route->body_max;
	return (route->flags & ROUTE_STREAM_BODY) ? SIZE_MAX : ex->server->options.body_max;
}

/* Discards a reply that the handler has begun. */
static void drop_reply(struct reply *reply)
{
	reply->status = 0;
	reply->content_type = NULL;
	reply->undo = NULL;
	buf_reset(&reply->headers);
	buf_reset(&reply->body);
}

static int forward_request(struct http_exchange *ex, struct error *err)
{
	const struct server_options *options = &ex->server->options;
	struct reply *reply = &ex->reply;

	if (!err->node[0] || !options->forward || reply->has_relay || ex->request.is_deferred)
		return -1;
	drop_reply(reply);
	return options->forward(&ex->request, reply, err);
}

/* True when the request waits in a queue: the reply is written later, from its beginning. */
static bool note_queued(struct http_exchange *ex, const struct error *err)
{
	if (!ex->queue_name[0])
		return false;
	ex->why = *err;
	if (!ex->reply.has_relay)
		drop_reply(&ex->reply);
	return true;
}

enum request_admission exchange_admit(struct http_exchange *ex, bool is_on_loop)
{
	const struct server_options *options = &ex->server->options;
	struct request *rq = &ex->request;
	struct error err = {0};
	int result;

	if ((rq->route->flags & ROUTE_PUBLIC) || !options->authorize || rq->caller)
		return ADMISSION_DONE;
	enter_request(ex);
	rq->is_tried = is_on_loop;
	rq->is_deferred = false;
	result = options->authorize(rq, rq->route, &err);
	rq->is_tried = false;
	leave_request();
	if (result == 0)
		return ADMISSION_DONE;
	if (rq->is_deferred || (is_on_loop && err.node[0]))
		return ADMISSION_BY_WORKER;
	if (note_queued(ex, &err))
		return ADMISSION_WAITS;
	if (forward_request(ex, &err) < 0)
		exchange_fail(ex, &err);
	return ADMISSION_REFUSED;
}

static int call_handler(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	void (*on_handle)(struct request * rq, bool begins) =
	        rq->exchange->server->options.on_handle;
	int result;

	if (on_handle)
		on_handle(rq, true);
	result = rq->route->handle(rq, body, reply, err);
	if (on_handle)
		on_handle(rq, false);
	return result;
}

static int handle_request(struct http_exchange *ex, struct error *err)
{
	struct request *rq = &ex->request;
	const struct route *route = rq->route;
	const struct server_options *options = &ex->server->options;
	void *body = NULL, *query;

	/* rq->caller is set when the request was authorized on the loop, or before it was parked.
	 */
	if (!(route->flags & ROUTE_PUBLIC) && options->authorize &&
	    (!rq->caller || ex->parked_since_ms) && options->authorize(rq, route, err) < 0)
		return -1;
	if (!ex->parked_since_ms)
		ex->admitted = arena_mark(&ex->arena);
	if (route->query) {
		query = arena_alloc(&ex->arena, route->query->size);
		if (json_parse_query(&ex->arena, rq->raw_query, route->query, query, err) < 0)
			return -1;
		rq->query = query;
	}
	if (route->body && !(route->flags & (ROUTE_STREAM_BODY | ROUTE_RAW_BODY))) {
		body = arena_alloc(&ex->arena, route->body->size);
		if (json_parse(&ex->arena, rq->body, route->body, body, err) < 0)
			return -1;
	}
	if (call_handler(rq, body, &ex->reply, err) < 0)
		return -1;
	reply_encode(ex);
	if (ex->reply.body.overflowed || ex->reply.headers.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the reply is larger than %zu bytes",
		            ex->reply.body.size_max);
	return 0;
}

/* True when the handler must run again after a change. Frees this run's memory, because a long wait
 * would otherwise accumulate it. */
static bool note_awaited(struct http_exchange *ex, const struct error *err)
{
	if (!err->awaits.key[0] || ex->reply.has_relay)
		return false;
	if (!ex->parked_since_ms || strcmp(ex->why.awaits.key, err->awaits.key) != 0)
		ex->awaits_since_ms = clock_monotonic_ms();
	ex->awaits_change = true;
	ex->why = *err;
	drop_reply(&ex->reply);
	ex->request.query = NULL;
	arena_rewind(&ex->arena, &ex->admitted);
	return true;
}

void exchange_undo(struct http_exchange *ex)
{
	request_undo *undo = TAKE(ex->reply.undo);

	enter_request(ex);
	undo(&ex->request, ex->reply.undo_context);
	leave_request();
}

static int run_handler(struct http_exchange *ex, struct error *err)
{
	int result = handle_request(ex, err) < 0 ? forward_request(ex, err) : 0;

	cancel_set_current(NULL);
	return result;
}

/* A larger body would take too long to parse on the loop. */
#define TRY_BODY_MAX ((size_t)16 * 1024)

/* A deferred run leaves nothing behind, except the authorized caller. */
static bool run_or_defer(struct http_exchange *ex)
{
	struct request *rq = &ex->request;
	struct error err = {0};
	int result;

	enter_request(ex);
	rq->body = buf_span(&ex->body);
	rq->is_deferred = false;
	result = run_handler(ex, &err);
	/* A handler that succeeds anyway has handled the refusal itself. */
	rq->is_deferred &= result < 0;
	if (result == 0)
		ex->queue_name[0] = '\0';
	if (result < 0 && !rq->is_deferred && !note_queued(ex, &err) && !note_awaited(ex, &err))
		exchange_fail(ex, &err);
	leave_request();
	if (!rq->is_deferred)
		return true;
	assert(!ex->reply.has_relay && !ex->reply.status);
	buf_reset(&ex->reply.headers);
	buf_reset(&ex->reply.body);
	return false;
}

bool exchange_try(struct http_exchange *ex)
{
	struct request *rq = &ex->request;
	int64_t deadline = rq->deadline;
	bool is_done;

	if (ex->body.size > TRY_BODY_MAX)
		return false;
	rq->is_tried = true;
	rq->deadline = deadline_after(0);
	is_done = run_or_defer(ex);
	rq->is_tried = false;
	rq->deadline = deadline;
	return is_done;
}

bool exchange_handle(struct http_exchange *ex)
{
	struct request *rq = &ex->request;
	bool is_done;

	rq->is_quick = (rq->route->flags & ROUTE_QUICK) && ex->task.lane == WORKER_FAST;
	is_done = run_or_defer(ex);
	rq->is_quick = false;
	return is_done;
}

int request_may_block(struct request *rq, struct error *err)
{
	if (!rq->is_tried)
		return 0;
	rq->is_deferred = true;
	return FAIL(err, ERROR_UNAVAILABLE, "a worker has to do this");
}

void request_count_for(struct request *rq, const char *project)
{
	if (rq->exchange)
		rq->exchange->owner = worker_share_id(project);
}

int request_wait_in_queue(struct request *rq, const char *queue, struct error *err)
{
	assert(err->code != ERROR_NONE);
	if (rq->exchange && !rq->exchange->left_queue)
		(void)snprintf(rq->exchange->queue_name, QUEUE_NAME_SIZE, "%s", queue);
	return -1;
}

/* The worker initialises `cancel` before it checks client_left, and the loop sets client_left
 * before it checks for `cancel`: so at least one of them sees the other. */
const struct cancel *request_cancel(struct request *rq)
{
	struct http_exchange *ex = rq->exchange;
	bool may_end = rq->method == HTTP_GET || rq->method == HTTP_HEAD ||
	               (rq->route && (rq->route->flags & ROUTE_CANCEL));
	struct error ignored = {0};

	if (!ex || !may_end || rq->is_tried)
		return NULL;
	if (!atomic_load(&ex->has_cancel)) {
		if (cancel_init(&ex->cancel, &ignored) < 0)
			return NULL;
		atomic_store(&ex->has_cancel, true);
	}
	if (atomic_load(&ex->client_left))
		cancel_say(&ex->cancel);
	return &ex->cancel;
}

void exchange_abandon(struct http_exchange *ex)
{
	atomic_store(&ex->client_left, true);
	if (atomic_load(&ex->has_cancel))
		cancel_say(&ex->cancel);
}

bool request_is_on_loop(const struct request *rq)
{
	return rq->is_tried;
}

bool request_is_deferred(const struct request *rq)
{
	return rq->is_deferred || (rq->exchange && rq->exchange->queue_name[0]);
}

static int change_to_lane(struct request *rq, enum worker_lane lane,
                          const uint64_t shares[WORKER_SHARES], struct error *err)
{
	struct http_exchange *ex = rq->exchange;

	if (worker_change_lane(ex->pool, lane, shares)) {
		rq->is_quick = false;
		return 0;
	}
	ex->task.lane = lane;
	memmove(ex->task.shares, shares, sizeof(ex->task.shares));
	rq->is_deferred = true;
	return FAIL(err, ERROR_UNAVAILABLE, "a worker of the %s lane has to do this",
	            worker_lane_name(lane));
}

int request_may_wait(struct request *rq, struct error *err)
{
	if (!rq->is_quick)
		return request_may_block(rq, err);
	return change_to_lane(rq, WORKER_SLOW, rq->exchange->task.shares, err);
}

int request_may_call(struct request *rq, const struct request_sandbox *sandbox, struct error *err)
{
	enum worker_lane lane = rq->route->flags & ROUTE_SLOW ? WORKER_LONG : WORKER_AGENT;
	uint64_t shares[WORKER_SHARES];

	if (!rq->exchange || rq->is_tried || (rq->route->flags & ROUTE_INLINE))
		return 0;
	shares[WORKER_PROJECT] = worker_share_id(sandbox->project);
	shares[WORKER_SANDBOX] = sandbox->sandbox ? worker_share_id(sandbox->sandbox) : 0;
	shares[WORKER_KEY] = rq->exchange->task.shares[WORKER_KEY];
	return change_to_lane(rq, lane, shares, err);
}

void request_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out)
{
	const struct server_options *options = &rq->exchange->server->options;
	const struct error_body body = {.code = failure->code,
	                                .message = failure->message,
	                                .resource = failure->err ? failure->err->resource : NULL,
	                                .hint = failure->hint,
	                                .request_id = rq->id,
	                                .quota = failure->err ? &failure->err->quota : NULL};

	buf_reset(out);
	if (!options->write_failure || !options->write_failure(rq, failure, out))
		error_body_write(out, &body);
}

static void fail_with_code(struct http_exchange *ex, struct http_failure failure)
{
	struct reply *reply = &ex->reply;

	ex->failed = true;
	reply->undo = NULL;
	reply->content_type = "application/json";
	request_write_failure(&ex->request, &failure, &reply->body);
	reply->status = failure.status;
}

void exchange_fail(struct http_exchange *ex, const struct error *err)
{
	const struct error_kind *kind = error_kind_get(err->code);

	buf_reset(&ex->reply.headers);
	if (kind->http_status == 401)
		buf_add_text(&ex->reply.headers, "WWW-Authenticate: Bearer\r\n");
	if (kind->http_status == 429 || kind->http_status == 503 || err->retry_after_s > 0)
		buf_addf(&ex->reply.headers, "Retry-After: %d\r\n",
		         err->retry_after_s > 0 ? err->retry_after_s : 1);
	/* Only for a range that this server refused. */
	if (err->code == ERROR_RANGE && ex->knows_whole)
		buf_addf(&ex->reply.headers, "Content-Range: bytes */%" PRIu64 "\r\n", ex->whole);
	fail_with_code(ex, (struct http_failure){kind->http_status, kind->name, err->text,
	                                         err->hint, err});
	log_request_set(ex->request.id);
	if (kind->http_status >= 500)
		log_error("request failed", TEXT("method", ex->request.method_name),
		          TEXT("path", ex->request.path), NUMBER("status", kind->http_status),
		          FAILURE(err));
	else
		log_debug("request failed", TEXT("method", ex->request.method_name),
		          TEXT("path", ex->request.path), NUMBER("status", kind->http_status),
		          FAILURE(err));
	log_request_set(NULL);
}

void exchange_refuse(struct http_exchange *ex, enum http_fault fault)
{
	const struct http_fault_kind *kind = fault_kind_get(fault);

	if (!ex->request.id[0])
		server_make_id(ex->server, ex->request.id);
	/* OPTIONS without a route returns the path's methods. */
	if (fault == FAULT_METHOD && ex->request.method == HTTP_OPTIONS) {
		ex->reply.status = 204;
		return;
	}
	if (fault == FAULT_DRAINING)
		buf_add_text(&ex->reply.headers, "Retry-After: 2\r\n");
	fail_with_code(
	        ex, (struct http_failure){kind->status, kind->code, kind->text, kind->hint, NULL});
	log_debug("request refused", TEXT("reason", kind->text), TEXT("peer", ex->request.peer),
	          NUMBER("status", kind->status));
}

struct trace_span *request_trace(struct request *rq)
{
	return rq->exchange ? &rq->exchange->trace : NULL;
}

const char *request_header(const struct request *rq, const char *name)
{
	return head_find(&rq->exchange->head, name);
}

int request_each_header(const struct request *rq,
                        int (*each)(void *context, const char *name, const char *value,
                                    struct error *err),
                        void *context, struct error *err)
{
	const struct http_head *head = &rq->exchange->head;

	for (unsigned i = 0; i < head->field_count; i++)
		if (each(context, head->fields[i].name, head->fields[i].value, err) < 0)
			return -1;
	return 0;
}

const char *request_param(const struct request *rq, const char *name)
{
	const char *text = router_param(rq->route, &rq->exchange->target, name, rq->arena);

	assert(text);
	return text;
}

int64_t request_body_size(const struct request *rq)
{
	const struct http_head *head = &rq->exchange->head;

	if (head->chunked)
		return -1;
	return head->content_length < 0 ? 0 : head->content_length;
}
