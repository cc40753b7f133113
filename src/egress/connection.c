/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of a sandbox: finds the name, checks the rules, looks the name up, carries bytes
 * both ways.
 *
 *   READING -> LOOKING_UP -> CONNECTING -> CARRYING -> ENDING
 *                            ASKING_PROXY \-> HANDED -> RETURNING
 *
 * An HTTP connection carries a single request with the body size that it declares, and its answer,
 * because a second request could name another host. Of TLS only the first message is parsed. HANDED
 * is a connection that the credential proxy carries; in RETURNING it has to end it, and tells how
 * much it carried. With an upstream proxy, CONNECTING leads to
 * it, and in ASKING_PROXY it is asked for the host's address. */
#include "egress/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "egress/gateway.h"
#include "egress/handover.h"
#include "egress/look.h"
#include "egress/refusal.h"

#define READING_MS 10000 /* until the name is known */
#define TAKING_MS 20000  /* until the credential proxy has taken it */
#define SILENCE_MS 900000
/* Once the sandbox has sent everything or has left, which look the same. */
#define ENDED_SILENCE_MS 120000
#define ENDING_MS 2000
#define ROUNDS_MAX 8 /* at once, so that other connections get their turn */
#define ANSWER_MAX 32768
#define PENDING_MAX (SCRATCH_SIZE + 2 * LOOK_BYTES_MAX)
#define ALERT_ACCESS_DENIED 49
#define ALERT_INTERNAL_ERROR 80

uint8_t protocol_of(enum protocol protocol)
{
	return protocol == PROTOCOL_TLS ? DECISION_TLS : DECISION_HTTP;
}

uint16_t port_of(enum protocol protocol)
{
	return protocol == PROTOCOL_TLS ? 443 : 80;
}

static void side_close(struct side *side)
{
	loop_watch_free(side->watch);
	side->watch = NULL;
	buf_done(&side->pending);
	fd_forget(&side->fd);
}

/* Adds the bytes to the decision that was reported when the connection began. */
static void report_bytes(struct egress_connection *c)
{
	c->decision.count = 0;
	if (c->decision.bytes_in + c->decision.bytes_out > 0)
		gateway_report(c->gateway, c->guest, &c->decision);
}

static void connection_free(struct egress_connection *c)
{
	struct gateway *g = c->gateway;

	report_bytes(c);
	lookup_cancel(c->lookup);
	loop_timer_stop(g->loop, &c->timer);
	/* The proxy's copies stay open until it reads the end of the pair. */
	if (c->state == HANDED || c->state == RETURNING)
		(void)shutdown(c->client.fd, SHUT_RDWR);
	side_close(&c->client);
	side_close(&c->server);
	loop_watch_free(c->token_watch);
	auto_close(&c->token_fd);
	buf_done(&c->begin);
	buf_done(&c->proxy_answer);
	list_remove(&c->link);
	g->connection_count--;
	c->guest->connections--;
	guest_put(g, c->guest);
	free(c);
}

/* Ends a connection that must not go on. Only the credential proxy knows what it has carried. */
static void stop_connection(struct egress_connection *c)
{
	if (c->state != HANDED) {
		connection_free(c);
		return;
	}
	(void)shutdown(c->client.fd, SHUT_RDWR);
	(void)shutdown(c->token_fd, SHUT_WR);
	egress_connection_enter(c, RETURNING, ENDING_MS);
}

void egress_side_set_events(const struct side *side, uint32_t events)
{
	if (side->watch)
		loop_watch_set(side->watch, events);
}

void egress_connection_enter(struct egress_connection *c, enum egress_state state,
                             int64_t at_most_ms)
{
	c->state = state;
	loop_timer_start(c->gateway->loop, &c->timer, at_most_ms);
}

/* Reads the remaining bytes before the close: a close with unread bytes resets the connection and
 * discards the last answer. */
static void begin_ending(struct egress_connection *c)
{
	side_close(&c->server);
	(void)shutdown(c->client.fd, SHUT_WR);
	if (!c->client.watch) {
		connection_free(c);
		return;
	}
	egress_side_set_events(&c->client, EPOLLIN);
	egress_connection_enter(c, ENDING, ENDING_MS);
}

static void say_refusal(struct egress_connection *c)
{
	bool is_fault = decision_is_fault(c->decision.code);
	const char alert[] = {
	        21, 3, 1, 0, 2, 2, is_fault ? ALERT_INTERNAL_ERROR : ALERT_ACCESS_DENIED};
	AUTO(buf_done) struct buf said = BUF(ANSWER_MAX);

	if (c->protocol == PROTOCOL_TLS)
		buf_add(&said, alert, sizeof(alert));
	else
		refusal_write(&said, &c->decision, buf_span(&c->begin));
	(void)!send(c->client.fd, said.data, said.size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Reported before the client hears of it: a command that ends by the refusal ends after the
 * report. */
void egress_connection_refuse(struct egress_connection *c, enum decision_code code, const char *why)
{
	c->decision.code = (uint8_t)code;
	c->decision.verdict = DECISION_DENIED;
	c->decision.count = 1;
	gateway_tell(c->gateway, c->guest, &c->decision, why);
	say_refusal(c);
	begin_ending(c);
}

/* For HTTP, after the request. */
static bool is_deaf(const struct egress_connection *c, const struct side *side)
{
	return side == &c->client && c->protocol == PROTOCOL_HTTP && c->body.state == BODY_DONE;
}

static int write_pending(struct side *to)
{
	ssize_t sent =
	        send(to->fd, to->pending.data, to->pending.size, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	buf_consume(&to->pending, (size_t)sent);
	/* Thousands of silent connections hold no buffers. */
	if (to->pending.size == 0)
		buf_done(&to->pending);
	return 0;
}

static int pass_bytes(struct egress_connection *c, const struct side *from, struct side *to,
                      struct span bytes)
{
	if (from == &c->client && c->protocol == PROTOCOL_HTTP) {
		ssize_t taken = body_take(&c->body, bytes);

		if (taken < 0)
			return -1;
		bytes.size = (size_t)taken;
	}
	buf_add_span(&to->pending, bytes);
	return to->pending.overflowed ? -1 : 0;
}

/* 1 = there may be more, 0 = not now, -1 = the end. */
static int read_some(struct egress_connection *c, struct side *from, struct side *to)
{
	char *data = c->gateway->scratch;
	ssize_t got = recv(from->fd, data, SCRATCH_SIZE, MSG_DONTWAIT);

	if (got < 0 && errno != EAGAIN && errno != EINTR)
		return -1;
	if (got < 0 && from->watch)
		return 0;
	if (got <= 0) {
		from->has_ended = true;
		return 0;
	}
	c->active_ms = loop_now_ms(c->gateway->loop);
	*(from == &c->client ? &c->decision.bytes_out : &c->decision.bytes_in) += (uint64_t)got;
	return pass_bytes(c, from, to, (struct span){data, (size_t)got}) < 0 ? -1 : 1;
}

static int copy_one_way(struct egress_connection *c, struct side *from, struct side *to)
{
	int more = 1;

	/* epoll reports nothing more for a connection that hung up, so it is read to its end here.
	 * */
	for (unsigned i = 0; (i < ROUNDS_MAX || !from->watch) && more > 0; i++) {
		if (to->pending.size > 0 && write_pending(to) < 0)
			return -1;
		if (to->pending.size > 0 || from->has_ended || is_deaf(c, from))
			break;
		more = read_some(c, from, to);
		if (more < 0)
			return -1;
	}
	if (to->pending.size > 0 && write_pending(to) < 0)
		return -1;
	if (from->has_ended && to->pending.size == 0 && !to->is_shut) {
		to->is_shut = true;
		(void)shutdown(to->fd, SHUT_WR);
	}
	return 0;
}

static void update_side_watch(const struct egress_connection *c, const struct side *side,
                              const struct side *other)
{
	bool reads = !side->has_ended && other->pending.size == 0 && !is_deaf(c, side);

	/* The end of a connection that is never read again is reported nevertheless. */
	bool listens = is_deaf(c, side) && !side->has_ended;

	egress_side_set_events(side, (reads ? EPOLLIN : 0u) |
	                                     (side->pending.size > 0 ? EPOLLOUT : 0u) |
	                                     (listens ? EPOLLRDHUP : 0u));
}

static void copy_both_ways(struct egress_connection *c)
{
	if (copy_one_way(c, &c->client, &c->server) < 0 ||
	    copy_one_way(c, &c->server, &c->client) < 0) {
		connection_free(c);
		return;
	}
	if (c->client.is_shut && (c->protocol == PROTOCOL_HTTP || c->server.is_shut)) {
		begin_ending(c);
		return;
	}
	if (c->client.has_ended && !c->is_brief) {
		c->is_brief = true;
		loop_timer_start(c->gateway->loop, &c->timer, ENDED_SILENCE_MS);
	}
	update_side_watch(c, &c->client, &c->server);
	update_side_watch(c, &c->server, &c->client);
}

int egress_side_watch(struct egress_connection *c, struct side *side, loop_on_ready *on_ready,
                      uint32_t events)
{
	const struct loop_watch_options options = {
	        .fd = side->fd, .epoll_events = events, .on_ready = on_ready, .context = c};
	struct error ignored = {0};

	return loop_watch_add(c->gateway->loop, &options, &side->watch, &ignored);
}

void egress_send_at_once(int fd)
{
	const int yes = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

static void report_begin(struct egress_connection *c)
{
	c->decision.address = c->addresses.items[c->next_address - 1];
	c->decision.address6 = c->addresses.items6[c->next_address - 1];
	c->decision.code =
	        c->decision.verdict == DECISION_WATCHED ? DECISION_HOST_NOT_ALLOWED : DECISION_OK;
	c->decision.count = 1;
	gateway_report(c->gateway, c->guest, &c->decision);
}

static void on_token(void *context, UNUSED uint32_t epoll_events)
{
	struct egress_connection *c = context;
	struct handover_news news;
	ssize_t got = recv(c->token_fd, &news, sizeof(news), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got == (ssize_t)sizeof(news) && news.state == HANDOVER_TAKEN) {
		if (c->state == HANDED)
			loop_timer_stop(c->gateway->loop, &c->timer);
		return;
	}
	if (got == (ssize_t)sizeof(news)) {
		c->decision.bytes_in = news.bytes_in;
		c->decision.bytes_out = news.bytes_out;
	}
	connection_free(c);
}

static int send_sockets(struct egress_connection *c, struct error *err)
{
	struct handover h = {.address = c->addresses.items[c->next_address - 1],
	                     .address6 = c->addresses.items6[c->next_address - 1],
	                     .port = port_of(c->protocol)};
	int pair[2];
	struct loop_watch_options options = {
	        .epoll_events = EPOLLIN, .on_ready = on_token, .context = c};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return FAIL_ERRNO(err, "make a pair of sockets");
	c->token_fd = options.fd = pair[0];
	(void)snprintf(h.sandbox, sizeof(h.sandbox), "%s", c->decision.sandbox);
	(void)snprintf(h.host, sizeof(h.host), "%s", c->looked.name);
	const int fds[HANDOVER_FDS] = {c->client.fd, c->server.fd, pair[1]};
	int result = handover_send(c->gateway->handover_fd, &h, buf_span(&c->begin), fds, err);

	(void)close(pair[1]);
	return result < 0 ? -1 : loop_watch_add(c->gateway->loop, &options, &c->token_watch, err);
}

/* Both sockets are the proxy's from now on; this process only keeps them from being forgotten. */
static void hand_connection_over(struct egress_connection *c)
{
	struct error err = {0};

	if (c->gateway->handover_fd < 0 || send_sockets(c, &err) < 0) {
		egress_connection_refuse(c, DECISION_UPSTREAM_UNREACHABLE,
		                         "the credential proxy takes no connection");
		return;
	}
	loop_watch_free(c->client.watch);
	c->client.watch = NULL;
	loop_watch_free(c->server.watch);
	c->server.watch = NULL;
	buf_done(&c->begin);
	report_begin(c);
	egress_connection_enter(c, HANDED, TAKING_MS);
}

/* The connection leads to the host. */
void egress_connection_carry(struct egress_connection *c)
{
	if (c->is_decrypted) {
		hand_connection_over(c);
		return;
	}
	egress_connection_enter(c, CARRYING, SILENCE_MS);
	report_begin(c);
	c->active_ms = loop_now_ms(c->gateway->loop);
	copy_both_ways(c);
}

void egress_connection_on_server(void *context, uint32_t epoll_events)
{
	struct egress_connection *c = context;

	if (c->state == CONNECTING || c->state == ASKING_PROXY) {
		way_on_server(c);
		return;
	}
	if (epoll_events & EPOLLERR) {
		connection_free(c);
		return;
	}
	/* Repeated until the close, because other bytes may have to be sent first. */
	if (epoll_events & EPOLLHUP) {
		loop_watch_free(c->server.watch);
		c->server.watch = NULL;
	}
	copy_both_ways(c);
}

/* The first bytes for the server. */
static int prepare_server_bytes(struct egress_connection *c, size_t head_size)
{
	struct span begin = buf_span(&c->begin);
	struct span rest = {begin.data + head_size, begin.size - head_size};

	if (c->protocol == PROTOCOL_HTTP)
		request_pass((struct span){begin.data, head_size}, &c->server.pending);
	if (pass_bytes(c, &c->client, &c->server, rest) < 0)
		return -1;
	buf_done(&c->begin);
	c->decision.bytes_out = c->server.pending.size;
	return 0;
}

/* Of what rules_allow refuses. */
static enum decision_code code_of_refusal(const struct network_decision *d)
{
	return d->code == DECISION_QUOTA ? DECISION_QUOTA : DECISION_HOST_NOT_ALLOWED;
}

static void on_name(struct egress_connection *c, size_t head_size)
{
	(void)snprintf(c->decision.host, sizeof(c->decision.host), "%s", c->looked.name);
	if (!rules_allow(c->gateway, c->guest, &c->decision, &c->is_decrypted)) {
		egress_connection_refuse(c, code_of_refusal(&c->decision),
		                         "the name is not allowed");
		return;
	}
	if (!c->is_decrypted && prepare_server_bytes(c, head_size) < 0) {
		egress_connection_refuse(c, DECISION_BAD_REQUEST, "its body is malformed");
		return;
	}
	egress_side_set_events(&c->client, 0);
	way_find(c);
}

static void look_for_name(struct egress_connection *c)
{
	struct span bytes = buf_span(&c->begin);
	size_t head_size = 0;
	enum host_name_result result =
	        c->protocol == PROTOCOL_TLS ? hello_look(bytes, &c->looked)
	                                    : request_look(bytes, &c->looked, &head_size, &c->body);

	if (result == LOOK_FOUND)
		on_name(c, head_size);
	else if (result == LOOK_REFUSED)
		egress_connection_refuse(c, DECISION_BAD_REQUEST, c->looked.refusal);
}

static void read_begin(struct egress_connection *c)
{
	char *data = c->gateway->scratch;
	ssize_t got = recv(c->client.fd, data, LOOK_BYTES_MAX - c->begin.size, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		connection_free(c);
		return;
	}
	buf_add(&c->begin, data, (size_t)got);
	look_for_name(c);
}

static void read_end(struct egress_connection *c)
{
	ssize_t got = recv(c->client.fd, c->gateway->scratch, SCRATCH_SIZE, MSG_DONTWAIT);

	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		connection_free(c);
}

static void on_client(void *context, uint32_t epoll_events)
{
	struct egress_connection *c = context;

	if (epoll_events & EPOLLERR) {
		connection_free(c);
		return;
	}
	switch (c->state) {
	case READING:
		read_begin(c);
		return;
	case LOOKING_UP:
	case CONNECTING:
	case ASKING_PROXY:
		connection_free(c); /* the peer hung up */
		return;
	case HANDED:
	case RETURNING:
		return;
	case CARRYING:
		if (epoll_events & EPOLLHUP) {
			loop_watch_free(c->client.watch);
			c->client.watch = NULL;
		}
		if (epoll_events & EPOLLRDHUP && is_deaf(c, &c->client))
			c->client.has_ended = true;
		copy_both_ways(c);
		return;
	case ENDING:
		read_end(c);
		return;
	}
}

static void on_timer(void *context)
{
	struct egress_connection *c = context;
	int64_t silent = loop_now_ms(c->gateway->loop) - c->active_ms;
	int64_t most = c->is_brief ? ENDED_SILENCE_MS : SILENCE_MS;

	if (c->state == CARRYING && silent < most)
		loop_timer_start(c->gateway->loop, &c->timer, most - silent);
	else if (c->state == READING)
		egress_connection_refuse(c, DECISION_BAD_REQUEST, "it said no name in time");
	else if (c->state == LOOKING_UP || c->state == CONNECTING || c->state == ASKING_PROXY)
		way_on_timer(c);
	else
		connection_free(c);
}

void connection_start(struct gateway *g, enum protocol protocol, int fd, struct guest *guest)
{
	struct egress_connection *c = memory_new(sizeof(*c));

	*c = (struct egress_connection){
	        .gateway = g,
	        .guest = guest,
	        .protocol = protocol,
	        .client = {.fd = fd, .pending = BUF(PENDING_MAX)},
	        .server = {.fd = -1, .pending = BUF(PENDING_MAX)},
	        .begin = BUF(LOOK_BYTES_MAX),
	        .token_fd = -1,
	        .decision = {.protocol = protocol_of(protocol), .port = port_of(protocol)},
	        .timer = {.on_timer = on_timer, .context = c}};
	list_append(&g->connections, &c->link);
	g->connection_count++;
	guest->connections++;
	egress_send_at_once(fd);
	egress_connection_enter(c, READING, READING_MS);
	if (egress_side_watch(c, &c->client, on_client, EPOLLIN) < 0)
		connection_free(c);
}

void connections_check(struct gateway *g, const char *guest)
{
	LIST_EACH (&g->connections, struct egress_connection, c, link) {
		struct network_decision d = c->decision;
		bool is_decrypted = false;
		uint32_t source;

		if ((guest && strcmp(c->guest->name, guest) != 0) || c->state == READING ||
		    c->state == ENDING || c->state == RETURNING)
			continue;
		/* The sandbox may connect again, by the new address. */
		if (!rules_source(g, c->guest, &source) || source != c->source) {
			stop_connection(c);
			continue;
		}
		if ((rules_allow(g, c->guest, &d, &is_decrypted) &&
		     (c->next_address == 0 ||
		      rules_leave_address(g, c->guest, &d,
		                          c->addresses.items[c->next_address - 1])) &&
		     is_decrypted == c->is_decrypted))
			continue;
		d.code = (uint8_t)code_of_refusal(&d);
		d.verdict = DECISION_DENIED;
		d.count = 1;
		d.bytes_in = d.bytes_out = 0;
		gateway_tell(g, c->guest, &d, "the name is allowed no more");
		stop_connection(c);
	}
}

void connections_end(struct gateway *g, const char *guest)
{
	LIST_EACH (&g->connections, struct egress_connection, c, link)
		if (strcmp(c->guest->name, guest) == 0 && c->state != RETURNING)
			stop_connection(c);
}
