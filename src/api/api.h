/* SPDX-License-Identifier: Apache-2.0 */
/* api/api.h — the HTTP surfaces: route tables, one folder per surface, and what they share.
 *
 * A handler is parse, one call, answer: the route row has parsed already, the call goes to fleet,
 * store or compute. Rules that two surfaces need live below this folder. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "account/account.h"
#include "base/buf.h"
#include "code/turns.h"
#include "fleet/fleet.h"
#include "http/shares.h"
#include "job/job.h"
#include "terminal/terminal.h"
#include "webhook/webhook.h"

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
	struct server *server;       /* set after server_open; for counts */
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
	atomic_uint envd_searches;       /* for the sandbox that has signed an address; running */
	struct e2b_drafts *e2b_drafts;   /* builds that E2B's clients have announced */
	struct shell_queue *shell_queue; /* commands of sessions that wait */
	struct daytona_pending *daytona_pending; /* sandboxes whose images are being built */
	struct daytona_lsp_turns *daytona_lsp_turns;
	/* Writes the body of a failed request in its surface's form; false: the server's own form.
	 */
	bool (*write_failure)(const struct request *rq, struct http_failure *failure,
	                      struct buf *out);
	/* Answers for a port of a sandbox that does not, in the words of E2B's proxy; false: it has
	 * none for this error. */
	bool (*refuse_port)(struct reply *reply, const struct preview_port *port,
	                    const struct error *err);
};
MUST_CHECK int api_open(struct api *api, struct error *err); /* makes what it owns */
/* Cancels the calls that outlive their request: after server_close and before the workers stop. */
void api_cancel_calls(struct api *api);
/* Ends what goes on behind its handlers (recordings, uploads): after server_close and before the
 * provider and the blob store close. */
void api_stop_background(struct api *api);
void api_close(struct api *api); /* after server_close */
/* Measures the store, for /metrics and /readyz; on a worker, every few seconds. */
void api_measure_store(struct api *api);

/* After a change of keys or roles that was made behind the handlers' back. */
void api_forget_keys(struct api *api);

/* Every surface's table, NULL-terminated: for server_options.routes. */
extern const struct route *const api_routes[];
/* The paths under which some of them are known as well: for server_options.aliases. */
extern const struct path_alias api_aliases[];
/* For server_options. */
MUST_CHECK int api_authorize(struct request *rq, const struct route *route, struct error *err);
bool api_queue_has_room(void *context, const char *queue);
/* Loop thread. Gives back the place among those of its key, if the request has one; the next
 * request of the key is woken. */
void api_release_request(struct request *rq);
/* Takes it again, without a bound. */
void api_readmit_request(struct request *rq);
void api_find_shares(const struct request *rq, uint64_t ret[WORKER_SHARES]);
bool api_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out);
/* A reply of the server that err->node names. When it fails err says why, and is as it was where
 * that server has published no address. Blocks: elsewhere the request is deferred to a worker. */
MUST_CHECK int api_forward(struct request *rq, struct reply *reply, struct error *err);
/* Whether changes that the fleet announces wake parked requests. */
void api_set_parked_wakes(struct api *api, bool wakes);
void api_on_done(struct request *rq, int status, int64_t took_us);
struct http_host api_find_host(void *context, const struct request *rq);
const char *api_allow_origin(void *context, const char *origin);
/* The whole OpenAPI 3.1 document of api_routes; `atolld --openapi` prints it too. */
void api_write_openapi(struct buf *out);
