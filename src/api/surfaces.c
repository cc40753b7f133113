/* SPDX-License-Identifier: Apache-2.0 */
#include "api/surfaces.h"

#include <string.h>

#include "api/api.h"
#include "edge/forward.h"
#include "http/server/host.h"
#include "surface/console/routes.h"
#include "surface/daytona/routes.h"
#include "surface/e2b/routes.h"
#include "surface/envd/routes.h"
#include "surface/gateway/routes.h"
#include "surface/mcp/routes.h"
#include "surface/native/native.h"
#include "surface/operator/routes.h"
#include "surface/preview/routes.h"
#include "surface/tools/routes.h"

const struct route *const api_routes[] = {
        sandbox_list_routes,
        sandboxes_routes,
        sandbox_patch_routes,
        history_routes,
        figures_routes,
        summary_routes,
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
        access_routes,
        approvals_routes,
        consents_routes,
        skills_routes,
        mcp_routes,
        operator_routes,
        openapi_routes,
        console_routes,
        leases_routes,
        members_routes,
        settings_routes,
        configs_routes,
        me_routes,
        session_routes,
        oidc_routes,
        organizations_routes,
        users_routes,
        invitations_routes,
        ephemeral_routes,
        events_routes,
        activity_routes,
        decisions_routes,
        audit_routes,
        webhooks_routes,
        credentials_routes,
        connects_routes,
        jobs_routes,
        channels_routes,
        usage_routes,
        pools_routes,
        volumes_routes,
        volume_files_routes,
        lease_files_routes,
        changes_routes,
        windows_routes,
        workspaces_routes,
        contexts_routes,
        recordings_routes,
        file_links_routes,
        file_search_routes,
        ports_routes,
        services_routes,
        limits_routes,
        quotas_routes,
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
        daytona_attached_routes,
        daytona_network_routes,
        daytona_forks_routes,
        daytona_listing_routes,
        daytona_warm_pools_routes,
        daytona_volumes_routes,
        daytona_secrets_routes,
        e2b_sandboxes_routes,
        e2b_health_routes,
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
        e2b_teams_routes,
        e2b_templates_routes,
        e2b_builds_routes,
        e2b_absent_routes,
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

/* Another party's name that points at this server could let a page read our answers as its own (DNS
 * rebinding). Browsers do not use unix sockets, so such requests are not checked. */
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

/* Surfaces with their own form of a failure; each recognises its routes. */
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

void api_cancel_calls(struct api *api)
{
	mcp_cancel_calls(api);
}

void surfaces_open(struct api *api)
{
	native_state_open(api);
	preview_state_open(api);
	envd_state_open(api);
	mcp_state_open(api);
	e2b_state_open(api);
	daytona_state_open(api);
}

void surfaces_stop(struct api *api)
{
	native_state_stop(api);
}

void surfaces_close(struct api *api)
{
	native_state_close(api);
	preview_state_close(api);
	envd_state_close(api);
	mcp_state_close(api);
	e2b_state_close(api);
	daytona_state_close(api);
}
