/* SPDX-License-Identifier: Apache-2.0 */
/* edge/api.h — struct api, which every handler finds in request->context, and the hooks of the
 * server that this folder implements (struct server_options says what each is for). */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "code/turns.h"
#include "http/shares.h"

struct config;
struct http_failure;
struct preview_port;

/* What handlers find in request->context. Process lifetime. */
struct api {
	const struct config *config;
	struct store *store;
	struct fleet *fleet;
	struct provider *provider;
	struct worker_pool *workers;
	struct worker_pool *waiters; /* whose threads may wait for minutes; NULL: the workers */
	struct loop *loop;
	struct webhooks *webhooks;   /* NULL in tests */
	struct jobs *jobs;           /* the same */
	struct http_server *server;  /* set after server_open; for counts */
	struct api_limiter *limiter; /* requests at once per key */
	struct api_key_cache *keys;  /* hash -> caller, short-lived */
	struct api_tickets *tickets; /* that open a WebSocket */
	struct blob_store *blobs;    /* NULL: none */
	struct terminals *terminals; /* windows: screens, viewers, recordings */
	struct code_contexts *code_contexts;
	struct code_turns code_turns;        /* blocks of code that wait; loop thread */
	struct api_feed *feed;               /* streams of /v1/events */
	struct mcp_sessions *mcp;            /* of /mcp */
	struct mcp_calls *mcp_calls;         /* the same: tools that run */
	struct api_meter *meter;             /* durations of requests; loop thread */
	bool is_draining;                    /* the server is to stop; loop thread */
	unsigned ready_waiting;              /* requests for that; loop thread */
	struct api_peers *peers;             /* servers that requests are passed on to */
	struct receiver *receiver;           /* of bodies that become files before they are used */
	int64_t last_used_ms;                /* monotonic; of the last request's end; loop thread */
	struct proxy_pool *preview_pool;     /* connections into sandboxes; loop thread */
	struct preview_live *preview_live;   /* streams of previews; loop thread */
	atomic_uint preview_dials;           /* running */
	struct router *interpreter_router;   /* of those for its code interpreter */
	struct envd_watchers *envd_watchers; /* that are asked for what they have seen */
	struct router *envd_router;          /* of requests that are for a sandbox's inside */
	atomic_uint envd_searches; /* for the sandbox that has signed an address; running */
	struct e2b_announced_builds
	        *e2b_announced_builds;           /* builds that E2B's clients have announced */
	struct shell_queue *shell_queue;         /* commands of sessions that wait */
	struct daytona_pending *daytona_pending; /* sandboxes whose images are being built */
	struct daytona_lsp_queue *daytona_lsp_queue;
	/* Writes the body of a failed request in its surface's form; false: the server's own form.
	 */
	bool (*write_failure)(const struct request *rq, struct http_failure *failure,
	                      struct buf *out);
	/* Answers for a port of a sandbox that does not, in the words of E2B's proxy; false: it has
	 * none for this error. */
	bool (*refuse_port)(struct reply *reply, const struct preview_port *port,
	                    const struct error *err);
};
MUST_CHECK int api_authorize(struct request *rq, const struct route *route, struct error *err);
bool api_queue_has_room(void *context, const char *queue);
void api_on_done(struct request *rq, int status, int64_t took_us);
/* Loop thread. Gives back the request's place among those of its key, and wakes the key's next
 * request. */
void api_release_request(struct request *rq);
/* Loop thread. Takes the place again, without a limit. */
void api_readmit_request(struct request *rq);
void api_find_shares(const struct request *rq, uint64_t ret[WORKER_SHARES]);
/* A reply of the server that err->node names. When it fails err says why, and is as it was where
 * that server has published no address. Blocks: elsewhere the request is deferred to a worker. */
MUST_CHECK int api_forward(struct request *rq, struct reply *reply, struct error *err);
/* Whether changes that the fleet announces wake parked requests. */
void api_set_parked_wakes(struct api *api, bool wakes);
const char *api_allow_origin(void *context, const char *origin);
