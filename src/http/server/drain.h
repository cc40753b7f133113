/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/drain.h — ends a server after its running requests. Loop thread.
 *
 * After server_drain a new request gets 503 and Retry-After, unless its route has ROUTE_LAST.
 * Running handlers, arriving bodies and streamed replies continue. The drain does not wait for
 * WebSockets and streams of ROUTE_STANDING routes, which last until their client leaves. */
#pragma once

#include <stdbool.h>

struct http_server;

void server_drain(struct http_server *server);
/* True while a request runs that ends by itself. */
bool server_is_busy(struct http_server *server);
/* Closes WebSockets with code 1001 (going away). */
void server_end_streams(struct http_server *server, const char *reason);
