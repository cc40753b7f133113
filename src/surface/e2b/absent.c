/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of E2B's specification that this server does not have. Each is refused with the name of
 * what there is in its place: after 404 a client would believe that its key or node is gone. */
#include <string.h>

#include "edge/api.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/routes.h"

#define KEYS "atoll key ls, create, rm"
#define PROJECTS "a team is a project: atoll project"

static const struct {
	const char *prefix, *noun, *instead;
} absent_calls[] = {
        {"/api-keys", "E2B's calls for keys", KEYS},
        {"/access-tokens", "E2B's access tokens", KEYS},
        {"/nodes", "E2B's calls for nodes", "atoll server"},
        {"/admin", "E2B's administration", PROJECTS},
        {"/templates", "E2B's first generation of builds",
         "POST /v3/templates and POST /v2/templates/ID/builds/ID, as SDKs since 2.0 do"},
};

static int refuse_call(struct request *rq, UNUSED const void *body, UNUSED struct reply *reply,
                       struct error *err)
{
	for (size_t i = 0; i < COUNT_OF(absent_calls); i++) {
		const char *prefix = absent_calls[i].prefix;

		if (strncmp(rq->route->path, prefix, strlen(prefix)) != 0)
			continue;
		(void)FAIL(err, ERROR_UNSUPPORTED, "this server does not have %s",
		           absent_calls[i].noun);
		return FAIL_HINT(err, "%s", absent_calls[i].instead);
	}
	return FAIL(err, ERROR_UNSUPPORTED, "this server does not have '%s'", rq->route->path);
}

#define ABSENT(method_, path_)                                                                     \
	{                                                                                          \
		.method = (method_), .path = (path_),                                              \
		.scope = (method_) == HTTP_GET ? SCOPE_SANDBOX_READ : SCOPE_SANDBOX_WRITE,         \
		.flags = ROUTE_RAW_BODY | ROUTE_HIDDEN, .handle = refuse_call, E2B_ROW             \
	}
const struct route e2b_absent_routes[] = {
        ABSENT(HTTP_GET, "/api-keys"),
        ABSENT(HTTP_POST, "/api-keys"),
        ABSENT(HTTP_PATCH, "/api-keys/:key"),
        ABSENT(HTTP_DELETE, "/api-keys/:key"),
        ABSENT(HTTP_POST, "/access-tokens"),
        ABSENT(HTTP_DELETE, "/access-tokens/:token"),
        ABSENT(HTTP_GET, "/nodes"),
        ABSENT(HTTP_GET, "/nodes/:node"),
        ABSENT(HTTP_POST, "/nodes/:node"),
        ABSENT(HTTP_POST, "/admin/teams/:team/sandboxes/kill"),
        ABSENT(HTTP_POST, "/admin/teams/:team/builds/cancel"),
        ABSENT(HTTP_POST, "/admin/teams/:team/api-keys"),
        ABSENT(HTTP_DELETE, "/admin/teams/:team/api-keys/:key"),
        ABSENT(HTTP_GET, "/admin/sandboxes/running-counts"),
        ABSENT(HTTP_POST, "/templates"),
        ABSENT(HTTP_POST, "/templates/:id"),
        ABSENT(HTTP_POST, "/templates/:id/builds/:build"),
        {.path = NULL},
};
