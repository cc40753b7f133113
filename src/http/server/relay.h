/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/relay.h — streamed replies: a descriptor on one side (the upstream), the client on
 * the other, and a translator between them. Callbacks run on the loop thread and must not block. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct relay;
struct reply;
struct request;

struct tls;
struct relay_ops {
	/* Called once, first: for code that writes to the relay from other callbacks of the loop
	 * thread, until release. May be NULL. */
	void (*on_start)(void *state, struct relay *relay);
	/* *in holds bytes from the upstream; remove the used bytes (a frame may be incomplete). */
	int (*on_upstream)(void *state, struct relay *relay, struct span *in, struct error *err);
	/* The upstream closed. NULL: the reply has failed, unless it was finished before. */
	int (*on_upstream_end)(void *state, struct relay *relay, struct error *err);
	/* The upstream was reset or accepts no more bytes; `err` says why. NULL or -1: the reply
	 * has failed. */
	int (*on_upstream_broken)(void *state, struct relay *relay, struct error *err);
	/* A piece of the request body (ROUTE_STREAM_BODY), or a WebSocket message. `last` comes
	 * with or after the final piece, or when the client closed the WebSocket. NULL: the bytes
	 * are dropped. */
	int (*on_client)(void *state, struct relay *relay, struct span bytes, bool last,
	                 struct error *err);
	/* Called every relay_options.tick_ms, see relay_tick_in; may be NULL. */
	void (*on_tick)(void *state, struct relay *relay);
	/* Always called once, last. `clean`: both sides ended normally, and the upstream descriptor
	 * (-1 if closed) may be reused; the callback owns it now. Otherwise the descriptor has been
	 * closed and -1 is passed. */
	void (*release)(void *state, int upstream_fd, bool clean);
};

struct relay_options {
	int upstream_fd; /* stream socket or pipe, made non-blocking; -1 for none */
	/* Untrusted code may hold the socket too, see provider/dial.h. */
	bool is_shared;
	struct tls *tls; /* TLS on the socket, which then counts as shared; or NULL */
	const struct relay_ops *ops;
	void *state;
	/* It lasts until the client leaves, as with ROUTE_STANDING. */
	bool is_standing;
	int64_t tick_ms;            /* 0 = none */
	int64_t idle_timeout_ms;    /* ends the relay after this time without a byte; 0 = never */
	int64_t first_ms;           /* limit for the upstream's first byte; 0 = none */
	int64_t whole_ms;           /* limit for the whole relay; 0 = none */
	struct span upstream_first; /* sent to the upstream first; copied */
	/* Trailer lines of the request, complete with its last piece; owned by the state; or
	 * NULL. */
	struct buf *trailers;
};
/* Makes the relay write the reply. The exchange owns the descriptor and the state from here on,
 * also on failure. */
void reply_relay(struct reply *reply, const struct relay_options *options);
/* Like reply_relay after a WebSocket upgrade; fails when the request asks for no upgrade.
 * `protocol` may be NULL. */
MUST_CHECK int reply_websocket(struct request *rq, struct reply *reply, const char *protocol,
                               const struct relay_options *options, struct error *err);

/* Begins the reply, in a callback. With length -1 the body is chunked; otherwise exactly that many
 * bytes must follow. */
void relay_begin(struct relay *relay, int status, const char *content_type,
                 int64_t length_or_minus_one);
/* Adds a header, before relay_begin. An invalid name or value fails the relay, because it may come
 * from a sandbox. */
void relay_begin_header(struct relay *relay, const char *name, const char *value);
/* Writes body bytes (or a binary WebSocket message). Buffers for a slow client; with more than 256
 * KiB buffered the upstream is not read until the buffer drains. */
void relay_write(struct relay *relay, struct span bytes);
/* True while the buffer has room. */
bool relay_has_room(const struct relay *relay);
/* In on_upstream: pauses processing of *in, which may be empty. on_upstream is called again in a
 * later iteration of the loop when there is room; nothing is read before. */
void relay_later(struct relay *relay);
/* Written bytes that the client has not received yet. */
size_t relay_unsent(const struct relay *relay);
void relay_write_text_message(struct relay *relay, struct span text); /* a WebSocket text message */
/* In on_client: true for a text message. */
bool relay_message_is_text(const struct relay *relay);
void relay_to_upstream(struct relay *relay, struct span bytes);
/* Writes a whole reply at once and ends the relay. */
void relay_answer(struct relay *relay, int status, const char *content_type, struct span body);
/* Adds a trailer, before relay_finish. Dropped when the reply is not chunked or the trailer is
 * invalid. */
void relay_trailer(struct relay *relay, const char *name, const char *value);
/* From on_tick: the next tick comes after `ms`, and so do the following ones. */
void relay_tick_in(struct relay *relay, int64_t ms);
void relay_finish(struct relay *relay); /* the body is complete */
/* Finishes a WebSocket with this close code and reason; the reason is cut to 123 bytes. */
void relay_finish_websocket(struct relay *relay, unsigned code, const char *reason);
/* Before relay_begin: sends an error reply. After it: cuts the connection, so the client sees that
 * the body is incomplete. */
void relay_fail(struct relay *relay, const struct error *err);
/* Replaces relay_begin: sends 101, then passes bytes unchanged in both directions, to on_client and
 * by relay_write. `protocol` is the agreed protocol. A side that ends its stream (a FIN, or a TLS
 * close_notify) ends only its own direction; on_upstream_end is called when both have ended and all
 * bytes were delivered. A single open direction may continue while bytes come, with at most five
 * minutes between them. */
void relay_switch(struct relay *relay, const char *protocol);
/* Before relay_begin, for a request without a body: drops the relay and its upstream, and a worker
 * runs the handler again. */
void relay_retry(struct relay *relay);
const char *relay_request_id(const struct relay *relay);
const struct request *relay_request(const struct relay *relay);
