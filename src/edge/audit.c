/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/audit.h"

#include "base/log.h"
#include "edge/caller.h"
#include "http/server/http.h"

#define ADMINISTRATIVE (SCOPE_ADMIN | SCOPE_PROJECT_WRITE | SCOPE_KEY_WRITE | SCOPE_TEMPLATE_WRITE)

/* Whether the route changes permissions, or what new sandboxes start from. */
static bool is_administrative(const struct route *route)
{
	return route->method != HTTP_GET && (route->scope & ADMINISTRATIVE) != 0;
}

void api_audit(const struct request *rq, const struct api_caller *caller, int status)
{
	const struct account_caller *who = &caller->account;

	if (!is_administrative(rq->route))
		return;
	log_request_set(rq->id);
	log_info("audit", TEXT("method", rq->method_name), TEXT("path", rq->path),
	         TEXT("subject", caller->subject ? caller->subject : ""), NUMBER("status", status),
	         TEXT("project", who->project_id), TEXT("key", who->key_id),
	         TEXT("user", who->user_id), TEXT("peer", rq->peer));
	log_request_set(NULL);
}
