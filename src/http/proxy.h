/* SPDX-License-Identifier: Apache-2.0 */
/* http/proxy.h — replies that another HTTP server gives: a relay that speaks HTTP/1.1 on both
 * sides.
 *
 * Bodies are streamed both ways with the relay's back-pressure; an upgrade becomes a tunnel of
 * bytes. The server behind is not trusted: the head of its answer is held to the rules of
 * http/head.h, its body to those of http/body.h, and what breaks them is answered with 502, or cut
 * when the answer has begun. Its socket may be a stranger's as well, see provider/dial.h.
 *
 * Connections that an answer has left whole wait in a pool for the next request to the same
 * place. The pool belongs to the loop's thread, so only a handler that is tried there (ROUTE_TRY)
 * takes from it; what it has not got is dialled on a worker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/http.h"
#include "http/relay.h"
#include "loop/loop.h"

struct tls;
struct proxy_pool;
#define PROXY_IDLE_MS 10000
#define PROXY_IDLE_MAX 32        /* per place */
#define PROXY_IDLE_MAX_TOTAL 512 /* descriptors that all of them may hold */
struct proxy_pool *proxy_pool_new(struct loop *loop);
void proxy_pool_free(struct proxy_pool *pool); /* after the server; NULL is fine */
/* A connection that waits for the place, or -1. */
int proxy_pool_take(struct proxy_pool *pool, const char *place);
/* Those of the place that wait are closed. */
void proxy_pool_drop(struct proxy_pool *pool, const char *place);
unsigned proxy_pool_size(const struct proxy_pool *pool);

struct proxy_ops {
	/* In place of an answer: 502, or what `err` says. Answers by relay_answer. */
	void (*fail)(void *state, struct relay *relay, int status, const struct error *err);
	/* Called first, once, on the loop. May be NULL. */
	void (*on_start)(void *state, struct relay *relay);
	/* Bytes have come from the client, and are on their way. May be NULL. */
	void (*on_client)(void *state);
	void (*release)(void *state); /* always called once, last */
};

/* Names the server that a request was passed on to by another one of ours. It goes no further, and
 * whoever else gets it refuses it. */
#define PROXY_HOP_HEADER "Atoll-Hop"

struct proxy_options {
	/* The server behind is one of our own kind, which answers in our place: this is its name.
	 * The request goes as it came, with its Host and what it is let in by, and the answer too;
	 * `target` and what is only said of previews does not count. NULL: a server of a sandbox's.
	 */
	const char *hop;
	struct tls *tls;         /* as of struct relay_options */
	struct proxy_pool *pool; /* NULL: the connection is not kept */
	const char *place;       /* of the connection, for the pool */
	int upstream_fd;
	bool is_reused;     /* from the pool: may have ended by now */
	struct span target; /* path and query, as they came */
	/* In front of them, as the client sees it: what answers say of themselves is rewritten so.
	 * May be empty. */
	struct span prefix;
	unsigned port; /* the server knows itself as localhost:PORT */
	/* Or as this; NULL: it does not. With `hop`: in place of a Host that says nothing to
	 * others. */
	const char *host;
	bool is_https; /* for the client */
	/* Pages are put into a box of the browser's, without an origin of their own: the one that
	 * they come from is others' as well. */
	bool is_boxed;
	/* Headers of the request that are not for the server behind; NULL-terminated, and not freed
	 * before the reply has ended. */
	const char *const *withheld;
	const char *cookie_mark; /* cookies whose name begins so are not either */
	int64_t idle_timeout_ms;
	const struct proxy_ops *ops;
	void *state;
};
/* The state is the reply's from here on, and the descriptor, too. */
void reply_proxy(struct request *rq, struct reply *reply, const struct proxy_options *options);
/* In place of relay_begin, on the loop: the same answers the relay's request, whose body was read
 * and is given once more. The relay is released. */
void relay_proxy(struct relay *relay, struct span body, const struct proxy_options *options);
/* Whether the request asks for a page that a person will see, and a program will not. */
bool request_wants_page(const struct request *rq);
