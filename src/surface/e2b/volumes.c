/* SPDX-License-Identifier: Apache-2.0 */
/* /volumes — create, list and remove volumes. volume_content.c serves their files. */
#include "fleet/core/access.h"
#include "fleet/volume/volume.h"
#include "json/json.h"
#include "json/write.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/routes.h"

struct e2b_volume_body {
	const char *name;
};
static const struct json_member volume_request_members[] = {
        JSON_TEXT_MEMBER(e2b_volume_body, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = SANDBOX_NAME_MAX),
};
static JSON_OPEN_SHAPE(volume_request, "E2bNewVolume", e2b_volume_body, "A volume to create");

struct e2b_volume_answer {
	const char *volume_id, *name, *token;
};
static const struct json_member listed_shape_members[] = {
        JSON_TEXT_MEMBER(e2b_volume_answer, volume_id, .name = "volumeID"),
        JSON_TEXT_MEMBER(e2b_volume_answer, name),
};
static JSON_SHAPE(listed_shape, "E2bVolume", e2b_volume_answer, "A volume");
static const struct json_member volume_shape_members[] = {
        JSON_TEXT_MEMBER(e2b_volume_answer, volume_id, .name = "volumeID"),
        JSON_TEXT_MEMBER(e2b_volume_answer, name),
        JSON_TEXT_MEMBER(e2b_volume_answer, token),
};
static JSON_SHAPE(volume_shape, "E2bVolumeAndToken", e2b_volume_answer,
                  "A volume and the token for its files");

static void reply_volume(struct request *rq, struct reply *reply, const struct volume_record *r)
{
	char token[FLEET_ACCESS_TOKEN_SIZE + 1];
	const struct e2b_volume_answer out = {r->id, r->name, token};

	fleet_access_token(api_of(rq)->fleet, r->id, FLEET_ACCESS_VOLUME, token);
	reply_json(reply, &volume_shape, &out);
}

static int create_volume(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct e2b_volume_body *b = body;
	const struct fleet_volume request = {.project_id = api_project(rq), .name = b->name};
	struct volume_record record;

	if (fleet_volume_create(api_of(rq)->fleet, rq->arena, &request, &record, err) < 0)
		return -1;
	reply_status(reply, 201);
	reply_volume(rq, reply, &record);
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
		const struct e2b_volume_answer item = {found.items[i].id, found.items[i].name,
		                                       NULL};

		json_add_struct(out, NULL, &listed_shape, &item);
	}
	json_end_list(out);
	return 0;
}

static int get_volume(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	struct volume_record record;

	if (store_volume_find(api_of(rq)->store, rq->arena, api_project(rq),
	                      request_param(rq, "id"), &record, err) < 0)
		return -1;
	reply_volume(rq, reply, &record);
	return 0;
}

static int delete_volume(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	struct fleet_ref ref = api_path_ref(rq);

	ref.awaited = api_awaited_if_parking(rq);
	if (fleet_volume_remove(api_of(rq)->fleet, rq->arena, &ref, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

#define WRITE SCOPE_SANDBOX_WRITE
const struct route e2b_volumes_routes[] = {
        {HTTP_POST, "/volumes", WRITE, ROUTE_SLOW | ROUTE_FILES | ROUTE_HIDDEN,
         .body = &volume_request, .status = 201, .handle = create_volume, E2B_ROW},
        {HTTP_GET, "/volumes", SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .handle = list_volumes, E2B_ROW},
        /* The answer contains the token, so the call needs the write scope. */
        {HTTP_GET, "/volumes/:id", WRITE, ROUTE_HIDDEN, .handle = get_volume, E2B_ROW},
        {HTTP_DELETE, "/volumes/:id", WRITE, ROUTE_SLOW | ROUTE_FILES | ROUTE_HIDDEN, .status = 204,
         .handle = delete_volume, E2B_ROW},
        {.path = NULL},
};
