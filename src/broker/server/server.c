/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/server/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/options.h"
#include "broker/server/requests.h"
#include "broker/server/state.h"

#define CONNECTIONS_MAX 8
#define SOCKET_NAME "broker.sock"
/* Frames that wait until a peer reads them: enough for a list of 100,000 sandboxes. */
#define WAITING_MAX ((size_t)32 << 20)

struct server_connection {
	struct list item;
	struct broker *broker;
	struct fd_watch watch;
	uint64_t serial;
	int fd;
	struct buf waiting; /* whole frames, one after the other … */
	size_t sent;        /* … of which so many bytes are out */
};

static void connection_close(struct server_connection *c)
{
	watch_stop(&c->broker->events, &c->watch);
	list_remove(&c->item);
	fd_forget(&c->fd);
	buf_done(&c->waiting);
	free(c);
}

static void connection_break(struct server_connection *c, const struct error *err)
{
	log_warning("closing a connection", FAILURE(err));
	connection_close(c);
}

/* Sends as many of *frames as the peer takes now, and removes them. */
static int send_frames(const struct server_connection *c, struct span *frames, struct error *err)
{
	struct span rest = *frames, payload;
	uint16_t type;

	while (wire_next(&rest, &type, &payload, NULL, err) == 1) {
		struct span frame = {frames->data, frames->size - rest.size};

		if (wire_send_packet(c->fd, frame, NULL, deadline_after(0), err) < 0)
			return err->code == ERROR_TIMEOUT ? 0 : -1;
		*frames = rest;
	}
	return 0;
}

/* The socket is writable again. False: sending failed, and the connection is closed. */
static bool send_waiting(struct server_connection *c)
{
	struct span left = {c->waiting.data + c->sent, c->waiting.size - c->sent};
	struct error err = {0};

	if (send_frames(c, &left, &err) < 0) {
		connection_break(c, &err);
		return false;
	}
	c->sent = c->waiting.size - left.size;
	/* Moves the rest to the front only when at least half has been sent. */
	if (c->sent < left.size)
		return true;
	buf_consume(&c->waiting, c->sent);
	c->sent = 0;
	if (left.size > 0)
		return true;
	buf_done(&c->waiting);
	if (watch_writing(&c->broker->events, &c->watch, false, &err) == 0)
		return true;
	connection_break(c, &err);
	return false;
}

static void on_packet(struct server_connection *c)
{
	AUTO(buf_done) struct buf packet = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX + 1);
	struct wire_fds fds = {.count = 0};
	struct error err = {0};

	if (wire_receive_packet(c->fd, deadline_after(0), &packet, &fds, &err) < 0) {
		connection_close(c);
		return;
	}
	/* The dispatch may close the connection: a reply that cannot be sent does. */
	if (broker_dispatch(c->broker, c->serial, buf_span(&packet), &fds, &err) < 0)
		log_error("malformed request, ignoring", FAILURE(&err));
	wire_fds_close(&fds);
}

static void on_ready(struct fd_watch *watch)
{
	struct server_connection *c = CONTAINER_OF(watch, struct server_connection, watch);

	if (watch->can_write && !send_waiting(c))
		return;
	if (watch->can_read)
		on_packet(c);
}

/* The socket's mode decides who may connect; this is the second check. */
static int check_peer(const struct broker *b, int fd, struct error *err)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return FAIL_ERRNO(err, "ask for the peer");
	if (peer.uid != 0 && peer.uid != b->host.options->uid)
		return FAIL(err, ERROR_FORBIDDEN, "peer has user id %u", peer.uid);
	return 0;
}

static unsigned count_connections(const struct broker_server *s)
{
	unsigned count = 0;

	for (const struct list *i = s->connections.next; i != &s->connections; i = i->next)
		count++;
	return count;
}

static void on_connection(struct fd_watch *watch)
{
	struct broker *b = CONTAINER_OF(watch, struct broker, server.listening);
	AUTO_CLOSE int fd = accept4(b->server.listen_fd, NULL, NULL, SOCK_CLOEXEC);
	struct error err = {0};
	struct server_connection *c;

	if (fd < 0)
		return;
	if (check_peer(b, fd, &err) < 0) {
		log_warning("connection refused", FAILURE(&err));
		return;
	}
	if (count_connections(&b->server) == CONNECTIONS_MAX) {
		log_warning("too many connections, closing the new one");
		return;
	}
	c = memory_new(sizeof(*c));
	*c = (struct server_connection){.broker = b,
	                                .watch = {.fd = -1, .on_ready = on_ready},
	                                .serial = ++b->server.last_serial,
	                                .fd = TAKE_FD(fd),
	                                .waiting = BUF(WAITING_MAX)};
	list_append(&b->server.connections, &c->item);
	if (watch_start(&b->events, &c->watch, c->fd, &err) < 0)
		connection_close(c);
}

static int open_socket(struct broker *b, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int folder = b->host.folders[FOLDER_RUN];
	char path[64];

	b->server.listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (b->server.listen_fd < 0)
		return FAIL_ERRNO(err, "make a socket");
	/* Under a temporary name until it has the right owner. */
	(void)unlinkat(folder, SOCKET_NAME ".new", 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/" SOCKET_NAME ".new", folder);
	memcpy(address.sun_path, path, sizeof(path));
	if (bind(b->server.listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    fchmodat(folder, SOCKET_NAME ".new", 0600, 0) < 0 ||
	    fchownat(folder, SOCKET_NAME ".new", b->host.options->uid, b->host.options->gid, 0) <
	            0 ||
	    listen(b->server.listen_fd, CONNECTIONS_MAX) < 0 ||
	    renameat(folder, SOCKET_NAME ".new", folder, SOCKET_NAME) < 0)
		return FAIL_ERRNO(err, "listen on 'run/" SOCKET_NAME "'");
	return 0;
}

int server_open(struct broker *b, struct error *err)
{
	list_init(&b->server.connections);
	b->server.listening = (struct fd_watch){.fd = -1, .on_ready = on_connection};
	if (open_socket(b, err) < 0)
		return -1;
	return watch_start(&b->events, &b->server.listening, b->server.listen_fd, err);
}

void server_close(struct broker *b)
{
	LIST_EACH (&b->server.connections, struct server_connection, connection, item)
		connection_close(connection);
	watch_stop(&b->events, &b->server.listening);
	fd_forget(&b->server.listen_fd);
	(void)unlinkat(b->host.folders[FOLDER_RUN], SOCKET_NAME, 0);
}

void server_forget(struct broker *b)
{
	fd_forget(&b->server.listen_fd);
	LIST_EACH (&b->server.connections, struct server_connection, connection, item)
		fd_forget(&connection->fd);
}

/* The broker never waits for a peer: frames that the peer does not take now are queued, and a peer
 * that never reads is disconnected. */
static int send_or_queue(struct server_connection *c, struct span frame, struct error *err)
{
	bool was_empty = c->waiting.size == 0;

	if (was_empty && send_frames(c, &frame, err) < 0)
		return -1;
	if (frame.size == 0)
		return 0;
	buf_add_span(&c->waiting, frame);
	if (c->waiting.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "peer does not read: %zu bytes wait for it",
		            c->waiting.size);
	return was_empty ? watch_writing(&c->broker->events, &c->watch, true, err) : 0;
}

/* connection 0: all. */
static void encode_and_send(struct broker *b, uint64_t connection, uint16_t type,
                            const struct wire_member *shape, const void *message)
{
	AUTO(buf_done) struct buf frame = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);
	struct error err = {0};

	if (wire_encode(&frame, type, shape, message, &err) < 0) {
		log_error("cannot encode an answer", FAILURE(&err));
		return;
	}
	LIST_EACH (&b->server.connections, struct server_connection, c, item)
		if ((connection == 0 || c->serial == connection) &&
		    send_or_queue(c, buf_span(&frame), &err) < 0)
			connection_break(c, &err);
}

void server_send(struct broker *b, uint64_t connection, uint16_t type,
                 const struct wire_member *shape, const void *message)
{
	encode_and_send(b, connection, type, shape, message);
}

void server_send_all(struct broker *b, uint16_t type, const struct wire_member *shape,
                     const void *message)
{
	encode_and_send(b, 0, type, shape, message);
}

void server_send_ok(struct broker *b, const struct pending_reply *reply)
{
	const struct broker_ok ok = {.request = reply->request};

	server_send(b, reply->connection, BROKER_OK, broker_ok_shape, &ok);
}

void server_send_failure(struct broker *b, const struct pending_reply *reply,
                         const struct error *err)
{
	struct broker_failed failed = {.request = reply->request,
	                               .code = err->code,
	                               .sys_errno = (uint32_t)err->sys_errno,
	                               .text = err->text,
	                               .hint = err->hint};

	server_send(b, reply->connection, BROKER_FAILED, broker_failed_shape, &failed);
}
