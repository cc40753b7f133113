/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/native/ephemeral.h"

#include <string.h>

#include "edge/session.h"
#include "edge/target.h"
#include "sandbox/lease.h"

static int join_names(const char *name, const char *outer, const char **inner, struct error *err)
{
	if (outer && *inner && strcmp(outer, *inner) != 0)
		return FAIL(err, ERROR_INVALID, "%s and sandbox.%s contradict each other", name,
		            name);
	if (outer)
		*inner = outer;
	return 0;
}

static int open_reserved(struct request *rq, const struct fleet_create *make,
                         struct api_target *ret, struct error *err)
{
	if (make->workspace)
		return session_open_made(rq, lease_workspace_key(rq->arena, make->workspace), make,
		                         ret, err);
	(void)FAIL(err, ERROR_INVALID, "a persistent sandbox is not made for one call");
	return FAIL_HINT(err, "name a workspace, for which it is reserved, a lease or a sandbox");
}

int native_ephemeral_open(struct request *rq, const struct native_ephemeral *e,
                          struct api_target *ret, struct error *err)
{
	struct native_create_body body = e->sandbox;
	struct fleet_create make;

	if (join_names("config", e->config, &body.config, err) < 0 ||
	    join_names("workspace", e->workspace, &body.workspace, err) < 0 ||
	    native_create_parse(rq, &body, NULL, &make, err) < 0)
		return -1;
	return make.persistent ? open_reserved(rq, &make, ret, err)
	                       : api_target_make(rq, &make, ret, err);
}
