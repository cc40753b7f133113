/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/streams.h"

#include "http/server/connection_state.h"
#include "http/server/exchange.h"
#include "http/server/relay_run.h"
#include "http/server/relay_state.h"
#include "http/server/server_state.h"

#define POLICY_VIOLATION 1008 /* RFC 6455, 7.4.1 */

static bool is_stream(const struct http_connection *conn)
{
	return conn->exchange && conn->relay && conn->relay->ending == ENDING_NOT;
}

static void end_stream(struct relay *relay, const struct error *why)
{
	if (relay->websocket)
		relay_finish_websocket(relay, POLICY_VIOLATION, why->text);
	else
		relay_fail(relay, why);
}

/* The end of a stream may end and free other connections, so the caller searches the list anew
 * after each. */
static bool end_next_stream(struct http_server *server, stream_review *review, void *context,
                            unsigned *ended)
{
	struct error err = {0};

	LIST_EACH (&server->connections, struct http_connection, conn, link) {
		if (!conn->must_end_stream)
			continue;
		conn->must_end_stream = false;
		if (is_stream(conn) && review(context, &conn->exchange->request, &err) < 0) {
			(*ended)++;
			end_stream(conn->relay, &err);
		}
		return true;
	}
	return false;
}

unsigned server_review_streams(struct http_server *server, stream_review *review, void *context)
{
	struct error ignored;
	unsigned ended = 0;

	LIST_EACH (&server->connections, struct http_connection, conn, link)
		conn->must_end_stream =
		        is_stream(conn) && review(context, &conn->exchange->request, &ignored) < 0;
	while (end_next_stream(server, review, context, &ended))
		;
	return ended;
}
