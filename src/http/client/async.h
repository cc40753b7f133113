/* SPDX-License-Identifier: Apache-2.0 */
/* http/client/async.h — HTTP requests and raw connections that no thread waits for: libcurl's multi
 * interface on a loop of its own thread.
 *
 * http_async_call may be called on any thread. The callbacks, and all functions of streams, run on
 * the loop's thread and must not block. For a URL of the operator's configuration, never for one of
 * a caller: addresses are not checked. Redirects are not followed, because they would carry the
 * credentials of the headers elsewhere. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct http_async;
struct loop;

MUST_CHECK int http_async_open(const char *name, struct http_async **ret, struct error *err);
/* Calls in flight fail; streams must be freed. NULL is fine. */
void http_async_close(struct http_async *a);
struct loop *http_async_loop(struct http_async *a);

/* Whom a server's certificate must be of, and how this client shows itself: PEM texts, NULL = what
 * the system trusts, and no certificate. */
struct http_async_tls {
	const char *authorities, *certificate, *key;
};
/* For all calls and streams; before the first one. Copies the texts. */
void http_async_set_tls(struct http_async *a, const struct http_async_tls *tls);

struct http_async_call {
	const char *method, *url;   /* copied, as all that this names */
	const char *const *headers; /* "Name: value" lines, NULL-terminated; or NULL */
	struct span body;
	bool has_body; /* also an empty one */
	/* Sent at most once: not again when a kept connection turns out to be closed. */
	bool is_once;
	int64_t timeout_ms; /* of the whole call */
	size_t answer_max;  /* bytes of the answer's body; 0 = 4 MiB */
	const char *wanted; /* name of a header of the answer, or NULL */
	/* Takes each piece of the body of an answer of status 200, which the answer then lacks; on
	 * the loop's thread. False ends the call with an error. NULL: the answer has the body. */
	bool (*on_piece)(void *context, struct span piece);
};
struct http_async_answer {
	int status;
	struct buf body;       /* the callback may take it */
	int64_t retry_after_s; /* of the header; 0: without it */
	char wanted[512];      /* "" when it is missing or longer */
};
/* Either `answer` or `err` is NULL. */
typedef void http_async_on_done(void *context, struct http_async_answer *answer,
                                const struct error *err);
void http_async_call(struct http_async *a, const struct http_async_call *call,
                     http_async_on_done *on_done, void *context);
/* The same for a worker, which waits until the deadline or the end of its call (base/cancel.h).
 * buf_done(&ret->body) by the caller. */
MUST_CHECK int http_async_wait(struct http_async *a, const struct http_async_call *call,
                               int64_t deadline, struct http_async_answer *ret, struct error *err);

/* A connection to the host of a URL, with TLS if it says so, through the proxy of the environment.
 */
struct http_stream;
struct http_stream_options {
	const char *url;
	int64_t timeout_ms; /* to connect */
	/* Once; err NULL: it is connected. */
	void (*on_connected)(void *context, const struct error *err);
	/* Bytes may have come, or may be sent again. */
	void (*on_ready)(void *context);
	void *context;
};
struct http_stream *http_stream_open(struct http_async *a,
                                     const struct http_stream_options *options);
void http_stream_free(struct http_stream *s); /* NULL is fine */
/* Whether on_ready is wanted when bytes can be sent, and when bytes have come. */
void http_stream_watch(struct http_stream *s, bool reads, bool writes);
/* Bytes moved; 0: nothing for now; -1: the connection is broken or has ended. */
ptrdiff_t http_stream_receive(struct http_stream *s, char *room, size_t size);
ptrdiff_t http_stream_send(struct http_stream *s, struct span bytes);
