/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/resolver.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/random.h"

#define LOOKUPS_MAX 2048
#define TRIES_MAX 4
#define TRY_MS 1500

struct lookup {
	struct resolver *resolver;
	lookup_on_end *on_end;
	void *context;
	unsigned *of_one;
	struct dns_question asked;
	struct loop_timer timer;
	struct loop_watch *watch;
	int fd; /* of the present try: another one has another port */
	unsigned tries, failures;
};

static void close_try(struct lookup *l)
{
	loop_watch_free(l->watch);
	l->watch = NULL;
	fd_forget(&l->fd);
}

void lookup_cancel(struct lookup *l)
{
	if (!l)
		return;
	close_try(l);
	loop_timer_stop(l->resolver->loop, &l->timer);
	l->resolver->lookups--;
	(*l->of_one)--;
	free(l);
}

static void end_lookup(struct lookup *l, enum dns_code code, const struct dns_addresses *addresses)
{
	lookup_on_end *on_end = l->on_end;
	void *context = l->context;

	lookup_cancel(l);
	on_end(context, code, addresses);
}

static void try_next(void *context);

/* The name has no IPv4 address, or is of another kind than a host. */
static void ask_for_ipv6(struct lookup *l)
{
	l->asked.kind = DNS_KIND_AAAA;
	l->tries = l->failures = 0;
	try_next(l);
}

/* A nameserver that cannot tell has said so: another one may, and is asked at once. */
static void on_answer(void *context, UNUSED uint32_t epoll_events)
{
	struct lookup *l = context;
	struct dns_addresses addresses;
	char data[DNS_SIZE_MAX];
	ssize_t got = recv(l->fd, data, sizeof(data), MSG_DONTWAIT);
	enum dns_code code;

	/* On an error the server does not listen: the next try uses another server. */
	if (got < 0)
		return;
	if (!dns_answer_parse((struct span){data, (size_t)got}, &l->asked, &code, &addresses))
		return;
	if (code == DNS_OK && addresses.count == 0 && l->asked.kind == DNS_KIND_A &&
	    l->resolver->has_ipv6)
		ask_for_ipv6(l);
	else if (code == DNS_OK || code == DNS_NO_NAME)
		end_lookup(l, code, &addresses);
	else if (++l->failures >= l->resolver->server_count)
		end_lookup(l, DNS_FAILED, &addresses);
	else
		try_next(l);
}

static int send_query(struct lookup *l, struct error *err)
{
	const struct resolver *r = l->resolver;
	const struct sockaddr_in server = {.sin_family = AF_INET,
	                                   .sin_port = htons(r->port),
	                                   .sin_addr.s_addr =
	                                           htonl(r->servers[l->tries % r->server_count])};
	const struct loop_watch_options options = {
	        .epoll_events = EPOLLIN, .on_ready = on_answer, .context = l};
	struct loop_watch_options watched = options;
	AUTO(buf_done) struct buf query = BUF(DNS_SIZE_MAX);

	l->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0 || connect(l->fd, (const struct sockaddr *)&server, sizeof(server)) < 0)
		return FAIL_ERRNO(err, "ask a nameserver");
	random_bytes(&l->asked.id, sizeof(l->asked.id));
	dns_query_write(&query, &l->asked);
	watched.fd = l->fd;
	if (loop_watch_add(r->loop, &watched, &l->watch, err) < 0)
		return -1;
	/* One that is lost is asked again. */
	(void)!send(l->fd, query.data, query.size, MSG_DONTWAIT);
	return 0;
}

static void try_next(void *context)
{
	const struct dns_addresses none = {.count = 0};
	struct lookup *l = context;
	struct error ignored = {0};

	close_try(l);
	if (l->tries == TRIES_MAX) {
		end_lookup(l, DNS_FAILED, &none);
		return;
	}
	if (send_query(l, &ignored) < 0)
		close_try(l);
	l->tries++;
	loop_timer_start(l->resolver->loop, &l->timer, TRY_MS);
}

struct lookup *lookup_start(struct resolver *r, const struct lookup_options *options)
{
	struct lookup *l;

	if (r->lookups == LOOKUPS_MAX || *options->of_one >= LOOKUPS_OF_ONE_MAX ||
	    r->server_count == 0)
		return NULL;
	l = memory_new(sizeof(*l));
	*l = (struct lookup){.resolver = r,
	                     .on_end = options->on_end,
	                     .context = options->context,
	                     .of_one = options->of_one,
	                     .asked = {.kind = DNS_KIND_A},
	                     .timer = {.on_timer = try_next, .context = l},
	                     .fd = -1};
	(void)snprintf(l->asked.name, sizeof(l->asked.name), "%s", options->name);
	r->lookups++;
	(*l->of_one)++;
	/* On the loop, so that the caller has it before it ends. */
	loop_timer_start(r->loop, &l->timer, 0);
	return l;
}
