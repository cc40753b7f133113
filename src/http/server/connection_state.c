/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/connection_state.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "http/server/server_state.h"
#include "http/tls/tls.h"

void connection_due(struct http_connection *conn, int64_t ms)
{
	struct loop *loop = conn->server->loop;

	conn->due_ms = loop_now_ms(loop) + ms;
	if (!conn->timer.heap_index || conn->timer.at_ms > conn->due_ms)
		loop_timer_start(loop, &conn->timer, ms);
}

void connection_due_never(struct http_connection *conn)
{
	conn->due_ms = INT64_MAX;
}

bool connection_end_writing(struct http_connection *conn)
{
	if (conn->out.tls)
		tls_end(conn->out.tls);
	return shutdown(conn->fd, SHUT_WR) == 0;
}

ssize_t connection_receive(struct http_connection *conn, char *room, size_t size)
{
	ssize_t got = conn->out.tls ? tls_receive(conn->out.tls, room, size)
	                            : recv(conn->fd, room, size, MSG_DONTWAIT);

	if (got > 0)
		conn->server->counts.bytes_in += (uint64_t)got;
	if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
		return got > 0 ? got : 0;
	if (got == 0 && conn->may_end_alone) {
		conn->has_ended = true;
		return 0;
	}
	conn->server->events->close(conn);
	return -1;
}

void connection_cut(struct http_connection *conn)
{
	const struct linger reset = {.l_onoff = 1};

	if (conn->state == CONNECTION_CLOSED)
		return;
	/* A reset, because a client that detects the end of the body only by the close must see
	 * that it is incomplete. */
	(void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	conn->server->events->close(conn);
}

void connection_free(struct http_connection *conn)
{
	assert(!conn->exchange && !conn->relay && !conn->owner);
	tls_free(TAKE(conn->out.tls));
	outflow_done(&conn->out);
	buf_done(&conn->in);
	free(conn);
}

void server_bury(struct http_server *server)
{
	LIST_EACH (&server->dead, struct http_connection, conn, link) {
		if (conn->exchange)
			continue;
		assert(conn->state == CONNECTION_CLOSED);
		list_remove(&conn->link);
		connection_free(conn);
	}
}
