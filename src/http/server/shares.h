/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/shares.h — limits that requests of a tenant share: running requests of a key, and
 * calls into sandboxes.
 *
 * Both may make a request wait without a thread. Its handler, or authorize, then runs again from
 * its beginning, so earlier steps must have no effect. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "worker/worker.h"

struct http_server;
struct request;

/* Queues the request: called by authorize, and by handlers before any effect, when the request must
 * wait for a place; err says why. Always fails. The server runs the request again when a place is
 * free, and answers with err when the wait is too long. A copy of a request does not wait. */
MUST_CHECK int request_wait_in_queue(struct request *rq, const char *queue, struct error *err);
/* Counts the request's connection for this project, see owners.h; called by authorize before it
 * takes or waits for a place, and by handlers of public routes. */
void request_count_for(struct request *rq, const char *project);
/* True when requests wait in that queue, which this request must not overtake. On the loop. */
bool request_has_others_before(const struct request *rq, const char *queue);
/* Call it on a worker before a call into a sandbox's agent, once the sandbox is known. The thread
 * changes to the agent lane (of server_options.waiters for ROUTE_LONG), under the shares of the
 * sandbox, its project and the caller's key. When a share has no room it fails and the handler runs
 * again later, so earlier steps must have no effect. On the loop thread, and in a copy of a
 * request, it does nothing. */
struct request_sandbox {
	const char *project,
	        *sandbox; /* ids; sandbox NULL: only the shares of project and key apply */
};
MUST_CHECK int request_may_call(struct request *rq, const struct request_sandbox *sandbox,
                                struct error *err);

struct server_shares {
	/* Returns the shares of the request, as far as its caller is known; see worker/worker.h. On
	 * the loop. NULL: no shares. */
	void (*find)(const struct request *rq, uint64_t ret[WORKER_SHARES]);
	/* True when the first request of that queue would find a place now. On the loop. NULL: try
	 * it. */
	bool (*has_place)(void *context, const char *queue);
	/* rest: the request is parked and needs no place. resume: it is about to run again, even
	 * without a free place. On the loop. May be NULL. */
	void (*rest)(struct request *rq);
	void (*resume)(struct request *rq);
	unsigned waiting_max; /* requests per queue; 0 = 1024 */
	int64_t wait_ms;      /* longest wait; 0 = 30 s */
};
/* A place is free: runs the queue's first request. Loop thread; cheap when no request waits. */
void server_advance_queue(struct http_server *server, const char *queue);
struct queue_counts {
	uint64_t waiting, refused_full, refused_late, left; /* left: clients that hung up */
	int64_t longest_ms;
};
struct queue_counts server_queue_counts(const struct http_server *server); /* loop thread */
