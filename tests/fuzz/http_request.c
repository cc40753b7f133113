/* SPDX-License-Identifier: Apache-2.0 */
/* The server's whole way from bytes to handlers. What the handlers see must not depend on how the
 * bytes were cut: each input is fed whole, then in pieces, and the two accounts are compared. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "http/server/connection.h"
#include "http/server/connection_state.h"
#include "http/server/http.h"
#include "http/server/relay.h"
#include "http/server/server_state.h"
#include "loop/loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the handlers and translators were given. */
static struct buf account;

static void note(const char *what, struct span text)
{
	buf_add_text(&account, what);
	buf_add_span(&account, text);
	buf_add_byte(&account, '\n');
}

static int on_request(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	(void)body;
	(void)err;
	note(rq->method_name, span_of(rq->path));
	note("query ", rq->raw_query);
	note("body ", rq->body);
	reply_text(reply, "text/plain", SPAN("ok"));
	return 0;
}

static int on_client(void *state, struct relay *relay, struct span bytes, bool last,
                     struct error *err)
{
	(void)state;
	(void)err;
	buf_add_span(&account, bytes);
	if (last)
		relay_answer(relay, 200, "text/plain", SPAN("ok"));
	return 0;
}

static int on_message(void *state, struct relay *relay, struct span bytes, bool last,
                      struct error *err)
{
	(void)state;
	(void)err;
	note(relay_message_is_text(relay) ? "text " : "binary ", bytes);
	if (last)
		relay_finish(relay);
	return 0;
}

static void on_release(void *state, int upstream_fd, bool clean)
{
	(void)state;
	(void)upstream_fd;
	note("released", clean ? SPAN(" clean") : SPAN(""));
}

static int on_upload(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	static const struct relay_ops ops = {.on_client = on_client, .release = on_release};

	(void)rq;
	(void)body;
	(void)err;
	reply_relay(reply, &(struct relay_options){.upstream_fd = -1, .ops = &ops});
	return 0;
}

static int on_socket(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	static const struct relay_ops ops = {.on_client = on_message, .release = on_release};

	(void)body;
	return reply_websocket(rq, reply, NULL,
	                       &(struct relay_options){.upstream_fd = -1, .ops = &ops}, err);
}

static const struct route routes[] = {
        {HTTP_POST, "/upload", .flags = ROUTE_INLINE | ROUTE_STREAM_BODY, .handle = on_upload},
        {HTTP_GET, "/socket", .flags = ROUTE_INLINE, .handle = on_socket},
        {HTTP_ANY, "/*rest", .flags = ROUTE_INLINE, .handle = on_request},
        {0},
};

static struct http_server *open_server(void)
{
	static const struct route *const tables[] = {routes, NULL};
	struct error err = {0};
	struct server_options options = {.routes = tables};
	struct http_server *server;

	account = BUF((size_t)64 * 1024 * 1024);
	if (loop_open(&options.loop, &err) < 0 || server_open(&options, &server, &err) < 0)
		abort();
	return server;
}

static void feed(struct http_server *server, struct span bytes, size_t step)
{
	char room[65536];
	struct http_connection *conn;
	int fds[2];

	buf_reset(&account);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		abort();
	conn = connection_open(server, &(struct connection_source){.fd = fds[0], .peer = "fuzz"});
	for (size_t at = 0; conn && at < bytes.size; at += step) {
		size_t size = bytes.size - at < step ? bytes.size - at : step;

		if (conn->state != CONNECTION_CLOSED)
			connection_feed(conn, (struct span){bytes.data + at, size});
		connection_update_events(conn);
		while (read(fds[1], room, sizeof(room)) > 0)
			continue;
	}
	if (conn)
		connection_close(conn);
	server_bury(server);
	close(fds[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_server *server;
	struct span bytes = {(const char *)data, size};
	AUTO(buf_done) struct buf whole = BUF((size_t)64 * 1024 * 1024);

	if (!server)
		server = open_server();
	feed(server, bytes, size + 1);
	buf_add_span(&whole, buf_span(&account));
	feed(server, bytes, size % 7 + 1);
	if (!span_equals(buf_span(&whole), buf_span(&account)))
		abort();
	return 0;
}
