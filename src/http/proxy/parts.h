/* SPDX-License-Identifier: Apache-2.0 */
/* http/proxy/parts.h — structs and functions that the files of the proxy share. */
#pragma once

#include "base/bytes.h"
#include "http/message/body.h"
#include "http/message/content_coding.h"
#include "http/message/head.h"
#include "http/proxy/proxy.h"
#include "http/rewrite/rewrite.h"
#include "http/server/http.h"

#define PROXY_HEAD_MAX ((size_t)64 * 1024)

/* What translating an answer needs to know about its request. The state owns the texts. */
struct proxy_asked {
	struct rewrite_place place;
	const char *origin, *host; /* of the client, or NULL */
	const char *cookie_mark;
	bool is_head, is_boxed, wants_upgrade;
	enum rewriter_kind takes; /* how to rewrite a page in this answer */
	bool takes_style;
	bool is_safe; /* the request may be repeated */
	bool has_body, sends_chunked, is_streamed;
	bool takes_trailers; /* the client accepts trailers */
	bool is_whole;       /* the answer is passed on unchanged */
	bool has_shares;     /* this server sets the CORS headers */
};

struct proxy {
	const struct proxy_ops *ops;
	void *state;
	struct proxy_pool *pool;
	const char *place;
	struct arena arena; /* holds the texts of `asked` */
	struct proxy_asked asked;
	struct body_reader body; /* reads the answer's body */
	struct buf sent, got;    /* trailers of the request and of the answer */
	const char *const *withheld;
	struct content_decoder
	        *content_decoder; /* decodes a compressed body that is rewritten; or NULL */
	bool decodes_later;       /* more output follows in a later iteration */
	size_t scanned;           /* bytes of an incomplete head already searched */
	struct rewriter rewriter;
	struct css_rewriter css; /* used instead for a style sheet */
	bool is_reused, has_answered, until_close, is_rewritten, is_tunnel, may_keep, is_done;
	bool request_is_sent; /* the whole request was sent */
	bool is_style;
	unsigned interim; /* count of interim (1xx) answers */
};

/* request.c: writes the head for the upstream. */
void proxy_write_request(struct buf *out, const struct request *rq,
                         const struct proxy_options *options, const struct proxy_asked *asked);
void proxy_note_request(struct proxy_asked *ret, struct arena *a, const struct request *rq,
                        const struct proxy_options *options);

/* Whether the cookie, "name=value", is the platform's: its name begins with `mark`, perhaps after a
 * prefix that browsers know. `mark` NULL: none is. */
bool proxy_is_own_cookie(struct span cookie, const char *mark);

/* True when the answer may need rewriting, so the request asks for no compression. */
bool proxy_asks_as_is(const struct proxy_asked *asked);

/* trailers.c: writes the request's trailers as lines, without the withheld ones; passes the
 * answer's trailers to the relay. */
void proxy_write_trailers(struct proxy *p, struct buf *out);
void proxy_answer_trailers(struct proxy *p, struct relay *relay);

/* answer.c: writes the answer's headers for the client, up to relay_begin or relay_switch,
 * and decides how its body ends. */
void proxy_begin_answer(struct proxy *p, struct relay *relay, const struct http_head *head);
/* True when a page that must be rewritten has a content coding that cannot be decoded. */
bool proxy_cannot_read(const struct proxy *p, const struct http_head *head);
/* True when the list "a, b" contains the word. */
bool proxy_list_has(const char *list, struct span word);
/* True for a request header that the proxy replaces. */
bool proxy_is_replaced_header(const char *name);
/* True for a hop-by-hop header, or another header that is not passed on unchanged. */
bool proxy_is_own_header(const char *name);

/* whole.c: writes the head for another Atoll server, with the body if it was read. */
void proxy_write_whole(struct buf *out, const struct request *rq,
                       const struct proxy_options *options, const struct proxy_asked *asked);
/* Connection, Upgrade and TE, which hold for the connection to the upstream only. */
void proxy_add_hop_fields(struct buf *out, const struct http_head *head,
                          const struct proxy_asked *asked);
/* True when the text begins with "http://HOST" or "https://HOST"; *ret_rest is the text after it.
 * `host` may be NULL. */
bool proxy_is_own_origin(const char *text, const char *host, const char **ret_rest);
/* Writes the traceparent of the request's span, in place of the client's. */
void proxy_add_trace(struct buf *out, const struct request *rq);
/* True when proxy_add_trace replaces this header. */
bool proxy_replaces_trace(const struct request *rq, const char *name);
/* "127.0.0.1:5000" gives "127.0.0.1", "[::1]:5000" gives "::1". */
struct span proxy_peer_address(const char *peer);

/* pool.c: takes over an idle connection; closes it when the pool is full. */
void proxy_pool_put(struct proxy_pool *pool, const char *place, int fd);
