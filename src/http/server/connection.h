/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/connection.h — reads requests from a client's socket and writes replies, in order;
 * see connection_state.h. Loop thread. */
#pragma once

#include "base/bytes.h"

struct connection_events;
struct http_connection;
struct http_server;
struct tls_context;

struct connection_source {
	int fd; /* accepted socket; taken over */
	const char *peer;
	struct tls_context *tls; /* borrowed during the call; NULL: no TLS */
};
/* Returns NULL when the socket cannot be watched; then the descriptor is closed. */
struct http_connection *connection_open(struct http_server *server,
                                        const struct connection_source *source);
void connection_close(struct http_connection *conn);
/* For server.events. */
extern const struct connection_events connection_events;

/* The worker has finished conn->exchange. */
void connection_on_handled(struct http_connection *conn);
/* Updates the watched events and the timer; every entry point ends with this call. */
void connection_update_events(struct http_connection *conn);
/* Processes bytes as if they had been received: entry point of the fuzzer and the tests. */
void connection_feed(struct http_connection *conn, struct span bytes);
