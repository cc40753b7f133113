/* SPDX-License-Identifier: Apache-2.0 */
/* Routes for operators. Liveness, readiness and metrics need no key and reveal nothing about
 * tenants. */
#include "account/account.h"
#include "json/json.h"
#include "surface/operator/metrics.h"
#include "surface/operator/provider_changes.h"
#include "surface/operator/providers.h"
#include "surface/operator/ready.h"
#include "surface/operator/routes.h"
#include "surface/operator/routing.h"
#include "surface/operator/server.h"

struct health_answer {
	const char *status, *version;
};
static const struct json_member health_shape_members[] = {
        JSON_TEXT_MEMBER(health_answer, status),
        JSON_TEXT_MEMBER(health_answer, version),
};
static JSON_SHAPE(health_shape, "Health", health_answer, "State of the process");

static int health_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	static const struct health_answer alive = {.status = "ok", .version = ATOLL_VERSION};

	(void)rq;
	(void)body;
	(void)err;
	reply_json(reply, &health_shape, &alive);
	return 0;
}

#define TAG .tag = "operator"
const struct route operator_routes[] = {
        {HTTP_GET, "/healthz", SCOPE_NONE, ROUTE_PUBLIC | ROUTE_INLINE | ROUTE_LAST,
         .answer = &health_shape, .handle = health_get, TAG,
         .summary = "Check that the process is alive"},
        {HTTP_GET, "/readyz", SCOPE_NONE, ROUTE_PUBLIC | ROUTE_INLINE | ROUTE_LAST,
         .answer = &readiness_shape, .handle = readiness_get, TAG,
         .summary = "Check that the server can make sandboxes: the last check created one for each "
                    "kind of network"},
        {HTTP_GET, "/metrics", SCOPE_NONE, ROUTE_PUBLIC | ROUTE_INLINE | ROUTE_LAST,
         .handle = metrics_get, TAG, .summary = "Get metrics in Prometheus' text format"},
        {HTTP_GET, "/v1/server", SCOPE_ADMIN, .answer = &server_shape, .handle = server_get_about,
         TAG, .summary = "Get version, readiness, nodes, configuration and metrics of the server"},
        {HTTP_GET, "/v1/providers", SCOPE_SANDBOX_READ, .answer = &providers_shape,
         .handle = providers_get, TAG, .summary = "List the providers of the server"},
        {HTTP_POST, "/v1/providers", SCOPE_ADMIN, ROUTE_SLOW, .body = &provider_add_shape,
         .answer = &provider_added_shape, .status = 201, .handle = provider_add, TAG,
         .summary = "Add a provider to every server on this store"},
        {HTTP_GET, "/v1/providers/kinds", SCOPE_SANDBOX_READ, .answer = &provider_kinds_shape,
         .handle = provider_kinds_get, TAG,
         .summary = "List the kinds of providers and their options"},
        {HTTP_PATCH, "/v1/providers/:name", SCOPE_ADMIN, ROUTE_SLOW, .body = &provider_set_shape,
         .status = 204, .handle = provider_set_settings, TAG,
         .summary = "Change settings and secrets of a provider on every server on this store"},
        {HTTP_DELETE, "/v1/providers/:name", SCOPE_ADMIN, .query = &provider_remove_query_shape,
         .answer = &provider_removed_shape, .handle = provider_remove, TAG,
         .summary = "Remove a provider that was added at run time; 409 while it has sandboxes"},
        {HTTP_GET, "/v1/routing", SCOPE_ADMIN, .answer = &routing_shape, .handle = routing_get, TAG,
         .summary = "Get the rules that choose providers"},
        {HTTP_PUT, "/v1/routing", SCOPE_ADMIN, .body = &routing_request_shape,
         .answer = &routing_shape, .handle = routing_put, TAG,
         .summary = "Set the rules that choose providers, for every server on this store"},
        {HTTP_DELETE, "/v1/routing", SCOPE_ADMIN, .answer = &routing_shape,
         .handle = routing_delete, TAG, .summary = "Return to the rules of the configuration"},
        {HTTP_POST, "/v1/providers/:name/check", SCOPE_ADMIN, ROUTE_SLOW,
         .answer = &provider_check_shape, .handle = provider_check, TAG,
         .summary = "Make a sandbox with a provider and end it"},
        {.path = NULL},
};

void operator_write_metrics(struct api *api, struct buf *out)
{
	metrics_write(out, api);
}
