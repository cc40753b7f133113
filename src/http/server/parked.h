/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/parked.h — requests that wait without a thread, and replies that are undone.
 *
 * A handler that fails with an error that awaits a change (error_await) is not answered: its
 * request is parked. A parked request holds its connection and no thread. After server_wake
 * announces the change, or after `again_ms`, a worker runs the handler again from its beginning; so
 * a handler must have no effect before it fails this way. The server answers with the error after
 * `wait_max_ms`, or when `parked_max` requests, or a quarter of them with the same project, are
 * parked already. A client that hangs up ends its parked request.
 *
 * A ROUTE_PROGRESS route sends progress to a client that accepts text/event-stream: events
 * `progress`, {"message":…,"percent":…}, then `result` with the JSON of the reply, or `error` with
 * the usual error body. */
#pragma once

#include <stdint.h>

struct http_server;
struct reply;
struct request;

struct parked_limits {
	unsigned parked_max; /* 0 = 1024; a project may have a quarter of them */
	int64_t wait_max_ms; /* 0 = 30 minutes */
};
/* Call it before the server listens. */
void server_limit_parked(struct http_server *server, const struct parked_limits *limits);
/* Announces the change with this key. Any thread; cheap when no request is parked. */
void server_wake(struct http_server *server, const char *key);

/* The change that the request was last parked for, and the total wait; NULL and 0 when it was never
 * parked. */
struct request_awaited {
	const char *key;
	int64_t for_ms;
};
struct request_awaited request_awaited(const struct request *rq);

struct parked_counts {
	uint64_t parked;    /* parked now */
	uint64_t undone;    /* replies that were undone */
	uint64_t abandoned; /* parked requests whose clients left */
};
struct parked_counts parked_counts_get(const struct http_server *server); /* loop thread */

/* For a handler whose reply is the only way to reach what it made: when the client leaves before
 * the reply was sent, `undo` runs on a worker with the request and `context`, which is in the
 * request's arena. */
typedef void request_undo(struct request *rq, void *context);
void reply_undo(struct reply *reply, request_undo *undo, void *context);
