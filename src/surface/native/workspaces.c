/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/workspaces — folders of files that calls and sandboxes share by a name. A workspace is made
 * by its first use, see struct fleet_create, and its files are a volume. */
#include <string.h>

#include "edge/api.h"
#include "fleet/lease/lease.h"
#include "fleet/volume/volume.h"
#include "sandbox/lease.h"
#include "store/figures.h"
#include "store/volumes.h"
#include "surface/native/native.h"

#define BASE "/v1/workspaces"

struct workspace_answer {
	const char *name, *volume, *volume_id, *node, **sandboxes;
	int64_t used_bytes, created_at;
};
static const struct json_member workspace_shape_members[] = {
        JSON_TEXT_MEMBER(workspace_answer, name),
        JSON_TEXT_MEMBER(workspace_answer, volume, .about = "name of the volume of its files"),
        JSON_TEXT_MEMBER(workspace_answer, volume_id),
        JSON_TEXT_MEMBER(workspace_answer, node, .about = "server that stores the files"),
        JSON_TEXT_LIST_MEMBER(workspace_answer, sandboxes,
                              .about = "ids of the sandboxes that have it now"),
        JSON_WHOLE_MEMBER(workspace_answer, used_bytes,
                          .about = "as last measured; -1: not measured yet"),
        JSON_TIME_MEMBER(workspace_answer, created_at),
};
static JSON_SHAPE(workspace_shape, "Workspace", workspace_answer,
                  "Files that calls and sandboxes share by a name");
static const struct json_member workspaces_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &workspace_shape),
};
static JSON_SHAPE(workspaces_shape, "WorkspaceList", list_answer, "Workspaces, sorted by name");

static const char **list_sandboxes(struct arena *a, const struct mount_list *mounts,
                                   const char *volume_id)
{
	const char **ids = ARENA_ARRAY(a, const char *, mounts->count + 1);
	size_t count = 0;

	for (size_t i = 0; i < mounts->count; i++)
		if (strcmp(mounts->items[i].volume_id, volume_id) == 0)
			ids[count++] = mounts->items[i].sandbox_id;
	return ids;
}

static struct workspace_answer make_answer(struct arena *a, const struct volume_record *r,
                                           const struct mount_list *mounts)
{
	return (struct workspace_answer){
	        .name = r->workspace,
	        .volume = r->name,
	        .volume_id = r->id,
	        .node = r->node,
	        .sandboxes = list_sandboxes(a, mounts, r->id),
	        .used_bytes = -1,
	        .created_at = r->created_at,
	};
}

static int workspaces_list(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	struct store *store = api_of(rq)->store;
	struct workspace_answer *items;
	struct figure_list used;
	struct volume_list found;
	struct mount_list mounts;
	size_t count = 0;

	(void)body;
	if (store_volume_list(store, rq->arena, api_project(rq), &found, err) < 0 ||
	    store_figures(store, rq->arena, FIGURE_VOLUME_BYTES, api_project(rq), &used, err) < 0 ||
	    store_mounts_of_project(store, rq->arena, api_project(rq), &mounts, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct workspace_answer, found.count + 1);
	for (size_t i = 0; i < found.count; i++) {
		if (!*found.items[i].workspace)
			continue;
		items[count] = make_answer(rq->arena, &found.items[i], &mounts);
		items[count++].used_bytes = figure_of(&used, found.items[i].id, -1);
	}
	reply_list(reply, &workspaces_shape, items, count);
	return 0;
}

static int find_workspace(struct request *rq, struct volume_record *ret, struct error *err)
{
	const char *name = request_param(rq, "workspace");
	const char *volume = arena_format(rq->arena, FLEET_WORKSPACE_PREFIX "%s", name);

	if (store_volume_find(api_of(rq)->store, rq->arena, api_project(rq), volume, ret, err) ==
	    0) {
		if (strcmp(ret->workspace, name) == 0)
			return 0;
	} else if (err->code != ERROR_NOT_FOUND) {
		return -1;
	}
	error_clear(err);
	return FAIL_MISSING(err, "workspace", name);
}

static int workspace_get(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	struct store *store = api_of(rq)->store;
	struct figure_list used;
	struct mount_list mounts;
	struct volume_record r;
	struct workspace_answer out;

	(void)body;
	if (find_workspace(rq, &r, err) < 0 ||
	    store_figures(store, rq->arena, FIGURE_VOLUME_BYTES, api_project(rq), &used, err) < 0 ||
	    store_mounts_of_volume(store, rq->arena, r.id, &mounts, err) < 0)
		return -1;
	out = make_answer(rq->arena, &r, &mounts);
	out.used_bytes = figure_of(&used, r.id, -1);
	reply_json(reply, &workspace_shape, &out);
	return 0;
}

/* The workspace's own lease goes first: its sandbox has the volume. */
static int workspace_delete(struct request *rq, const void *body, struct reply *reply,
                            struct error *err)
{
	struct volume_record r;
	struct fleet_ref ref = {.project_id = api_project(rq),
	                        .awaited = api_awaited_if_parking(rq)};
	struct lease_ref lease = {.project_id = api_project(rq)};

	(void)body;
	if (find_workspace(rq, &r, err) < 0)
		return -1;
	ref.id_or_name = r.id;
	lease.key = lease_workspace_key(rq->arena, r.workspace);
	if (fleet_lease_delete(api_of(rq)->fleet, rq->arena, &lease, err) < 0 &&
	    err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	if (fleet_volume_remove(api_of(rq)->fleet, rq->arena, &ref, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "volumes"
const struct route workspaces_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &workspaces_shape, .handle = workspaces_list,
         TAG, .summary = "List workspaces"},
        {HTTP_GET, BASE "/:workspace", SCOPE_SANDBOX_READ, .answer = &workspace_shape,
         .handle = workspace_get, TAG, .summary = "Get a workspace"},
        {HTTP_DELETE, BASE "/:workspace", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES,
         .status = 204, .handle = workspace_delete, TAG,
         .summary = "Delete a workspace with its files and the sandbox that is reserved for it; no "
                    "other sandbox may have it"},
        {.path = NULL},
};
