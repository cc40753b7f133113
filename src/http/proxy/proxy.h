/* SPDX-License-Identifier: Apache-2.0 */
/* http/proxy/proxy.h — replies that another HTTP server (the upstream) gives: a relay that speaks
 * HTTP/1.1 on both sides.
 *
 * Bodies are streamed in both directions with the relay's back-pressure; an upgrade becomes a byte
 * tunnel. The upstream is not trusted: its head must satisfy http/message/head.h and its body
 * http/message/body.h. A violation gives 502, or cuts the connection when the reply has begun.
 * Untrusted code may hold the upstream's socket too, see provider/dial.h.
 *
 * Reusable upstream connections wait in a pool for the next request to the same upstream. The pool
 * belongs to the loop thread, so only a handler that runs there (ROUTE_TRY) takes from it;
 * otherwise a worker dials. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct loop;
struct relay;
struct reply;
struct request;

struct tls;
struct proxy_pool;
#define PROXY_IDLE_MS 10000
#define PROXY_IDLE_MAX 32        /* per upstream */
#define PROXY_IDLE_MAX_TOTAL 512 /* of all upstreams together */
struct proxy_pool *proxy_pool_new(struct loop *loop);
void proxy_pool_free(struct proxy_pool *pool); /* call it after server_close; NULL is fine */
/* An idle connection to the upstream, or -1. */
int proxy_pool_take(struct proxy_pool *pool, const char *place);
/* Closes the idle connections to the upstream. */
void proxy_pool_drop(struct proxy_pool *pool, const char *place);

struct proxy_ops {
	/* Answers with relay_answer when the upstream gave no answer; status 502, or the status of
	 * `err`. */
	void (*fail)(void *state, struct relay *relay, int status, const struct error *err);
	/* Called once, first, on the loop. May be NULL. */
	void (*on_start)(void *state, struct relay *relay);
	/* Called when bytes from the client were passed on. May be NULL. */
	void (*on_client)(void *state);
	void (*release)(void *state); /* always called once, last */
};

/* Names the Atoll server that a request is forwarded to. That server does not forward it again; any
 * other server refuses it. */
#define PROXY_HOP_HEADER "Atoll-Hop"

struct proxy_options {
	/* Name of the Atoll server that answers in our place. The request and the answer pass
	 * unchanged, with Host and credentials; `target` and the preview members are ignored. NULL:
	 * the upstream is a server in a sandbox. */
	const char *hop;
	struct tls *tls;         /* as in struct relay_options */
	struct proxy_pool *pool; /* NULL: the connection is not kept */
	const char *place;       /* key of the connection in the pool */
	int upstream_fd;
	bool is_reused;     /* from the pool: may be closed already */
	struct span target; /* path and query, not decoded */
	/* The prefix of the path as the client sees it; addresses in answers are rewritten to it.
	 * May be empty. */
	struct span prefix;
	unsigned port; /* the upstream sees itself as localhost:PORT */
	/* Another host name of the upstream; NULL: none. With `hop`: replaces a Host that is not
	 * valid for other servers. */
	const char *host;
	bool is_https; /* the client uses https */
	/* Pages get a browser sandbox without an origin, because other servers share their
	 * origin. */
	bool is_boxed;
	/* Request headers that are not passed on; NULL-terminated, and valid until the reply has
	 * ended. */
	const char *const *withheld;
	const char *cookie_mark; /* cookies with this name prefix are not passed on */
	int64_t idle_timeout_ms;
	const struct proxy_ops *ops;
	void *state;
};
/* Takes over the state and the descriptor. */
void reply_proxy(struct request *rq, struct reply *reply, const struct proxy_options *options);
/* Replaces a relay before relay_begin, on the loop: the upstream answers the relay's request; the
 * body, already read, is passed again. Releases the relay. */
void relay_proxy(struct relay *relay, struct span body, const struct proxy_options *options);
/* True when the request asks for an HTML page, as a browser does. */
bool request_wants_page(const struct request *rq);
