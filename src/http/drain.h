/* SPDX-License-Identifier: Apache-2.0 */
/* http/drain.h — the end of a server that answers what it has begun. On the loop thread.
 *
 * After server_drain a new request is refused by 503 and Retry-After, unless its route has
 * ROUTE_LAST; what runs goes on: handlers, bodies that arrive, replies that stream. A WebSocket and
 * a stream of a route with ROUTE_STANDING last until their client leaves, so nothing waits for
 * them. */
#pragma once

#include <stdbool.h>

#include "http/http.h"

void server_drain(struct http_server *server);
/* Whether a request that will end by itself has not ended. */
bool server_is_busy(struct http_server *server);
/* Tells WebSockets that the server goes away (1001), and closes them. */
void server_end_streams(struct http_server *server, const char *reason);
