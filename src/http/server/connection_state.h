/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/connection_state.h — a client's socket, its state, and what all files of a connection
 * do with it. The states, which connection.c moves:
 *
 *   [HANDSHAKE ->] HEAD -> [BODY] -> HANDLING -> HEAD   the reply was sent at once
 *                         |   \-> SENDING -> HEAD       the client receives the reply slowly
 *                         |\-> RELAY -> SENDING
 *                         |-> WAITING -> BODY or HANDLING   waits for a place in its key's queue
 *                         \-> PARKED -> HANDLING       the handler awaits a change
 *   any of them -> LINGER (the reply is sent, remaining input is dropped) -> closed
 *
 * connection_close only marks the connection; server_bury frees it when no caller uses it and no
 * worker has its exchange. Loop thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/list.h"
#include "http/message/body.h"
#include "http/message/fault.h"
#include "http/server/outflow.h"
#include "loop/loop.h"

struct connection_owner;
struct http_connection;
struct http_exchange;
struct relay;
struct http_server;

enum connection_state {
	CONNECTION_HANDSHAKE, /* TLS handshake */
	CONNECTION_HEAD,
	CONNECTION_BODY,
	CONNECTION_HANDLING,
	CONNECTION_PARKED,  /* see park.h */
	CONNECTION_WAITING, /* see request_queue.h */
	CONNECTION_SENDING,
	CONNECTION_RELAY,
	CONNECTION_LINGER,
	CONNECTION_CLOSED,
};

/* Calls from the files below connection.c (relay, park, request queue, owners) to it. */
struct connection_events {
	void (*close)(struct http_connection *conn);
	/* Updates the watched events and the timer; every entry point ends with this call. */
	void (*update)(struct http_connection *conn);
	/* The relay has ended; some of its output may still be queued. */
	void (*on_relay_end)(struct http_connection *conn, int status, bool may_continue);
	/* The relay has ended before its reply began: the exchange's reply replaces it. */
	void (*on_relay_replaced)(struct http_connection *conn);
	/* The relay has ended: the exchange's new relay replaces it, or the handler runs again. */
	void (*on_relay_retry)(struct http_connection *conn);
	/* A place for the exchange is free: authorizes it, or runs its handler, again. */
	void (*on_queue_place)(struct http_connection *conn);
	/* The exchange has waited too long for a place: answers with its error. */
	void (*on_queue_refusal)(struct http_connection *conn);
};

#define PEER_SIZE 56
#define HTTP_CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"
#define STATUS_CLIENT_GONE 499 /* for on_done and counts; never sent */

struct http_connection {
	struct http_server *server;
	struct list link;
	struct loop_watch *watch;
	struct loop_timer timer; /* may run late instead of being restarted: see connection_due */
	int64_t due_ms;
	struct outflow out; /* its `tls` belongs to the connection */
	struct buf in;      /* received, not yet parsed */
	size_t scanned;     /* bytes of an unfinished head already searched */
	struct body_reader body;
	struct http_exchange *exchange;
	struct relay *relay;
	struct connection_owner *owner; /* see owners.h */
	uint64_t sent_seen;             /* last seen out.sent, for counts and to detect progress */
	int64_t body_received;          /* bytes of a buffered body that extended its deadline */
	int64_t body_started_ms;
	size_t linger_left;
	int64_t linger_until_ms;
	int fd;
	enum connection_state state;
	bool head_started, keep_alive, read_paused;
	bool has_hung_up;       /* the client hung up while a worker had the request */
	bool shakes_by_writing; /* the handshake waits for EPOLLOUT */
	bool may_end_alone; /* the client closing its sending side sets has_ended and does not close
	                       the connection */
	bool has_ended;
	bool must_end_stream; /* used by streams.c */
	char peer[PEER_SIZE];
};

/* Ends the connection after `ms` without progress. */
void connection_due(struct http_connection *conn, int64_t ms);
void connection_due_never(struct http_connection *conn);
/* Closes the sending side. False when the client is gone. */
bool connection_end_writing(struct http_connection *conn);
/* Receives from the socket. Returns bytes, 0 = nothing now, -1 = closed. */
ssize_t connection_receive(struct http_connection *conn, char *room, size_t size);
/* Closes with a TCP reset, because the reply is incomplete. */
void connection_cut(struct http_connection *conn);
void connection_free(struct http_connection *conn);
