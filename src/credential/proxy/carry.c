/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/proxy/carry.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "credential/proxy/state.h"
#include "http/tls/tls.h"

#define OPENING_MS 20000 /* for both handshakes */
#define SILENCE_MS 900000
#define CLOSING_MS 2000
#define FLUSH_MS 20  /* of silence; then a stream pauses */
#define ROUNDS_MAX 8 /* at once, so that other connections get their turn */

static void side_done(struct carried_side *side, bool is_shut)
{
	loop_watch_free(side->watch);
	if (side->tls && side->is_open && !is_shut)
		tls_end(side->tls);
	tls_free(side->tls);
	buf_done(&side->in);
	buf_done(&side->out);
	if (side->fd >= 0)
		(void)shutdown(side->fd, SHUT_RDWR);
	auto_close(&side->fd);
}

static void send_news(const struct carried *c, enum handover_state state)
{
	const struct handover_news news = {state, c->bytes_in, c->bytes_out};

	(void)!send(c->token_fd, &news, sizeof(news), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void carried_free(struct carried *c)
{
	struct credential_proxy *p = c->proxy;

	carried_report(c);
	loop_timer_stop(p->loop, &c->timer);
	loop_timer_stop(p->loop, &c->flush_timer);
	loop_timer_stop(p->loop, &c->again_timer);
	side_done(&c->client, c->is_shut);
	side_done(&c->server, false);
	send_news(c, HANDOVER_DONE);
	loop_watch_free(c->token_watch);
	auto_close(&c->token_fd);
	buf_done(&c->held);
	arena_done(&c->arena);
	list_remove(&c->link);
	c->guard->connection_count--;
	p->carried_count--;
	free(c);
}

/* False when the handshake fails. */
static bool shake_hands(struct carried_side *side)
{
	enum tls_progress progress;

	if (side->is_open)
		return true;
	progress = tls_shake_hands(side->tls);
	side->is_open = progress == TLS_DONE;
	side->is_ready = side->is_open;
	side->wants_send = progress == TLS_WANTS_WRITE;
	return progress != TLS_FAILED;
}

/* 1 = there may be more, 0 = not now, -1 = broken. */
static int read_side(struct carried *c, struct carried_side *side)
{
	ssize_t got = tls_receive(side->tls, c->proxy->scratch, CARRY_READ);

	if (got < 0 && errno == EAGAIN) {
		side->is_ready = false;
		/* A connection that hangs gives nothing any more. */
		side->has_ended = side->has_ended || !side->watch;
		return 0;
	}
	if (got <= 0) {
		side->has_ended = true;
		return 0;
	}
	c->active_ms = loop_now_ms(c->proxy->loop);
	*(side == &c->client ? &c->bytes_out : &c->bytes_in) += (uint64_t)got;
	buf_add(&side->in, c->proxy->scratch, (size_t)got);
	/* Less than there was room for: the socket is empty. A connection that hangs has to be read
	 * to its end. */
	if (side->watch && (size_t)got + TLS_RECORD_MAX <= CARRY_READ)
		side->is_ready = false;
	return side->in.overflowed ? -1 : 1;
}

static bool write_side(struct carried *c, struct carried_side *side)
{
	size_t at = 0;

	while (at < side->out.size) {
		ssize_t sent = tls_send(side->tls, side->out.data + at, side->out.size - at);

		if (sent < 0 && errno != EAGAIN)
			return false;
		if (sent < 0)
			break;
		at += (size_t)sent;
	}
	if (at > 0)
		c->active_ms = loop_now_ms(c->proxy->loop);
	buf_consume(&side->out, at);
	/* Thousands of silent connections hold no buffers. */
	if (side->out.size == 0 && side->out.capacity > CARRY_READ)
		buf_done(&side->out);
	return !side->out.overflowed;
}

/* Whether there is room for what a read brings, on both ends of its way. */
static bool may_read(const struct carried *c, const struct carried_side *from,
                     const struct carried_side *to)
{
	if (!from->is_open || from->has_ended || from->in.size + CARRY_READ > from->in.size_max)
		return false;
	if (from == &c->client && c->is_closing)
		return true; /* and dropped, so that the answer is not lost with a reset */
	/* A head, or a small body that is signed, is gathered before anything is sent. */
	return to->out.size < CARRY_OUT_MAX / 2 &&
	       (from->in.size < CARRY_READ ||
	        (from == &c->client ? c->request_state == REQUEST_HEAD
	                            : c->answer_state == ANSWER_HEAD));
}

/* What a round has to change, for another round to make sense: also room for output, which lets
 * input go on that no event tells of. */
struct carried_mark {
	size_t client_in, server_in, client_out, server_out;
	enum request_state request;
	enum answer_state answer;
};

static struct carried_mark mark_carried(const struct carried *c)
{
	return (struct carried_mark){c->client.in.size,  c->server.in.size, c->client.out.size,
	                             c->server.out.size, c->request_state,  c->answer_state};
}

static bool has_moved(const struct carried *c, const struct carried_mark *before)
{
	return c->client.in.size != before->client_in || c->server.in.size != before->server_in ||
	       c->client.out.size != before->client_out ||
	       c->server.out.size != before->server_out || c->request_state != before->request ||
	       c->answer_state != before->answer;
}

static bool may_give(const struct carried *c, const struct carried_side *from,
                     const struct carried_side *to)
{
	return from->is_ready && may_read(c, from, to);
}

/* 1 = another round may move more, 0 = nothing to do now, -1 = the end. */
static int move_once(struct carried *c)
{
	const struct carried_mark before = mark_carried(c);
	int from_client = 0, from_server = 0;

	if (may_give(c, &c->client, &c->server))
		from_client = read_side(c, &c->client);
	if (from_client < 0 || !carried_requests(c))
		return -1;
	if (may_give(c, &c->server, &c->client))
		from_server = read_side(c, &c->server);
	if (from_server < 0 || !carried_answers(c))
		return -1;
	if (c->server.is_open && !write_side(c, &c->server))
		return -1;
	if (c->server.has_ended && c->server.in.size == 0 && !c->is_closing &&
	    !carried_host_ended(c))
		return -1;
	if (c->client.is_open && !write_side(c, &c->client))
		return -1;
	return has_moved(c, &before) || may_give(c, &c->client, &c->server) ||
	       may_give(c, &c->server, &c->client);
}

static void set_watch(const struct carried_side *side, bool reads)
{
	bool opening = side->tls && !side->is_open;

	if (side->watch)
		loop_watch_set(side->watch,
		               (reads || (opening && !side->wants_send) ? EPOLLIN : 0u) |
		                       (side->out.size > 0 || side->wants_send ? EPOLLOUT : 0u));
}

static bool carried_is_over(const struct carried *c)
{
	if (c->is_closing)
		return c->client.out.size == 0 && c->client.has_ended;
	/* A client that said all may still wait for its answer. */
	return c->client.has_ended && c->client.in.size == 0 &&
	       (c->answer_state == ANSWER_NONE || c->answer_state == ANSWER_TUNNEL ||
	        c->request_state == REQUEST_BODY) &&
	       c->client.out.size == 0 && c->server.out.size == 0;
}

static void report_fault(const struct carried *c, enum decision_code code)
{
	struct network_decision d = {.address = c->address,
	                             .port = CREDENTIAL_PORT,
	                             .verdict = DECISION_DENIED,
	                             .code = (uint8_t)code,
	                             .protocol = DECISION_TLS,
	                             .count = 1};

	(void)snprintf(d.sandbox, sizeof(d.sandbox), "%s", c->guard->set.sandbox);
	(void)snprintf(d.host, sizeof(d.host), "%s", c->host);
	proxy_report(c->proxy, &d);
}

/* The fault of a host is told to the first request: an answer says more than an alert. */
static bool open_sides(struct carried *c)
{
	bool was_open = c->client.is_open;

	if (!shake_hands(&c->client)) {
		report_fault(c, DECISION_CLIENT_DISTRUSTS);
		return false;
	}
	if (c->fault == DECISION_OK && !shake_hands(&c->server)) {
		c->fault = tls_refusal(c->server.tls)[0] ? DECISION_UPSTREAM_UNTRUSTED
		                                         : DECISION_UPSTREAM_UNREACHABLE;
		c->server.has_ended = true;
	}
	if (!was_open && c->client.is_open && c->server.is_open)
		c->active_ms = loop_now_ms(c->proxy->loop);
	return true;
}

static void carry_bytes(struct carried *c)
{
	int more = 1;

	for (unsigned i = 0; i < ROUNDS_MAX && more > 0; i++) {
		if (!open_sides(c)) {
			carried_free(c);
			return;
		}
		more = move_once(c);
	}
	if (more < 0 || carried_is_over(c)) {
		carried_free(c);
		return;
	}
	/* The rest is in buffers, which no event tells of. */
	if (more > 0)
		loop_timer_start(c->proxy->loop, &c->again_timer, 0);
	if (c->is_closing && c->client.out.size == 0 && !c->is_shut) {
		c->is_shut = true;
		tls_end(c->client.tls);
		(void)shutdown(c->client.fd, SHUT_WR);
	}
	if (c->held.size > c->held_sent && c->answer_state != ANSWER_NONE)
		loop_timer_start(c->proxy->loop, &c->flush_timer, FLUSH_MS);
	set_watch(&c->client, may_read(c, &c->client, &c->server));
	set_watch(&c->server, may_read(c, &c->server, &c->client));
}

static void on_side(struct carried *c, struct carried_side *side, uint32_t epoll_events)
{
	side->is_ready = true;
	if (epoll_events & (EPOLLHUP | EPOLLERR)) {
		loop_watch_free(side->watch);
		side->watch = NULL;
		if (side == &c->client) {
			carried_free(c);
			return;
		}
	}
	carry_bytes(c);
}

static void on_client_ready(void *context, uint32_t epoll_events)
{
	struct carried *c = context;

	on_side(c, &c->client, epoll_events);
}

static void on_server_ready(void *context, uint32_t epoll_events)
{
	struct carried *c = context;

	on_side(c, &c->server, epoll_events);
}

/* The gateway writes nothing: it has ended the connection, or is gone. */
static void on_token(void *context, UNUSED uint32_t epoll_events)
{
	carried_free(context);
}

static void on_timer(void *context)
{
	struct carried *c = context;
	int64_t silent = loop_now_ms(c->proxy->loop) - c->active_ms;
	int64_t most = c->is_closing ? CLOSING_MS
	               : !c->client.is_open || (!c->server.is_open && c->fault == DECISION_OK)
	                       ? OPENING_MS
	                       : SILENCE_MS;

	if (silent >= most)
		carried_free(c);
	else
		loop_timer_start(c->proxy->loop, &c->timer,
		                 most - silent < CLOSING_MS ? most - silent : CLOSING_MS);
}

static void on_again_timer(void *context)
{
	carry_bytes(context);
}

static void on_flush(void *context)
{
	struct carried *c = context;

	carried_flush(c);
	carry_bytes(c);
}

static int watch_fd(struct carried *c, int fd, loop_on_ready *on_ready, struct loop_watch **ret,
                    struct error *err)
{
	const struct loop_watch_options options = {
	        .fd = fd, .epoll_events = EPOLLIN, .on_ready = on_ready, .context = c};

	return loop_watch_add(c->proxy->loop, &options, ret, err);
}

static int open_carried(struct carried *c, struct span begun, struct error *err)
{
	const struct tls_context *leaf = guard_leaf(c->guard, c->host);
	const struct tls_context *upstream = guard_upstream(c->guard, c->host);

	if (!leaf)
		return FAIL(err, ERROR_SYSTEM, "make a certificate");
	if (tls_new_begun(leaf, c->client.fd, begun, &c->client.tls, err) < 0 ||
	    tls_connect(upstream ? upstream : c->proxy->roots, c->server.fd, c->host,
	                &c->server.tls, err) < 0 ||
	    watch_fd(c, c->client.fd, on_client_ready, &c->client.watch, err) < 0 ||
	    watch_fd(c, c->server.fd, on_server_ready, &c->server.watch, err) < 0)
		return -1;
	return watch_fd(c, c->token_fd, on_token, &c->token_watch, err);
}

void carried_start(struct credential_proxy *p, struct guard *guard, const struct handover *h,
                   struct span begun, const int fds[HANDOVER_FDS])
{
	struct carried *c = memory_new(sizeof(*c));
	struct error err = {0};

	*c = (struct carried){
	        .proxy = p,
	        .guard = guard,
	        .client = {.fd = fds[HANDOVER_CLIENT],
	                   .in = BUF(CARRY_IN_MAX),
	                   .out = BUF(CARRY_OUT_MAX + CARRY_IN_MAX)},
	        .server = {.fd = fds[HANDOVER_SERVER],
	                   .in = BUF(CARRY_HEAD_MAX + CARRY_READ),
	                   .out = BUF(CARRY_OUT_MAX + CARRY_IN_MAX)},
	        .token_fd = fds[HANDOVER_TOKEN],
	        .timer = {.on_timer = on_timer, .context = c},
	        .flush_timer = {.on_timer = on_flush, .context = c},
	        .again_timer = {.on_timer = on_again_timer, .context = c},
	        .active_ms = loop_now_ms(p->loop),
	        .address = h->address,
	        .held = BUF(CARRY_OUT_MAX + CARRY_IN_MAX),
	};
	for (size_t i = 0; h->host[i]; i++)
		c->host[i] = (char)tolower((unsigned char)h->host[i]);
	list_append(&guard->connections, &c->link);
	guard->connection_count++;
	p->carried_count++;
	send_news(c, HANDOVER_TAKEN);
	loop_timer_start(p->loop, &c->timer, CLOSING_MS);
	if (open_carried(c, begun, &err) < 0) {
		carried_free(c);
		return;
	}
	carry_bytes(c);
}
