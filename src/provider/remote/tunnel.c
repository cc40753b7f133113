/* SPDX-License-Identifier: Apache-2.0 */
/* Translates between a socket that speaks wire/agent.h and a WebSocket to the agent's port. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/random.h"
#include "http/client/async.h"
#include "json/base64.h"
#include "loop/loop.h"
#include "provider/remote/carrier.h"
#include "provider/remote/parts.h"
#include "wire/agent.h"
#include "wire/agent_reverse.h"
#include "wire/tunnel.h"

#define TUNNELS_MAX 4096
#define CONNECT_MS 10000
#define HANDSHAKE_MS 15000
#define PING_MS 20000 /* without bytes from the agent: proxies close what is idle */
#define SILENCE_MS 60000
#define READ_SIZE 65536
#define ROOM (4 * READ_SIZE)
#define KEY_TEXT_MAX 32

enum tunnel_phase { TUNNEL_CONNECTING, TUNNEL_ASKING, TUNNEL_OPEN };

struct remote_tunnel {
	struct list item;
	struct remote *remote;
	struct loop_task begin;
	struct loop_timer timer;
	char id[ID_SIZE + 1];
	struct remote_reach reach;
	char token[AGENT_TOKEN_MAX + 1], key[KEY_TEXT_MAX];
	enum tunnel_phase phase;
	int fd;                   /* our end of the pair */
	struct loop_watch *local; /* NULL: nothing is wanted of it */
	void *stream;             /* of the carrier */
	struct tunnel_decoder decoder;
	struct buf in, to_local, to_remote;
	bool local_has_ended, remote_has_ended, local_is_told;
	bool local_is_gone; /* closed: what it has written is sent, no answer has a reader */
	int64_t heard_ms;   /* monotonic */
};

static void *open_plain(struct remote *r, UNUSED const struct remote_reach *reach,
                        const struct http_stream_options *options)
{
	return http_stream_open(r->http, options);
}

static void free_plain(void *stream)
{
	http_stream_free(stream);
}

static void watch_plain(void *stream, bool reads, bool writes)
{
	http_stream_watch(stream, reads, writes);
}

static ptrdiff_t receive_plain(void *stream, char *room, size_t size)
{
	return http_stream_receive(stream, room, size);
}

static ptrdiff_t send_plain(void *stream, struct span bytes)
{
	return http_stream_send(stream, bytes);
}

static const struct remote_carrier plain = {open_plain, free_plain, watch_plain, receive_plain,
                                            send_plain};

static const struct remote_carrier *carrier_of(const struct remote *r)
{
	return r->kind->carrier ? r->kind->carrier : &plain;
}

static void free_tunnel(struct remote_tunnel *t)
{
	struct remote *r = t->remote;

	loop_timer_stop(http_async_loop(r->http), &t->timer);
	loop_watch_free(t->local);
	carrier_of(r)->free(t->stream);
	fd_forget(&t->fd);
	list_remove(&t->item);
	buf_done(&t->in);
	buf_done(&t->to_local);
	buf_done(&t->to_remote);
	atomic_fetch_sub(&r->tunnel_count, 1);
	free(t);
}

/* The caller reads this as the answer to its request. */
static void fail_tunnel(struct remote_tunnel *t, const struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);
	const struct agent_failed failed = agent_failed_of(err);
	struct error ignored;

	if (t->phase != TUNNEL_OPEN &&
	    wire_encode(&frame, AGENT_FAILED, agent_failed_shape, &failed, &ignored) == 0)
		(void)!send(t->fd, frame.data, frame.size, MSG_DONTWAIT | MSG_NOSIGNAL);
	free_tunnel(t);
}

/* 0, or -1 when the socket is broken. */
static int send_local(struct remote_tunnel *t)
{
	if (t->local_is_gone)
		buf_reset(&t->to_local);
	while (t->to_local.size > 0) {
		ssize_t sent = send(t->fd, t->to_local.data, t->to_local.size,
		                    MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		buf_consume(&t->to_local, (size_t)sent);
	}
	if (t->remote_has_ended && !t->local_is_told) {
		t->local_is_told = true;
		(void)shutdown(t->fd, SHUT_WR);
	}
	return 0;
}

static int send_remote(struct remote_tunnel *t)
{
	while (t->to_remote.size > 0) {
		ptrdiff_t sent = carrier_of(t->remote)->send(t->stream, buf_span(&t->to_remote));

		if (sent <= 0)
			return (int)sent;
		buf_consume(&t->to_remote, (size_t)sent);
	}
	return 0;
}

static void send_frame(struct remote_tunnel *t, enum tunnel_opcode opcode, struct span payload)
{
	unsigned char mask[4];

	random_bytes(mask, sizeof(mask));
	tunnel_encode(&t->to_remote, opcode, payload, mask);
}

/* -1: the agent's side is closed. */
static int take_small(struct remote_tunnel *t)
{
	const struct tunnel_decoder *d = &t->decoder;

	if (d->opcode == TUNNEL_CLOSE)
		return -1;
	if (d->opcode == TUNNEL_PING)
		send_frame(t, TUNNEL_PONG, (struct span){d->small, d->small_size});
	else if (tunnel_is_end(d))
		t->remote_has_ended = true;
	return 0;
}

static int decode_input(struct remote_tunnel *t)
{
	struct span rest = buf_span(&t->in);
	enum tunnel_event event = TUNNEL_HAS_DATA;
	struct error ignored;

	while (event != TUNNEL_NEEDS_MORE && t->to_local.size < t->to_local.size_max &&
	       t->to_remote.size < ROOM) {
		if (tunnel_decode(&t->decoder, &rest, &t->to_local, &event, &ignored) < 0 ||
		    (event == TUNNEL_HAS_SMALL && take_small(t) < 0))
			return -1;
	}
	buf_consume(&t->in, t->in.size - rest.size);
	return 0;
}

/* 1: some came; 0: none for now. */
static int receive_remote(struct remote_tunnel *t)
{
	char *room = buf_reserve(&t->in, READ_SIZE);
	ptrdiff_t got = room ? carrier_of(t->remote)->receive(t->stream, room, READ_SIZE) : 0;

	if (got <= 0)
		return (int)got;
	buf_commit(&t->in, (size_t)got);
	t->heard_ms = clock_monotonic_ms();
	return 1;
}

static void read_local(struct remote_tunnel *t)
{
	char bytes[READ_SIZE];
	ssize_t got = recv(t->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (got > 0) {
		send_frame(t, TUNNEL_BINARY, (struct span){bytes, (size_t)got});
		return;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	t->local_has_ended = true;
	send_frame(t, TUNNEL_TEXT, SPAN(TUNNEL_END));
}

/* TLS may keep bytes that no event tells of, so all are read that there is room for. */
static int pump_remote(struct remote_tunnel *t)
{
	int got = 1;

	if (send_local(t) < 0)
		return -1;
	while (got > 0 && t->to_local.size == 0) {
		got = t->in.size < READ_SIZE ? receive_remote(t) : 0;
		if (decode_input(t) < 0 || send_local(t) < 0)
			return -1;
		if (got < 0)
			return -1;
		got = got > 0 ||
		      (t->in.size > 0 && t->to_local.size == 0 && t->to_remote.size < ROOM);
	}
	return 0;
}

static void on_local(void *context, uint32_t events);

/* A hangup would be reported all the time to a watch that wants nothing. */
static int watch_local(struct remote_tunnel *t, uint32_t events, struct error *err)
{
	const struct loop_watch_options watch = {
	        .fd = t->fd, .epoll_events = events, .on_ready = on_local, .context = t};

	if (events == 0 || t->local_is_gone) {
		loop_watch_free(t->local);
		t->local = NULL;
		return 0;
	}
	if (t->local) {
		loop_watch_set(t->local, events);
		return 0;
	}
	return loop_watch_add(http_async_loop(t->remote->http), &watch, &t->local, err);
}

static int set_watches(struct remote_tunnel *t)
{
	uint32_t local = (!t->local_has_ended && t->to_remote.size == 0 ? EPOLLIN : 0) |
	                 (t->to_local.size > 0 ? EPOLLOUT : 0);
	struct error ignored;

	carrier_of(t->remote)->watch(t->stream, t->to_local.size == 0, t->to_remote.size > 0);
	return watch_local(t, local, &ignored);
}

/* All that a closed local side has written. */
static int drain_local(struct remote_tunnel *t)
{
	while (t->local_is_gone && !t->local_has_ended && t->to_remote.size == 0) {
		read_local(t);
		if (send_remote(t) < 0)
			return -1;
	}
	return 0;
}

static bool tunnel_is_over(const struct remote_tunnel *t)
{
	return t->local_has_ended && t->to_remote.size == 0 &&
	       (t->local_is_gone || (t->remote_has_ended && t->to_local.size == 0));
}

static void pump_tunnel(struct remote_tunnel *t)
{
	if (pump_remote(t) < 0 || send_remote(t) < 0 || drain_local(t) < 0 || tunnel_is_over(t) ||
	    set_watches(t) < 0)
		free_tunnel(t);
}

/* Watched once the tunnel is open. A caller may have gone before: its request is in the socket, as
 * that of a detached command is, and is sent all the same. */
static void on_local(void *context, uint32_t events)
{
	struct remote_tunnel *t = context;

	if (events & EPOLLHUP)
		t->local_is_gone = true;
	if (!t->local_has_ended && t->to_remote.size == 0 && events & EPOLLIN)
		read_local(t);
	pump_tunnel(t);
}

static void refuse_answer(struct remote_tunnel *t, struct span head, int64_t status)
{
	struct span retry = tunnel_header(head, "Retry-After");
	int64_t after_s = 0;
	struct error err = {0}, ignored;

	(void)!span_parse_whole(retry, 0, 3600, &after_s, &ignored);
	if (status == 502 || status == 404)
		(void)FAIL(&err, ERROR_UNAVAILABLE,
		           "the agent of sandbox '%s' does not answer: %s answers %lld", t->id,
		           t->remote->kind->title, (long long)status);
	else
		(void)!remote_fail_status(t->remote, (int)status, (struct span){NULL, 0}, after_s,
		                          &err);
	fail_tunnel(t, &err);
}

static void take_answer(struct remote_tunnel *t, struct span head)
{
	struct span accept = tunnel_header(head, "Sec-WebSocket-Accept");
	char wanted[TUNNEL_ACCEPT_SIZE];
	int64_t status = 0;
	struct error err = {0};

	if (head.size < 12 || !span_starts_with(head, "HTTP/1.1 ") ||
	    span_parse_whole((struct span){head.data + 9, 3}, 100, 999, &status, &err) < 0)
		status = 0;
	error_clear(&err);
	if (status != 101) {
		refuse_answer(t, head, status);
		return;
	}
	tunnel_accept(span_of(t->key), wanted);
	if (!span_equals_text(accept, wanted)) {
		(void)FAIL(&err, ERROR_UNAVAILABLE, "%s does not speak WebSocket",
		           t->remote->kind->title);
		fail_tunnel(t, &err);
		return;
	}
	buf_consume(&t->in, head.size);
	t->phase = TUNNEL_OPEN;
	loop_timer_start(http_async_loop(t->remote->http), &t->timer, PING_MS);
	pump_tunnel(t);
}

static void on_stream_ready(void *context)
{
	struct remote_tunnel *t = context;
	struct error err = {0};
	size_t size;

	if (t->phase == TUNNEL_OPEN) {
		pump_tunnel(t);
		return;
	}
	int got = receive_remote(t);
	if (tunnel_head_is_whole(buf_span(&t->in), &size)) {
		take_answer(t, (struct span){t->in.data, size});
		return;
	}
	if (got < 0 || t->in.size > TUNNEL_HEAD_MAX || send_remote(t) < 0) {
		(void)FAIL(&err, ERROR_UNAVAILABLE, "%s hung up on a connection to sandbox '%s'",
		           t->remote->kind->title, t->id);
		fail_tunnel(t, &err);
		return;
	}
	carrier_of(t->remote)->watch(t->stream, true, t->to_remote.size > 0);
}

static void ask_upgrade(struct remote_tunnel *t)
{
	const char *host = strstr(t->reach.url, "://") + 3;
	AUTO(buf_done) struct buf key = BUF(KEY_TEXT_MAX);
	char nonce[16];

	random_bytes(nonce, sizeof(nonce));
	base64_encode(&key, (struct span){nonce, sizeof(nonce)});
	(void)snprintf(t->key, sizeof(t->key), "%s", buf_text(&key));
	buf_addf(&t->to_remote,
	         "GET %s" TUNNEL_PATH " HTTP/1.1\r\nHost: %s\r\nUser-Agent: atoll\r\n"
	         "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
	         "Sec-WebSocket-Key: %s\r\n" TUNNEL_TOKEN_HEADER ": %s\r\n",
	         t->reach.path, host, t->key, t->token);
	for (size_t i = 0; i < COUNT_OF(t->reach.headers) && t->reach.headers[i][0]; i++)
		buf_addf(&t->to_remote, "%s\r\n", t->reach.headers[i]);
	buf_add_text(&t->to_remote, "\r\n");
}

static void on_connected(void *context, const struct error *failure)
{
	struct remote_tunnel *t = context;

	if (failure) {
		fail_tunnel(t, failure);
		return;
	}
	t->phase = TUNNEL_ASKING;
	ask_upgrade(t);
	on_stream_ready(t);
}

static void on_tunnel_timer(void *context)
{
	struct remote_tunnel *t = context;
	int64_t silent_ms = clock_monotonic_ms() - t->heard_ms;
	struct error err = {0};

	if (t->phase != TUNNEL_OPEN) {
		(void)FAIL(&err, ERROR_TIMEOUT, "%s does not connect to sandbox '%s' in time",
		           t->remote->kind->title, t->id);
		fail_tunnel(t, &err);
		return;
	}
	if (silent_ms >= SILENCE_MS) {
		free_tunnel(t);
		return;
	}
	if (silent_ms >= PING_MS && t->to_remote.size == 0)
		send_frame(t, TUNNEL_PING, SPAN(""));
	loop_timer_start(http_async_loop(t->remote->http), &t->timer, PING_MS);
	pump_tunnel(t);
}

static void begin_tunnel(struct loop_task *task)
{
	struct remote_tunnel *t = CONTAINER_OF(task, struct remote_tunnel, begin);
	struct remote *r = t->remote;
	const struct http_stream_options options = {.url = t->reach.url,
	                                            .timeout_ms = CONNECT_MS,
	                                            .on_connected = on_connected,
	                                            .on_ready = on_stream_ready,
	                                            .context = t};

	list_append(&r->tunnels, &t->item);
	t->heard_ms = clock_monotonic_ms();
	t->timer = (struct loop_timer){.on_timer = on_tunnel_timer, .context = t};
	loop_timer_start(http_async_loop(r->http), &t->timer, HANDSHAKE_MS);
	t->stream = carrier_of(r)->open(r, &t->reach, &options);
}

int remote_tunnel_open(struct remote *r, const struct remote_sandbox *s, int *ret_fd,
                       struct error *err)
{
	struct remote_reach reach = {.path = ""};
	struct remote_tunnel *t;
	int ends[2];

	if (r->kind->reach(r, s, &reach, err) < 0)
		return -1;
	if (atomic_load(&r->tunnel_count) >= TUNNELS_MAX)
		return FAIL(err, ERROR_LIMIT, "provider '%s' has %d connections to agents", r->name,
		            TUNNELS_MAX);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	atomic_fetch_add(&r->tunnel_count, 1);
	t = memory_new(sizeof(*t));
	*t = (struct remote_tunnel){.remote = r,
	                            .begin.run = begin_tunnel,
	                            .reach = reach,
	                            .fd = ends[1],
	                            .in = BUF(TUNNEL_HEAD_MAX + 2 * READ_SIZE),
	                            .to_local = BUF(READ_SIZE),
	                            .to_remote = BUF(2 * ROOM)};
	list_init(&t->item);
	memcpy(t->id, s->id, sizeof(t->id));
	remote_agent_token(r, remote_agent_name(r, s), t->token);
	loop_post(http_async_loop(r->http), &t->begin);
	*ret_fd = ends[0];
	return 0;
}

struct tunnel_ending {
	struct loop_task task;
	struct remote *remote;
	char id[ID_SIZE + 1]; /* "" = all */
};

static void end_tunnels(struct loop_task *task)
{
	struct tunnel_ending *e = CONTAINER_OF(task, struct tunnel_ending, task);

	LIST_EACH (&e->remote->tunnels, struct remote_tunnel, t, item)
		if (!e->id[0] || strcmp(t->id, e->id) == 0)
			free_tunnel(t);
	free(e);
}

void remote_tunnels_end(struct remote *r, const char *id)
{
	struct tunnel_ending *e = memory_new(sizeof(*e));

	e->task.run = end_tunnels;
	e->remote = r;
	(void)snprintf(e->id, sizeof(e->id), "%s", id ? id : "");
	loop_post(http_async_loop(r->http), &e->task);
}
