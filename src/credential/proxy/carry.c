/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/proxy/carry.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "credential/passage/wire.h"
#include "credential/h1/h1.h"
#include "credential/h2/h2.h"
#include "credential/proxy/state.h"
#include "http/tls/tls.h"

#define OPENING_MS 20000 /* for both handshakes */
#define SILENCE_MS 900000
#define CLOSING_MS 2000
/* Of a connection that holds more than its share while its sandbox may hold no more. */
#define STALLED_MS 10000
#define FLUSH_MS 20  /* of silence; then a stream pauses */
#define ROUNDS_MAX 8 /* at once, so that other connections get their turn */

static void side_done(struct carried_side *side, bool is_shut)
{
	if (side->wire)
		side->wire->calls->free(side->wire);
	loop_watch_free(side->watch);
	if (side->is_open && !is_shut && side->tls)
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

	/* No wire is told that its passages go. */
	c->connection.host_wire = NULL;
	passage_connection_done(&c->connection);
	loop_timer_stop(p->loop, &c->timer);
	loop_timer_stop(p->loop, &c->flush_timer);
	loop_timer_stop(p->loop, &c->again_timer);
	side_done(&c->client, c->is_shut);
	side_done(&c->server, false);
	send_news(c, HANDOVER_DONE);
	loop_watch_free(c->token_watch);
	auto_close(&c->token_fd);
	list_remove(&c->link);
	carried_discharge(c);
	c->connection.guard->connection_count--;
	p->carried_count--;
	free(c);
}

/* False when the handshake fails. */
static bool shake_hands(struct carried_side *side)
{
	enum tls_progress progress;

	if (side->is_open || side->waits_for_choice)
		return true;
	progress = tls_shake_hands(side->tls);
	side->is_open = progress == TLS_DONE;
	side->is_ready = side->is_open;
	side->wants_send = progress == TLS_WANTS_WRITE;
	side->waits_for_choice = progress == TLS_WANTS_CHOICE;
	return progress != TLS_FAILED;
}

/* 1 = there may be more, 0 = not now, -1 = broken. */
static int read_side(struct carried *c, struct carried_side *side)
{
	ssize_t got = side->tls ? tls_receive(side->tls, c->proxy->scratch, CARRY_READ)
	                        : recv(side->fd, c->proxy->scratch, CARRY_READ, MSG_DONTWAIT);

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
	c->moved += (uint64_t)got;
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
		const char *rest = side->out.data + at;
		size_t size = side->out.size - at;
		ssize_t sent = side->tls ? tls_send(side->tls, rest, size)
		                         : send(side->fd, rest, size, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN)
			return false;
		if (sent < 0)
			break;
		at += (size_t)sent;
	}
	c->moved += at;
	buf_consume(&side->out, at);
	/* Thousands of silent connections hold no buffers. */
	if (side->out.size == 0 && side->out.capacity > CARRY_READ)
		buf_done(&side->out);
	return !side->out.overflowed;
}

/* HTTP/2 is read always, because its answers wait for frames of its peer; its windows bound it. */
static bool may_read(const struct carried *c, const struct carried_side *side)
{
	return side->is_open && side->wire && !side->has_ended &&
	       side->in.size + CARRY_READ <= side->in.size_max &&
	       (side->is_http2 || carried_may_grow(c)) && side->wire->calls->wants(side->wire);
}

static bool may_give(const struct carried *c, const struct carried_side *side)
{
	return side->is_ready && may_read(c, side);
}

/* Takes what a side has; false: the connection cannot go on. */
static bool take_input(struct carried *c, struct carried_side *side)
{
	if (!side->wire)
		return true;
	if (may_give(c, side) && read_side(c, side) < 0)
		return false;
	return side->wire->calls->read(side->wire);
}

/* What came before the end is read first, also when it has to wait for room. */
static bool tell_end(struct carried_side *side)
{
	if (!side->wire || !side->has_ended || side->is_told_of_end || side->in.size > 0)
		return true;
	side->is_told_of_end = true;
	return side->wire->calls->on_end(side->wire);
}

static bool put_output(struct carried_side *side)
{
	return !side->wire || side->wire->calls->write(side->wire);
}

/* 1 = another round may move more, 0 = nothing to do now, -1 = the end. */
static int move_once(struct carried *c)
{
	const uint64_t moved = c->moved;
	const size_t client_in = c->client.in.size, server_in = c->server.in.size;

	if (!take_input(c, &c->client) || !put_output(&c->server) || !take_input(c, &c->server) ||
	    !tell_end(&c->server) || !put_output(&c->client))
		return -1;
	if (c->server.is_open && !c->server.has_ended && !write_side(c, &c->server)) {
		c->server.has_ended = true;
		if (!tell_end(&c->server))
			return -1;
	}
	if (c->client.is_open && !write_side(c, &c->client))
		return -1;
	return c->moved != moved || c->client.in.size != client_in ||
	       c->server.in.size != server_in || may_give(c, &c->client) || may_give(c, &c->server);
}

static void set_watch(const struct carried_side *side, bool reads)
{
	bool opening = side->tls && !side->is_open && !side->waits_for_choice;

	if (side->watch)
		loop_watch_set(side->watch,
		               (reads || (opening && !side->wants_send) ? EPOLLIN : 0u) |
		                       (side->out.size > 0 || side->wants_send ? EPOLLOUT : 0u));
}

static bool carried_is_over(const struct carried *c)
{
	const struct carried_side *client = &c->client;

	if (!client->has_ended)
		return false;
	if (!client->wire)
		return true;
	return c->server.out.size == 0 && !client->wire->calls->on_end(client->wire);
}

static void report_fault(const struct carried *c, enum decision_code code)
{
	struct network_decision d = {
	        .address = c->connection.address,
	        .address6 = c->connection.address6,
	        .port = c->connection.is_plain ? CREDENTIAL_PLAIN_PORT : CREDENTIAL_PORT,
	        .verdict = DECISION_DENIED,
	        .code = (uint8_t)code,
	        .protocol = c->connection.is_plain ? DECISION_HTTP : DECISION_TLS,
	        .count = 1};

	(void)snprintf(d.sandbox, sizeof(d.sandbox), "%s", c->connection.guard->set.sandbox);
	(void)snprintf(d.host, sizeof(d.host), "%s", c->host);
	proxy_report(c->proxy, &d);
}

/* Offers the host what the client offers, unless the rules say otherwise. */
static bool offer_protocols(struct carried *c)
{
	unsigned offered = tls_offered(c->client.tls);
	struct error ignored = {0};

	switch (guard_http2(c->connection.guard, c->host)) {
	case HTTP2_AS_CLIENT:
		break;
	case HTTP2_ALWAYS:
		offered |= TLS_HTTP2;
		break;
	case HTTP2_NEVER:
		offered = TLS_HTTP1;
		break;
	}
	c->is_offered = true;
	return tls_offer(c->server.tls, offered, &ignored) == 0;
}

/* A client that speaks both versions gets the host's: nothing has to be translated. It waits for
 * the host, if only because of a client that speaks HTTP/2. */
static void choose_protocol(struct carried *c)
{
	unsigned offered = tls_offered(c->client.tls);
	enum tls_protocol chosen = TLS_HTTP1;

	if (offered & TLS_HTTP2) {
		if (!c->server.is_open && c->connection.fault == DECISION_OK)
			return;
		if (!(offered & TLS_HTTP1) || c->connection.fault != DECISION_OK ||
		    tls_protocol(c->server.tls) == TLS_HTTP2)
			chosen = TLS_HTTP2;
	}
	tls_choose(c->client.tls, chosen);
	c->client.waits_for_choice = false;
}

/* The fault of a host is told to the first request: an answer says more than an alert. */
static void note_fault(struct carried *c)
{
	c->connection.fault = tls_refusal(c->server.tls)[0] ? DECISION_UPSTREAM_UNTRUSTED
	                                                    : DECISION_UPSTREAM_UNREACHABLE;
	c->server.has_ended = true;
}

static bool open_sides(struct carried *c)
{
	bool was_open = c->client.is_open;

	if (!shake_hands(&c->client)) {
		report_fault(c, DECISION_CLIENT_DISTRUSTS);
		return false;
	}
	if (!c->is_offered && c->client.waits_for_choice && !offer_protocols(c))
		return false;
	if (c->is_offered && c->connection.fault == DECISION_OK && !shake_hands(&c->server))
		note_fault(c);
	if (c->client.waits_for_choice) {
		choose_protocol(c);
		if (!shake_hands(&c->client)) {
			report_fault(c, DECISION_CLIENT_DISTRUSTS);
			return false;
		}
	}
	if (!was_open && c->client.is_open && c->server.is_open)
		c->active_ms = loop_now_ms(c->proxy->loop);
	return true;
}

typedef struct wire *wire_maker(const struct wire *base);

static bool open_wire(struct carried *c, struct carried_side *side, wire_maker *http1,
                      wire_maker *http2)
{
	const struct wire base = {.connection = &c->connection, .in = &side->in, .out = &side->out};

	side->is_http2 = side->tls && tls_protocol(side->tls) == TLS_HTTP2;
	side->wire = (side->is_http2 ? http2 : http1)(&base);
	return side->wire != NULL;
}

/* Both sides at once: a request that comes earlier could not be judged. */
static bool open_wires(struct carried *c)
{
	if (c->client.wire || !c->client.is_open ||
	    (!c->server.is_open && c->connection.fault == DECISION_OK))
		return true;
	if (c->server.is_open && !open_wire(c, &c->server, h1_host_new, h2_host_new))
		return false;
	if (!open_wire(c, &c->client, h1_client_new, h2_client_new))
		return false;
	c->connection.host_wire = c->server.wire;
	c->connection.client = c->client.wire;
	c->connection.host_is_http2 = c->server.wire && c->server.is_http2;
	return true;
}

/* The last bytes are sent: the client is told, and its input dropped until it ends. */
static void shut_client(struct carried *c)
{
	if (!c->client.wire || !c->client.wire->is_closing || c->client.out.size > 0 || c->is_shut)
		return;
	c->is_shut = true;
	c->active_ms = loop_now_ms(c->proxy->loop);
	if (c->client.tls)
		tls_end(c->client.tls);
	(void)shutdown(c->client.fd, SHUT_WR);
}

static void await_pause(struct carried *c)
{
	LIST_EACH (&c->connection.passages, struct passage, x, link)
		if (x->is_held && c->flush_timer.heap_index == 0)
			loop_timer_start(c->proxy->loop, &c->flush_timer, FLUSH_MS);
}

/* Requests and bodies keep a connection; frames of HTTP/2 about the connection alone do not. */
static void note_progress(struct carried *c)
{
	if (c->progress_seen == c->connection.progress)
		return;
	c->progress_seen = c->connection.progress;
	c->active_ms = loop_now_ms(c->proxy->loop);
}

static void carry_bytes(struct carried *c)
{
	int more = 1;

	c->connection.now_ms = loop_now_ms(c->proxy->loop);
	for (unsigned i = 0; i < ROUNDS_MAX && more > 0; i++) {
		if (!open_sides(c) || !open_wires(c)) {
			carried_free(c);
			return;
		}
		more = move_once(c);
		carried_charge(c);
		note_progress(c);
	}
	if (more < 0 || carried_is_over(c)) {
		carried_free(c);
		return;
	}
	/* The rest is in buffers, which no event tells of. */
	if (more > 0)
		loop_timer_start(c->proxy->loop, &c->again_timer, 0);
	shut_client(c);
	await_pause(c);
	c->is_waiting = !carried_may_grow(c);
	set_watch(&c->client, may_read(c, &c->client));
	set_watch(&c->server, may_read(c, &c->server));
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
	int64_t most = c->is_shut ? CLOSING_MS : !c->client.wire ? OPENING_MS : SILENCE_MS;
	bool is_stalled;

	if (silent >= CLOSING_MS)
		carried_release_idle(c);
	/* Only after the release, which may have made room. */
	is_stalled = silent >= STALLED_MS && !carried_may_grow(c);
	if (is_stalled)
		report_fault(c, DECISION_LIMIT);
	if (silent >= most || is_stalled)
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
	bool is_early = false;

	c->connection.now_ms = loop_now_ms(c->proxy->loop);
	LIST_EACH (&c->connection.passages, struct passage, x, link)
		is_early = passage_flush(x, FLUSH_MS) || is_early;
	if (is_early)
		loop_timer_start(c->proxy->loop, &c->flush_timer, FLUSH_MS);
	carry_bytes(c);
}

static int watch_fd(struct carried *c, int fd, loop_on_ready *on_ready, struct loop_watch **ret,
                    struct error *err)
{
	const struct loop_watch_options options = {
	        .fd = fd, .epoll_events = EPOLLIN, .on_ready = on_ready, .context = c};

	return loop_watch_add(c->proxy->loop, &options, ret, err);
}

static int open_tls(struct carried *c, struct span begun, struct error *err)
{
	const struct tls_context *leaf = guard_leaf(c->connection.guard, c->host);
	const struct tls_context *upstream = guard_upstream(c->connection.guard, c->host);

	if (!leaf)
		return FAIL(err, ERROR_SYSTEM, "make a certificate");
	if (tls_new_begun(leaf, c->client.fd, begun, &c->client.tls, err) < 0 ||
	    tls_connect(upstream ? upstream : c->proxy->roots, c->server.fd, c->host,
	                &c->server.tls, err) < 0)
		return -1;
	tls_wait_for_choice(c->client.tls);
	return 0;
}

/* Without TLS both sides are open at once, and the first bytes are those of a request. */
static int open_carried(struct carried *c, struct span begun, struct error *err)
{
	if (c->connection.is_plain) {
		c->client.is_open = c->server.is_open = true;
		c->client.is_ready = true;
		buf_add_span(&c->client.in, begun);
	} else if (open_tls(c, begun, err) < 0) {
		return -1;
	}
	if (watch_fd(c, c->client.fd, on_client_ready, &c->client.watch, err) < 0 ||
	    watch_fd(c, c->server.fd, on_server_ready, &c->server.watch, err) < 0)
		return -1;
	return watch_fd(c, c->token_fd, on_token, &c->token_watch, err);
}

static void on_report(void *context, const struct network_decision *d)
{
	proxy_report(context, d);
}

void carried_start(struct credential_proxy *p, struct guard *guard, const struct handover *h,
                   struct span begun, const int fds[HANDOVER_FDS])
{
	struct carried *c = memory_new(sizeof(*c));
	struct error err = {0};

	*c = (struct carried){
	        .proxy = p,
	        .connection = {.guard = guard,
	                       .host = c->host,
	                       .address = h->address,
	                       .address6 = h->address6,
	                       .is_plain = h->port == HANDOVER_HTTP,
	                       .now_ms = loop_now_ms(p->loop),
	                       .report = on_report,
	                       .context = p},
	        .client = {.fd = fds[HANDOVER_CLIENT],
	                   .in = BUF(CARRY_IN_MAX),
	                   .out = BUF(CARRY_OUT_MAX)},
	        .server = {.fd = fds[HANDOVER_SERVER],
	                   .in = BUF(CARRY_IN_MAX),
	                   .out = BUF(CARRY_OUT_MAX)},
	        .token_fd = fds[HANDOVER_TOKEN],
	        .timer = {.on_timer = on_timer, .context = c},
	        .flush_timer = {.on_timer = on_flush, .context = c},
	        .again_timer = {.on_timer = on_again_timer, .context = c},
	        .active_ms = loop_now_ms(p->loop),
	};
	passage_connection_init(&c->connection);
	for (size_t i = 0; h->host[i]; i++)
		c->host[i] = (char)tolower((unsigned char)h->host[i]);
	list_append(&guard->connections, &c->link);
	guard->connection_count++;
	p->carried_count++;
	carried_charge(c);
	send_news(c, HANDOVER_TAKEN);
	loop_timer_start(p->loop, &c->timer, CLOSING_MS);
	if (open_carried(c, begun, &err) < 0) {
		carried_free(c);
		return;
	}
	carry_bytes(c);
}
