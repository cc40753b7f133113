/* SPDX-License-Identifier: Apache-2.0 */
/* edge/api.h — struct api, which every handler finds in request->context. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct error;
struct preview_port;
struct reply;

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
	struct code_queue *code_queue;       /* queued blocks of code; loop thread */
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
	/* Answers, in the words of E2B's proxy, that a port of a sandbox does not respond; false:
	 * the proxy has no words for this error. */
	bool (*refuse_port)(struct reply *reply, const struct preview_port *port,
	                    const struct error *err);
};
