/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/api/warm-pools — pools of prepared sandboxes, one for each template. The id of a pool is
 * that of its template. */
#include <string.h>

#include "config/config.h"
#include "fleet/template/pools.h"
#include "json/write.h"
#include "store/templates.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"

#define BASE DAYTONA_API "/warm-pools"
#define MB_PER_GB 1024.0

struct pool_dto {
	const char *id, *organization, *snapshot, *target, *user;
	int64_t pool, current;
	double cpu, memory, disk;
	struct span env;
	const char *error_reason;
	int64_t created_at, updated_at;
};
static const struct json_member pool_dto_shape_members[] = {
        JSON_TEXT_MEMBER(pool_dto, id),
        JSON_TEXT_MEMBER(pool_dto, organization, .name = "organizationId"),
        JSON_TEXT_MEMBER(pool_dto, snapshot),
        JSON_TEXT_MEMBER(pool_dto, target),
        JSON_WHOLE_MEMBER(pool_dto, pool),
        JSON_WHOLE_MEMBER(pool_dto, current, .name = "currentSize"),
        JSON_NUMBER_MEMBER(pool_dto, cpu),
        JSON_NUMBER_MEMBER(pool_dto, memory, .name = "mem"),
        JSON_NUMBER_MEMBER(pool_dto, disk),
        JSON_TEXT_MEMBER(pool_dto, user, .name = "osUser"),
        JSON_RAW_MEMBER(pool_dto, env),
        JSON_TEXT_MEMBER(pool_dto, error_reason, .name = "errorReason", .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(pool_dto, created_at, .name = "createdAt"),
        JSON_TIME_MEMBER(pool_dto, updated_at, .name = "updatedAt"),
};
static JSON_SHAPE(pool_dto_shape, "DaytonaWarmPool", pool_dto, "A pool of prepared sandboxes");

/* A pool that is not filled yet shows the template's resources. */
static int describe_pool(struct request *rq, const struct fleet_pool *pool, struct pool_dto *ret,
                         struct error *err)
{
	const struct provider_pool *held = &pool->state;
	const struct sandbox_resources *resources = &held->resources;
	struct template_record t;

	if (store_template_find(api_of(rq)->store, rq->arena, api_project(rq), pool->template_id,
	                        &t, err) < 0)
		return -1;
	if (resources->memory_mb == 0)
		resources = &t.resources;
	*ret = (struct pool_dto){
	        .id = t.id,
	        .organization = api_project(rq),
	        .snapshot = t.name,
	        .target = api_of(rq)->config->region,
	        .user = t.user[0] ? t.user : "root",
	        .pool = held->target,
	        .current = held->ready,
	        .cpu = resources->cpu,
	        .memory = (double)resources->memory_mb / MB_PER_GB,
	        .disk = (double)resources->disk_mb / MB_PER_GB,
	        .env = SPAN("{}"),
	        .error_reason = t.state == TEMPLATE_FAILED ? t.state_text : NULL,
	        .created_at = t.created_at,
	        .updated_at = t.updated_at,
	};
	return 0;
}

/* Returns NULL if the template has no pool. */
static const struct fleet_pool *find_pool(const struct fleet_pools *pools, const char *name)
{
	for (size_t i = 0; i < pools->count; i++) {
		const struct fleet_pool *pool = &pools->items[i];

		if (strcmp(pool->template_id, name) == 0 || strcmp(pool->template_name, name) == 0)
			return pool;
	}
	return NULL;
}

static int load_pools(struct request *rq, struct fleet_pools *ret, struct error *err)
{
	return fleet_pools_list(api_of(rq)->fleet, rq->arena, api_project(rq), false, ret, err);
}

static int list_pools(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	struct fleet_pools found;
	struct pool_dto dto;

	if (load_pools(rq, &found, err) < 0)
		return -1;
	json_begin_list(out, NULL);
	for (size_t i = 0; i < found.count; i++) {
		if (describe_pool(rq, &found.items[i], &dto, err) < 0) {
			if (err->code != ERROR_NOT_FOUND)
				return -1;
			error_clear(err); /* its template was deleted meanwhile */
			continue;
		}
		json_add_struct(out, NULL, &pool_dto_shape, &dto);
	}
	json_end_list(out);
	return 0;
}

/* Sets a fixed size, independent of demand. */
static int set_pool_size(struct request *rq, const char *template, int64_t count,
                         struct pool_dto *ret, struct error *err)
{
	struct fleet_pool_change change = {
	        .template = {.project_id = api_project(rq), .id_or_name = template},
	        .may_change_shared = (api_account(rq)->scopes & SCOPE_ADMIN) != 0,
	};
	struct fleet_pool pool;

	if (fleet_pool_size(count, count, count, &change.size, err) < 0 ||
	    fleet_pool_set(api_of(rq)->fleet, rq->arena, &change, &pool, err) < 0)
		return -1;
	return describe_pool(rq, &pool, ret, err);
}

struct warm_pool_create_body {
	const char *snapshot, *target;
	int64_t pool;
};
static const struct json_member create_request_members[] = {
        JSON_TEXT_MEMBER(warm_pool_create_body, snapshot, .flags = JSON_REQUIRED, .min = 1,
                         .max = 128),
        JSON_TEXT_MEMBER(warm_pool_create_body, target, .flags = JSON_NULLABLE, .max = 64),
        JSON_WHOLE_MEMBER(warm_pool_create_body, pool, .flags = JSON_REQUIRED, .min = 1,
                          .max = FLEET_POOL_MAX),
};
static JSON_OPEN_SHAPE(create_request, "DaytonaWarmPoolCreate", warm_pool_create_body,
                       "The pool to create");

static int create_pool(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct warm_pool_create_body *b = body;
	const char *region = api_of(rq)->config->region;
	struct fleet_pools found;
	struct pool_dto dto;

	if (b->target && b->target[0] && strcmp(b->target, region) != 0)
		return FAIL(err, ERROR_INVALID, "target: this server prepares sandboxes in '%s'",
		            region);
	if (load_pools(rq, &found, err) < 0)
		return -1;
	if (find_pool(&found, b->snapshot))
		return FAIL(err, ERROR_CONFLICT, "'%s' has a warm pool already: change its size",
		            b->snapshot);
	if (set_pool_size(rq, b->snapshot, b->pool, &dto, err) < 0)
		return -1;
	reply_json(reply, &pool_dto_shape, &dto);
	reply_status(reply, 201);
	return 0;
}

static int find_named_template(struct request *rq, const char **ret, struct error *err)
{
	const struct fleet_pool *pool;
	struct fleet_pools found;

	if (load_pools(rq, &found, err) < 0)
		return -1;
	pool = find_pool(&found, request_param(rq, "id"));
	if (!pool)
		return FAIL(err, ERROR_NOT_FOUND, "no warm pool '%s'", request_param(rq, "id"));
	*ret = pool->template_id;
	return 0;
}

struct warm_pool_update_body {
	int64_t pool;
};
static const struct json_member update_request_members[] = {
        JSON_WHOLE_MEMBER(warm_pool_update_body, pool, .flags = JSON_REQUIRED,
                          .max = FLEET_POOL_MAX),
};
static JSON_OPEN_SHAPE(update_request, "DaytonaWarmPoolUpdate", warm_pool_update_body,
                       "The new size");

static int update_pool(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct warm_pool_update_body *b = body;
	const char *template;
	struct pool_dto dto;

	if (find_named_template(rq, &template, err) < 0 ||
	    set_pool_size(rq, template, b->pool, &dto, err) < 0)
		return -1;
	reply_json(reply, &pool_dto_shape, &dto);
	return 0;
}

static int remove_pool(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const char *template;
	struct pool_dto dto;

	if (find_named_template(rq, &template, err) < 0 ||
	    set_pool_size(rq, template, 0, &dto, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

#define WRITE SCOPE_TEMPLATE_WRITE, ROUTE_HIDDEN
#define TAG .tag = "daytona"
const struct route daytona_warm_pools_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, ROUTE_HIDDEN, .handle = list_pools, TAG,
         .summary = "List warm pools"},
        {HTTP_POST, BASE, WRITE, .body = &create_request, .answer = &pool_dto_shape, .status = 201,
         .handle = create_pool, TAG, .summary = "Create a warm pool for a template"},
        {HTTP_PATCH, BASE "/:id", WRITE, .body = &update_request, .answer = &pool_dto_shape,
         .handle = update_pool, TAG, .summary = "Change the size of a warm pool"},
        {HTTP_DELETE, BASE "/:id", WRITE, .status = 204, .handle = remove_pool, TAG,
         .summary = "Delete a warm pool"},
        {.path = NULL},
};
