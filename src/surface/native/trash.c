/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/trash — deleted sandboxes and snapshots that can be restored for some time. */
#include "base/clock.h"
#include "base/id.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/recovery/trash.h"
#include "fleet/server/down.h"
#include "store/sandbox_record.h"
#include "surface/native/native.h"
#include "surface/native/sandbox_answer.h"

#define STOP_ALL_MS 20000 /* limit of one call */

struct trash_item {
	const char *kind, *id, *name, *project, *reason;
	int64_t until, size_bytes;
};
static const struct json_member trash_item_shape_members[] = {
        JSON_TEXT_MEMBER(trash_item, kind, .about = "sandbox, snapshot or layer"),
        JSON_TEXT_MEMBER(trash_item, id),
        JSON_TEXT_MEMBER(trash_item, name, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(trash_item, project, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(trash_item, reason,
                         .about = "deleted: by a call; orphan: the store has no row for it"),
        JSON_TIME_MEMBER(trash_item, until, .about = "when it is deleted permanently"),
        JSON_WHOLE_MEMBER(trash_item, size_bytes, .about = "-1: not measured yet"),
};
static JSON_SHAPE(trash_item_shape, "TrashItem", trash_item, "A deleted item that can be restored");

static const struct json_member trash_answer_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &trash_item_shape),
};
static JSON_SHAPE(trash_answer, "TrashList", list_answer, "Deleted items that can be restored");

struct trash_query {
	bool all;
};
static const struct json_member trash_query_members[] = {
        JSON_BOOL_MEMBER(trash_query, all,
                         .about = "list all projects and orphans; requires the scope admin"),
};
static JSON_SHAPE(trash_query, "TrashQuery", trash_query, "Whose");

static int trash_list(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct trash_query *query = rq->query;
	struct fleet_trash_list list;
	struct list_answer answer = {0};
	struct trash_item *items;

	(void)body;
	if ((query->all && api_require(rq, SCOPE_ADMIN, err) < 0) ||
	    fleet_trash_list(api_of(rq)->fleet, rq->arena, query->all ? NULL : api_project(rq),
	                     &list, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct trash_item, list.count + 1);
	for (size_t i = 0; i < list.count; i++) {
		const struct fleet_trash_item *from = &list.items[i];

		items[i] = (struct trash_item){from->kind,       from->id,     from->name,
		                               from->project_id, from->reason, from->until,
		                               from->size_bytes};
	}
	answer.items = (struct json_list){items, list.count};
	reply_json(reply, &trash_answer, &answer);
	return 0;
}

struct sandbox_delete_query {
	bool keep;
};
static const struct json_member sandbox_delete_query_members[] = {
        JSON_BOOL_MEMBER(
                sandbox_delete_query, keep,
                .about = "keep the files in the trash for the time of the option deleted_keep, so "
                         "that POST …/undelete can restore them (default: delete immediately)"),
};
static JSON_SHAPE(sandbox_delete_query, "SandboxDeleteQuery", sandbox_delete_query,
                  "Options of a deletion");

static int sandbox_delete(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct sandbox_delete_query *query = rq->query;
	const struct fleet_ref ref = {.project_id = api_project(rq),
	                              .id_or_name = request_param(rq, "id"),
	                              .awaited = api_awaited_if_parking(rq)};

	(void)body;
	if (query->keep ? fleet_delete_kept(api_of(rq)->fleet, rq->arena, &ref, err) < 0
	                : fleet_delete(api_of(rq)->fleet, rq->arena, &ref, SANDBOX_REASON_USER,
	                               err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

static int sandbox_undelete(struct request *rq, const void *body, struct reply *reply,
                            struct error *err)
{
	const struct fleet_ref ref = {api_project(rq), request_param(rq, "id")};
	struct sandbox_record record;

	(void)body;
	if (fleet_undelete(api_of(rq)->fleet, rq->arena, &ref, &record, err) < 0)
		return -1;
	return sandbox_reply(rq, reply, &record);
}

static int trash_recover(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const char *id = request_param(rq, "id");

	(void)body;
	if (!id_is_valid(id))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not an id", id);
	if (fleet_trash_recover(api_of(rq)->fleet, id, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

static const struct json_member stopped_shape_members[] = {
        JSON_WHOLE_MEMBER(fleet_stopped, stopped),
        JSON_WHOLE_MEMBER(fleet_stopped, left,
                          .about = "number of sandboxes that still run; repeat the call"),
};
static JSON_SHAPE(stopped_shape, "StoppedAll", fleet_stopped, "Number of stopped sandboxes");

struct stop_all_query {
	bool for_good;
};
static const struct json_member stop_all_query_members[] = {
        JSON_BOOL_MEMBER(stop_all_query, for_good,
                         .about = "the server is about to end: until one minute after 'drain', "
                                  "creates and starts are refused (503, Retry-After)"),
};
static JSON_SHAPE(stop_all_query, "StopAllQuery", stop_all_query, "Options of a stop");

static int stop_all_sandboxes(struct request *rq, const void *body, struct reply *reply,
                              struct error *err)
{
	const struct stop_all_query *query = rq->query;
	const struct fleet_stop how = {deadline_after(STOP_ALL_MS), query->for_good};
	struct fleet_stopped stopped;

	(void)body;
	if (fleet_stop_all(api_of(rq)->fleet, &how, &stopped, err) < 0)
		return -1;
	reply_json(reply, &stopped_shape, &stopped);
	return 0;
}

#define TAG .tag = "trash"
const struct route trash_routes[] = {
        {HTTP_GET, "/api/sandbox/trash", SCOPE_SANDBOX_READ, ROUTE_SLOW | ROUTE_FILES,
         .query = &trash_query, .answer = &trash_answer, .handle = trash_list, TAG,
         .summary = "List deleted items that can be restored"},
        {HTTP_DELETE, "/api/sandbox/instances/:id", SCOPE_SANDBOX_WRITE, ROUTE_SLOW,
         .query = &sandbox_delete_query, .status = 204, .handle = sandbox_delete,
         .tag = "sandboxes", .summary = "Delete a sandbox and its files"},
        {HTTP_POST, "/api/sandbox/trash/:id/recover", SCOPE_ADMIN, ROUTE_SLOW, .status = 204,
         .handle = trash_recover, TAG,
         .summary = "Restore an orphaned sandbox and create a row for it"},
        {HTTP_POST, "/api/sandbox/instances/:id/undelete", SCOPE_SANDBOX_WRITE,
         ROUTE_SLOW | ROUTE_FILES, .answer = &sandbox_shape, .handle = sandbox_undelete, TAG,
         .summary = "Restore a sandbox that was deleted with keep=true; it is stopped afterwards"},
        {HTTP_POST, "/api/sandbox/stop-all", SCOPE_ADMIN, ROUTE_SLOW, .query = &stop_all_query,
         .answer = &stopped_shape, .handle = stop_all_sandboxes, .tag = "operator",
         .summary = "Stop all sandboxes of all projects; their files are kept"},
        {.path = NULL},
};
