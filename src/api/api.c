/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"

#include <string.h>

#include "base/clock.h"
#include "calls/feed.h"
#include "edge/keys.h"
#include "edge/limiter.h"
#include "edge/meter.h"
#include "edge/tables.h"
#include "edge/tickets.h"
#include "surface/mcp/calls.h"
#include "surface/mcp/sessions.h"
#include "surface/preview/preview.h"
#include "terminal/recording.h"

const struct route *const api_routes[] = {
        sandboxes_routes,
        history_routes,
        snapshots_routes,
        backups_routes,
        artifacts_routes,
        exec_routes,
        processes_routes,
        files_routes,
        terminal_routes,
        templates_routes,
        keys_routes,
        projects_routes,
        secrets_routes,
        gateway_routes,
        gateway_session_routes,
        tools_routes,
        approvals_routes,
        skills_routes,
        mcp_routes,
        operator_routes,
        openapi_routes,
        leases_routes,
        members_routes,
        settings_routes,
        configs_routes,
        me_routes,
        events_routes,
        webhooks_routes,
        jobs_routes,
        channels_routes,
        usage_routes,
        pools_routes,
        volumes_routes,
        volume_files_routes,
        lease_files_routes,
        changes_routes,
        windows_routes,
        contexts_routes,
        recordings_routes,
        services_routes,
        limits_routes,
        trash_routes,
        builds_routes,
        preview_routes,
        preview_settings_routes,
        daytona_sandboxes_routes,
        daytona_process_routes,
        daytona_files_routes,
        daytona_bulk_routes,
        daytona_info_routes,
        daytona_ports_routes,
        daytona_snapshots_routes,
        daytona_images_routes,
        daytona_lsp_routes,
        daytona_network_routes,
        daytona_forks_routes,
        daytona_listing_routes,
        daytona_warm_pools_routes,
        daytona_volumes_routes,
        daytona_secrets_routes,
        e2b_sandboxes_routes,
        e2b_life_routes,
        envd_signed_routes,
        daytona_sessions_routes,
        daytona_pty_routes,
        e2b_snapshots_routes,
        e2b_metrics_routes,
        e2b_logs_routes,
        e2b_volumes_routes,
        e2b_volume_content_routes,
        e2b_secrets_routes,
        e2b_templates_routes,
        e2b_builds_routes,
        daytona_git_routes,
        daytona_interpreter_routes,
        daytona_signed_routes,
        git_routes,
        NULL,
};

/* Tokens speak of "sandboxes" where the console speaks of "instances". */
const struct path_alias api_aliases[] = {
        {"/api/client/v1/sandbox/sandboxes", "/api/sandbox/instances"},
        {"/api/client/v1/sandbox/projects", "/v1/projects"},
        {"/api/client/v1/sandbox/leases", "/v1/leases"},
        {"/api/client/v1/sandbox/usage", "/v1/usage"},
        {"/api/client/v1/sandbox/budgets", "/v1/budgets"},
        {"/api/client/v1/sandbox/balance", "/v1/balance"},
        {"/api/client/v1/sandbox/events", "/v1/events"},
        {"/api/client/v1/sandbox/webhooks", "/v1/webhooks"},
        {"/api/client/v1/sandbox/jobs", "/v1/jobs"},
        {"/api/client/v1/sandbox", "/api/sandbox"},
        {"/api/sandbox/projects", "/v1/projects"},
        {NULL, NULL},
};

int api_open(struct api *api, struct error *err)
{
	api->limiter = api_limiter_new((unsigned)api->config->requests_per_key_max);
	api->keys = api_key_cache_new();
	api->tickets = api_tickets_new();
	api->terminals = api_terminals_open(api);
	api->code_contexts = code_contexts_new();
	code_turns_init(&api->code_turns);
	api->meter = api_meter_new();
	api->preview_pool = proxy_pool_new(api->loop);
	api->preview_live = preview_live_new();
	api->envd_router = router_new(envd_routes);
	api->envd_watchers = envd_watchers_new();
	api->interpreter_router = router_new(interpreter_routes);
	api->mcp = mcp_sessions_new();
	api->mcp_calls = mcp_calls_new();
	api->e2b_announced_builds = e2b_announced_builds_new();
	api->shell_queue = shell_queue_new();
	api->daytona_pending = daytona_pending_new();
	api->daytona_lsp_queue = daytona_lsp_queue_new();
	api->feed = api_feed_new(api);
	api->receiver = receiver_new(api);
	api->last_used_ms = clock_monotonic_ms();
	api->write_failure = api_write_failure;
	api->refuse_port = envd_port_refuse;
	return api_peers_open(api->config, &api->peers, err);
}

void api_stop_background(struct api *api)
{
	if (api->terminals)
		terminals_stop(api->terminals);
	receiver_stop(api->receiver);
}

void api_close(struct api *api)
{
	api_limiter_free(api->limiter);
	api_key_cache_free(api->keys);
	api_tickets_free(api->tickets);
	terminals_free(api->terminals);
	code_contexts_free(api->code_contexts);
	api_meter_free(api->meter);
	proxy_pool_free(api->preview_pool);
	preview_live_free(api->preview_live);
	router_free(api->envd_router);
	envd_watchers_free(api->envd_watchers);
	router_free(api->interpreter_router);
	mcp_sessions_free(api->mcp);
	mcp_calls_free(api->mcp_calls);
	e2b_announced_builds_free(api->e2b_announced_builds);
	shell_queue_free(api->shell_queue);
	daytona_pending_free(api->daytona_pending);
	daytona_lsp_queue_free(api->daytona_lsp_queue);
	api_feed_free(api->feed);
	receiver_free(api->receiver);
	api_peers_close(api->peers);
}

void api_cancel_calls(struct api *api)
{
	mcp_calls_cancel_all(api->mcp_calls);
}

/* A name that leads here but is not ours may be that of a page, which would read our answers as its
 * own (DNS rebinding). Nobody's browser comes over a unix socket. */
struct http_host api_find_host(void *context, const struct request *rq)
{
	const char *name = request_header(rq, "Host");
	struct http_host host = {.route = NULL};

	if (api_is_misdirected(rq))
		return (struct http_host){.is_elsewhere = true};
	if (name && strcmp(rq->peer, "unix") != 0)
		host = preview_find_host(context, span_of(name));
	return host.is_refused ? host : envd_host_find(context, rq, host);
}

/* The surfaces whose failures have a form of their own; each knows its paths. */
static bool (*const failure_writers[])(const struct request *rq, struct http_failure *failure,
                                       struct buf *out) = {
        daytona_write_failure,
        e2b_write_failure,
        envd_write_failure,
};

bool api_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out)
{
	for (size_t i = 0; i < COUNT_OF(failure_writers); i++)
		if (failure_writers[i](rq, failure, out))
			return true;
	return false;
}

void api_measure_store(struct api *api)
{
	int64_t start = clock_monotonic_ns();
	struct error err;
	bool ok = store_ping(api->store, &err) == 0;

	api_meter_store(api->meter, (clock_monotonic_ns() - start) / 1000, ok);
}

void api_forget_keys(struct api *api)
{
	api_key_cache_clear(api->keys);
}
