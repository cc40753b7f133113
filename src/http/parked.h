/* SPDX-License-Identifier: Apache-2.0 */
/* http/parked.h — requests that wait without a thread, and replies that are taken back.
 *
 * A handler that fails with an error that awaits a change (error_await) is not answered: its
 * request is parked. It holds its connection and nothing else. When the change is announced by
 * server_wake, or `again_ms` has passed, a worker runs the handler once more, from its beginning;
 * so what a handler does before it fails so must not count. The server answers with the error when
 * `wait_max_ms` has passed, and when `parked_max` requests, or a quarter of them with the same
 * project, are parked already. A client that hangs up ends its parked request.
 *
 * A route with ROUTE_PROGRESS tells a client that accepts text/event-stream what its request waits
 * for: events `progress`, {"message":…,"percent":…}, and then `result` with the JSON that the reply
 * would have had, or `error` with the usual error body. */
#pragma once

#include <stdint.h>

#include "http/http.h"

struct parked_limits {
	unsigned parked_max; /* 0 = 1024; a project's may be a quarter of them */
	int64_t wait_max_ms; /* 0 = 30 minutes */
};
/* Before the server listens. */
void server_limit_parked(struct http_server *server, const struct parked_limits *limits);
/* Announces the change that errors await by this key. Any thread; cheap when nothing waits. */
void server_wake(struct http_server *server, const char *key);

/* What the request was parked for last, and how long it has waited for that in all; NULL and 0 for
 * one that was not parked. */
struct request_awaited {
	const char *key;
	int64_t for_ms;
};
struct request_awaited request_awaited(const struct request *rq);

struct parked_counts {
	uint64_t parked;    /* just now */
	uint64_t undone;    /* replies that were taken back */
	uint64_t abandoned; /* requests whose clients left while they were parked */
};
struct parked_counts parked_counts_get(const struct http_server *server); /* loop thread */

/* For a handler that has made what only its reply tells of: `undo` runs on a worker, with the
 * request and `context`, which is in the request's arena, when the client has left before the reply
 * was handed to its connection. */
typedef void request_undo(struct request *rq, void *context);
void reply_undo(struct reply *reply, request_undo *undo, void *context);
