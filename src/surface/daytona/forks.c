/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/api/sandbox/:id/{forks,parent,ancestors} — the relations between forks. */
#include "fleet/core/sandboxes.h"
#include "json/write.h"
#include "store/sandbox_record.h"
#include "store/snapshots.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"

#define SANDBOX DAYTONA_API "/sandbox/:id"
#define ANCESTORS_MAX 64

static int find_sandbox(struct request *rq, struct sandbox_record *ret, struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);

	return fleet_find(api_of(rq)->fleet, rq->arena, &ref, ret, err);
}

struct forks_query {
	bool with_deleted;
};
static const struct json_member forks_query_members[] = {
        JSON_BOOL_MEMBER(forks_query, with_deleted, .name = "includeDestroyed"),
};
static JSON_OPEN_SHAPE(forks_query, "DaytonaForksQuery", forks_query, "The forks to list");

static int list_forks(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	const struct forks_query *q = rq->query;
	struct buf *out = reply_buf(reply, "application/json");
	struct fork_search search = {.project_id = api_project(rq),
	                             .with_deleted = q->with_deleted};
	struct sandbox_record record;
	struct sandbox_list found;

	if (find_sandbox(rq, &record, err) < 0)
		return -1;
	search.sandbox_id = record.id;
	if (store_sandbox_forks(api_of(rq)->store, rq->arena, &search, &found, err) < 0)
		return -1;
	return daytona_sandboxes_write(rq, out, &found, err);
}

/* Finds the sandbox that `child` is a fork of. ERROR_NOT_FOUND if `child` is no fork or the parent
 * is deleted. */
static int find_parent(struct request *rq, const char *child, struct sandbox_record *ret,
                       struct error *err)
{
	struct fleet_ref ref = {.project_id = api_project(rq)};

	if (store_sandbox_parent(api_of(rq)->store, rq->arena, child, &ref.id_or_name, err) < 0)
		return -1;
	if (!ref.id_or_name[0])
		return FAIL(err, ERROR_NOT_FOUND, "sandbox '%s' is not a fork", child);
	return fleet_find(api_of(rq)->fleet, rq->arena, &ref, ret, err);
}

static int get_parent(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	struct sandbox_record record, above;

	if (find_sandbox(rq, &record, err) < 0 || find_parent(rq, record.id, &above, err) < 0)
		return -1;
	return daytona_sandbox_reply(rq, reply, &above, err);
}

/* The nearest first, up to the first deleted one. */
static int list_ancestors(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	struct sandbox_record record, above;

	if (find_sandbox(rq, &record, err) < 0)
		return -1;
	json_begin_list(out, NULL);
	for (unsigned i = 0; i < ANCESTORS_MAX; i++) {
		if (find_parent(rq, record.id, &above, err) < 0)
			break;
		if (daytona_sandbox_write(rq, out, &above, err) < 0)
			return -1;
		record = above;
	}
	if (err->code != ERROR_NONE && err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	json_end_list(out);
	return 0;
}

#define READ SCOPE_SANDBOX_READ, ROUTE_HIDDEN
#define TAG .tag = "daytona"
const struct route daytona_forks_routes[] = {
        {HTTP_GET, SANDBOX "/forks", READ, .query = &forks_query, .handle = list_forks, TAG,
         .summary = "List the forks of a sandbox, oldest first"},
        {HTTP_GET, SANDBOX "/parent", READ, .handle = get_parent, TAG,
         .summary = "Get the sandbox that this one was forked from"},
        {HTTP_GET, SANDBOX "/ancestors", READ, .handle = list_ancestors, TAG,
         .summary = "List the parent of a sandbox, its parent, and so on"},
        {.path = NULL},
};
