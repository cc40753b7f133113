/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/egress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "egress/gateway.h"
#include "egress/route.h"
#include "egress/upstream.h"

#define ACCEPTS_MAX 64        /* at once, so that other connections get their turn */
#define PAUSE_MS 100          /* pause when there are no descriptors */
#define CONNECTIONS_MAX 21000 /* at most three descriptors each */
#define CONNECTIONS_OF_ONE_MAX 256
#define CHANGES_SIZE 16384
#define SOME_ADDRESS6 "2600::" /* for its route */

static void start_connection(struct gateway *g, enum protocol protocol, int fd, uint32_t address)
{
	struct guest *guest = guest_get(g, address);

	if (gateway_knows(g, address) && g->connection_count < CONNECTIONS_MAX &&
	    guest->connections < CONNECTIONS_OF_ONE_MAX) {
		connection_start(g, protocol, fd, guest);
		return;
	}
	gateway_tell(g, guest,
	             &(struct network_decision){.code = DECISION_LIMIT,
	                                        .protocol = protocol_of(protocol),
	                                        .port = port_of(protocol),
	                                        .count = 1},
	             "it has too many connections");
	guest_put(g, guest);
	(void)close(fd);
}

static void set_accepting(struct gateway *g, bool accepts)
{
	loop_watch_set(g->http_watch, accepts ? EPOLLIN : 0);
	loop_watch_set(g->tls_watch, accepts ? EPOLLIN : 0);
}

static void on_pause_over(void *context)
{
	set_accepting(context, true);
}

/* Waiting connections would be reported again and again. */
static void pause_accepting(struct gateway *g)
{
	log_warning("cannot accept, pausing", NUMBER("errno", errno));
	set_accepting(g, false);
	loop_timer_start(g->loop, &g->pause, PAUSE_MS);
}

static void accept_connections(struct gateway *g, enum protocol protocol, int listen_fd)
{
	for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
		struct sockaddr_in from = {.sin_family = AF_UNSPEC};
		socklen_t size = sizeof(from);
		int fd = accept4(listen_fd, (struct sockaddr *)&from, &size,
		                 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 &&
		    (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
			pause_accepting(g);
		if (fd < 0)
			return;
		start_connection(g, protocol, fd, ntohl(from.sin_addr.s_addr));
	}
}

static void on_http(void *context, UNUSED uint32_t epoll_events)
{
	struct gateway *g = context;

	accept_connections(g, PROTOCOL_HTTP, g->http_fd);
}

static void on_tls(void *context, UNUSED uint32_t epoll_events)
{
	struct gateway *g = context;

	accept_connections(g, PROTOCOL_TLS, g->tls_fd);
}

static void on_question(void *context, UNUSED uint32_t epoll_events)
{
	questions_read(context);
}

static void on_changes(void *context, UNUSED uint32_t epoll_events)
{
	char data[CHANGES_SIZE] __attribute__((aligned(__alignof__(struct inotify_event))));
	struct gateway *g = context;
	ssize_t got = read(g->changes_fd, data, sizeof(data));

	for (ssize_t at = 0; at < got;) {
		const struct inotify_event *event = (const void *)(data + at);

		if (event->mask & IN_DELETE)
			connections_end(g, event->name);
		else
			connections_check(g, event->len > 0 ? event->name : NULL);
		at += (ssize_t)(sizeof(*event) + event->len);
	}
}

static int watch_rules(struct gateway *g, struct error *err)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", g->rules_fd);
	g->changes_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (g->changes_fd < 0 ||
	    inotify_add_watch(g->changes_fd, path, IN_MOVED_TO | IN_DELETE) < 0)
		return FAIL_ERRNO(err, "watch the rules of sandboxes");
	return 0;
}

static int read_ranges(struct gateway *g, const struct egress_options *o, struct error *err)
{
	struct span rest = span_of(o->allow), part;

	if (!egress_range_parse(span_of(o->subnet), &g->subnet))
		return FAIL(err, ERROR_INVALID, "'%s' is no range of addresses", o->subnet);
	if (o->subnet6 && !egress_range6_parse(span_of(o->subnet6), &g->subnet6))
		return FAIL(err, ERROR_INVALID, "'%s' is no range of addresses", o->subnet6);
	while (rest.size > 0) {
		(void)span_split(&rest, ',', &part);
		if (egress_opened_is_full(&g->opened))
			return FAIL(err, ERROR_LIMIT, "more than %d allowed ranges",
			            NETWORK_ALLOW_MAX);
		(void)egress_opened_add(&g->opened, span_trim(part));
	}
	return 0;
}

static void read_nameservers(struct gateway *g, const struct egress_options *o)
{
	struct resolver *r = &g->resolver;
	struct span rest = span_of(o->nameservers), part;
	struct egress_range one;

	r->port = o->nameserver_port;
	while (rest.size > 0 && r->server_count < NAMESERVERS_MAX) {
		(void)span_split(&rest, ',', &part);
		if (egress_range_parse(span_trim(part), &one) && one.first == one.last)
			r->servers[r->server_count++] = one.first;
	}
	if (r->server_count == 0)
		log_warning("the host has no nameserver of IPv4: names of hosts lead nowhere");
}

void egress_nameservers(struct span conf, char out[EGRESS_NAMESERVERS_SIZE])
{
	struct span line, word, part;
	struct egress_range one;
	unsigned count = 0;
	size_t size = 0;

	out[0] = '\0';
	while (conf.size > 0 && count < NAMESERVERS_MAX) {
		(void)span_split(&conf, '\n', &line);
		for (size_t i = 0; i < line.size; i++)
			if (line.data[i] == '\t' || line.data[i] == '#')
				line.size = i;
		(void)span_split(&line, ' ', &word);
		(void)span_split(&line, ' ', &part);
		if (!span_equals_text(word, "nameserver") || !egress_range_parse(part, &one) ||
		    one.first != one.last || part.size >= INET_ADDRSTRLEN)
			continue;
		size += (size_t)snprintf(out + size, EGRESS_NAMESERVERS_SIZE - size, "%s%.*s",
		                         count++ > 0 ? "," : "", (int)part.size, part.data);
	}
}

/* Never freed: used until the process ends. */
static int watch_descriptor(struct gateway *g, int fd, loop_on_ready *on_ready,
                            struct loop_watch **ret, struct error *err)
{
	const struct loop_watch_options options = {
	        .fd = fd, .epoll_events = EPOLLIN, .on_ready = on_ready, .context = g};

	return loop_watch_add(g->loop, &options, ret, err);
}

/* Whether a name of which only IPv6 addresses are known is of use. */
static bool has_ipv6(const struct gateway *g, const struct egress_options *o)
{
	struct address6 anywhere;

	return o->subnet6 && g->proxy.port == 0 &&
	       egress_address6_parse(SPAN(SOME_ADDRESS6), &anywhere) &&
	       route_leads_out6(g->routes_fd, &anywhere);
}

static int open_gateway(struct gateway *g, const struct egress_options *o, struct error *err)
{
	struct loop_watch *ignored;

	if (read_ranges(g, o, err) < 0 || loop_open(&g->loop, err) < 0)
		return -1;
	read_nameservers(g, o);
	g->resolver.loop = g->loop;
	if (watch_rules(g, err) < 0 || route_open(&g->routes_fd, err) < 0 ||
	    watch_descriptor(g, g->http_fd, on_http, &g->http_watch, err) < 0 ||
	    watch_descriptor(g, g->tls_fd, on_tls, &g->tls_watch, err) < 0 ||
	    watch_descriptor(g, g->dns_fd, on_question, &ignored, err) < 0)
		return -1;
	g->resolver.has_ipv6 = has_ipv6(g, o);
	return watch_descriptor(g, g->changes_fd, on_changes, &ignored, err);
}

static void set_authorization(struct gateway *g, struct span login)
{
	AUTO(buf_done) struct buf text = BUF(sizeof(g->authorization) - 1);

	if (login.size == 0)
		return;
	upstream_authorization(&text, login);
	(void)snprintf(g->authorization, sizeof(g->authorization), "%s", buf_text(&text));
}

int egress_run(const struct egress_options *o, struct error *err)
{
	static struct gateway g;

	g = (struct gateway){.http_fd = o->http_fd,
	                     .tls_fd = o->tls_fd,
	                     .dns_fd = o->dns_fd,
	                     .rules_fd = o->rules_fd,
	                     .handover_fd = o->handover_fd,
	                     .reports_fd = o->reports_fd,
	                     .sources_fd = o->sources_fd,
	                     .proxy = o->proxy,
	                     .changes_fd = -1,
	                     .routes_fd = -1,
	                     .pause = {.on_timer = on_pause_over, .context = &g}};
	list_init(&g.connections);
	set_authorization(&g, o->login);
	if (open_gateway(&g, o, err) < 0 || o->confine(o->context, err) < 0)
		return -1;
	loop_run(g.loop);
	return FAIL(err, ERROR_SYSTEM, "the loop has ended");
}
