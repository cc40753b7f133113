/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/relay.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "http/server/connection_state.h"
#include "http/server/exchange.h"
#include "http/server/relay_run.h"
#include "http/server/relay_state.h"
#include "http/server/reply.h"
#include "http/message/websocket.h"

const char *relay_request_id(const struct relay *relay)
{
	return relay->ex->request.id;
}

const struct request *relay_request(const struct relay *relay)
{
	return &relay->ex->request;
}

bool relay_message_is_text(const struct relay *relay)
{
	return relay->message_is_text;
}

void relay_fail(struct relay *relay, const struct error *err)
{
	relay_enter(relay);
	relay_set_failed(relay, err);
	relay_leave_and_update(relay);
}

/* A cut header list is an error, because the last header may be the one that makes the answer
 * safe. */
static void check_room(struct relay *relay)
{
	if (relay->ex->reply.headers.overflowed)
		relay_set_failed_text(relay, ERROR_UNAVAILABLE,
		                      "the upstream's reply has more headers than are passed on");
}

void relay_begin_header(struct relay *relay, const char *name, const char *value)
{
	relay_enter(relay);
	assert(!relay->status);
	if (!reply_header_is_valid(name, value))
		relay_set_failed_text(relay, ERROR_UNAVAILABLE,
		                      "the upstream's reply has an invalid header");
	else
		reply_add_header(&relay->ex->reply.headers, name, value);
	check_room(relay);
	relay_leave_and_update(relay);
}

static enum reply_framing choose_framing(const struct relay *relay, int64_t length)
{
	if (length >= 0)
		return REPLY_LENGTH;
	return relay->ex->head.is_http10 ? REPLY_UNTIL_CLOSE : REPLY_CHUNKED;
}

static void begin_reply(struct relay *relay, struct reply_head *head)
{
	struct http_connection *conn = relay->conn;

	head->framing = choose_framing(relay, head->length);
	relay->chunked = head->framing == REPLY_CHUNKED && reply_status_has_body(head->status);
	relay->length_left = reply_status_has_body(head->status) ? head->length : 0;
	relay->status = head->status;
	conn->keep_alive &= conn->body.state == BODY_COMPLETE && head->framing != REPLY_UNTIL_CLOSE;
	head->keep_alive = conn->keep_alive;
	reply_write_head(&conn->out.queue, relay->ex, head);
	buf_reset(&relay->ex->reply.headers);
	if (relay->is_head)
		relay->ending = ENDING_FINISHED;
}

void relay_begin(struct relay *relay, int status, const char *content_type, int64_t length)
{
	struct reply_head head = {.status = status, .content_type = content_type, .length = length};

	relay_enter(relay);
	assert(!relay->status);
	if (status < 200 || status > 599 ||
	    (content_type && !reply_header_is_valid("X", content_type)))
		relay_set_failed_text(relay, ERROR_UNAVAILABLE,
		                      "the upstream's reply has an invalid status or content type");
	else if (relay->ending == ENDING_NOT)
		begin_reply(relay, &head);
	relay_leave_and_update(relay);
}

void relay_switch(struct relay *relay, const char *protocol)
{
	const struct reply_head head = {.status = 101, .framing = REPLY_SWITCH};
	struct buf *headers = &relay->ex->reply.headers;

	relay_enter(relay);
	assert(!relay->status);
	if (!reply_header_is_valid("X", protocol)) {
		relay_set_failed_text(relay, ERROR_UNAVAILABLE,
		                      "the upstream's reply has an invalid Upgrade header");
	} else {
		reply_add_header(headers, "Upgrade", protocol);
		buf_add_text(headers, "Connection: Upgrade\r\n");
	}
	check_room(relay);
	if (relay->ending == ENDING_NOT) {
		reply_write_head(&relay->conn->out.queue, relay->ex, &head);
		relay->status = head.status;
		relay->is_tunnel = relay->conn->may_end_alone = true;
		relay->last_told = false;
	}
	relay_leave_and_update(relay);
}

void relay_retry(struct relay *relay)
{
	relay_enter(relay);
	assert(!relay->status && relay->conn->body.state == BODY_COMPLETE);
	if (relay->ending == ENDING_NOT) {
		relay->ex->reply.has_relay = false;
		relay->ending = ENDING_AGAIN;
	}
	relay_leave_and_update(relay);
}

static void write_body(struct relay *relay, struct span bytes)
{
	struct http_connection *conn = relay->conn;
	char head[24];
	const struct span parts[] = {{head, 0}, bytes, SPAN("\r\n")};
	struct span chunk[COUNT_OF(parts)];

	if (relay->length_left >= 0) {
		if (bytes.size > (uint64_t)relay->length_left) {
			relay_set_failed_text(relay, ERROR_UNAVAILABLE,
			                      "the upstream sent more than it announced");
			return;
		}
		relay->length_left -= (int64_t)bytes.size;
	}
	if (!relay->chunked) {
		outflow_write(&conn->out, conn->fd, &bytes, 1);
		return;
	}
	memcpy(chunk, parts, sizeof(chunk));
	chunk[0].size = (size_t)snprintf(head, sizeof(head), "%zx\r\n", bytes.size);
	outflow_write(&conn->out, conn->fd, chunk, COUNT_OF(chunk));
}

void relay_write(struct relay *relay, struct span bytes)
{
	relay_enter(relay);
	assert(relay->status || relay->ending != ENDING_NOT);
	relay->active_ms = relay_now_ms(relay);
	if (relay->ending == ENDING_NOT && relay->websocket)
		websocket_send(relay->websocket, false, bytes);
	else if (relay->ending == ENDING_NOT && bytes.size)
		write_body(relay, bytes);
	relay_leave_and_update(relay);
}

void relay_later(struct relay *relay)
{
	relay->is_later = true;
}

size_t relay_unsent(const struct relay *relay)
{
	return outflow_size(&relay->conn->out);
}

void relay_write_text_message(struct relay *relay, struct span text)
{
	relay_enter(relay);
	assert(relay->websocket || relay->ending != ENDING_NOT);
	relay->active_ms = relay_now_ms(relay);
	if (relay->ending == ENDING_NOT)
		websocket_send(relay->websocket, true, text);
	relay_leave_and_update(relay);
}

void relay_to_upstream(struct relay *relay, struct span bytes)
{
	relay_enter(relay);
	relay_queue_upstream(relay, bytes);
	relay_leave_and_update(relay);
}

/* Trailers use the buffer of the head's headers. */
void relay_trailer(struct relay *relay, const char *name, const char *value)
{
	if (relay->chunked && relay->ending == ENDING_NOT && reply_header_is_valid(name, value))
		reply_add_header(&relay->ex->reply.headers, name, value);
}

void relay_finish(struct relay *relay)
{
	relay_enter(relay);
	relay_set_finished(relay);
	relay_leave_and_update(relay);
}

void relay_finish_websocket(struct relay *relay, unsigned code, const char *reason)
{
	size_t size = strnlen(reason, sizeof(relay->close_reason) - 1);

	relay->close_code = code;
	memcpy(relay->close_reason, reason, size);
	relay->close_reason[size] = '\0';
	relay_finish(relay);
}

void relay_answer(struct relay *relay, int status, const char *content_type, struct span body)
{
	relay_enter(relay);
	relay_begin(relay, status, content_type, (int64_t)body.size);
	if (relay->ending == ENDING_NOT && reply_status_has_body(status))
		relay_write(relay, body);
	relay_finish(relay);
	relay_leave_and_update(relay);
}
