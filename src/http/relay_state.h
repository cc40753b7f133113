/* SPDX-License-Identifier: Apache-2.0 */
/* http/relay_state.h — what relay.c, which moves the bytes, and relay_calls.c, which translators
 * call, know of a relay. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "http/fault.h"
#include "http/outflow.h"
#include "http/relay.h"
#include "loop/loop.h"

/* Past so much waiting for one side, the other side is not read. */
#define RELAY_WAITING_MAX ((size_t)256 * 1024)

enum ending { ENDING_NOT, ENDING_FINISHED, ENDING_FAILED, ENDING_AGAIN };

struct relay {
	struct http_connection *conn;
	struct http_exchange *ex;
	const struct relay_ops *ops;
	void *state;
	int upstream_fd;
	struct loop_watch *upstream_watch;
	struct buf held;         /* an incomplete frame from the upstream */
	struct loop_timer later; /* relay_later: it is given what is held */
	struct outflow upstream; /* bytes for it */
	struct websocket *websocket;
	struct loop_timer tick;
	int64_t tick_ms, idle_timeout_ms;
	int64_t first_ms;       /* as of relay_options */
	int64_t first_by_ms;    /* INT64_MAX: the upstream has sent something, or need not yet */
	int64_t ends_at_ms;     /* INT64_MAX: whenever its sides end it */
	int64_t active_ms;      /* last byte of content, either way */
	int64_t client_seen_ms; /* last byte from the client, of whatever kind */
	int64_t client_took_ms; /* last byte that the client took */
	uint64_t client_took;   /* of conn->out.sent */
	uint64_t body_seen;     /* bytes of the request's body */
	unsigned last_reads;    /* of an upstream that takes none */
	int64_t length_left;    /* of a reply with a length, else -1 */
	unsigned depth;         /* of callbacks: the relay ends when the last has returned */
	int status;             /* 0 until the reply has begun */
	enum ending ending;
	bool chunked, is_head, last_told, message_is_text, close_sent;
	bool is_later;
	bool is_shared; /* the upstream, as relay_options say */
	bool is_tunnel; /* after relay_switch */
	/* Of a tunnel: who has said that no more comes, and who was told so of the other. */
	bool client_ended, upstream_ended, client_told, upstream_told;
	bool was_reading, was_sending; /* when it was last left: from, and to, the client */
	struct error *err;             /* ENDING_FAILED; most never have one */
	unsigned close_code;           /* of a WebSocket; 0 = 1000, and no reason */
	char close_reason[124];
	enum http_fault fault; /* that the error stands for, if it is the client's */
};

/* Around everything that may call a translator, or be called by one: a relay ends when the
 * outermost is left. */
void relay_enter(struct relay *relay);
/* Ends the relay, which frees it, or says what it waits for. */
void relay_leave(struct relay *relay);
/* The same, for those that nobody settles the connection after. */
void relay_leave_and_settle(struct relay *relay);
/* The first of several failures counts. */
void relay_set_failed(struct relay *relay, const struct error *err);
int64_t relay_now_ms(const struct relay *relay);
