/* SPDX-License-Identifier: Apache-2.0 */
/* http/proxy_parts.h — what the files of the proxy share. Private to this folder. */
#pragma once

#include "http/body.h"
#include "http/head.h"
#include "http/proxy.h"
#include "http/rewrite.h"
#include "http/unpack.h"

#define PROXY_HEAD_MAX ((size_t)64 * 1024)

/* What the translation of an answer needs to know of its request. Texts are the state's own. */
struct proxy_asked {
	struct rewrite_place place;
	const char *origin, *host; /* the client's, or NULL */
	const char *cookie_mark;
	bool is_head, is_boxed, wants_upgrade;
	enum rewriter_kind takes; /* of a page in this answer */
	bool takes_style;
	bool is_safe; /* may be asked twice */
	bool has_body, sends_chunked, is_streamed;
	bool takes_trailers; /* the client said so */
	bool is_whole;       /* the answer is passed on as it is */
	bool has_shares;     /* what pages of others may read is said by this server */
};

struct proxy {
	const struct proxy_ops *ops;
	void *state;
	struct proxy_pool *pool;
	const char *place;
	struct arena arena; /* of the texts of `asked` */
	struct proxy_asked asked;
	struct body_reader body; /* of the answer */
	struct buf sent, got;    /* trailers of the request and of the answer */
	const char *const *withheld;
	struct unpacker *unpacker; /* of what is rewritten, where it is packed; or NULL */
	bool unpacks_later;        /* it has more for another turn */
	size_t scanned;            /* of a head that is not whole yet */
	struct rewriter rewriter;
	struct css_rewriter css; /* in its place, of a style sheet */
	bool is_reused, has_answered, until_close, is_rewritten, is_tunnel, may_keep, is_done;
	bool request_is_sent; /* whole */
	bool is_style;
	unsigned interim; /* answers before the answer */
};

/* proxy_request.c: the head as the server behind gets it. */
void proxy_write_request(struct buf *out, const struct request *rq,
                         const struct proxy_options *options, const struct proxy_asked *asked);
void proxy_note_request(struct proxy_asked *ret, struct arena *a, const struct request *rq,
                        const struct proxy_options *options);

/* The answer is to be one that can be rewritten: it is asked for as it is, not packed. */
bool proxy_asks_as_is(const struct proxy_asked *asked);

/* proxy_trailers.c: what may stand behind the body, of what stood there. The request's as lines,
 * without what is withheld; the answer's to the relay. */
void proxy_write_trailers(struct proxy *p, struct buf *out);
void proxy_answer_trailers(struct proxy *p, struct relay *relay);

/* proxy_answer.c: headers of an answer, as the client gets them, up to relay_begin or relay_switch;
 * and how its body ends. */
void proxy_begin_answer(struct proxy *p, struct relay *relay, const struct http_head *head);
/* One that was asked for as it is, to be rewritten, and is packed as nobody here can unpack it. */
bool proxy_cannot_read(const struct proxy *p, const struct http_head *head);
/* "a, b" has the word. */
bool proxy_list_has(const char *list, struct span word);
/* One of the request's that is written anew. */
bool proxy_is_replaced_header(const char *name);
/* Of this hop alone, or not to be passed on as it is. */
bool proxy_is_own_header(const char *name);

/* proxy_whole.c: the same head for a server of our own kind, with the body when it was read. */
void proxy_write_whole(struct buf *out, const struct request *rq,
                       const struct proxy_options *options, const struct proxy_asked *asked);
/* proxy_request.c */
void proxy_add_header(struct buf *out, const char *name, const char *value);
/* Whether the text is "http://HOST" or "https://HOST", and what follows. `host` may be NULL. */
bool proxy_is_own_origin(const char *text, const char *host, const char **ret_rest);
/* "127.0.0.1" of "127.0.0.1:5000", "::1" of "[::1]:5000" */
struct span proxy_peer_address(const char *peer);

/* proxy_pool.c: takes over a quiet connection; closes it when there is no room. */
void proxy_pool_put(struct proxy_pool *pool, const char *place, int fd);
