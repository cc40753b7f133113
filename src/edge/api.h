/* SPDX-License-Identifier: Apache-2.0 */
/* edge/api.h — struct api, which every handler finds in request->context, and what handlers ask
 * about the caller of a request. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"

struct access_watch;
struct activity_log;
struct audit_log;
struct decision_log;
struct fleet_awaited;
struct fleet_caller;
struct fleet_ref;
struct fleet_use;
struct otlp_exporter;
struct request;

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
	struct grants *grants;       /* credentials of sandboxes; NULL: there is no proxy */
	struct jobs *jobs;           /* NULL in tests */
	struct http_server *server;  /* set after server_open; for counts */
	struct api_limiter *limiter; /* concurrent requests of each key */
	struct api_rates *rates;     /* quotas of requests per second */
	struct api_key_cache *keys;  /* callers by key hash, for seconds */
	struct sign_in *sign_in;     /* logins of browsers */
	struct access_watch *access; /* open streams of callers that lose access; or NULL */
	struct api_tickets *tickets; /* one-time tickets for WebSockets */
	struct blob_store *blobs;    /* NULL: none */
	struct terminals *terminals; /* windows: screens, viewers, recordings */
	struct code_contexts *code_contexts;
	struct code_queue *code_queue;  /* queued blocks of code; loop thread */
	struct api_feed *feed;          /* streams of /v1/events */
	struct figures_feed *figures;   /* streams of /v1/stats */
	struct activity_log *activity;  /* what is called in sandboxes; NULL in tests */
	struct decision_log *decisions; /* network decisions; NULL in tests */
	struct otlp_exporter *otlp;     /* NULL: OpenTelemetry is off */
	struct audit_log *audit;        /* writes, and uses of links and terminals; NULL in tests */
	struct api_feed *activity_feed; /* streams of /v1/activity; NULL without activity */
	struct api_meter *meter;        /* durations of requests; loop thread */
	bool is_draining;               /* the server is stopping; loop thread */
	unsigned ready_waiting;         /* waiting readiness requests; loop thread */
	struct api_peers *peers;        /* other servers, to pass requests on to */
	struct receiver *receiver;      /* bodies that are received into files */
	int64_t started_at;             /* unix ms */
	int64_t last_used_ms;           /* end of the last request, monotonic; loop thread */
	struct shell_queue *shell_queue; /* queued commands of sessions */
	/* Each surface's own state; only its folder knows the members. */
	struct daytona_surface *daytona;
	struct e2b_surface *e2b;
	struct envd_surface *envd;
	struct mcp_surface *mcp;
	struct preview_surface *preview;
};

struct api *api_of(const struct request *rq);
const struct account_caller *api_account(const struct request *rq);
const char *api_project(const struct request *rq);
const char *api_key_id(const struct request *rq);
const char *api_user_id(const struct request *rq);
/* For fleet_create, and for links; in the request's arena. access.c */
const struct fleet_caller *api_fleet_caller(const struct request *rq);
/* For people: the caller's user, or the id of a key without one. */
const char *api_caller_name(const struct request *rq);
/* account_require for the caller. */
MUST_CHECK int api_require(const struct request *rq, unsigned scope, struct error *err);

/* The project whose things the caller sees in lists of the platform. NULL: all projects, for an
 * admin without X-Atoll-Project. */
const char *api_visible_project(const struct request *rq);
/* The id of the project ":project"; "me" is the caller's. Only an admin finds other projects. */
MUST_CHECK int api_path_project(struct request *rq, const char **ret, struct error *err);
#define API_PROJECT_ME "me"
/* The thing of the caller's project that ":id" names. */
struct fleet_ref api_path_ref(const struct request *rq);
/* Names of the scopes' bits, NULL-terminated. native/keys.c */
const char **api_scope_names(struct arena *a, int64_t scopes);
/* "https://host:port", by which the client reaches this server; NULL: not known. */
const char *api_server_address(const struct request *rq);
/* The option public_url, else api_server_address, else "". */
const char *api_public_address(const struct request *rq);
/* Whether the client speaks TLS to this server, or to a proxy in front of it. */
bool api_is_https(const struct request *rq);
/* Names the object of an administrative change for the audit. */
void api_audit_subject(struct request *rq, const char *subject);
/* The user or the key that signs in, for the audit; "" = none. */
void api_audit_who(struct request *rq, const char *user_id, const char *key_id);
/* A public route answers a failure with a page: the row says what failed. */
void api_audit_failure(struct request *rq, const struct error *err);
/* The project of what a token opened. */
void api_audit_project(struct request *rq, const char *project_id);
/* Adds a row about a request that is no write. `action` lives for ever. */
void api_audit_event(struct request *rq, const char *action);

/* Copies the caller, the route and the id for a call that outlives its request. Headers, parameters
 * and body are not copied. The copy uses the memory of `a`. */
void api_request_copy(const struct request *rq, struct arena *a, struct request *ret);
/* Whether the request can be parked while it awaits a change (fleet/core/waiting.h). A copy of a
 * request cannot: its thread waits. */
bool api_can_park(const struct request *rq);
struct fleet_awaited api_awaited(const struct request *rq);
/* For fleet_ref.awaited; NULL in a copy of a request. */
const struct fleet_awaited *api_awaited_if_parking(struct request *rq);
/* Describes the use of a sandbox for the meter: by the headers Atoll-Run and Atoll-Conversation,
 * the called tool, or the path. The texts are the request's. ERROR_BUDGET if a budget of the run or
 * the conversation is spent. */
MUST_CHECK int api_describe_use(const struct request *rq, struct fleet_use *ret, struct error *err);
/* The same refusals, for a request that makes or starts a sandbox. */
MUST_CHECK int api_check_budgets(const struct request *rq, struct error *err);
/* A conversation that the body names, in place of that of the header; NULL changes nothing. */
void api_set_conversation(const struct request *rq, const char *conversation);

/* The id of the sandbox that a filter names. A valid id is returned as it is, because deleted
 * sandboxes still have events, snapshots and usage. NULL stays NULL. Without a project the name is
 * looked up in all projects. */
MUST_CHECK int api_resolve_sandbox_id(struct request *rq, const struct fleet_ref *filter,
                                      const char **ret, struct error *err);
