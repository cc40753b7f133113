/* SPDX-License-Identifier: Apache-2.0 */
/* http/shares.h — what requests of one tenant share: places among the requests of a key, and calls
 * into sandboxes.
 *
 * Both may make a request wait without a thread. Its handler, or authorize, is then run again from
 * its beginning: what it does before it asks must not count. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/http.h"

/* Called by authorize, and by handlers before anything that counts, when the request has to wait
 * for a place: err says why. Fails; the server runs it again when its turn has come, and answers
 * with err when that takes too long. A copy of a request does not wait. */
MUST_CHECK int request_wait_turn(struct request *rq, const char *queue, struct error *err);
/* The request's connection counts for this project from now on, see owners.h; called by authorize,
 * before it takes or awaits a place, and by handlers of public routes. */
void request_count_for(struct request *rq, const char *project);
/* On the loop: whether others wait in that queue, and must not be overtaken. */
bool request_has_others_before(const struct request *rq, const char *queue);
/* Called before a call into a sandbox's agent, once that sandbox is known, on a worker: the thread
 * goes over to the agents' lane (of server_options.waiters for ROUTE_LONG), under the shares of the
 * sandbox, of its project and of the caller's key. Where one of them has no room it fails, and the
 * handler is run once more when there is room: so what is done before this must not count. On the
 * loop's thread, and in a copy of a request, it does nothing. */
struct request_sandbox {
	const char *project, *sandbox; /* their ids; sandbox NULL: only the other two bound it */
};
MUST_CHECK int request_may_call(struct request *rq, const struct request_sandbox *sandbox,
                                struct error *err);

struct server_shares {
	/* The shares that the request's work runs under, of its caller as far as it is known; see
	 * worker/worker.h. On the loop. NULL: all is the server's own work. */
	void (*find)(const struct request *rq, uint64_t ret[WORKER_SHARES]);
	/* Whether the first request of that queue would find a place now. On the loop. NULL: try.
	 */
	bool (*has_turn)(void *context, const char *queue);
	/* A request is parked, so that it needs no place; and is about to be run again, with or
	 * without a free one. On the loop. May be NULL. */
	void (*rest)(struct request *rq);
	void (*resume)(struct request *rq);
	unsigned waiting_max; /* requests that wait in one queue; 0 = 1024 */
	int64_t wait_ms;      /* and for how long; 0 = 30 s */
};
/* A place has become free. Loop thread; cheap when no request waits. */
void server_turn(struct http_server *server, const char *queue);
struct turn_counts {
	uint64_t waiting, refused_full, refused_late, left; /* the last: clients that hung up */
	int64_t longest_ms;
};
struct turn_counts server_turn_counts(const struct http_server *server); /* loop thread */
