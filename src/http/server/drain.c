/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/drain.h"

#include "http/server/relay_run.h"
#include "http/server/relay_state.h"
#include "http/server/connection_state.h"
#include "http/server/exchange.h"
#include "http/server/server_state.h"

#define GOING_AWAY 1001 /* RFC 6455, 7.4.1 */

void server_drain(struct http_server *server)
{
	server->is_draining = true;
}

static bool is_standing(const struct http_connection *conn)
{
	const struct route *route = conn->exchange->request.route;

	if (!conn->relay)
		return false;
	return conn->relay->websocket || conn->relay->is_standing ||
	       (route && route->flags & ROUTE_STANDING);
}

bool server_is_busy(struct http_server *server)
{
	LIST_EACH (&server->connections, const struct http_connection, conn, link)
		if (conn->exchange && !is_standing(conn))
			return true;
	return false;
}

void server_end_streams(struct http_server *server, const char *reason)
{
	LIST_EACH (&server->connections, struct http_connection, conn, link) {
		if (!conn->exchange || !conn->relay || !conn->relay->websocket)
			continue;
		relay_enter(conn->relay);
		relay_finish_websocket(conn->relay, GOING_AWAY, reason);
		relay_leave_and_update(conn->relay);
	}
	server_bury(server);
}
