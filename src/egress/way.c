/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a connection to its host: looks the name up, checks the addresses, and connects to one
 * of them, or to the upstream proxy, which is asked for the address. */
#include "egress/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "egress/sources.h"
#include "egress/upstream.h"

#define CONNECTING_MS 20000 /* including the lookup, for all addresses together */
#define PROXY_REQUEST_MAX 2048
#define PROXY_WANTS_LOGIN 407
#define PROXY_REFUSES_LOGIN 401 /* of tinyproxy, for a wrong password */
#define PROXY_FAILS 500         /* and above */

/* A name has addresses of one kind. */
static size_t address_count(const struct egress_connection *c)
{
	return c->addresses.count + c->addresses.count6;
}

/* The remaining addresses share the rest of the time. */
static void start_attempt(struct egress_connection *c)
{
	int64_t left = c->connect_until_ms - loop_now_ms(c->gateway->loop);
	size_t others = address_count(c) - c->next_address - 1;

	egress_connection_enter(c, CONNECTING, left > 0 ? left / (int64_t)(others + 1) : 0);
}

static bool has_proxy(const struct egress_connection *c)
{
	return c->gateway->proxy.port != 0;
}

static void note_failure(struct egress_connection *c, enum decision_code code, const char *why)
{
	c->failure = code;
	c->failure_why = why;
}

/* A host that has lost the address fails here: nothing leaves by another one. Without its child the
 * gateway ends, and the supervisor starts both again. */
static int open_by_source(struct egress_connection *c)
{
	struct error err = {0};

	if (c->gateway->sources_fd >= 0 &&
	    sources_ask(c->gateway->sources_fd, c->source, &c->server.fd, &err) < 0) {
		log_error("no connection can leave by a source address", FAILURE(&err));
		loop_stop(c->gateway->loop);
	}
	if (c->server.fd >= 0)
		return 0;
	note_failure(c, DECISION_SOURCE_ADDRESS,
	             "the host does not have the source address of the project");
	return -1;
}

static int open_server_socket(struct egress_connection *c, int family)
{
	if (c->source != 0)
		return open_by_source(c);
	c->server.fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return c->server.fd < 0 ? -1 : 0;
}

static int connect_socket(struct egress_connection *c, const struct sockaddr *there, socklen_t size)
{
	struct side *server = &c->server;

	if (open_server_socket(c, there->sa_family) < 0)
		return -1;
	egress_send_at_once(server->fd);
	if (connect(server->fd, there, size) < 0 && errno != EINPROGRESS)
		return -1;
	return egress_side_watch(c, server, egress_connection_on_server, EPOLLOUT);
}

static int try_address6(struct egress_connection *c, const struct address6 *address)
{
	struct sockaddr_in6 there = {.sin6_family = AF_INET6,
	                             .sin6_port = htons(port_of(c->protocol))};

	/* It would leave by another address than the project's. */
	if (c->source != 0)
		return -1;
	memcpy(&there.sin6_addr, address->bytes, sizeof(address->bytes));
	return connect_socket(c, (const struct sockaddr *)&there, sizeof(there));
}

/* Starts an attempt; -1 if it failed at once. */
static int try_address(struct egress_connection *c, uint32_t address)
{
	const struct sockaddr_in there = {
	        .sin_family = AF_INET,
	        .sin_port = htons(has_proxy(c) ? c->gateway->proxy.port : port_of(c->protocol)),
	        .sin_addr.s_addr = htonl(has_proxy(c) ? c->proxies.items[c->next_proxy] : address)};

	return connect_socket(c, (const struct sockaddr *)&there, sizeof(there));
}

static void drop_attempt(struct egress_connection *c)
{
	loop_watch_free(c->server.watch);
	c->server.watch = NULL;
	fd_forget(&c->server.fd);
	buf_done(&c->proxy_answer);
}

static bool is_of_proxy(const struct egress_connection *c, uint32_t address)
{
	for (size_t i = 0; i < c->proxies.count; i++)
		if (c->proxies.items[i] == address)
			return true;
	return false;
}

/* Sandboxes do not reach the proxy itself: it obeys the server, not them. */
static bool may_reach(struct egress_connection *c, uint32_t address)
{
	if (!gateway_may_reach(c->gateway, address) || is_of_proxy(c, address))
		return false;
	if (rules_leave_address(c->gateway, c->guest, &c->decision, address))
		return true;
	c->has_denied_address = true;
	c->decision.address = address;
	return false;
}

/* The last attempt has failed, and there is no other one. */
static void end_attempts(struct egress_connection *c)
{
	if (c->failure_why)
		egress_connection_refuse(c, c->failure, c->failure_why);
	else if (c->has_denied_address)
		egress_connection_refuse(c, DECISION_ADDRESS_DENIED, "a rule denies its address");
	else
		egress_connection_refuse(c, DECISION_RANGE_REFUSED,
		                         "its address is one that no sandbox may reach");
}

/* The proxy has further addresses, or it fails for all addresses of the host. */
static void note_no_connection(struct egress_connection *c, const char *why)
{
	if (!has_proxy(c)) {
		note_failure(c, DECISION_UPSTREAM_UNREACHABLE, why);
		return;
	}
	note_failure(c, DECISION_UPSTREAM_PROXY_UNREACHABLE, "the proxy does not answer");
	if (++c->next_proxy == c->proxies.count)
		c->next_address = address_count(c);
	else
		c->next_address--;
}

static bool may_reach_next(struct egress_connection *c)
{
	return c->addresses.count6 > 0
	               ? gateway_may_reach6(c->gateway, &c->addresses.items6[c->next_address])
	               : may_reach(c, c->addresses.items[c->next_address]);
}

static int try_next_address(struct egress_connection *c)
{
	return c->addresses.count6 > 0 ? try_address6(c, &c->addresses.items6[c->next_address])
	                               : try_address(c, c->addresses.items[c->next_address]);
}

/* Connects to the checked address; the name is not looked up twice. */
static void try_addresses(struct egress_connection *c)
{
	drop_attempt(c);
	while (c->next_address < address_count(c)) {
		bool is_tried = may_reach_next(c);
		int result = -1;

		if (is_tried) {
			start_attempt(c);
			result = try_next_address(c);
		}
		c->next_address++;
		if (!is_tried)
			continue;
		if (result == 0)
			return;
		drop_attempt(c);
		if (c->failure != DECISION_SOURCE_ADDRESS)
			note_no_connection(c, "no connection can be made");
	}
	end_attempts(c);
}

static void fail_connecting(struct egress_connection *c)
{
	note_no_connection(c, "no address of the name answers");
	try_addresses(c);
}

/* The connection leads to the proxy. */
static void ask_proxy(struct egress_connection *c)
{
	AUTO(buf_done) struct buf request = BUF(PROXY_REQUEST_MAX);

	upstream_ask(&request, c->addresses.items[c->next_address - 1], port_of(c->protocol),
	             c->gateway->authorization);
	/* The first bytes of a connection fit into its buffer. */
	if (send(c->server.fd, request.data, request.size, MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    (ssize_t)request.size) {
		fail_connecting(c);
		return;
	}
	c->state = ASKING_PROXY;
	c->proxy_answer = BUF(UPSTREAM_HEAD_MAX + SCRATCH_SIZE);
	egress_side_set_events(&c->server, EPOLLIN);
}

static void on_connected(struct egress_connection *c)
{
	socklen_t size = sizeof(int);
	int failure = 0;

	if (getsockopt(c->server.fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0 || failure != 0)
		fail_connecting(c);
	else if (has_proxy(c))
		ask_proxy(c);
	else
		egress_connection_carry(c);
}

/* Takes no byte from the socket that comes after the head: it is the host's, and the credential
 * proxy reads it itself. */
static enum upstream_answer read_proxy_answer(struct egress_connection *c, int *ret_status)
{
	struct buf *head = &c->proxy_answer;
	size_t before = head->size, size = 0;
	char *data = c->gateway->scratch;
	enum upstream_answer answer;
	ssize_t got = recv(c->server.fd, data, SCRATCH_SIZE, MSG_DONTWAIT | MSG_PEEK);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return UPSTREAM_MORE;
	if (got <= 0)
		return UPSTREAM_MALFORMED;
	buf_add(head, data, (size_t)got);
	answer = upstream_read(buf_span(head), &size, ret_status);
	if (answer == UPSTREAM_MORE || answer == UPSTREAM_OPEN) {
		size_t taken = answer == UPSTREAM_MORE ? (size_t)got : size - before;

		if (recv(c->server.fd, data, taken, MSG_DONTWAIT) != (ssize_t)taken)
			return UPSTREAM_MALFORMED;
	}
	return answer;
}

static void on_proxy_refusal(struct egress_connection *c, int status)
{
	if (status == PROXY_WANTS_LOGIN || status == PROXY_REFUSES_LOGIN) {
		egress_connection_refuse(c, DECISION_UPSTREAM_PROXY_LOGIN,
		                         "the proxy does not accept the login");
	} else if (status < PROXY_FAILS) {
		egress_connection_refuse(c, DECISION_UPSTREAM_PROXY_REFUSED,
		                         "the proxy refuses it");
	} else {
		note_failure(c, DECISION_UPSTREAM_UNREACHABLE,
		             "the proxy reaches no address of the name");
		try_addresses(c);
	}
}

static void on_proxy_answer(struct egress_connection *c)
{
	int status = 0;

	switch (read_proxy_answer(c, &status)) {
	case UPSTREAM_MORE:
		return;
	case UPSTREAM_OPEN:
		buf_done(&c->proxy_answer);
		egress_connection_carry(c);
		return;
	case UPSTREAM_REFUSED:
		on_proxy_refusal(c, status);
		return;
	case UPSTREAM_MALFORMED:
		egress_connection_refuse(c, DECISION_UPSTREAM_PROXY_UNREACHABLE,
		                         "the proxy's answer ends early, or is no HTTP");
		return;
	}
}

static void on_proxy_lookup_end(void *context, enum dns_code code,
                                const struct dns_addresses *addresses)
{
	struct egress_connection *c = context;

	c->lookup = NULL;
	c->proxies = *addresses;
	if (code == DNS_OK && addresses->count > 0)
		try_addresses(c);
	else
		egress_connection_refuse(c, DECISION_UPSTREAM_PROXY_UNREACHABLE,
		                         "the name of the proxy has no address");
}

static void start_lookup(struct egress_connection *c, const char *name, lookup_on_end *on_end)
{
	const struct lookup_options options = {
	        .name = name, .of_one = &c->guest->lookups, .on_end = on_end, .context = c};

	c->lookup = lookup_start(&c->gateway->resolver, &options);
	if (!c->lookup)
		egress_connection_refuse(c, DECISION_LIMIT, "too many names are looked up");
}

static void find_proxy(struct egress_connection *c)
{
	const struct upstream_proxy *proxy = &c->gateway->proxy;

	if (*proxy->host) {
		start_lookup(c, proxy->host, on_proxy_lookup_end);
		return;
	}
	c->proxies = (struct dns_addresses){.items = {proxy->address}, .count = 1};
	try_addresses(c);
}

static void on_lookup_end(void *context, enum dns_code code, const struct dns_addresses *addresses)
{
	struct egress_connection *c = context;

	c->lookup = NULL;
	c->addresses = *addresses;
	if (code == DNS_OK && addresses->count > 0 && has_proxy(c))
		find_proxy(c);
	else if (code == DNS_OK && address_count(c) > 0)
		try_addresses(c);
	else
		egress_connection_refuse(c, DECISION_UPSTREAM_UNREACHABLE,
		                         code == DNS_FAILED ? "no nameserver answers"
		                                            : "the name has no address");
}

static void fail_asking(struct egress_connection *c)
{
	note_failure(c, DECISION_UPSTREAM_PROXY_UNREACHABLE, "the proxy does not answer in time");
	try_addresses(c);
}

void way_find(struct egress_connection *c)
{
	c->connect_until_ms = loop_now_ms(c->gateway->loop) + CONNECTING_MS;
	egress_connection_enter(c, LOOKING_UP, CONNECTING_MS);
	if (!rules_source(c->gateway, c->guest, &c->source)) {
		egress_connection_refuse(c, DECISION_HOST_NOT_ALLOWED, "the rules cannot be read");
		return;
	}
	start_lookup(c, c->looked.name, on_lookup_end);
}

void way_on_server(struct egress_connection *c)
{
	if (c->state == CONNECTING)
		on_connected(c);
	else
		on_proxy_answer(c);
}

void way_on_timer(struct egress_connection *c)
{
	if (c->state == LOOKING_UP)
		egress_connection_refuse(c, DECISION_UPSTREAM_UNREACHABLE,
		                         "no nameserver answers in time");
	else if (c->state == CONNECTING)
		fail_connecting(c);
	else
		fail_asking(c);
}
