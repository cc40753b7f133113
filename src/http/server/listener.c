/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/listener.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "http/server/connection.h"
#include "http/server/connection_state.h"
#include "http/server/owners.h"
#include "http/server/server_state.h"
#include "http/tls/tls.h"

#define ACCEPTS_MAX 64 /* per event, so that open connections are served, too */
/* Limit of unfinished TLS handshakes; each ends after the time limit of a head. */
#define HANDSHAKES_MAX 512
/* After the host refused a descriptor. */
#define PAUSE_MS 100

struct http_listener {
	struct list link;
	struct http_server *server;
	int fd;
	struct loop_watch *watch;
	struct loop_timer pause;
	bool is_tls;
};

union listener_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static void format_peer(const union listener_address *address, char out[PEER_SIZE])
{
	char host[INET6_ADDRSTRLEN];

	if (address->any.sa_family == AF_INET &&
	    inet_ntop(AF_INET, &address->v4.sin_addr, host, sizeof(host)))
		snprintf(out, PEER_SIZE, "%s:%u", host, ntohs(address->v4.sin_port));
	else if (address->any.sa_family == AF_INET6 &&
	         inet_ntop(AF_INET6, &address->v6.sin6_addr, host, sizeof(host)))
		snprintf(out, PEER_SIZE, "[%s]:%u", host, ntohs(address->v6.sin6_port));
	else
		snprintf(out, PEER_SIZE, "unix");
}

/* Best effort: the client may not have sent a request yet. */
static void refuse_client(struct http_server *server, int fd)
{
	static const char text[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
	                           "Retry-After: 1\r\nConnection: close\r\n\r\n";

	(void)send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)shutdown(fd, SHUT_WR);
	close(fd);
	server->counts.responses[5]++;
	log_debug("connection refused", TEXT("reason", "too many connections"));
}

/* Closes without a reply: before the handshake the client cannot read one. */
static void drop_client(int fd, const char *reason)
{
	close(fd);
	log_debug("connection refused", TEXT("reason", reason));
}

static void admit_client(const struct http_listener *listener, int fd,
                         const union listener_address *address)
{
	struct http_server *server = listener->server;
	char peer[PEER_SIZE];

	if (listener->is_tls && !server->tls) {
		drop_client(fd, "no certificate");
		return;
	}
	if (listener->is_tls && server->handshakes >= HANDSHAKES_MAX) {
		drop_client(fd, "too many handshakes");
		return;
	}

	owners_make_room(server);
	if (server->counts.connections_open >= server->options.connections_max) {
		server->counts.refused_by_table++;
		refuse_client(server, fd);
		return;
	}
	format_peer(address, peer);
	(void)connection_open(
	        server, &(struct connection_source){.fd = fd,
	                                            .peer = peer,
	                                            .tls = listener->is_tls ? server->tls : NULL});
}

static void accept_clients(struct http_listener *listener)
{
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		union listener_address address = {.any.sa_family = AF_UNIX};
		socklen_t size = sizeof(address);
		int fd = accept4(listener->fd, &address.any, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			admit_client(listener, fd, &address);
			continue;
		}
		if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
			return;
		log_warning("cannot accept, pausing", NUMBER("errno", errno));
		loop_watch_set(listener->watch, 0);
		loop_timer_start(listener->server->loop, &listener->pause, PAUSE_MS);
		return;
	}
}

static void on_listener_ready(void *context, UNUSED uint32_t events)
{
	struct http_listener *listener = context;

	accept_clients(listener);
	server_bury(listener->server);
}

static void on_pause_over(void *context)
{
	struct http_listener *listener = context;

	loop_watch_set(listener->watch, EPOLLIN);
}

static void listener_free(struct http_listener *listener)
{
	loop_watch_free(listener->watch);
	loop_timer_stop(listener->server->loop, &listener->pause);
	close(listener->fd);
	list_remove(&listener->link);
	free(listener);
}

void listeners_close(struct http_server *server)
{
	LIST_EACH (&server->listeners, struct http_listener, listener, link)
		listener_free(listener);
}

void server_set_tls(struct http_server *server, struct tls_context *context)
{
	tls_context_free(server->tls);
	server->tls = context;
}

/* Accepted sockets inherit these options. Keep-alive detects clients that vanished from an idle
 * stream. On other socket types the calls fail, which is harmless. */
static void set_tcp_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
	        {IPPROTO_TCP, TCP_NODELAY, 1},   {SOL_SOCKET, SO_KEEPALIVE, 1},
	        {IPPROTO_TCP, TCP_KEEPIDLE, 60}, {IPPROTO_TCP, TCP_KEEPINTVL, 15},
	        {IPPROTO_TCP, TCP_KEEPCNT, 4},
	};

	for (size_t i = 0; i < COUNT_OF(options); i++)
		(void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
		                 sizeof(options[i].value));
}

static int add_listener(struct http_server *server, int fd, bool is_tls, struct error *err)
{
	struct http_listener *listener = memory_new(sizeof(*listener));

	listener->server = server;
	listener->fd = fd;
	listener->is_tls = is_tls;
	listener->pause = (struct loop_timer){.on_timer = on_pause_over, .context = listener};
	list_init(&listener->link);
	set_tcp_options(fd);
	if (fd_set_blocking(fd, false, err) < 0 ||
	    loop_watch_add(server->loop,
	                   &(struct loop_watch_options){fd, EPOLLIN, on_listener_ready, listener},
	                   &listener->watch, err) < 0) {
		listener_free(listener);
		return FAIL_CONTEXT(err, "listen");
	}
	list_append(&server->listeners, &listener->link);
	return 0;
}

int server_listen_fd(struct http_server *server, int fd, struct error *err)
{
	return add_listener(server, fd, false, err);
}

int server_listen_tls_fd(struct http_server *server, int fd, struct error *err)
{
	return add_listener(server, fd, true, err);
}
