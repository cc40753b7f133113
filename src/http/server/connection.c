/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/connection.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "http/server/connection_state.h"
#include "http/server/exchange.h"
#include "http/server/owners.h"
#include "http/server/park.h"
#include "http/server/relay_run.h"
#include "http/server/reply.h"
#include "http/server/request_queue.h"
#include "http/server/server_state.h"
#include "http/server/submit.h"
#include "http/tls/tls.h"

/* Size of a read while waiting for requests; pipelined requests stay in the buffer. */
#define READ_SIZE ((size_t)16 * 1024)
#define IN_MAX SERVER_SCRATCH_SIZE
/* Replies to pipelined requests are buffered up to this size. */
#define PIPELINE_MAX ((size_t)32 * 1024)
/* A client that is refused while it sends its body usually sends the whole body before it reads.
 * The rest is dropped while it keeps coming, within these limits. */
#define LINGER_IDLE_MS 2000
#define LINGER_MS 30000
#define LINGER_BYTES ((size_t)256 * 1024 * 1024)
/* A refused body up to this size is read completely, so the connection can continue. */
#define REFUSED_BODY_MAX ((int64_t)64 * 1024)
/* A buffered body must keep this average rate, whatever its pauses: each byte extends the deadline
 * by 1 ms. */
#define BODY_MS_PER_BYTE 1

static void await_head(struct http_connection *conn)
{
	conn->state = CONNECTION_HEAD;
	conn->head_started = false;
	conn->scanned = 0;
	connection_due(conn, conn->server->options.idle_timeout_ms);
}

static void begin_linger(struct http_connection *conn)
{
	/* Closing at once would send a reset, and the client would lose data that it has not read
	 * yet. */
	if (!connection_end_writing(conn) || conn->has_ended) {
		connection_close(conn);
		return;
	}
	conn->state = CONNECTION_LINGER;
	conn->may_end_alone = false;
	conn->linger_left = LINGER_BYTES;
	conn->linger_until_ms = loop_now_ms(conn->server->loop) + LINGER_MS;
	buf_done(&conn->in);
	connection_due(conn, LINGER_IDLE_MS);
}

/* Replies to pipelined requests are sent together by connection_update_events. */
static void finish_reply(struct http_connection *conn)
{
	if (conn->keep_alive && !conn->out.blocked && outflow_size(&conn->out) < PIPELINE_MAX) {
		await_head(conn);
		return;
	}
	conn->state = CONNECTION_SENDING;
	connection_due(conn, conn->server->options.write_timeout_ms);
}

static void drop_exchange(struct http_connection *conn, int status)
{
	struct http_exchange *ex = TAKE(conn->exchange);

	assert(ex && ex->connection == conn);
	park_remove(ex);
	request_queues_remove(conn->server, ex);
	exchange_done(ex, status);
}

/* True when the client has closed its side or the connection is broken. Asks the kernel, because
 * the loop may not know it yet. */
static bool client_has_left(const struct http_connection *conn)
{
	struct pollfd peer = {.fd = conn->fd, .events = POLLRDHUP};

	return poll(&peer, 1, 0) > 0;
}

/* Ends the connection; a worker runs the reply's undo. */
static void undo_reply(struct http_connection *conn)
{
	struct http_exchange *ex = conn->exchange;
	struct http_server *server = conn->server;
	struct error err = {0};

	conn->state = conn->state == CONNECTION_CLOSED ? CONNECTION_CLOSED : CONNECTION_HANDLING;
	connection_close(conn);
	server->park->counts.undone++;
	log_info("the client has left before its reply: what it made is taken back",
	         TEXT("request", ex->request.id));
	if (server_submit(server, ex, &err) < 0)
		(void)park_add(server, ex);
}

/* Sends a reply that has an undo at once, to learn whether the client can still receive it. */
static bool deliver_reply(struct http_connection *conn)
{
	if (!conn->exchange->reply.undo)
		return true;
	outflow_flush(&conn->out, conn->fd);
	if (!conn->out.broken)
		return true;
	undo_reply(conn);
	return false;
}

static void send_last_event(struct http_connection *conn)
{
	stream_end(conn->exchange);
	if (!deliver_reply(conn))
		return;
	drop_exchange(conn, conn->exchange->reply.status ? conn->exchange->reply.status : 200);
	finish_reply(conn);
}

static void send_reply(struct http_connection *conn)
{
	struct http_exchange *ex = conn->exchange;
	struct reply *reply = &ex->reply;
	struct reply_head head = {.status = reply->status ? reply->status : 200,
	                          .content_type = reply->content_type,
	                          .framing = REPLY_LENGTH,
	                          .length = (int64_t)reply->body.size};
	const struct span body = buf_span(&reply->body);

	if (reply->undo && client_has_left(conn)) {
		undo_reply(conn);
		return;
	}
	if (stream_ends(ex)) {
		send_last_event(conn);
		return;
	}
	conn->keep_alive &= conn->body.state == BODY_COMPLETE;
	head.keep_alive = conn->keep_alive;
	reply_write_head(&conn->out.queue, ex, &head);
	if (body.size && ex->request.method != HTTP_HEAD && reply_status_has_body(head.status))
		outflow_write(&conn->out, conn->fd, &body, 1);
	if (!deliver_reply(conn))
		return;
	drop_exchange(conn, head.status);
	finish_reply(conn);
}

static void on_relay_end(struct http_connection *conn, int status, bool may_continue)
{
	conn->keep_alive &= may_continue && conn->body.state == BODY_COMPLETE;
	drop_exchange(conn, status);
	finish_reply(conn);
}

static void begin_body(struct http_connection *conn, bool has_rest);
static void answer_refusal(struct http_connection *conn, bool has_rest);
static void refuse_queued(struct http_connection *conn);

static void wait_in_queue(struct http_connection *conn)
{
	if (!owners_admit(conn)) {
		conn->exchange->queue_name[0] = '\0';
		answer_refusal(conn, conn->in.size > 0);
	} else if (!request_queues_add(conn->server, conn->exchange)) {
		refuse_queued(conn);
	}
}

/* A worker has authorized the request, or refused it. */
static void go_on_admitted(struct http_connection *conn)
{
	struct http_exchange *ex = conn->exchange;
	bool has_rest = conn->in.size > 0;

	if (ex->reply.has_relay)
		relay_start(conn);
	else if (ex->failed)
		answer_refusal(conn, has_rest);
	else
		begin_body(conn, has_rest);
}

void connection_on_handled(struct http_connection *conn)
{
	struct http_exchange *ex = conn->exchange;
	bool closed = conn->state == CONNECTION_CLOSED;

	assert(ex && (closed || conn->state == CONNECTION_HANDLING));
	if (closed && ex->reply.undo) {
		undo_reply(conn);
		return;
	}
	if (ex->queue_name[0] && !closed) {
		ex->is_admission = false;
		wait_in_queue(conn);
		return;
	}
	if (TAKE(ex->is_admission) && !closed && !(ex->reply.has_relay && ex->failed)) {
		go_on_admitted(conn);
		return;
	}
	if (TAKE(ex->awaits_change) && !closed) {
		if (park_add(conn->server, ex))
			return;
		exchange_fail(ex, &ex->why);
	}
	/* A stream may last long: on a public route it counts for the project whose sandbox it
	 * shows. */
	if (ex->reply.has_relay && !closed && !ex->failed)
		(void)!owners_admit(conn);
	if (ex->reply.has_relay && (closed || ex->failed))
		relay_discard(&ex->reply.relay);
	if (closed)
		drop_exchange(conn, STATUS_CLIENT_GONE);
	else if (ex->reply.has_relay && !ex->failed)
		relay_start(conn);
	else
		send_reply(conn);
}

/* After a malformed request the start of the next one is unknown: the connection ends. */
static void refuse_request(struct http_connection *conn, enum http_fault fault)
{
	bool well_formed = fault == FAULT_ROUTE || fault == FAULT_METHOD || fault == FAULT_MEDIA;

	conn->keep_alive &= well_formed;
	exchange_refuse(conn->exchange, fault);
	send_reply(conn);
}

static void dispatch_request(struct http_connection *conn)
{
	struct http_exchange *ex = conn->exchange;
	struct error err = {0};

	conn->state = CONNECTION_HANDLING;
	conn->read_paused = conn->has_hung_up = false;
	connection_due_never(conn);
	exchange_set_deadline(ex);
	if (ex->failed) { /* the request was refused before its body was read */
		send_reply(conn);
	} else if (ex->request.route->flags & ROUTE_INLINE) {
		(void)exchange_handle(ex);
		connection_on_handled(conn);
	} else if ((ex->request.route->flags & ROUTE_TRY) && exchange_try(ex)) {
		connection_on_handled(conn);
	} else if (server_submit(conn->server, ex, &err) < 0) {
		exchange_fail(ex, &err);
		send_reply(conn);
	}
}

static void await_body(struct http_connection *conn)
{
	conn->state = CONNECTION_BODY;
	conn->body_received = 0;
	conn->body_started_ms = loop_now_ms(conn->server->loop);
	connection_due(conn, conn->server->options.body_timeout_ms);
}

/* `has_rest`: bytes after the head have already arrived. */
static void begin_body(struct http_connection *conn, bool has_rest)
{
	struct http_exchange *ex = conn->exchange;

	ex->is_admitted = true;
	if (!owners_admit(conn)) {
		answer_refusal(conn, has_rest);
		return;
	}
	if (conn->body.state == BODY_COMPLETE || (ex->request.route->flags & ROUTE_STREAM_BODY)) {
		dispatch_request(conn);
		return;
	}
	await_body(conn);
	ex->body.size_max = exchange_body_max(ex);
	if (ex->head.expects_continue && !has_rest)
		buf_add_text(&conn->out.queue, HTTP_CONTINUE);
}

/* Reads the rest of a refused request if it is small, otherwise answers at once. */
static void answer_refusal(struct http_connection *conn, bool has_rest)
{
	const struct http_head *head = &conn->exchange->head;
	bool is_small = !head->chunked && head->content_length <= REFUSED_BODY_MAX &&
	                (!head->expects_continue || has_rest);

	if (conn->body.state == BODY_COMPLETE || !is_small) {
		send_reply(conn);
		return;
	}
	conn->exchange->body.size_max = (size_t)REFUSED_BODY_MAX;
	await_body(conn);
}

/* Admits a request by its head: the body of a refused or queued request is not read yet. */
static void admit_request(struct http_connection *conn, bool has_rest)
{
	struct http_exchange *ex = conn->exchange;
	struct error err = {0};

	switch (exchange_admit(ex, true)) {
	case ADMISSION_DONE:
		begin_body(conn, has_rest);
		break;
	case ADMISSION_WAITS:
		wait_in_queue(conn);
		break;
	case ADMISSION_REFUSED:
		answer_refusal(conn, has_rest);
		break;
	case ADMISSION_BY_WORKER:
		conn->state = CONNECTION_HANDLING;
		conn->read_paused = conn->has_hung_up = false;
		connection_due_never(conn);
		ex->is_admission = true;
		if (server_submit(conn->server, ex, &err) == 0)
			break;
		exchange_fail(ex, &err);
		answer_refusal(conn, has_rest);
		break;
	}
}

static void leave_queue(struct http_connection *conn)
{
	struct http_exchange *ex = conn->exchange;

	ex->queue_name[0] = '\0';
	ex->has_place = true;
	if (ex->is_admitted)
		dispatch_request(conn);
	else
		admit_request(conn, conn->in.size > 0);
	if (conn->exchange == ex)
		ex->has_place = false;
}

/* The handler writes the refusal in its surface's format. */
static void refuse_queued(struct http_connection *conn)
{
	struct http_exchange *ex = conn->exchange;

	ex->queue_name[0] = '\0';
	ex->left_queue = true;
	if (ex->is_admitted) {
		dispatch_request(conn);
		return;
	}
	exchange_fail(ex, &ex->why);
	answer_refusal(conn, conn->in.size > 0);
}

static bool take_head(struct http_connection *conn, struct span *data)
{
	struct http_exchange *ex;
	size_t size = 0;
	enum http_fault fault = head_find_end(*data, &conn->scanned, &size);

	if (!fault)
		fault = head_check_size(*data, size, conn->server->options.head_max);
	if (!fault && !size)
		return false;
	conn->exchange = ex = exchange_new(conn->server, conn);
	if (!fault) {
		fault = exchange_begin(ex, (struct span){data->data, size});
		conn->keep_alive = ex->head.keep_alive;
		body_start(&conn->body, ex->head.chunked, ex->head.content_length);
		span_skip(data, size);
	}
	if (fault)
		refuse_request(conn, fault);
	else
		admit_request(conn, data->size > 0);
	return true;
}

static void extend_body_due(struct http_connection *conn)
{
	int64_t timeout = conn->server->options.body_timeout_ms;
	int64_t allowed = timeout + conn->body_received * BODY_MS_PER_BYTE -
	                  (loop_now_ms(conn->server->loop) - conn->body_started_ms);

	connection_due(conn, allowed < 0 ? 0 : allowed < timeout ? allowed : timeout);
}

static bool take_body(struct http_connection *conn, struct span *data)
{
	struct buf *body = &conn->exchange->body;
	struct span piece;

	switch (body_next(&conn->body, data, &piece)) {
	case BODY_PIECE:
		buf_add_span(body, piece);
		conn->body_received += (int64_t)piece.size;
		if (body->overflowed)
			refuse_request(conn, FAULT_BODY_SIZE);
		return true;
	case BODY_MORE:
		extend_body_due(conn);
		return false;
	case BODY_END:
		dispatch_request(conn);
		return true;
	case BODY_BAD:
		break;
	}
	refuse_request(conn, FAULT_CHUNK);
	return true;
}

static void take_requests(struct http_connection *conn, struct span *data)
{
	bool more = true;

	while (more && !conn->out.broken) {
		if (conn->state == CONNECTION_HEAD && data->size)
			more = take_head(conn, data);
		else if (conn->state == CONNECTION_BODY)
			more = take_body(conn, data);
		else
			more = false;
	}
}

void connection_feed(struct http_connection *conn, struct span bytes)
{
	AUTO(buf_done) struct buf held = conn->in;

	conn->in = BUF(IN_MAX);
	if (held.size) {
		buf_add_span(&held, bytes);
		bytes = buf_span(&held);
	}
	take_requests(conn, &bytes);
	if (bytes.size && conn->state != CONNECTION_CLOSED && conn->state != CONNECTION_LINGER)
		buf_add_span(&conn->in, bytes);
	if (conn->state == CONNECTION_HEAD && conn->in.size && !conn->head_started) {
		conn->head_started = true;
		connection_due(conn, conn->server->options.head_timeout_ms);
	}
	if (conn->state == CONNECTION_RELAY)
		relay_on_client_bytes(conn->relay);
}

static void read_requests(struct http_connection *conn)
{
	char *scratch = conn->server->scratch;
	size_t size = conn->state == CONNECTION_BODY ? server_read_size(conn->server, conn->out.tls)
	                                             : READ_SIZE;
	ssize_t got = connection_receive(conn, scratch, size);

	if (got > 0)
		connection_feed(conn, (struct span){scratch, (size_t)got});
}

static void read_and_drop(struct http_connection *conn)
{
	struct http_server *server = conn->server;
	ssize_t got =
	        connection_receive(conn, server->scratch, server_read_size(server, conn->out.tls));
	int64_t left_ms;

	if (got <= 0)
		return;
	left_ms = conn->linger_until_ms - loop_now_ms(conn->server->loop);
	if ((size_t)got >= conn->linger_left || left_ms <= 0) {
		connection_close(conn);
		return;
	}
	conn->linger_left -= (size_t)got;
	connection_due(conn, left_ms < LINGER_IDLE_MS ? left_ms : LINGER_IDLE_MS);
}

static void end_handshake(struct http_connection *conn)
{
	if (conn->state == CONNECTION_HANDSHAKE)
		conn->server->handshakes--;
}

static void shake_hands(struct http_connection *conn)
{
	enum tls_progress progress = tls_shake_hands(conn->out.tls);

	conn->shakes_by_writing = progress == TLS_WANTS_WRITE;
	if (progress == TLS_FAILED) {
		connection_close(conn);
	} else if (progress == TLS_DONE) {
		end_handshake(conn);
		await_head(conn);
	}
}

/* Its request was removed from the worker queue. */
static void end_abandoned(struct http_connection *conn)
{
	conn->state = CONNECTION_WAITING; /* no worker has the exchange */
	connection_close(conn);
}

static void on_ready(void *context, uint32_t events)
{
	struct http_connection *conn = context;
	struct http_server *server = conn->server;

	if (events & EPOLLOUT)
		conn->out.blocked = false;
	switch (conn->state) {
	case CONNECTION_HANDSHAKE:
		shake_hands(conn);
		break;
	case CONNECTION_HEAD:
	case CONNECTION_BODY:
		read_requests(conn);
		break;
	case CONNECTION_HANDLING:
		conn->read_paused = true;
		conn->has_hung_up |= (events & EPOLLRDHUP) != 0;
		if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			exchange_abandon(conn->exchange);
		if (events & (EPOLLHUP | EPOLLERR))
			connection_close(conn);
		else if ((events & EPOLLRDHUP) && server_abandon(server, conn->exchange))
			end_abandoned(conn);
		break;
	case CONNECTION_SENDING:
		if (events & (EPOLLHUP | EPOLLERR))
			connection_close(conn);
		break;
	case CONNECTION_PARKED:
		if (!(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
			break;
		server->park->counts.abandoned++;
		connection_close(conn);
		break;
	case CONNECTION_WAITING:
		if (!(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
			break;
		server->queues->counts.left++;
		connection_close(conn);
		break;
	case CONNECTION_RELAY:
		relay_on_client_ready(conn->relay, events);
		break;
	case CONNECTION_LINGER:
		read_and_drop(conn);
		break;
	case CONNECTION_CLOSED:
		break;
	}
	connection_update_events(conn);
	server_bury(server);
}

static void expire_connection(struct http_connection *conn)
{
	switch (conn->state) {
	case CONNECTION_HEAD:
		if (!conn->head_started) {
			connection_close(conn);
			break;
		}
		conn->exchange = exchange_new(conn->server, conn);
		refuse_request(conn, FAULT_HEAD_SLOW);
		break;
	case CONNECTION_BODY:
		refuse_request(conn, FAULT_BODY_SLOW);
		break;
	case CONNECTION_RELAY:
		relay_on_due(conn->relay);
		break;
	case CONNECTION_HANDSHAKE:
	case CONNECTION_HANDLING:
	case CONNECTION_PARKED:
	case CONNECTION_WAITING:
	case CONNECTION_SENDING:
	case CONNECTION_LINGER:
	case CONNECTION_CLOSED:
		connection_close(conn);
		break;
	}
}

/* A request only moves due_ms; the timer catches up when it runs. */
static void on_timer(void *context)
{
	struct http_connection *conn = context;
	struct http_server *server = conn->server;
	int64_t left = conn->due_ms - loop_now_ms(server->loop);

	if (conn->due_ms == INT64_MAX)
		return;
	if (left > 0) {
		loop_timer_start(server->loop, &conn->timer, left);
		return;
	}
	expire_connection(conn);
	connection_update_events(conn);
	server_bury(server);
}

/* Sends queued output. True when the next request may be parsed from bytes already read. */
static bool send_output(struct http_connection *conn)
{
	outflow_flush(&conn->out, conn->fd);
	if (conn->out.sent != conn->sent_seen) {
		conn->server->counts.bytes_out += conn->out.sent - conn->sent_seen;
		conn->sent_seen = conn->out.sent;
		if (conn->state == CONNECTION_SENDING)
			connection_due(conn, conn->server->options.write_timeout_ms);
	}
	if (conn->out.broken) {
		connection_close(conn);
		return false;
	}
	if (conn->state == CONNECTION_HEAD && outflow_size(&conn->out)) {
		conn->state = CONNECTION_SENDING;
		connection_due(conn, conn->server->options.write_timeout_ms);
	}
	if (conn->state == CONNECTION_SENDING && !outflow_size(&conn->out)) {
		if (conn->keep_alive)
			await_head(conn);
		else
			begin_linger(conn);
	}
	/* An incomplete head was left in `in` by the last parse. */
	return conn->state == CONNECTION_HEAD && conn->in.size && !conn->head_started;
}

static uint32_t epoll_events_of(const struct http_connection *conn)
{
	switch (conn->state) {
	case CONNECTION_HANDSHAKE:
		return conn->shakes_by_writing ? EPOLLOUT : EPOLLIN;
	case CONNECTION_HEAD:
	case CONNECTION_BODY:
	case CONNECTION_LINGER:
		/* EPOLLRDHUP as below, so that a request changes nothing in the kernel. */
		return EPOLLIN | EPOLLRDHUP | (conn->out.blocked ? EPOLLOUT : 0);
	case CONNECTION_HANDLING:
		return (conn->read_paused ? 0 : EPOLLIN) | (conn->has_hung_up ? 0 : EPOLLRDHUP);
	case CONNECTION_WAITING:
	case CONNECTION_PARKED:
		return EPOLLRDHUP | (conn->out.blocked ? EPOLLOUT : 0);
	case CONNECTION_SENDING:
		return EPOLLOUT;
	case CONNECTION_RELAY:
		return relay_client_interest(conn->relay);
	case CONNECTION_CLOSED:
		break;
	}
	return 0;
}

void connection_update_events(struct http_connection *conn)
{
	while (conn->state != CONNECTION_CLOSED && send_output(conn))
		connection_feed(conn, (struct span){NULL, 0});
	if (conn->state != CONNECTION_CLOSED && conn->watch)
		loop_watch_set(conn->watch, epoll_events_of(conn));
}

struct http_connection *connection_open(struct http_server *server,
                                        const struct connection_source *source)
{
	struct http_connection *conn = memory_new(sizeof(*conn));
	struct error err = {0};

	*conn = (struct http_connection){.server = server,
	                                 .fd = source->fd,
	                                 .in = BUF(IN_MAX),
	                                 .keep_alive = true,
	                                 .timer = {.on_timer = on_timer, .context = conn}};
	snprintf(conn->peer, sizeof(conn->peer), "%s", source->peer);
	outflow_init(&conn->out);
	body_start(&conn->body, false, 0);
	list_init(&conn->link);
	if ((source->tls && tls_new(source->tls, conn->fd, &conn->out.tls, &err) < 0) ||
	    loop_watch_add(
	            server->loop,
	            &(struct loop_watch_options){conn->fd, EPOLLIN | EPOLLRDHUP, on_ready, conn},
	            &conn->watch, &err) < 0) {
		log_warning("connection refused", FAILURE(&err));
		close(conn->fd);
		connection_free(conn);
		return NULL;
	}
	list_append(&server->connections, &conn->link);
	owners_enter(conn, owners_id_of_peer(conn->peer));
	server->counts.connections_open++;
	server->counts.connections_total++;
	await_head(conn);
	if (source->tls) {
		conn->state = CONNECTION_HANDSHAKE;
		server->handshakes++;
		connection_due(conn, server->options.head_timeout_ms);
	}
	return conn;
}

void connection_close(struct http_connection *conn)
{
	if (conn->state == CONNECTION_CLOSED)
		return;
	if (conn->exchange && conn->state == CONNECTION_HANDLING)
		exchange_abandon(conn->exchange);
	/* A worker that has the exchange returns it through connection_on_handled. */
	if (conn->exchange && conn->state != CONNECTION_HANDLING) {
		int status = STATUS_CLIENT_GONE;

		if (conn->relay)
			status = relay_abort(TAKE(conn->relay));
		drop_exchange(conn, status);
	}
	end_handshake(conn);
	if (conn->out.tls && conn->state == CONNECTION_HEAD)
		tls_end(conn->out.tls);
	conn->state = CONNECTION_CLOSED;
	tls_free(TAKE(conn->out.tls));
	loop_watch_free(TAKE(conn->watch));
	loop_timer_stop(conn->server->loop, &conn->timer);
	close(TAKE_FD(conn->fd));
	outflow_done(&conn->out);
	buf_done(&conn->in);
	conn->server->counts.connections_open--;
	owners_leave(conn);
	list_remove(&conn->link);
	list_append(&conn->server->dead, &conn->link);
}

static void on_relay_retry(struct http_connection *conn)
{
	struct http_exchange *ex = conn->exchange;
	struct error err = {0};

	assert(!conn->relay);
	if (ex->reply.has_relay) {
		relay_start(conn);
		return;
	}
	buf_reset(&ex->reply.headers);
	conn->state = CONNECTION_HANDLING;
	connection_due_never(conn);
	if (server_submit(conn->server, ex, &err) == 0)
		return;
	exchange_fail(ex, &err);
	send_reply(conn);
}

static void on_queue_place(struct http_connection *conn)
{
	leave_queue(conn);
	connection_feed(conn, (struct span){NULL, 0});
	connection_update_events(conn);
}

static void on_queue_refusal(struct http_connection *conn)
{
	refuse_queued(conn);
	connection_feed(conn, (struct span){NULL, 0});
	connection_update_events(conn);
}

const struct connection_events connection_events = {
        .close = connection_close,
        .update = connection_update_events,
        .on_relay_end = on_relay_end,
        .on_relay_replaced = send_reply,
        .on_relay_retry = on_relay_retry,
        .on_queue_place = on_queue_place,
        .on_queue_refusal = on_queue_refusal,
};
