/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/proxy/proxy.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "credential/authority.h"
#include "credential/control.h"
#include "credential/proxy/state.h"
#include "egress/handover.h"
#include "http/tls/tls.h"

#define FREED_BYTE 0xa5   /* what freed memory is overwritten with */
#define TAKEN_MAX 64      /* at once, so that other connections get their turn */
#define CARRIED_MAX 20000 /* three descriptors each */
#define CARRIED_OF_ONE_MAX 256
#define REPORTS_PER_SECOND 512
#define SECOND_MS 1000
#define AWAY_MS 600000

static void end_connections(const struct guard *g)
{
	LIST_EACH (&g->connections, struct carried, c, link)
		carried_free(c);
}

int proxy_put(struct credential_proxy *p, struct span text, uint64_t session, struct error *err)
{
	struct guard *now, *before;

	if (guard_new(text, &now, err) < 0)
		return -1;
	before = map_find(&p->guards, now->set.sandbox);
	if (before && span_equals_text(text, before->text)) {
		before->session = session;
		guard_free(now);
		return 0;
	}
	now->session = session;
	if (before) {
		guard_inherit(now, before);
		end_connections(before);
		(void)map_remove(&p->guards, now->set.sandbox);
		guard_free(before);
	}
	(void)map_put(&p->guards, now->set.sandbox, now);
	return 0;
}

void proxy_remove(struct credential_proxy *p, const char *sandbox)
{
	struct guard *g = map_remove(&p->guards, sandbox);

	if (!g)
		return;
	end_connections(g);
	guard_free(g);
}

void proxy_settle(struct credential_proxy *p, uint64_t session)
{
	struct guard *g;
	const char *sandbox;
	size_t at = 0;

	while ((g = map_next(&p->guards, &at, &sandbox))) {
		if (g->session == session)
			continue;
		proxy_remove(p, g->set.sandbox);
		at = 0;
	}
}

void proxy_tell_usage(const struct credential_proxy *p, struct control_usage *ret)
{
	const struct guard *g;
	const char *sandbox;
	size_t at = 0;

	*ret = (struct control_usage){
	        .connections = p->carried_count, .memory = p->memory, .refused = p->refused};
	while ((g = map_next(&p->guards, &at, &sandbox))) {
		ret->sandboxes++;
		ret->memory_largest =
		        g->memory > ret->memory_largest ? g->memory : ret->memory_largest;
	}
}

void proxy_report(struct credential_proxy *p, const struct network_decision *d)
{
	struct guard *g = map_find(&p->guards, d->sandbox);
	int64_t now = loop_now_ms(p->loop);

	if (p->reports_fd < 0)
		return;
	if (now - p->reported_since_ms >= SECOND_MS) {
		if (p->skipped > 0)
			log_warning("decisions about requests were not reported",
			            NUMBER("count", (int64_t)p->skipped));
		p->reported = 0;
		p->skipped = 0;
		p->reported_since_ms = now;
	}
	/* A sandbox with more must not use up what the others have. */
	if ((g && !guard_take_report(g, now)) || p->reported++ >= REPORTS_PER_SECOND ||
	    send(p->reports_fd, d, sizeof(*d), MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)sizeof(*d))
		p->skipped++;
}

/* A connection of a sandbox that has its number or its memory, or is without a set: the gateway was
 * told to decrypt before the set came, or after it went. */
static void refuse_connection(const struct handover *h, bool has_set, const int fds[HANDOVER_FDS])
{
	if (!has_set)
		log_info("a sandbox without credentials is refused", TEXT("sandbox", h->sandbox),
		         TEXT("host", h->host));
	for (unsigned i = 0; i < HANDOVER_FDS; i++) {
		int fd = fds[i];

		auto_close(&fd);
	}
}

static bool takes_another(const struct credential_proxy *p, const struct guard *g)
{
	return p->carried_count < CARRIED_MAX && g->connection_count < CARRIED_OF_ONE_MAX &&
	       !g->is_full;
}

static void report_limit(struct credential_proxy *p, const struct handover *h)
{
	struct network_decision d = {.address = h->address,
	                             .address6 = h->address6,
	                             .port = h->port,
	                             .verdict = DECISION_DENIED,
	                             .code = DECISION_LIMIT,
	                             .protocol =
	                                     h->port == HANDOVER_TLS ? DECISION_TLS : DECISION_HTTP,
	                             .count = 1};

	(void)snprintf(d.sandbox, sizeof(d.sandbox), "%s", h->sandbox);
	(void)snprintf(d.host, sizeof(d.host), "%s", h->host);
	p->refused++;
	proxy_report(p, &d);
}

static void on_handover(void *context, UNUSED uint32_t epoll_events)
{
	AUTO(buf_done) struct buf begun = BUF(LOOK_BYTES_MAX + 1);
	struct credential_proxy *p = context;
	int fds[HANDOVER_FDS];
	struct handover h;

	for (unsigned i = 0; i < TAKEN_MAX; i++) {
		struct error err = {0};
		int got = handover_receive(p->handover_fd, &h, &begun, fds, &err);
		struct guard *g;

		if (got < 0)
			log_warning("cannot take a connection over", FAILURE(&err));
		if (got <= 0)
			return;
		g = map_find(&p->guards, h.sandbox);
		if (g && takes_another(p, g)) {
			carried_start(p, g, &h, buf_span(&begun), fds);
			continue;
		}
		if (g)
			report_limit(p, &h);
		refuse_connection(&h, g != NULL, fds);
	}
}

/* The api process cannot withdraw values while it is away, so the proxy deletes them. */
static void on_api_away(void *context)
{
	log_warning("the api process is away: credentials are forgotten");
	proxy_settle(context, UINT64_MAX);
}

void proxy_note_controls(struct credential_proxy *p)
{
	for (unsigned i = 0; i < CONTROLS_MAX; i++)
		if (p->controls[i]) {
			loop_timer_stop(p->loop, &p->away);
			return;
		}
	loop_timer_start(p->loop, &p->away, AWAY_MS);
}

static void on_control(void *context, UNUSED uint32_t epoll_events)
{
	struct error err = {0};

	if (control_accept(context, &err) < 0)
		log_warning("cannot take the api process's connection", FAILURE(&err));
}

static int open_roots(struct credential_proxy *p, const char *path, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(CREDENTIAL_BUNDLE_MAX);

	if ((path ? file_read(AT_FDCWD, path, &text, err) : credential_roots_read(&text, err)) < 0)
		return -1;
	return tls_client_context_of(buf_span(&text), &p->roots, err);
}

/* Never freed: used until the process ends. */
static int watch_fd(struct credential_proxy *p, int fd, loop_on_ready *on_ready, struct error *err)
{
	const struct loop_watch_options options = {
	        .fd = fd, .epoll_events = EPOLLIN, .on_ready = on_ready, .context = p};
	struct loop_watch *ignored;

	return loop_watch_add(p->loop, &options, &ignored, err);
}

int credential_proxy_run(const struct credential_proxy_options *o, struct error *err)
{
	static struct credential_proxy p;

	/* The C library wipes what is freed: values also pass through parsers and buffers that know
	 * nothing of them. */
	(void)mallopt(M_PERTURB, FREED_BYTE);
	p = (struct credential_proxy){.control_fd = o->control_fd,
	                              .handover_fd = o->handover_fd,
	                              .reports_fd = o->reports_fd};
	if (open_roots(&p, o->roots, err) < 0 || loop_open(&p.loop, err) < 0 ||
	    watch_fd(&p, p.control_fd, on_control, err) < 0 ||
	    watch_fd(&p, p.handover_fd, on_handover, err) < 0 || o->confine(o->context, err) < 0)
		return -1;
	p.away = (struct loop_timer){.on_timer = on_api_away, .context = &p};
	loop_run(p.loop);
	return FAIL(err, ERROR_SYSTEM, "the loop has ended");
}
