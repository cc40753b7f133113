/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/api/volumes — storage that outlives sandboxes. */
#include "fleet/volume/volume.h"
#include "json/write.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"

#define BASE DAYTONA_API "/volumes"

struct volume_dto {
	const char *id, *name, *organization, *state, *error_reason;
	int64_t created_at, updated_at, used_at;
};
static const struct json_member volume_shape_members[] = {
        JSON_TEXT_MEMBER(volume_dto, id),
        JSON_TEXT_MEMBER(volume_dto, name),
        JSON_TEXT_MEMBER(volume_dto, organization, .name = "organizationId"),
        JSON_TEXT_MEMBER(volume_dto, state),
        JSON_TIME_MEMBER(volume_dto, created_at, .name = "createdAt"),
        JSON_TIME_MEMBER(volume_dto, updated_at, .name = "updatedAt"),
        JSON_TIME_MEMBER(volume_dto, used_at, .name = "lastUsedAt", .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(volume_dto, error_reason, .name = "errorReason", .flags = JSON_NULLABLE),
};
static JSON_SHAPE(volume_shape, "DaytonaVolume", volume_dto, "A volume");

static const char *const states[VOLUME_STATE_COUNT] = {
        [VOLUME_MAKING] = "creating",
        [VOLUME_READY] = "ready",
        [VOLUME_DELETING] = "deleting",
};

static struct volume_dto dto_of(const struct volume_record *r)
{
	return (struct volume_dto){
	        .id = r->id,
	        .name = r->name,
	        .organization = r->project_id,
	        .state = states[r->state],
	        .created_at = r->created_at,
	        .updated_at = r->updated_at,
	};
}

static int reply_volume(struct reply *reply, const struct volume_record *r)
{
	const struct volume_dto dto = dto_of(r);

	reply_json(reply, &volume_shape, &dto);
	return 0;
}

static int list_volumes(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	struct volume_list found;

	if (store_volume_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	json_begin_list(out, NULL);
	for (size_t i = 0; i < found.count; i++) {
		const struct volume_dto dto = dto_of(&found.items[i]);

		json_add_struct(out, NULL, &volume_shape, &dto);
	}
	json_end_list(out);
	return 0;
}

struct daytona_volume_body {
	const char *name;
};
static const struct json_member create_request_members[] = {
        JSON_TEXT_MEMBER(daytona_volume_body, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = SANDBOX_NAME_MAX),
};
static JSON_OPEN_SHAPE(create_request, "DaytonaVolumeCreate", daytona_volume_body,
                       "A volume to create");

static int create_volume(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct daytona_volume_body *b = body;
	const struct fleet_volume request = {.project_id = api_project(rq), .name = b->name};
	struct volume_record made;

	if (fleet_volume_create(api_of(rq)->fleet, rq->arena, &request, &made, err) < 0)
		return -1;
	return reply_volume(reply, &made);
}

static int find_volume(struct request *rq, const char *name, struct volume_record *ret,
                       struct error *err)
{
	return store_volume_find(api_of(rq)->store, rq->arena, api_project(rq),
	                         request_param(rq, name), ret, err);
}

static int get_volume(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	struct volume_record found;

	return find_volume(rq, "id", &found, err) < 0 ? -1 : reply_volume(reply, &found);
}

static int get_volume_by_name(struct request *rq, UNUSED const void *body, struct reply *reply,
                              struct error *err)
{
	struct volume_record found;

	return find_volume(rq, "name", &found, err) < 0 ? -1 : reply_volume(reply, &found);
}

static int delete_volume(struct request *rq, UNUSED const void *body, UNUSED struct reply *reply,
                         struct error *err)
{
	struct fleet_ref ref = api_path_ref(rq);

	ref.awaited = api_awaited_if_parking(rq);
	return fleet_volume_remove(api_of(rq)->fleet, rq->arena, &ref, err);
}

#define READ SCOPE_SANDBOX_READ, ROUTE_HIDDEN
#define SLOW SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES | ROUTE_HIDDEN
#define TAG .tag = "daytona"
const struct route daytona_volumes_routes[] = {
        {HTTP_GET, BASE, READ, .handle = list_volumes, TAG, .summary = "List volumes"},
        {HTTP_POST, BASE, SLOW, .body = &create_request, .handle = create_volume, TAG,
         .summary = "Create a volume"},
        {HTTP_GET, BASE "/by-name/:name", READ, .handle = get_volume_by_name, TAG,
         .summary = "Get a volume by its name"},
        {HTTP_GET, BASE "/:id", READ, .handle = get_volume, TAG, .summary = "Get a volume"},
        {HTTP_DELETE, BASE "/:id", SLOW, .handle = delete_volume, TAG,
         .summary = "Delete a volume and its files"},
        {.path = NULL},
};
