/* SPDX-License-Identifier: Apache-2.0 */
/* http/relay.h — replies that come over time: a descriptor on one side, the client on the other,
 * and a translator between them. Callbacks run on the loop thread and must not block. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "http/http.h"

struct relay;

struct tls;
struct relay_ops {
	/* Called first, once: for those who write to the relay from elsewhere on the loop's thread
	 * until it is released. NULL for none. */
	void (*on_start)(void *state, struct relay *relay);
	/* Bytes from the upstream descriptor are in *in; cut off what was used (a frame may still
	 * be incomplete). */
	int (*on_upstream)(void *state, struct relay *relay, struct span *in, struct error *err);
	/* The upstream closed. NULL: then the reply failed, unless it was finished before. */
	int (*on_upstream_end)(void *state, struct relay *relay, struct error *err);
	/* The upstream was reset, or takes no more bytes; `err` says so. NULL, or -1: then the
	 * reply failed. */
	int (*on_upstream_broken)(void *state, struct relay *relay, struct error *err);
	/* A piece of the request body (ROUTE_STREAM_BODY), or one WebSocket message; `last` with or
	 * after the final piece, or when the client closed the WebSocket. NULL when nothing is
	 * expected: the bytes are dropped. */
	int (*on_client)(void *state, struct relay *relay, struct span bytes, bool last,
	                 struct error *err);
	/* Called every relay_options.tick_ms; NULL for none. */
	void (*on_tick)(void *state, struct relay *relay);
	/* Always called once, last. `clean`: both sides ended as they should, and the upstream
	 * descriptor (-1 if it was closed) may be used again; the relay no longer owns it. When it
	 * is not clean the descriptor has been closed, and -1 is passed. */
	void (*release)(void *state, int upstream_fd, bool clean);
};

struct relay_options {
	int upstream_fd; /* stream socket or pipe, made non-blocking; -1 for none */
	/* It is a socket that strangers may hold as well, see provider/dial.h. */
	bool is_shared;
	struct tls *tls; /* between the relay and the socket, which is shared then; or NULL */
	const struct relay_ops *ops;
	void *state;
	int64_t tick_ms;            /* 0 = none */
	int64_t idle_timeout_ms;    /* no byte either way for so long ends it; 0 = none */
	int64_t first_ms;           /* the upstream's first byte has to come in it; 0 = no bound */
	int64_t whole_ms;           /* it ends so long after its begin, whatever moves; 0 = none */
	struct span upstream_first; /* sent to the upstream at once; copied */
	/* Lines of the request's trailer section, whole with its last piece: the state's; or NULL.
	 */
	struct buf *trailers;
};
/* The reply's bytes will come from the relay. The exchange owns the descriptor and the state from
 * here on, also when it fails. */
void reply_relay(struct reply *reply, const struct relay_options *options);
/* The same after a WebSocket upgrade; fails when the request is none. `protocol` may be NULL. */
MUST_CHECK int reply_websocket(struct request *rq, struct reply *reply, const char *protocol,
                               const struct relay_options *options, struct error *err);

/* In callbacks. Without a length the body is chunked; with one exactly so many bytes must follow.
 */
void relay_begin(struct relay *relay, int status, const char *content_type,
                 int64_t length_or_minus_one);
/* A name or value that cannot stand in a head fails the relay: it may come from a sandbox. */
void relay_begin_header(struct relay *relay, const char *name,
                        const char *value); /* before relay_begin */
/* Body bytes (or a binary WebSocket message). Buffered when the client is slow; past 256 KiB the
 * upstream is not read until it drains. */
void relay_write(struct relay *relay, struct span bytes);
/* Whether more of it may be written before the client has taken some. */
bool relay_has_room(const struct relay *relay);
/* In on_upstream: it could go on with what is left in *in, which may be nothing, but shall not now.
 * It is called so once more in another turn of the loop, when there is room; nothing is read
 * before. */
void relay_later(struct relay *relay);
/* What the client has not taken yet, of all that was written. */
size_t relay_unsent(const struct relay *relay);
void relay_write_text_message(struct relay *relay, struct span text); /* WebSocket text */
/* Of the message that on_client is looking at. */
bool relay_message_is_text(const struct relay *relay);
void relay_to_upstream(struct relay *relay, struct span bytes);
/* A whole reply at once, for relays that collect; ends the relay. */
void relay_answer(struct relay *relay, int status, const char *content_type, struct span body);
/* Behind the body, before relay_finish. Dropped where the reply has no chunks, and where it cannot
 * stand. */
void relay_trailer(struct relay *relay, const char *name, const char *value);
void relay_finish(struct relay *relay); /* the body is complete; clean */
/* The same for a WebSocket, with what its close frame says; the reason is cut to 123 bytes. */
void relay_finish_websocket(struct relay *relay, unsigned code, const char *reason);
/* Before relay_begin: an error reply. After it: the connection is cut, so that the client sees that
 * the body is not whole. */
void relay_fail(struct relay *relay, const struct error *err);
/* In place of relay_begin: 101, and from then on bytes both ways as they come, to on_client and by
 * relay_write. `protocol` is what both have agreed to change to. A side that says that no more
 * comes (a FIN, or a close_notify of TLS) ends its own direction alone; on_upstream_end is told
 * when both have, and all has arrived. One way alone goes on for as long as bytes come, but not
 * five minutes without one. */
void relay_switch(struct relay *relay, const char *protocol);
/* Before relay_begin, for a request without a body: drops the relay, upstream and all, and has a
 * worker run the handler once more. */
void relay_retry(struct relay *relay);
const char *relay_request_id(const struct relay *relay);
const struct request *relay_request(const struct relay *relay);
