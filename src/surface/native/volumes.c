/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/volumes — storage that outlives sandboxes, and …/instances/:id/volume — the volumes
 * of a sandbox. Files of volumes are in files.c. */
#include <string.h>

#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/volume/volume.h"
#include "store/figures.h"
#include "store/sandbox_record.h"
#include "surface/native/native.h"

#define BASE "/api/sandbox/volumes"
#define INSTANCE "/api/sandbox/instances/:id/volume"

struct volume_mount_answer {
	const char *volume, *volume_id, *sandbox, *sandbox_id, *sandbox_state, *path, *subpath;
	bool read_only;
	int64_t attached_at;
};
static const struct json_member mount_shape_members[] = {
        JSON_TEXT_MEMBER(volume_mount_answer, volume, .about = "name"),
        JSON_TEXT_MEMBER(volume_mount_answer, volume_id),
        JSON_TEXT_MEMBER(volume_mount_answer, sandbox, .about = "name"),
        JSON_TEXT_MEMBER(volume_mount_answer, sandbox_id),
        JSON_TEXT_MEMBER(volume_mount_answer, sandbox_state),
        JSON_TEXT_MEMBER(volume_mount_answer, path, .about = "mount point in the sandbox"),
        JSON_TEXT_MEMBER(
                volume_mount_answer, subpath, .flags = JSON_OMIT_EMPTY,
                .about = "mounted folder of the volume; absent if the whole volume is mounted"),
        JSON_BOOL_MEMBER(volume_mount_answer, read_only),
        JSON_TIME_MEMBER(volume_mount_answer, attached_at),
};
static JSON_SHAPE(mount_shape, "VolumeMount", volume_mount_answer, "A volume mounted in a sandbox");

static const struct json_member mounts_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &mount_shape),
};
static JSON_SHAPE(mounts_shape, "VolumeMountList", list_answer, "List the volumes of a sandbox");

struct volume_answer {
	const char *id, *name, *project, *provider, *node, *state, *workspace;
	int64_t size_mb;
	bool size_advisory;
	int64_t used_bytes;
	int64_t created_at, updated_at;
	struct json_list attachments;
};
#define VOLUME_ROWS                                                                                \
	JSON_TEXT_MEMBER(volume_answer, id), JSON_TEXT_MEMBER(volume_answer, name),                \
	        JSON_TEXT_MEMBER(volume_answer, project),                                          \
	        JSON_TEXT_MEMBER(volume_answer, provider),                                         \
	        JSON_TEXT_MEMBER(volume_answer, node, .about = "server that stores the volume"),   \
	        JSON_TEXT_MEMBER(volume_answer, state, .about = "making, ready or deleting"),      \
	        JSON_TEXT_MEMBER(volume_answer, workspace, .flags = JSON_OMIT_EMPTY,               \
	                         .about = "workspace whose files it keeps; absent: none"),         \
	        JSON_WHOLE_MEMBER(volume_answer, size_mb, .about = "MiB"),                         \
	        JSON_BOOL_MEMBER(volume_answer, size_advisory,                                     \
	                         .about = "the size limit is not enforced"),                       \
	        JSON_TIME_MEMBER(volume_answer, created_at),                                       \
	        JSON_TIME_MEMBER(volume_answer, updated_at),                                       \
	        JSON_LIST_MEMBER(volume_answer, attachments, &mount_shape,                         \
	                         .about =                                                          \
	                                 "sandboxes that have the volume, including stopped ones")
static const struct json_member volume_shape_members[] = {VOLUME_ROWS};
static JSON_SHAPE(volume_shape, "Volume", volume_answer, "Storage that outlives sandboxes");
static const struct json_member volume_usage_shape_members[] = {
        VOLUME_ROWS,
        JSON_WHOLE_MEMBER(volume_answer, used_bytes, .about = "-1: too many files to measure"),
};
static JSON_SHAPE(volume_usage_shape, "VolumeUsage", volume_answer, "A volume and its used space");

static const struct json_member listed_volume_shape_members[] = {
        VOLUME_ROWS,
        JSON_WHOLE_MEMBER(volume_answer, used_bytes,
                          .about = "as last measured; -1: not measured yet"),
};
static JSON_SHAPE(listed_volume_shape, "ListedVolume", volume_answer,
                  "A volume and its used space at the last measurement");

static const struct json_member volumes_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &listed_volume_shape),
};
static JSON_SHAPE(volumes_shape, "VolumeList", list_answer, "Volumes, sorted by name");

struct volume_create_body {
	const char *name;
	int64_t size_mb;
};
static const struct json_member create_request_members[] = {
        JSON_TEXT_MEMBER(volume_create_body, name, .flags = JSON_REQUIRED, .max = SANDBOX_NAME_MAX,
                         .about = "unique in the project"),
        JSON_WHOLE_MEMBER(volume_create_body, size_mb, .min = 1, .max = 1 << 28,
                          .about = "size limit in MiB (default: no limit)", .example = "1024"),
};
static JSON_SHAPE(create_request, "VolumeCreate", volume_create_body, "A volume to create");

struct volume_grow_body {
	int64_t size_mb;
};
static const struct json_member grow_request_members[] = {
        JSON_WHOLE_MEMBER(volume_grow_body, size_mb, .flags = JSON_REQUIRED, .min = 1,
                          .max = 1 << 28, .about = "MiB; not less than the current size",
                          .example = "2048"),
};
static JSON_SHAPE(grow_request, "VolumeGrow", volume_grow_body, "New size of a volume");

struct volume_attach_body {
	const char *volume, *path, *subpath;
	bool read_only;
};
static const struct json_member attach_request_members[] = {
        JSON_TEXT_MEMBER(volume_attach_body, volume, .flags = JSON_REQUIRED,
                         .max = SANDBOX_NAME_MAX, .about = "name or id"),
        JSON_TEXT_MEMBER(volume_attach_body, path, .max = SANDBOX_MOUNT_PATH_MAX,
                         .about = "absolute mount point (default /workspace)",
                         .example = "/workspace"),
        JSON_BOOL_MEMBER(volume_attach_body, read_only,
                         .about = "mount read-only; any number of sandboxes may read a volume"),
        JSON_TEXT_MEMBER(volume_attach_body, subpath, .max = SANDBOX_MOUNT_PATH_MAX,
                         .about = "folder of the volume to mount, created if missing (default: the "
                                  "whole volume)",
                         .example = "users/alice"),
};
static JSON_SHAPE(attach_request, "VolumeAttach", volume_attach_body,
                  "A volume to attach, and its mount point");

struct volume_detach_query {
	const char *volume;
	bool force;
};
static const struct json_member volume_detach_query_members[] = {
        JSON_TEXT_MEMBER(volume_detach_query, volume, .max = SANDBOX_MOUNT_PATH_MAX,
                         .about = "name, id or mount point (default: the only volume)"),
        JSON_BOOL_MEMBER(volume_detach_query, force,
                         .about = "detach although processes use the volume; open files stay open"),
};
static JSON_SHAPE(volume_detach_query, "VolumeDetachQuery", volume_detach_query,
                  "Volume to detach");

static struct volume_mount_answer make_mount_answer(const struct mount_record *m)
{
	return (struct volume_mount_answer){
	        .volume = m->volume_name,
	        .volume_id = m->volume_id,
	        .sandbox = m->sandbox_name,
	        .sandbox_id = m->sandbox_id,
	        .sandbox_state = sandbox_state_name(m->sandbox_state),
	        .path = m->path,
	        .subpath = m->subpath,
	        .read_only = m->is_read_only,
	        .attached_at = m->created_at,
	};
}

/* The mounts of this volume; NULL: all mounts. */
static struct json_list make_mount_list(struct arena *a, const struct mount_list *mounts,
                                        const char *volume_id)
{
	struct volume_mount_answer *items =
	        ARENA_ARRAY(a, struct volume_mount_answer, mounts->count + 1);
	size_t count = 0;

	for (size_t i = 0; i < mounts->count; i++)
		if (!volume_id || strcmp(mounts->items[i].volume_id, volume_id) == 0)
			items[count++] = make_mount_answer(&mounts->items[i]);
	return (struct json_list){items, count, true};
}

static struct volume_answer make_volume_answer(struct arena *a, const struct volume_record *r,
                                               const struct mount_list *mounts)
{
	return (struct volume_answer){
	        .id = r->id,
	        .name = r->name,
	        .project = r->project_id,
	        .provider = r->provider,
	        .node = r->node,
	        .state = volume_state_name(r->state),
	        .workspace = r->workspace,
	        .size_mb = r->size_mb,
	        .size_advisory = r->size_is_advisory,
	        .created_at = r->created_at,
	        .updated_at = r->updated_at,
	        .attachments = make_mount_list(a, mounts, r->id),
	};
}

static struct fleet_ref path_ref(struct request *rq, const char *name)
{
	return (struct fleet_ref){api_project(rq), request_param(rq, name), NULL,
	                          api_awaited_if_parking(rq)};
}

static int volumes_list(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	struct store *store = api_of(rq)->store;
	struct volume_answer *items;
	struct figure_list used;
	struct volume_list found;
	struct mount_list mounts;

	(void)body;
	if (store_volume_list(store, rq->arena, api_project(rq), &found, err) < 0 ||
	    store_figures(store, rq->arena, FIGURE_VOLUME_BYTES, api_project(rq), &used, err) < 0 ||
	    store_mounts_of_project(store, rq->arena, api_project(rq), &mounts, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct volume_answer, found.count + 1);
	for (size_t i = 0; i < found.count; i++) {
		items[i] = make_volume_answer(rq->arena, &found.items[i], &mounts);
		items[i].used_bytes = figure_of(&used, found.items[i].id, -1);
	}
	reply_list(reply, &volumes_shape, items, found.count);
	return 0;
}

static int volume_create(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct volume_create_body *b = body;
	const struct fleet_volume request = {
	        .project_id = api_project(rq), .name = b->name, .size_mb = b->size_mb};
	const struct mount_list none = {.count = 0};
	struct volume_record made;
	struct volume_answer out;

	if (fleet_volume_create(api_of(rq)->fleet, rq->arena, &request, &made, err) < 0)
		return -1;
	out = make_volume_answer(rq->arena, &made, &none);
	reply_status(reply, 201);
	reply_json(reply, &volume_shape, &out);
	return 0;
}

static int volume_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct fleet_ref ref = path_ref(rq, "volume");
	struct store *store = api_of(rq)->store;
	struct volume_record record;
	struct mount_list mounts;
	struct volume_answer out;
	uint64_t used = UINT64_MAX;

	(void)body;
	if (store_volume_find(store, rq->arena, ref.project_id, ref.id_or_name, &record, err) < 0 ||
	    store_mounts_of_volume(store, rq->arena, record.id, &mounts, err) < 0)
		return -1;
	if (record.state == VOLUME_READY &&
	    fleet_volume_usage(api_of(rq)->fleet, rq->arena, &ref, &used, err) < 0)
		return -1;
	out = make_volume_answer(rq->arena, &record, &mounts);
	out.used_bytes = used > INT64_MAX ? -1 : (int64_t)used;
	reply_json(reply, &volume_usage_shape, &out);
	return 0;
}

static int volume_patch(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct volume_grow_body *b = body;
	const struct fleet_ref ref = path_ref(rq, "volume");
	struct volume_record record;
	struct mount_list mounts;
	struct volume_answer out;

	if (fleet_volume_grow(api_of(rq)->fleet, rq->arena, &ref, b->size_mb, &record, err) < 0 ||
	    store_mounts_of_volume(api_of(rq)->store, rq->arena, record.id, &mounts, err) < 0)
		return -1;
	out = make_volume_answer(rq->arena, &record, &mounts);
	reply_json(reply, &volume_shape, &out);
	return 0;
}

static int volume_delete(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct fleet_ref ref = path_ref(rq, "volume");

	(void)body;
	if (fleet_volume_remove(api_of(rq)->fleet, rq->arena, &ref, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

static int reply_mounts(struct request *rq, struct reply *reply, struct error *err)
{
	const struct fleet_ref ref = path_ref(rq, "id");
	struct sandbox_record record;
	struct mount_list mounts;

	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &record, err) < 0 ||
	    store_mounts_of_sandbox(api_of(rq)->store, rq->arena, record.id, &mounts, err) < 0)
		return -1;
	reply_page(reply, &mounts_shape, make_mount_list(rq->arena, &mounts, NULL), NULL);
	return 0;
}

static int mounts_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	(void)body;
	return reply_mounts(rq, reply, err);
}

static int volume_attach(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct volume_attach_body *b = body;
	const struct fleet_ref ref = path_ref(rq, "id");
	const struct fleet_mount mount = {b->volume, b->path, b->subpath, b->read_only};

	if (fleet_volume_attach(api_of(rq)->fleet, rq->arena, &ref, &mount, err) < 0)
		return -1;
	return reply_mounts(rq, reply, err);
}

static int volume_detach(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct volume_detach_query *q = rq->query;
	const struct fleet_ref ref = path_ref(rq, "id");
	const struct fleet_detach request = {q->volume, q->force};

	(void)body;
	if (fleet_volume_detach(api_of(rq)->fleet, rq->arena, &ref, &request, err) < 0)
		return -1;
	return reply_mounts(rq, reply, err);
}

#define TAG .tag = "volumes"
const struct route volumes_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &volumes_shape, .handle = volumes_list, TAG,
         .summary = "List volumes"},
        {HTTP_POST, BASE, SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES, .body = &create_request,
         .answer = &volume_shape, .status = 201, .handle = volume_create, TAG,
         .summary = "Create a volume"},
        {HTTP_GET, BASE "/:volume", SCOPE_SANDBOX_READ, ROUTE_SLOW | ROUTE_FILES,
         .answer = &volume_usage_shape, .handle = volume_get, TAG,
         .summary = "Get a volume by name or id, with its used space"},
        {HTTP_PATCH, BASE "/:volume", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES,
         .body = &grow_request, .answer = &volume_shape, .handle = volume_patch, TAG,
         .summary = "Raise the size limit of a volume"},
        {HTTP_DELETE, BASE "/:volume", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES, .status = 204,
         .handle = volume_delete, TAG,
         .summary = "Delete a volume and its files; no sandbox may have it attached"},
        {HTTP_GET, INSTANCE, SCOPE_SANDBOX_READ, .answer = &mounts_shape, .handle = mounts_get, TAG,
         .summary = "List the volumes of a sandbox"},
        {HTTP_POST, INSTANCE, SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES,
         .body = &attach_request, .answer = &mounts_shape, .handle = volume_attach, TAG,
         .summary = "Attach a volume to a running or stopped sandbox"},
        {HTTP_DELETE, INSTANCE, SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES,
         .query = &volume_detach_query, .answer = &mounts_shape, .handle = volume_detach, TAG,
         .summary = "Detach a volume from a sandbox"},
        {.path = NULL},
};
