/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/sandbox/sessions — existing sessions. */
#include <stdlib.h>
#include <string.h>

#include "edge/api.h"
#include "fleet/lease/lease.h"
#include "json/json.h"
#include "surface/gateway/routes.h"

#define BASE "/v1/sandbox/sessions"
#define PAGE_SIZE 1000

struct gateway_session_answer {
	const char *tenant_id, *session_id, *sandbox_id;
	int64_t created_at, last_used_at;
};
static const struct json_member session_shape_members[] = {
        JSON_TEXT_MEMBER(gateway_session_answer, tenant_id),
        JSON_TEXT_MEMBER(gateway_session_answer, session_id),
        JSON_TEXT_MEMBER(gateway_session_answer, sandbox_id),
        JSON_TIME_MEMBER(gateway_session_answer, created_at),
        JSON_TIME_MEMBER(gateway_session_answer, last_used_at),
};
static JSON_SHAPE(session_shape, "Session", gateway_session_answer,
                  "A tenant's session and its sandbox");
struct gateway_session_list {
	struct json_list items;
};
static const struct json_member session_list_shape_members[] = {
        JSON_LIST_MEMBER(gateway_session_list, items, &session_shape),
};
static JSON_SHAPE(session_list_shape, "SessionList", gateway_session_list, "Sessions");

/* A lease without a sandbox, or with one that is deleted or failed, is not a session. */
static bool is_session(const struct lease_record *r)
{
	return r->status == LEASE_READY && r->actual != SANDBOX_DELETING &&
	       r->actual != SANDBOX_DELETED && r->actual != SANDBOX_FAILED;
}

static void add_session(struct request *rq, struct buf *items, const struct lease_record *r)
{
	int64_t used_at = r->last_activity_at > r->sandbox_activity_at ? r->last_activity_at
	                                                               : r->sandbox_activity_at;
	struct lease_session session;
	struct gateway_session_answer item;

	if (!is_session(r) || !lease_session_parse(rq->arena, r->key, &session))
		return;
	item = (struct gateway_session_answer){session.tenant, session.session, r->sandbox_id,
	                                       r->created_at, used_at};
	buf_add(items, &item, sizeof(item));
}

static int compare_sessions(const void *left, const void *right)
{
	const struct gateway_session_answer *a = left, *b = right;
	int tenants = strcmp(a->tenant_id, b->tenant_id);

	if (a->created_at != b->created_at)
		return a->created_at < b->created_at ? -1 : 1;
	return tenants != 0 ? tenants : strcmp(a->session_id, b->session_id);
}

static int collect_sessions(struct request *rq, struct buf *items, struct error *err)
{
	struct lease_filter filter = {.project_id = api_project(rq),
	                              .prefix = LEASE_SESSION_PREFIX,
	                              .after = "",
	                              .limit = PAGE_SIZE};
	struct lease_list page;

	do {
		if (store_lease_list(api_of(rq)->store, rq->arena, &filter, &page, err) < 0)
			return -1;
		for (size_t i = 0; i < page.count; i++)
			add_session(rq, items, &page.items[i]);
		filter.after = page.next;
	} while (filter.after);
	return 0;
}

static int sessions_list(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	AUTO(buf_done) struct buf items = BUF(SIZE_MAX / 2);
	struct gateway_session_list out;

	(void)body;
	if (collect_sessions(rq, &items, err) < 0)
		return -1;
	out = (struct gateway_session_list){
	        .items = {items.data, items.size / sizeof(struct gateway_session_answer), true}};
	if (out.items.count > 1)
		qsort(items.data, out.items.count, sizeof(struct gateway_session_answer),
		      compare_sessions);
	reply_json(reply, &session_list_shape, &out);
	return 0;
}

static int session_delete(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct lease_session session = {request_param(rq, "tenant"),
	                                      request_param(rq, "session")};
	const struct lease_ref ref = {api_project(rq), lease_session_key(rq->arena, &session)};
	struct lease_record found;
	int status = fleet_lease_find(api_of(rq)->fleet, rq->arena, &ref, &found, err);

	(void)body;
	if ((status == 0 && !is_session(&found)) || (status < 0 && err->code == ERROR_NOT_FOUND))
		return FAIL_MISSING(err, "session", session.session);
	if (status < 0 || fleet_lease_delete(api_of(rq)->fleet, rq->arena, &ref, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

const struct route gateway_session_routes[] = {
        {HTTP_GET, BASE, SCOPE_ADMIN, .answer = &session_list_shape, .handle = sessions_list,
         .tag = "sessions", .summary = "List the project's sessions"},
        {HTTP_DELETE, BASE "/:tenant/:session", SCOPE_ADMIN, ROUTE_SLOW, .status = 204,
         .handle = session_delete, .tag = "sessions",
         .summary = "Delete a session and its sandbox"},
        {.path = NULL},
};
