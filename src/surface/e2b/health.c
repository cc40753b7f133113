/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the server answers. With the header or the host of a sandbox, the same path asks for that
 * sandbox (surface/envd/state.c). */
#include "surface/e2b/e2b.h"
#include "surface/e2b/routes.h"

static int get_health(UNUSED struct request *rq, UNUSED const void *body, struct reply *reply,
                      UNUSED struct error *err)
{
	reply_status(reply, 204);
	return 0;
}

const struct route e2b_health_routes[] = {
        {HTTP_GET, "/health", SCOPE_NONE, ROUTE_PUBLIC | ROUTE_INLINE | ROUTE_LAST | ROUTE_HIDDEN,
         .handle = get_health, E2B_ROW},
        {.path = NULL},
};
