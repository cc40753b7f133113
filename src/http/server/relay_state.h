/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/relay_state.h — the relay's state. relay.c moves the bytes; relay_calls.c has the
 * functions that translators call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "http/message/fault.h"
#include "http/server/outflow.h"
#include "http/server/relay.h"
#include "loop/loop.h"

/* With more bytes queued for a side, the other side is not read. */
#define RELAY_WAITING_MAX ((size_t)256 * 1024)

enum ending { ENDING_NOT, ENDING_FINISHED, ENDING_FAILED, ENDING_AGAIN };

struct http_connection;
struct http_exchange;
struct websocket;

struct relay {
	struct http_connection *conn;
	struct http_exchange *ex;
	const struct relay_ops *ops;
	void *state;
	int upstream_fd;
	struct loop_watch *upstream_watch;
	struct buf held;         /* an incomplete frame from the upstream */
	struct loop_timer later; /* after relay_later: passes `held` to on_upstream again */
	struct outflow upstream; /* output to the upstream */
	struct websocket *websocket;
	struct loop_timer tick;
	bool is_standing;
	int64_t tick_ms, idle_timeout_ms;
	int64_t first_ms;       /* as in relay_options */
	int64_t first_by_ms;    /* INT64_MAX: the upstream has sent a byte, or has no limit yet */
	int64_t ends_at_ms;     /* INT64_MAX: no limit */
	int64_t active_ms;      /* time of the last content byte in either direction */
	int64_t client_seen_ms; /* time of the last byte from the client, of any kind */
	int64_t client_took_ms; /* time of the last byte that the client received */
	uint64_t client_took;   /* last seen conn->out.sent */
	uint64_t body_seen;     /* received bytes of the request's body */
	unsigned last_reads;    /* reads since the upstream accepted no more bytes */
	int64_t length_left;    /* bytes left of a reply with a length, else -1 */
	unsigned depth; /* nesting of callbacks: the relay ends when the outermost has returned */
	int status;     /* 0 until the reply begins */
	enum ending ending;
	bool chunked, is_head, last_told, message_is_text, close_sent;
	bool is_later;
	bool is_shared; /* see relay_options */
	bool is_tunnel; /* after relay_switch */
	/* In a tunnel: which side has ended its stream, and which side was told of the other's
	 * end. */
	bool client_ended, upstream_ended, client_told, upstream_told;
	bool was_reading,
	        was_sending; /* at the last relay_leave: read from, and wrote to, the client */
	struct error *err;   /* ENDING_FAILED; allocated only then */
	unsigned close_code; /* of a WebSocket; 0 = code 1000 without reason */
	char close_reason[124];
	enum http_fault fault; /* the client's fault behind the error, if any */
};

/* relay_state.c. Call relay_enter, and relay_leave of relay_run.h, around code that calls a
 * translator or is called by one: the relay ends at the outermost relay_leave. */
void relay_enter(struct relay *relay);
/* Only the first failure is kept. */
void relay_set_failed(struct relay *relay, const struct error *err);
void relay_set_failed_text(struct relay *relay, enum error_code code, const char *text);
int64_t relay_now_ms(const struct relay *relay);
/* Like relay_to_upstream and relay_finish, between relay_enter and relay_leave. */
void relay_queue_upstream(struct relay *relay, struct span bytes);
void relay_set_finished(struct relay *relay);
