/* SPDX-License-Identifier: Apache-2.0 */
/* edge/api.h — struct api, which every handler finds in request->context, and the hooks of the
 * server that this folder implements (struct server_options says what each is for). */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "code/queue.h"
#include "config/config.h"
#include "http/shares.h"

struct http_failure;
struct preview_port;

/* What handlers find in request->context. Process lifetime. */
struct api {
	const struct config *config;
	struct store *store;
	struct fleet *fleet;
	struct provider *provider;
	struct worker_pool *workers;
	struct worker_pool *waiters; /* its threads may block for minutes; NULL: use `workers` */
	struct loop *loop;
	struct webhooks *webhooks;   /* NULL in tests */
	struct jobs *jobs;           /* NULL in tests */
	struct http_server *server;  /* set after server_open; for counts */
	struct api_limiter *limiter; /* concurrent requests of each key */
	struct api_key_cache *keys;  /* callers by key hash, for seconds */
	struct api_tickets *tickets; /* one-time tickets for WebSockets */
	struct blob_store *blobs;    /* NULL: none */
	struct terminals *terminals; /* windows: screens, viewers, recordings */
	struct code_contexts *code_contexts;
	struct code_queue code_queue;        /* queued blocks of code; loop thread */
	struct api_feed *feed;               /* streams of /v1/events */
	struct mcp_sessions *mcp;            /* sessions of /mcp */
	struct mcp_calls *mcp_calls;         /* running tool calls of /mcp */
	struct api_meter *meter;             /* durations of requests; loop thread */
	bool is_draining;                    /* the server is stopping; loop thread */
	unsigned ready_waiting;              /* waiting readiness requests; loop thread */
	struct api_peers *peers;             /* other servers, to pass requests on to */
	struct receiver *receiver;           /* bodies that are received into files */
	int64_t last_used_ms;                /* end of the last request, monotonic; loop thread */
	struct proxy_pool *preview_pool;     /* connections into sandboxes; loop thread */
	struct preview_live *preview_live;   /* streams of previews; loop thread */
	atomic_uint preview_dials;           /* connections of previews being opened */
	struct router *interpreter_router;   /* requests to a sandbox's code interpreter */
	struct envd_watchers *envd_watchers; /* file watches that clients poll */
	struct router *envd_router;          /* requests to a sandbox's envd */
	atomic_uint envd_searches;           /* running searches for the signer of an address */
	/* Builds that E2B's clients have announced. */
	struct e2b_announced_builds *e2b_announced_builds;
	struct shell_queue *shell_queue;         /* queued commands of sessions */
	struct daytona_pending *daytona_pending; /* sandboxes whose images are being built */
	struct daytona_lsp_queue *daytona_lsp_queue;
	/* Writes the body of a failed request in its surface's form; false: the server's own form.
	 */
	bool (*write_failure)(const struct request *rq, struct http_failure *failure,
	                      struct buf *out);
	/* Answers, in the words of E2B's proxy, that a port of a sandbox does not respond; false:
	 * the proxy has no words for this error. */
	bool (*refuse_port)(struct reply *reply, const struct preview_port *port,
	                    const struct error *err);
};

/* Finds the caller, checks its scope and admits the request. */
MUST_CHECK int api_authorize(struct request *rq, const struct route *route, struct error *err);
/* Whether the queue's key may run another request now. */
bool api_queue_has_room(void *context, const char *queue);
void api_on_done(struct request *rq, int status, int64_t took_us);
/* Gives back the request's limiter slot and wakes the next queued request of its key. Loop thread.
 */
void api_release_request(struct request *rq);
/* Takes a limiter slot again, beyond the limit if necessary. Loop thread. */
void api_readmit_request(struct request *rq);
void api_find_shares(const struct request *rq, uint64_t ret[WORKER_SHARES]);
/* Answers with the reply of the server that err->node names. When it fails, err says why; err is
 * unchanged when that server has published no address. Blocks; on the loop thread the request is
 * deferred to a worker. */
MUST_CHECK int api_forward(struct request *rq, struct reply *reply, struct error *err);
/* Whether changes that the fleet announces wake parked requests. */
void api_set_parked_wakes(struct api *api, bool wakes);
/* The value of Access-Control-Allow-Origin for this origin; NULL: the origin is not allowed. */
const char *api_allow_origin(void *context, const char *origin);
