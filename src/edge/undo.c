/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/undo.h"

#include "base/log.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/lifecycle.h"
#include "http/server/http.h"
#include "http/server/parked.h"

static void delete_sandbox(struct request *rq, void *context)
{
	const struct fleet_ref ref = {api_project(rq), context};
	struct error err = {0};

	if (fleet_delete(api_of(rq)->fleet, rq->arena, &ref, SANDBOX_REASON_USER, &err) < 0 &&
	    err.code != ERROR_NOT_FOUND)
		log_warning("a sandbox whose client has left is not deleted",
		            TEXT("sandbox", ref.id_or_name), FAILURE(&err));
}

void api_undo_create(struct request *rq, struct reply *reply, const char *sandbox_id)
{
	reply_undo(reply, delete_sandbox, arena_text(rq->arena, sandbox_id));
}
