/* SPDX-License-Identifier: Apache-2.0 */
/* http/connection.h — one client's socket: requests in, one at a time, replies out, in order.
 *
 *   [HANDSHAKE ->] HEAD -> [BODY] -> HANDLING -> HEAD            a reply that went out at once
 *                         |   \-> SENDING -> HEAD  a reply that the client takes slowly
 *                         |\-> RELAY -> SENDING
 *                         |-> WAITING -> BODY or HANDLING   for a place among those of its key
 *                         \-> PARKED -> HANDLING   the handler awaits a change
 *   any of them -> LINGER (the client is told, its rest is read and dropped) -> closed
 *
 * Closing only marks the connection; server_bury frees it, when no code below stands on it and no
 * worker has its exchange. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "http/body.h"
#include "http/fault.h"
#include "http/outflow.h"
#include "loop/loop.h"

struct connection_owner;
struct http_exchange;
struct tls_context;
struct relay;
struct http_server;

enum connection_state {
	CONNECTION_HANDSHAKE, /* of TLS */
	CONNECTION_HEAD,
	CONNECTION_BODY,
	CONNECTION_HANDLING,
	CONNECTION_PARKED,  /* see park.h */
	CONNECTION_WAITING, /* see turns.h */
	CONNECTION_SENDING,
	CONNECTION_RELAY,
	CONNECTION_LINGER,
	CONNECTION_CLOSED,
};

#define PEER_SIZE 56
#define HTTP_CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"
#define STATUS_CLIENT_GONE 499 /* for on_done and counts; nobody receives it */

struct http_connection {
	struct http_server *server;
	struct list link;
	struct loop_watch *watch;
	struct loop_timer timer; /* runs late rather than being restarted: see connection_due */
	int64_t due_ms;
	struct outflow out; /* its `tls` is the connection's */
	struct buf in;      /* read, not yet used */
	size_t scanned;     /* of an unfinished head */
	struct body_reader body;
	struct http_exchange *exchange;
	struct relay *relay;
	struct connection_owner *owner; /* see owners.h */
	uint64_t sent_seen;             /* of out.sent: counted, and to notice progress */
	int64_t body_received;          /* bytes that a buffered body has bought time with */
	int64_t body_started_ms;
	size_t linger_left;
	int64_t linger_until_ms;
	int fd;
	enum connection_state state;
	bool head_started, keep_alive, read_paused;
	bool has_hung_up;       /* while a worker had its request */
	bool shakes_by_writing; /* the handshake waits for room in the socket */
	bool may_end_alone;     /* the client's end is noted, and does not close the connection: */
	bool has_ended;
	char peer[PEER_SIZE];
};

struct connection_source {
	int fd; /* accepted; taken over */
	const char *peer;
	struct tls_context *tls; /* borrowed for the call; NULL: as it is */
};
/* NULL when the socket cannot be watched; the descriptor is closed then. */
struct http_connection *connection_open(struct http_server *server,
                                        const struct connection_source *source);
void connection_close(struct http_connection *conn);
/* Closes with a reset: the reply is not whole. */
void connection_cut(struct http_connection *conn);
void connection_free(struct http_connection *conn);
const char *connection_peer(const struct http_connection *conn);
bool connection_is_tls(const struct http_connection *conn);

/* The worker is done with conn->exchange. */
void connection_on_handled(struct http_connection *conn);
/* The turn of conn->exchange has come: it is authorized, or its handler is run, again. */
void connection_take_turn(struct http_connection *conn);
/* It has waited for too long, or its queue is full: it is refused. */
void connection_give_up_turn(struct http_connection *conn);
/* The relay has ended; what it wrote may still be on its way. */
void connection_on_relay_end(struct http_connection *conn, int status, bool may_continue);
/* An error took the place of a relay that had not begun: sends the exchange's reply. */
void connection_send_reply(struct http_connection *conn);
/* Brings interest and timer up to date; every entry point ends with it. */
void connection_settle(struct http_connection *conn);
/* Ends the connection unless something happens within `ms`. */
void connection_due(struct http_connection *conn, int64_t ms);
void connection_due_never(struct http_connection *conn);
/* Tells the client that no more comes. False when there is nobody to tell. */
bool connection_end_writing(struct http_connection *conn);
/* Takes what the socket has. Bytes, 0 = nothing now, -1 = closed. */
ssize_t connection_receive(struct http_connection *conn, char *room, size_t size);

/* Feeds bytes as if they had been read: the fuzzer's and the tests' way in. */
void connection_feed(struct http_connection *conn, struct span bytes);
