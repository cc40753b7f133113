/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/relay.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "http/server/connection_state.h"
#include "http/server/exchange.h"
#include "http/server/relay_run.h"
#include "http/server/relay_state.h"
#include "http/server/reply.h"
#include "http/server/server_state.h"
#include "http/tls/tls.h"
#include "http/message/websocket.h"

/* Reads everything that is left in a socket whose peer has closed: 16 MiB in reads of
 * PACE_READ_MAX. A peer that keeps sending may fill less per read. */
#define LAST_READS_MAX 64
#define HELD_MAX (SERVER_SCRATCH_SIZE - PACE_READ_MAX)
/* A client that misses three pings is gone. */
#define PING_MS 30000
#define SILENCE_MS (3 * PING_MS + PING_MS / 2)
/* Limit of silence in a tunnel with a single open direction: the silent side may be gone. */
#define ONE_WAY_MS ((int64_t)5 * 60 * 1000)

/* After HEAD the upstream may send a body that was not requested. */
static bool is_clean(const struct relay *relay)
{
	return !relay->is_head && !relay->held.size && !outflow_size(&relay->upstream) &&
	       !relay->upstream.broken && relay->conn->body.state == BODY_COMPLETE;
}

static void end_upstream_tls(struct tls *tls)
{
	if (tls)
		tls_end(tls);
	tls_free(tls);
}

static void close_upstream(struct relay *relay)
{
	end_upstream_tls(TAKE(relay->upstream.tls));
	if (relay->is_shared)
		socket_drop(&relay->upstream_fd);
	else
		fd_forget(&relay->upstream_fd);
}

/* Releases the relay's resources and frees it. */
static void release_relay(struct relay *relay, bool clean)
{
	struct loop *loop = relay->conn->server->loop;

	loop_timer_stop(loop, &relay->tick);
	loop_timer_stop(loop, &relay->later);
	loop_watch_free(TAKE(relay->upstream_watch));
	relay->conn->body.trailers = NULL;
	if (!clean)
		close_upstream(relay);
	end_upstream_tls(TAKE(relay->upstream.tls));
	relay->ops->release(relay->state, clean ? relay->upstream_fd : -1, clean);
	relay->conn->server->counts.relays_open--;
	outflow_done(&relay->upstream);
	buf_done(&relay->held);
	free(relay->err);
	websocket_free(relay->websocket);
	free(relay);
}

int relay_abort(struct relay *relay)
{
	int status = relay->status ? relay->status : STATUS_CLIENT_GONE;

	release_relay(relay, false);
	log_request_set(NULL);
	return status;
}

static void log_cut(const struct relay *relay)
{
	const struct request *rq = &relay->ex->request;

	if (error_kind_get(relay->err->code)->http_status >= 500)
		log_error("reply cut short", TEXT("path", rq->path), FAILURE(relay->err));
	else
		log_debug("reply cut short", TEXT("path", rq->path), FAILURE(relay->err));
}

static void end_failed(struct relay *relay)
{
	struct http_connection *conn = relay->conn;
	const struct connection_events *events = conn->server->events;
	enum http_fault fault = relay->fault;
	struct error err = *relay->err;
	int status = relay->status;

	if (relay->websocket && !relay->close_sent)
		websocket_close(relay->websocket, WEBSOCKET_FAILED, err.text);
	if (status)
		log_cut(relay);
	if (status && !relay->websocket) {
		connection_cut(conn);
		return;
	}
	conn->relay = NULL;
	release_relay(relay, false);
	if (status) {
		events->on_relay_end(conn, status, false);
		return;
	}
	buf_reset(&conn->exchange->reply.headers);
	if (fault)
		exchange_refuse(conn->exchange, fault);
	else
		exchange_fail(conn->exchange, &err);
	events->on_relay_replaced(conn);
}

static void end_finished(struct relay *relay)
{
	struct http_connection *conn = relay->conn;
	/* Both sides know where the reply ends. */
	bool framed = relay->chunked || relay->length_left == 0 || relay->is_head ||
	              !reply_status_has_body(relay->status);
	int status = relay->status;
	bool clean;

	if (relay->websocket && !relay->close_sent)
		websocket_close(relay->websocket,
		                relay->close_code ? relay->close_code : WEBSOCKET_NORMAL,
		                relay->close_reason);
	clean = is_clean(relay);
	conn->relay = NULL;
	release_relay(relay, clean);
	conn->server->events->on_relay_end(conn, status, framed && status != 101);
}

static void end_for_retry(struct relay *relay)
{
	struct http_connection *conn = relay->conn;

	conn->relay = NULL;
	release_relay(relay, false);
	conn->server->events->on_relay_retry(conn);
}

static bool wants_client(const struct relay *relay)
{
	if (outflow_size(&relay->upstream) > RELAY_WAITING_MAX)
		return false;
	if (relay->websocket)
		return outflow_size(&relay->conn->out) <= RELAY_WAITING_MAX;
	if (relay->is_tunnel)
		return !relay->client_ended;
	return relay->conn->body.state != BODY_COMPLETE;
}

static bool wants_upstream(const struct relay *relay)
{
	return !relay->upstream_ended && !relay->is_later && relay_has_room(relay);
}

static void on_upstream_ready(void *context, uint32_t events);

/* Without interesting events there is no watch, because epoll would report a hang-up forever. */
static int watch_upstream(struct relay *relay, struct error *err)
{
	uint32_t events =
	        (wants_upstream(relay) ? EPOLLIN : 0) |
	        (outflow_size(&relay->upstream) && !relay->upstream.broken ? EPOLLOUT : 0);
	struct loop_watch_options options;

	if (relay->upstream_fd < 0 || !events) {
		loop_watch_free(TAKE(relay->upstream_watch));
		return 0;
	}
	if (relay->upstream_watch) {
		loop_watch_set(relay->upstream_watch, events);
		return 0;
	}
	options = (struct loop_watch_options){relay->upstream_fd, events, on_upstream_ready, relay};
	return loop_watch_add(relay->conn->server->loop, &options, &relay->upstream_watch, err);
}

/* A side's time limit runs only while the relay waits for that side. */
static void note_progress(struct relay *relay)
{
	struct http_connection *conn = relay->conn;
	bool is_sending = outflow_size(&conn->out) > 0;
	bool is_reading = wants_client(relay) && !conn->in.size;

	if (conn->out.sent != relay->client_took || !relay->was_sending)
		relay->client_took_ms = relay_now_ms(relay);
	if (is_reading && !relay->was_reading)
		relay->client_seen_ms = relay_now_ms(relay);
	relay->client_took = conn->out.sent;
	relay->was_sending = is_sending;
	relay->was_reading = is_reading;
}

enum due { DUE_WRITE, DUE_BODY, DUE_IDLE, DUE_FIRST, DUE_WHOLE, DUE_PING, DUE_COUNT };

/* 0: none. */
static int64_t idle_limit_ms(const struct relay *relay)
{
	int64_t limit = relay->idle_timeout_ms;
	bool is_one_way = relay->client_ended || relay->upstream_ended;

	return is_one_way && (!limit || limit > ONE_WAY_MS) ? ONE_WAY_MS : limit;
}

/* Computes when each limit is reached; INT64_MAX for limits that do not apply now. */
static void list_dues(const struct relay *relay, int64_t dues[DUE_COUNT])
{
	const struct server_options *options = &relay->conn->server->options;
	int64_t idle_ms = idle_limit_ms(relay);
	bool body_awaited = !relay->websocket && !relay->is_tunnel && relay->was_reading;

	dues[DUE_WRITE] = outflow_size(&relay->conn->out)
	                          ? relay->client_took_ms + options->write_timeout_ms
	                          : INT64_MAX;
	dues[DUE_BODY] =
	        body_awaited ? relay->client_seen_ms + options->body_timeout_ms : INT64_MAX;
	dues[DUE_IDLE] = idle_ms ? relay->active_ms + idle_ms : INT64_MAX;
	dues[DUE_FIRST] = relay->first_by_ms;
	dues[DUE_WHOLE] = relay->ends_at_ms;
	dues[DUE_PING] = relay->websocket ? relay_now_ms(relay) + PING_MS : INT64_MAX;
}

static void update_due(struct relay *relay)
{
	int64_t dues[DUE_COUNT], first = INT64_MAX, left;

	list_dues(relay, dues);
	for (int i = 0; i < DUE_COUNT; i++)
		if (dues[i] < first)
			first = dues[i];
	left = first - relay_now_ms(relay);
	if (first == INT64_MAX)
		connection_due_never(relay->conn);
	else
		/* An exceeded limit is due now: a positive delay would be postponed by each event
		 * while a side keeps sending. */
		connection_due(relay->conn, left > 0 ? left : 0);
}

static bool read_upstream(struct relay *relay);

static void note_broken(struct relay *relay, struct error *err)
{
	if (relay->ending != ENDING_NOT)
		return;
	if (!relay->ops->on_upstream_broken ||
	    relay->ops->on_upstream_broken(relay->state, relay, err) < 0)
		relay_set_failed(relay, err);
}

/* Reads the rest of an upstream that accepts no more bytes: it may have sent a reason before
 * closing. Limited, so that a peer that keeps sending does not block the loop. */
static void hear_out_upstream(struct relay *relay)
{
	bool more = true;

	while (more && relay->last_reads < LAST_READS_MAX && relay->ending == ENDING_NOT &&
	       relay->upstream_fd >= 0 && !relay->upstream_ended && !relay->is_later) {
		relay->last_reads++;
		more = read_upstream(relay);
	}
}

static void flush_output(struct relay *relay)
{
	struct error err = {0};

	outflow_flush(&relay->conn->out, relay->conn->fd);
	if (relay->upstream_fd >= 0)
		outflow_flush(&relay->upstream, relay->upstream_fd);
	if (!relay->upstream.broken)
		return;
	hear_out_upstream(relay);
	if (relay->is_later)
		return;
	error_set(&err, ERROR_UNAVAILABLE, 0, HERE, "the upstream takes no more bytes");
	note_broken(relay, &err);
}

/* Schedules on_upstream for a later iteration, when the client's buffer has room. */
static void plan_later(struct relay *relay)
{
	if (relay->is_later && relay_has_room(relay) && relay->later.heap_index == 0)
		loop_timer_start(relay->conn->server->loop, &relay->later, 0);
}

static void end_tunnel(struct relay *relay)
{
	struct error err = {0};

	if (relay->ops->on_upstream_end &&
	    relay->ops->on_upstream_end(relay->state, relay, &err) < 0)
		relay_set_failed(relay, &err);
	else
		relay_set_finished(relay);
}

/* Passes the end of a side to the other side after its last byte. */
static void pass_ends(struct relay *relay)
{
	struct http_connection *conn = relay->conn;

	if (relay->client_ended && !relay->upstream_told && !outflow_size(&relay->upstream)) {
		relay->upstream_told = true;
		if (relay->upstream.tls)
			tls_end(relay->upstream.tls);
		else
			(void)shutdown(relay->upstream_fd, SHUT_WR);
	}
	if (relay->upstream_ended && !relay->client_told && !outflow_size(&conn->out)) {
		relay->client_told = true;
		(void)connection_end_writing(conn);
	}
	/* Nothing is left to do with it, and a hang-up would be reported for ever. */
	if (relay->client_ended && relay->client_told)
		loop_watch_free(TAKE(conn->watch));
	if (relay->upstream_told && relay->client_told)
		end_tunnel(relay);
}

void relay_leave(struct relay *relay)
{
	struct error err = {0};

	assert(relay->depth > 0);
	if (relay->depth > 1) {
		relay->depth--;
		return;
	}
	flush_output(relay);
	/* Bytes that waited in conn->in for room may be processed now. */
	while (relay->ending == ENDING_NOT && relay->conn->in.size && !relay->last_told &&
	       wants_client(relay)) {
		relay_on_client_bytes(relay);
		flush_output(relay);
	}
	if (relay->is_tunnel && relay->ending == ENDING_NOT)
		pass_ends(relay);
	relay->depth = 0;
	if (relay->ending == ENDING_NOT && watch_upstream(relay, &err) < 0)
		relay_set_failed(relay, &err);
	if (relay->ending == ENDING_NOT) {
		note_progress(relay);
		update_due(relay);
		plan_later(relay);
	} else if (relay->ending == ENDING_FINISHED) {
		end_finished(relay);
	} else if (relay->ending == ENDING_AGAIN) {
		end_for_retry(relay);
	} else {
		end_failed(relay);
	}
	log_request_set(NULL);
}

void relay_leave_and_update(struct relay *relay)
{
	struct http_connection *conn = relay->conn;
	struct http_server *server = conn->server;
	bool is_outermost = relay->depth == 1;

	relay_leave(relay);
	if (!is_outermost)
		return;
	server->events->update(conn);
	server_bury(server);
}

static void on_upstream_closed(struct relay *relay)
{
	struct error err = {0};
	bool waits;

	if (relay->is_tunnel) {
		relay->upstream_ended = true;
		return;
	}
	loop_watch_free(TAKE(relay->upstream_watch));
	close_upstream(relay);
	if (relay->ops->on_upstream_end &&
	    relay->ops->on_upstream_end(relay->state, relay, &err) < 0) {
		relay_set_failed(relay, &err);
		return;
	}
	/* Without these, nothing can continue the relay. */
	waits = relay->tick_ms || relay->websocket || relay->conn->body.state != BODY_COMPLETE;
	if (!relay->ops->on_upstream_end || !waits)
		relay_set_failed_text(relay, ERROR_UNAVAILABLE, "the upstream ended early");
}

static void pass_upstream(struct relay *relay, struct span in)
{
	struct error err = {0};

	relay->active_ms = relay_now_ms(relay);
	relay->first_by_ms = INT64_MAX;
	relay->is_later = false;
	if (relay->ops->on_upstream && relay->ops->on_upstream(relay->state, relay, &in, &err) < 0)
		relay_set_failed(relay, &err);
	if (!relay->ops->on_upstream)
		in.size = 0;
	buf_done(&relay->held);
	relay->held = BUF(HELD_MAX);
	buf_add_span(&relay->held, in);
	if (relay->held.overflowed)
		relay_set_failed_text(relay, ERROR_TOO_LARGE,
		                      "a frame of the upstream is too large");
}

static ssize_t receive_upstream(const struct relay *relay, char *room, size_t size)
{
	if (relay->upstream.tls)
		return tls_receive(relay->upstream.tls, room, size);
	return relay->is_shared ? recv(relay->upstream_fd, room, size, MSG_DONTWAIT)
	                        : read(relay->upstream_fd, room, size);
}

/* Returns true when more may be readable at once. */
static bool read_upstream(struct relay *relay)
{
	char *scratch = relay->conn->server->scratch;
	size_t held = relay->held.size;
	/* The last bytes of an upstream are read at once; see hear_out_upstream. */
	size_t size = relay->last_reads > 0
	                      ? PACE_READ_MAX
	                      : server_read_size(relay->conn->server, relay->upstream.tls);
	struct error err = {0};
	ssize_t got;

	do
		got = receive_upstream(relay, scratch + held, size);
	while (got < 0 && errno == EINTR);
	if (got < 0 && errno == EAGAIN)
		return false;
	if (got < 0) {
		error_set(&err, ERROR_UNAVAILABLE, errno, HERE, "read from the upstream");
		note_broken(relay, &err);
	} else if (got == 0) {
		on_upstream_closed(relay);
	} else {
		if (held)
			memcpy(scratch, relay->held.data, held);
		pass_upstream(relay, (struct span){scratch, held + (size_t)got});
	}
	return got > 0;
}

static void on_later(void *context)
{
	struct relay *relay = context;
	AUTO(buf_done) struct buf held = relay->held;

	relay->held = BUF(HELD_MAX);
	relay_enter(relay);
	pass_upstream(relay, buf_span(&held));
	relay_leave_and_update(relay);
}

static void on_upstream_ready(void *context, uint32_t events)
{
	struct relay *relay = context;

	relay_enter(relay);
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		outflow_ready(&relay->upstream, relay->upstream_fd);
	if ((events & ~(uint32_t)EPOLLOUT) && wants_upstream(relay))
		(void)read_upstream(relay);
	relay_leave_and_update(relay);
}

static void tell_client_bytes(struct relay *relay, struct span bytes, bool last)
{
	struct error err = {0};

	relay->last_told |= last;
	if (!relay->ops->on_client || relay->ending != ENDING_NOT)
		return;
	if (relay->ops->on_client(relay->state, relay, bytes, last, &err) < 0)
		relay_set_failed(relay, &err);
}

static void refuse_body(struct relay *relay, enum http_fault fault)
{
	if (relay->ending == ENDING_NOT)
		relay->fault = fault;
	relay_set_failed_text(relay, ERROR_INVALID, fault_kind_get(fault)->text);
}

static void take_body(struct relay *relay, struct span *data)
{
	struct body_reader *body = &relay->conn->body;

	while (relay->ending == ENDING_NOT && !relay->last_told &&
	       outflow_size(&relay->upstream) <= RELAY_WAITING_MAX) {
		struct span piece;

		switch (body_next(body, data, &piece)) {
		case BODY_PIECE:
			relay->body_seen += piece.size;
			relay->active_ms = relay_now_ms(relay);
			if (relay->body_seen > exchange_body_max(relay->ex))
				refuse_body(relay, FAULT_BODY_SIZE);
			else
				tell_client_bytes(relay, piece, body->state == BODY_COMPLETE);
			break;
		case BODY_MORE:
			return;
		case BODY_END:
			tell_client_bytes(relay, (struct span){NULL, 0}, true);
			break;
		case BODY_BAD:
			refuse_body(relay, FAULT_CHUNK);
			break;
		}
	}
}

static void on_websocket_message(void *context, bool is_text, struct span message)
{
	struct relay *relay = context;

	relay->active_ms = relay_now_ms(relay);
	relay->message_is_text = is_text;
	tell_client_bytes(relay, message, false);
}

static void on_websocket_send(void *context, struct span bytes)
{
	struct relay *relay = context;

	outflow_write(&relay->conn->out, relay->conn->fd, &bytes, 1);
}

static void take_frames(struct relay *relay, struct span *data)
{
	enum websocket_state state = websocket_receive(relay->websocket, *data);

	*data = (struct span){NULL, 0};
	if (state == WEBSOCKET_OPEN)
		return;
	relay->close_sent = true; /* wslay has answered */
	if (state == WEBSOCKET_CLOSED_BY_CLIENT)
		tell_client_bytes(relay, (struct span){NULL, 0}, true);
	relay_set_failed_text(relay, ERROR_INVALID,
	                      state == WEBSOCKET_BROKEN ? "the client broke the WebSocket protocol"
	                                                : "the client closed the WebSocket");
}

static void take_client(struct relay *relay, struct span *data)
{
	if (relay->websocket) {
		take_frames(relay, data);
	} else if (relay->is_tunnel) {
		relay->active_ms = relay_now_ms(relay);
		tell_client_bytes(relay, *data, false);
		*data = (struct span){NULL, 0};
	} else {
		take_body(relay, data);
	}
}

void relay_on_client_bytes(struct relay *relay)
{
	struct http_connection *conn = relay->conn;
	AUTO(buf_done) struct buf in = conn->in;
	struct span data = buf_span(&in);

	if (!in.size || (!relay->websocket && relay->last_told)) {
		in = (struct buf){0};
		return;
	}
	conn->in = BUF(in.size_max);
	relay_enter(relay);
	take_client(relay, &data);
	buf_add_span(&conn->in, data);
	relay_leave(relay);
}

/* Bytes beyond the upstream's buffer stay in conn->in, still in the client's framing. */
static void read_client(struct relay *relay)
{
	struct http_connection *conn = relay->conn;
	char *scratch = conn->server->scratch;
	ssize_t got =
	        connection_receive(conn, scratch, server_read_size(conn->server, conn->out.tls));
	struct span data = {scratch, (size_t)got};

	if (got == 0)
		relay->client_ended = conn->has_ended;
	if (got <= 0)
		return;
	relay->client_seen_ms = relay_now_ms(relay);
	take_client(relay, &data);
	if (data.size)
		buf_add_span(&conn->in, data);
}

void relay_on_client_ready(struct relay *relay, uint32_t events)
{
	struct http_connection *conn = relay->conn;
	bool may_read = wants_client(relay) && !conn->in.size;

	/* Both directions of the client have ended, and its last bytes are still in the socket: at
	 * most a socket buffer. */
	if (relay->is_tunnel && !relay->client_ended && (events & EPOLLHUP))
		may_read = true;
	/* Not inside a callback here: closing frees the relay. */
	if (!may_read && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))) {
		conn->server->events->close(conn);
		return;
	}
	relay_enter(relay);
	if (may_read && (events & ~(uint32_t)EPOLLOUT))
		read_client(relay);
	if (conn->state == CONNECTION_CLOSED)
		return;
	relay_leave(relay);
}

uint32_t relay_client_interest(const struct relay *relay)
{
	const struct http_connection *conn = relay->conn;
	uint32_t events = conn->out.blocked ? EPOLLOUT : 0;

	if (wants_client(relay) && !conn->in.size)
		return events | EPOLLIN;
	/* No more input is expected: the next event is the next request or the client leaving. */
	return conn->body.state == BODY_COMPLETE && !relay->is_tunnel ? events | EPOLLRDHUP
	                                                              : events;
}

void relay_on_due(struct relay *relay)
{
	int64_t dues[DUE_COUNT], now = relay_now_ms(relay);
	struct error err = {0};

	list_dues(relay, dues);
	if (dues[DUE_WRITE] <= now ||
	    (relay->websocket && now - relay->client_seen_ms > SILENCE_MS)) {
		connection_cut(relay->conn);
		return;
	}
	relay_enter(relay);
	if (dues[DUE_BODY] <= now) {
		refuse_body(relay, FAULT_BODY_SLOW);
	} else if (dues[DUE_IDLE] <= now) {
		error_set(&err, ERROR_TIMEOUT, 0, HERE, "nothing moved for %lld ms",
		          (long long)idle_limit_ms(relay));
		relay_set_failed(relay, &err);
	} else if (dues[DUE_FIRST] <= now) {
		error_set(&err, ERROR_TIMEOUT, 0, HERE,
		          "the other side has not answered in %lld ms", (long long)relay->first_ms);
		relay_set_failed(relay, &err);
	} else if (dues[DUE_WHOLE] <= now) {
		relay_set_failed_text(relay, ERROR_TIMEOUT,
		                      "the other side did not finish in time");
	} else if (relay->websocket) {
		websocket_ping(relay->websocket);
	}
	relay_leave(relay);
}

static void on_tick(void *context)
{
	struct relay *relay = context;

	loop_timer_start(relay->conn->server->loop, &relay->tick, relay->tick_ms);
	relay_enter(relay);
	relay->ops->on_tick(relay->state, relay);
	relay_leave_and_update(relay);
}

void relay_tick_in(struct relay *relay, int64_t ms)
{
	relay->tick_ms = ms > 0 ? ms : 1;
	loop_timer_start(relay->conn->server->loop, &relay->tick, relay->tick_ms);
}

static void begin_websocket(struct relay *relay)
{
	static const struct websocket_events events = {.on_message = on_websocket_message,
	                                               .send = on_websocket_send};
	struct http_exchange *ex = relay->ex;
	struct buf *headers = &ex->reply.headers;
	const struct reply_head head = {.status = 101, .framing = REPLY_SWITCH};

	buf_add_text(headers, "Upgrade: websocket\r\nConnection: Upgrade\r\n"
	                      "Sec-WebSocket-Accept: ");
	websocket_write_accept(headers, ex->head.known[HEAD_WEBSOCKET_KEY]);
	buf_add_text(headers, "\r\n");
	if (ex->reply.protocol)
		reply_add_header(headers, "Sec-WebSocket-Protocol", ex->reply.protocol);
	reply_write_head(&relay->conn->out.queue, ex, &head);
	relay->status = head.status;
	relay->websocket = websocket_new(&events, relay);
}

static void begin_plain(struct relay *relay)
{
	const struct http_exchange *ex = relay->ex;
	struct http_connection *conn = relay->conn;

	relay->last_told = !(ex->request.route->flags & ROUTE_STREAM_BODY);
	if (conn->body.state == BODY_COMPLETE && !relay->last_told)
		tell_client_bytes(relay, (struct span){NULL, 0}, true);
	else if (ex->head.expects_continue && !relay->last_told && !conn->in.size)
		buf_add_text(&conn->out.queue, HTTP_CONTINUE);
}

static struct relay *relay_new(struct http_connection *conn, const struct relay_options *options)
{
	struct relay *relay = memory_new(sizeof(*relay));
	int64_t now = loop_now_ms(conn->server->loop);

	*relay = (struct relay){
	        .conn = conn,
	        .ex = conn->exchange,
	        .ops = options->ops,
	        .state = options->state,
	        .upstream_fd = options->upstream_fd,
	        .is_shared = options->is_shared,
	        .held = BUF(HELD_MAX),
	        .later = {.on_timer = on_later, .context = relay},
	        .tick = {.on_timer = on_tick, .context = relay},
	        .tick_ms = options->ops->on_tick ? options->tick_ms : 0,
	        .idle_timeout_ms = options->idle_timeout_ms,
	        .is_standing = options->is_standing,
	        .first_ms = options->first_ms,
	        .first_by_ms = options->first_ms ? now + options->first_ms : INT64_MAX,
	        .ends_at_ms = options->whole_ms ? now + options->whole_ms : INT64_MAX,
	        .active_ms = now,
	        .client_seen_ms = now,
	        .client_took_ms = now,
	        .client_took = conn->out.sent,
	        .length_left = -1,
	        .is_head = conn->exchange->request.method == HTTP_HEAD};
	outflow_init(&relay->upstream);
	relay->upstream.tls = options->tls;
	conn->server->counts.relays_open++;
	return relay;
}

void relay_start(struct http_connection *conn)
{
	const struct reply *reply = &conn->exchange->reply;
	struct relay *relay = relay_new(conn, &reply->relay);
	struct error err = {0};

	assert(reply->has_relay && !conn->relay);
	conn->relay = relay;
	conn->state = CONNECTION_RELAY;
	conn->body.trailers = reply->relay.trailers;
	buf_done(&conn->exchange->body);
	relay_enter(relay);
	if (relay->upstream_fd >= 0 && !relay->is_shared &&
	    fd_set_blocking(relay->upstream_fd, false, &err) < 0)
		relay_set_failed(relay, &err);
	relay_queue_upstream(relay, reply->relay.upstream_first);
	if (reply->is_websocket)
		begin_websocket(relay);
	else
		begin_plain(relay);
	if (relay->tick_ms)
		loop_timer_start(conn->server->loop, &relay->tick, relay->tick_ms);
	if (relay->ops->on_start && relay->ending == ENDING_NOT)
		relay->ops->on_start(relay->state, relay);
	relay_leave(relay);
}
