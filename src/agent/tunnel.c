/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tunnel.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/connection.h"
#include "agent/listener.h"
#include "agent/orphan.h"
#include "agent/reverse.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "wire/agent_reverse.h"
#include "wire/tunnel.h"

#define BACKLOG 64
#define LOOPBACK "127.0.0.1:"
#define READ_SIZE 65536
#define IN_MAX (TUNNEL_HEAD_MAX + READ_SIZE)
#define OUT_MAX (4 * READ_SIZE)

/* One WebSocket, and the connection of the agent that it carries. */
struct tunnel {
	struct list item;
	struct agent *agent;
	struct watch outside, inside; /* the socket; one end of a pair, once it is open */
	struct tunnel_decoder decoder;
	struct buf in;                    /* from outside, not yet decoded */
	struct buf to_inside, to_outside; /* not yet written */
	bool outside_has_ended, inside_has_ended;
	bool inside_is_told, is_closed; /* nothing more comes; close after to_outside */
};

static void end_tunnel(struct tunnel *t)
{
	struct agent *a = t->agent;

	watch_close(a, &t->outside);
	watch_close(a, &t->inside);
	list_remove(&t->item);
	list_append(&a->tunnels.ended, &t->item);
}

void tunnels_free_ended(struct agent *a)
{
	LIST_EACH (&a->tunnels.ended, struct tunnel, t, item) {
		list_remove(&t->item);
		buf_done(&t->in);
		buf_done(&t->to_inside);
		buf_done(&t->to_outside);
		free(t);
	}
}

/* 0: all is sent, or the socket takes no more for now; -1: it is broken. */
static int send_kept(int fd, struct buf *kept)
{
	while (kept->size > 0) {
		ssize_t sent = send(fd, kept->data, kept->size, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		buf_consume(kept, (size_t)sent);
	}
	return 0;
}

static void take_small(struct tunnel *t)
{
	const struct tunnel_decoder *d = &t->decoder;

	if (d->opcode == TUNNEL_PING)
		tunnel_encode(&t->to_outside, TUNNEL_PONG, (struct span){d->small, d->small_size},
		              NULL);
	else if (d->opcode == TUNNEL_CLOSE)
		t->is_closed = true;
	else if (tunnel_is_end(d))
		t->outside_has_ended = true;
}

static int decode_input(struct tunnel *t)
{
	struct span rest = buf_span(&t->in);
	enum tunnel_event event = TUNNEL_HAS_DATA;
	struct error ignored;

	while (event != TUNNEL_NEEDS_MORE && t->to_inside.size < t->to_inside.size_max &&
	       t->to_outside.size < READ_SIZE) {
		if (tunnel_decode(&t->decoder, &rest, &t->to_inside, &event, &ignored) < 0)
			return -1;
		if (event == TUNNEL_HAS_SMALL)
			take_small(t);
	}
	buf_consume(&t->in, t->in.size - rest.size);
	return 0;
}

/* Moves what can be moved. */
static int pump_tunnel(struct tunnel *t)
{
	/* What stays in `in` has no event of its own. */
	do {
		if (decode_input(t) < 0 || send_kept(t->inside.fd, &t->to_inside) < 0 ||
		    send_kept(t->outside.fd, &t->to_outside) < 0)
			return -1;
	} while (t->in.size > 0 && t->to_inside.size == 0 && t->to_outside.size < READ_SIZE);
	if (t->outside_has_ended && !t->inside_is_told && t->to_inside.size == 0) {
		t->inside_is_told = true;
		(void)shutdown(t->inside.fd, SHUT_WR);
	}
	if (t->is_closed ||
	    (t->outside_has_ended && t->inside_has_ended && t->to_outside.size == 0))
		return -1;
	return 0;
}

static void watch_side(struct agent *a, struct watch *w, bool reads, bool writes)
{
	uint32_t events = (reads ? EPOLLIN : 0) | (writes ? EPOLLOUT : 0);

	if (events == 0)
		watch_pause(a, w);
	else if (events != w->events || !w->added)
		watch_set(a, w, events);
}

static void pump_or_end(struct tunnel *t)
{
	if (pump_tunnel(t) < 0) {
		end_tunnel(t);
		return;
	}
	watch_side(t->agent, &t->outside,
	           t->to_inside.size == 0 && t->in.size<READ_SIZE, t->to_outside.size> 0);
	watch_side(t->agent, &t->inside, !t->inside_has_ended && t->to_outside.size == 0,
	           t->to_inside.size > 0);
}

/* 1: some came; 0: none for now; -1: the socket has ended. */
static int read_outside(struct tunnel *t)
{
	char *room = buf_reserve(&t->in, READ_SIZE);
	ssize_t got = room ? recv(t->outside.fd, room, READ_SIZE, MSG_DONTWAIT) : -1;

	if (got < 0)
		return room && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
	buf_commit(&t->in, (size_t)got);
	return got > 0 ? 1 : -1;
}

static void on_outside(UNUSED struct agent *a, struct watch *w, uint32_t events)
{
	struct tunnel *t = CONTAINER_OF(w, struct tunnel, outside);

	if ((events & ~EPOLLOUT) && t->in.size < READ_SIZE && read_outside(t) < 0)
		end_tunnel(t);
	else
		pump_or_end(t);
}

static void read_inside(struct tunnel *t)
{
	char bytes[READ_SIZE];
	ssize_t got = recv(t->inside.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (got > 0) {
		tunnel_encode(&t->to_outside, TUNNEL_BINARY, (struct span){bytes, (size_t)got},
		              NULL);
		return;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	t->inside_has_ended = true;
	tunnel_encode(&t->to_outside, TUNNEL_TEXT, SPAN(TUNNEL_END), NULL);
}

static void on_inside(UNUSED struct agent *a, struct watch *w, uint32_t events)
{
	struct tunnel *t = CONTAINER_OF(w, struct tunnel, inside);

	if ((events & ~EPOLLOUT) && !t->inside_has_ended && t->to_outside.size == 0)
		read_inside(t);
	pump_or_end(t);
}

static void refuse_tunnel(struct tunnel *t, const char *status)
{
	char answer[128];
	int size =
	        snprintf(answer, sizeof(answer),
	                 "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);

	(void)!send(t->outside.fd, answer, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
	end_tunnel(t);
}

/* From now on the agent serves the other end of the pair. */
static int open_inside(struct tunnel *t)
{
	struct agent *a = t->agent;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	t->inside.fd = ends[0];
	list_remove(&t->item);
	list_append(&a->tunnels.open, &t->item);
	t->outside.on_event = on_outside;
	orphan_renew(a);
	connection_accept(a, ends[1]);
	return 0;
}

static void take_head(struct tunnel *t, struct span head)
{
	struct span key = tunnel_header(head, "Sec-WebSocket-Key");
	char accept[TUNNEL_ACCEPT_SIZE];

	if (!tunnel_token_is(tunnel_header(head, TUNNEL_TOKEN_HEADER), t->agent->tunnels.token)) {
		refuse_tunnel(t, "403 Forbidden");
		return;
	}
	if (!span_starts_with(head, "GET ") || key.size == 0 || key.size > 64) {
		refuse_tunnel(t, "400 Bad Request");
		return;
	}
	if (list_count(&t->agent->tunnels.open) >= TUNNELS_MAX || open_inside(t) < 0) {
		refuse_tunnel(t, "503 Service Unavailable");
		return;
	}
	tunnel_accept(key, accept);
	buf_addf(&t->to_outside,
	         "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
	         "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
	         accept);
	buf_consume(&t->in, head.size);
	pump_or_end(t);
}

static void on_handshake(UNUSED struct agent *a, struct watch *w, UNUSED uint32_t events)
{
	struct tunnel *t = CONTAINER_OF(w, struct tunnel, outside);
	size_t size;

	if (read_outside(t) < 0 ||
	    (t->in.size > TUNNEL_HEAD_MAX && !tunnel_head_is_whole(buf_span(&t->in), &size)))
		end_tunnel(t);
	else if (tunnel_head_is_whole(buf_span(&t->in), &size))
		take_head(t, (struct span){t->in.data, size});
}

static void drop_oldest_waiting(struct agent *a)
{
	LIST_EACH (&a->tunnels.waiting, struct tunnel, t, item) {
		end_tunnel(t);
		return;
	}
}

void tunnel_on_listener(struct agent *a, UNUSED struct watch *w, UNUSED uint32_t events)
{
	int fd = listener_accept(a, &a->listener), on = 1;
	struct tunnel *t;

	if (fd < 0)
		return;
	if (list_count(&a->tunnels.waiting) >= TUNNELS_WAITING_MAX)
		drop_oldest_waiting(a);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	t = memory_new(sizeof(*t));
	*t = (struct tunnel){.agent = a,
	                     .outside = {.fd = fd, .on_event = on_handshake},
	                     .inside = {.fd = -1, .on_event = on_inside},
	                     .decoder = {.is_masked = true},
	                     .in = BUF(IN_MAX),
	                     .to_inside = BUF(READ_SIZE),
	                     .to_outside = BUF(OUT_MAX)};
	list_init(&t->item);
	list_append(&a->tunnels.waiting, &t->item);
	watch_set(a, &t->outside, EPOLLIN);
}

void tunnels_init(struct agent *a)
{
	list_init(&a->tunnels.waiting);
	list_init(&a->tunnels.open);
	list_init(&a->tunnels.ended);
	reverse_take_token(a->tunnels.token, sizeof(a->tunnels.token));
	if (a->tunnels.token[0])
		reverse_forget_variables();
}

/* "PORT", or "127.0.0.1:PORT" where only the service itself comes to the port. */
static int read_address(const char *text, struct sockaddr_in *ret, struct error *err)
{
	struct span port = span_of(text);
	int64_t number;

	*ret = (struct sockaddr_in){.sin_family = AF_INET};
	if (span_starts_with(port, LOOPBACK)) {
		ret->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		span_skip(&port, strlen(LOOPBACK));
	}
	if (span_parse_whole(port, 1, UINT16_MAX, &number, err) < 0)
		return FAIL_CONTEXT(err, "--tunnel");
	ret->sin_port = htons((uint16_t)number);
	return 0;
}

static int open_port(const char *port, int *ret_fd, struct error *err)
{
	struct sockaddr_in address;
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (read_address(port, &address, err) < 0)
		return -1;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0)
		return FAIL_ERRNO(err, "listen on port %s", port);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* The service may end all processes of the group and session that it has started. */
static int leave_starter(struct error *err)
{
	/* Process 1 of a container: its end would end the container. */
	if (getpid() == 1)
		return 0;
	pid_t child = fork();

	if (child < 0)
		return FAIL_ERRNO(err, "start a process");
	if (child > 0)
		_exit(0);
	(void)setsid();
	AUTO_CLOSE int none = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (none < 0)
		return FAIL_ERRNO(err, "open '/dev/null'");
	for (int fd = 0; fd < 3; fd++)
		(void)dup2(none, fd);
	return chdir("/") < 0 ? FAIL_ERRNO(err, "enter '/'") : 0;
}

int tunnel_begin(const char *port, int *ret_listener, struct error *err)
{
	const char *token = getenv(AGENT_TOKEN_VARIABLE);
	AUTO_CLOSE int fd = -1;

	if (!token || strlen(token) < 32)
		return FAIL(err, ERROR_INVALID,
		            "--tunnel needs a token of 32 characters or more "
		            "in " AGENT_TOKEN_VARIABLE);
	if (open_port(port, &fd, err) < 0 || leave_starter(err) < 0)
		return -1;
	*ret_listener = TAKE_FD(fd);
	return 0;
}
