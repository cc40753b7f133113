/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/listener.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "http/server/connection.h"
#include "http/server/connection_state.h"
#include "http/server/owners.h"
#include "http/server/server_state.h"
#include "http/tls/tls.h"

#define BACKLOG 1024
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
	char path[sizeof(
	        ((struct sockaddr_un *)NULL)->sun_path)]; /* socket file to remove, or "" */
};

union listener_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un unix_path;
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
	if (listener->path[0])
		(void)unlink(listener->path);
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

struct listening {
	int fd;
	const char *path; /* ours to remove, or "" */
	bool is_tls;
};

static int listener_add(struct http_server *server, const struct listening *how, struct error *err)
{
	struct http_listener *listener = calloc(1, sizeof(*listener));

	assert(listener);
	listener->server = server;
	listener->fd = how->fd;
	listener->is_tls = how->is_tls;
	listener->pause = (struct loop_timer){.on_timer = on_pause_over, .context = listener};
	snprintf(listener->path, sizeof(listener->path), "%s", how->path);
	list_init(&listener->link);
	set_tcp_options(how->fd);
	if (fd_set_blocking(how->fd, false, err) < 0 ||
	    loop_watch_add(
	            server->loop,
	            &(struct loop_watch_options){how->fd, EPOLLIN, on_listener_ready, listener},
	            &listener->watch, err) < 0) {
		listener_free(listener);
		return FAIL_CONTEXT(err, "listen");
	}
	list_append(&server->listeners, &listener->link);
	return 0;
}

int server_listen_fd(struct http_server *server, int fd, struct error *err)
{
	return listener_add(server, &(struct listening){.fd = fd, .path = ""}, err);
}

int server_listen_tls_fd(struct http_server *server, int fd, struct error *err)
{
	return listener_add(server, &(struct listening){.fd = fd, .path = "", .is_tls = true}, err);
}

/* Removes a stale socket file; a socket in use stays and makes the bind fail. */
static void remove_stale(const struct sockaddr_un *address)
{
	AUTO_CLOSE int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat status;

	if (probe < 0 || lstat(address->sun_path, &status) < 0 || !S_ISSOCK(status.st_mode))
		return;
	if (connect(probe, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
	    errno == ECONNREFUSED)
		(void)unlink(address->sun_path);
}

static int listen_unix(struct http_server *server, const char *path, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return FAIL_ERRNO(err, "socket");
	if (strlen(path) >= sizeof(address.sun_path))
		return FAIL(err, ERROR_INVALID, "socket path '%s' is too long", path);
	memcpy(address.sun_path, path, strlen(path));
	remove_stale(&address);
	/* Before bind, so the file never exists with wider permissions. */
	if (fchmod(fd, 0600) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return FAIL_ERRNO(err, "listen on '%s'", path);
	return listener_add(server, &(struct listening){.fd = TAKE_FD(fd), .path = path}, err);
}

/* "127.0.0.1:80" or "[::1]:80" */
static int parse_address(const char *text, struct addrinfo **ret, struct error *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
	                               .ai_flags = AI_NUMERICSERV | AI_PASSIVE};
	const char *colon = strrchr(text, ':');
	size_t size = colon ? (size_t)(colon - text) : 0;
	char host[256];
	int result;

	if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
		text++;
		size -= 2;
	}
	if (!colon || !size || size >= sizeof(host))
		return FAIL(err, ERROR_INVALID, "address '%s' is not HOST:PORT or unix:PATH", text);
	memcpy(host, text, size);
	host[size] = '\0';
	result = getaddrinfo(host, colon + 1, &hints, ret);
	if (result != 0)
		return FAIL(err, ERROR_INVALID, "address '%s': %s", text, gai_strerror(result));
	return 0;
}

static int listen_tcp(struct http_server *server, const struct addrinfo *address,
                      uint16_t *ret_port, struct error *err)
{
	AUTO_CLOSE int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	union listener_address bound = {.any.sa_family = AF_UNSPEC};
	socklen_t size = sizeof(bound);
	int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, &bound.any, &size) < 0)
		return FAIL_ERRNO(err, "listen");
	if (listener_add(server, &(struct listening){.fd = TAKE_FD(fd), .path = ""}, err) < 0)
		return -1;
	if (ret_port)
		*ret_port = ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port
		                                                  : bound.v4.sin_port);
	return 0;
}

int server_listen(struct http_server *server, const char *address, uint16_t *ret_port,
                  struct error *err)
{
	struct addrinfo *found;
	int result;

	if (strncmp(address, "unix:", 5) == 0) {
		if (ret_port)
			*ret_port = 0;
		return listen_unix(server, address + 5, err);
	}
	if (parse_address(address, &found, err) < 0)
		return -1;
	result = listen_tcp(server, found, ret_port, err);
	freeaddrinfo(found);
	return result < 0 ? FAIL_CONTEXT(err, "address '%s'", address) : 0;
}
