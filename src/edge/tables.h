/* SPDX-License-Identifier: Apache-2.0 */
/* edge/tables.h — the route tables that api.c lists, and answers that several of them share.
 * Private to this folder. */
#pragma once

#include "http/http.h"
#include "shell/shell.h"
#include "wire/agent.h"

/* native/ */
extern const struct route sandboxes_routes[], snapshots_routes[], exec_routes[], processes_routes[],
        files_routes[], terminal_routes[], templates_routes[], keys_routes[], leases_routes[],
        projects_routes[], members_routes[], settings_routes[], configs_routes[], me_routes[],
        events_routes[], webhooks_routes[], jobs_routes[], channels_routes[];
extern const struct route backups_routes[], artifacts_routes[], history_routes[];
extern const struct route secrets_routes[], builds_routes[];
extern const struct route usage_routes[], pools_routes[];
extern const struct route volumes_routes[], volume_files_routes[], lease_files_routes[];
extern const struct route changes_routes[];
extern const struct route windows_routes[], recordings_routes[], contexts_routes[];
extern const struct route services_routes[], limits_routes[];
extern const struct route git_routes[], trash_routes[];
/* gateway/ */
extern const struct route gateway_routes[], gateway_session_routes[];
/* tools/ */
/* preview/ */
extern const struct route preview_routes[], preview_settings_routes[];
extern const struct route tools_routes[], approvals_routes[], skills_routes[], mcp_routes[];
/* daytona/ */
extern const struct route daytona_sandboxes_routes[], daytona_process_routes[],
        daytona_files_routes[], daytona_bulk_routes[], daytona_info_routes[],
        daytona_ports_routes[], daytona_snapshots_routes[], daytona_volumes_routes[],
        daytona_secrets_routes[], daytona_sessions_routes[], daytona_pty_routes[],
        daytona_git_routes[], daytona_interpreter_routes[], daytona_signed_routes[],
        daytona_images_routes[], daytona_lsp_routes[], daytona_network_routes[],
        daytona_forks_routes[], daytona_listing_routes[], daytona_warm_pools_routes[];
struct daytona_pending;
struct daytona_pending *daytona_pending_new(void);
void daytona_pending_free(struct daytona_pending *p); /* NULL is fine */
struct daytona_lsp_queue;
struct daytona_lsp_queue *daytona_lsp_queue_new(void);
void daytona_lsp_queue_free(struct daytona_lsp_queue *queue); /* NULL is fine */
struct http_failure;
bool daytona_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out);
/* receiver.c: see receiver.h */
struct api;
struct receiver;
struct receiver *receiver_new(struct api *api);
/* Drops what is being received. When the server is closed and before the fleet leaves. */
void receiver_stop(struct receiver *receiver);
/* After the lanes have ended. NULL is fine. */
void receiver_free(struct receiver *receiver);
/* e2b/ */
extern const struct route e2b_sandboxes_routes[], e2b_life_routes[], e2b_snapshots_routes[],
        e2b_metrics_routes[], e2b_logs_routes[], e2b_volumes_routes[], e2b_volume_content_routes[],
        e2b_secrets_routes[], e2b_templates_routes[], e2b_builds_routes[];
struct e2b_announced_builds;
struct e2b_announced_builds *e2b_announced_builds_new(void);
void e2b_announced_builds_free(struct e2b_announced_builds *builds);
bool e2b_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out);
/* operator/ */
extern const struct route operator_routes[], openapi_routes[];

/* envd/ */
struct api;
extern const struct route envd_signed_routes[];
/* NULL-terminated: of requests that are for the inside of a sandbox. */
extern const struct route *const envd_routes[], *const interpreter_routes[];
/* For server_options, after the Host has been looked at: `host` as previews say it. */
struct http_host envd_host_find(struct api *api, const struct request *rq, struct http_host host);
/* {"code":404,"message":"…"} of ENVD_TAG, that of connect.h of CONNECT_TAG. */
bool envd_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out);

/* In api->envd_watchers. */
struct envd_watchers *envd_watchers_new(void);
void envd_watchers_free(struct envd_watchers *w); /* NULL is fine */
/* Why a port of a sandbox does not answer, as E2B's proxy says it; false for what it has no words
 * for. */
struct preview_port;
bool envd_port_refuse(struct reply *reply, const struct preview_port *at, const struct error *err);

/* Shapes of replies that streams write by hand, for the reference. */
extern const struct json_shape result_shape, gateway_result_shape, file_entry_shape,
        file_list_shape, file_content_shape, count_shape;

/* A sandbox as its own routes show it, alone or in a list of sandbox_shape. */
struct sandbox_record;
extern const struct json_shape sandbox_shape;
int sandbox_reply(struct request *rq, struct reply *reply, const struct sandbox_record *r);
struct json_list sandbox_answers(struct request *rq, const struct sandbox_record *records,
                                 size_t count);

/* Taking a snapshot, which accepting changes is, too. */
extern const struct json_shape snapshot_request, snapshot_shape;
http_handler snapshot_create;
struct snapshot_record;
int snapshot_reply(struct reply *reply, const struct snapshot_record *r);

/* native/viewers.c: windows, whose viewers learn of each other. */
struct terminals;
struct terminals *api_terminals_open(struct api *api);

/* forward.c: servers that requests are passed on to, and their TLS. ERROR_INVALID when the file of
 * the option peer_ca cannot be used. */
struct api_peers;
int api_peers_open(const struct config *config, struct api_peers **ret, struct error *err);
void api_peers_close(struct api_peers *peers); /* NULL is fine */
/* Whether another server has passed it on to one that this one is not. */
bool api_is_misdirected(const struct request *rq);
