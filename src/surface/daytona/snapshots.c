/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/api/snapshots — Daytona's snapshots, from which sandboxes are created: Atoll's templates
 * and snapshots. Also the calls that take a snapshot or make a fork. */
#include <string.h>

#include "fleet/build/build.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/fork.h"
#include "fleet/snapshot/snapshots.h"
#include "fleet/template/templates.h"
#include "json/write.h"
#include "store/builds.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"

#define BASE DAYTONA_API "/snapshots"
#define SANDBOX DAYTONA_API "/sandbox/:id"
#define PAGE_MAX 1000

struct snapshot_dto {
	const char *id, *organization, *name, *image, *state, *error_reason, *source;
	bool is_general;
	double size, cpu, gpu, memory, disk;
	int64_t created_at, updated_at, used_at;
	const char *sandbox_class;
	struct span entrypoint;
};
static const struct json_member snapshot_dto_shape_members[] = {
        JSON_TEXT_MEMBER(snapshot_dto, id),
        JSON_TEXT_MEMBER(snapshot_dto, organization, .name = "organizationId",
                         .flags = JSON_OMIT_EMPTY),
        JSON_BOOL_MEMBER(snapshot_dto, is_general, .name = "general"),
        JSON_TEXT_MEMBER(snapshot_dto, name),
        JSON_TEXT_MEMBER(snapshot_dto, image, .name = "imageName", .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(snapshot_dto, state),
        JSON_NUMBER_MEMBER(snapshot_dto, size),
        JSON_RAW_MEMBER(snapshot_dto, entrypoint),
        JSON_NUMBER_MEMBER(snapshot_dto, cpu),
        JSON_NUMBER_MEMBER(snapshot_dto, gpu),
        JSON_NUMBER_MEMBER(snapshot_dto, memory, .name = "mem"),
        JSON_NUMBER_MEMBER(snapshot_dto, disk),
        JSON_TEXT_MEMBER(snapshot_dto, error_reason, .name = "errorReason", .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(snapshot_dto, created_at, .name = "createdAt"),
        JSON_TIME_MEMBER(snapshot_dto, updated_at, .name = "updatedAt"),
        JSON_TIME_MEMBER(snapshot_dto, used_at, .name = "lastUsedAt", .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(snapshot_dto, source, .name = "sourceSandboxId", .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(snapshot_dto, sandbox_class, .name = "sandboxClass"),
};
static JSON_SHAPE(snapshot_dto_shape, "DaytonaSnapshot", snapshot_dto,
                  "A snapshot or template from which sandboxes are created");

static const char *const states[] = {
        [SNAPSHOT_MAKING] = "snapshotting",
        [SNAPSHOT_READY] = "active",
        [SNAPSHOT_REMOVING] = "removing",
        [SNAPSHOT_LOST] = "error",
};
/* The first use of a pending template builds it. */
static const char *const template_states[] = {
        [TEMPLATE_PENDING] = "inactive",
        [TEMPLATE_BUILDING] = "building",
        [TEMPLATE_READY] = "active",
        [TEMPLATE_FAILED] = "build_failed",
};

static struct snapshot_dto dto_of_snapshot(const struct snapshot_record *r)
{
	return (struct snapshot_dto){
	        .id = r->id,
	        .organization = r->project_id,
	        .name = r->name,
	        .state = states[r->state],
	        .error_reason = r->state == SNAPSHOT_LOST ? "its files are gone" : NULL,
	        .source = r->sandbox_id[0] ? r->sandbox_id : NULL,
	        .created_at = r->created_at,
	        .updated_at = r->created_at,
	        .sandbox_class = "container",
	        .entrypoint = SPAN("null"),
	};
}

static struct snapshot_dto dto_of_template(const struct template_record *t)
{
	return (struct snapshot_dto){
	        .id = t->id,
	        .organization = t->project_id,
	        .is_general = t->project_id[0] == '\0',
	        .name = t->name,
	        .image = t->base_image,
	        .state = template_states[t->state],
	        .error_reason = t->state == TEMPLATE_FAILED ? t->state_text : NULL,
	        .size = (double)t->size_bytes / (1 << 30),
	        .cpu = t->resources.cpu,
	        .memory = (double)t->resources.memory_mb / 1024,
	        .disk = (double)t->resources.disk_mb / 1024,
	        .created_at = t->created_at,
	        .updated_at = t->updated_at,
	        .sandbox_class = "container",
	        .entrypoint = t->entrypoint_json[0] ? span_of(t->entrypoint_json) : SPAN("null"),
	};
}

/* A finished build is shown as its template. */
static const char *const build_states[BUILD_STATE_COUNT] = {
        [BUILD_WAITING] = "building",       [BUILD_BUILDING] = "building",
        [BUILD_READY] = "building",         [BUILD_ERROR] = "build_failed",
        [BUILD_CANCELLED] = "build_failed",
};

static struct snapshot_dto dto_of_build(const struct build_record *r)
{
	return (struct snapshot_dto){
	        .id = r->id,
	        .organization = r->project_id,
	        .name = r->name,
	        .image = r->source,
	        .state = build_states[r->state],
	        .error_reason = r->message[0] ? r->message : NULL,
	        .created_at = r->created_at,
	        .updated_at = r->ended_at ? r->ended_at : r->created_at,
	        .sandbox_class = "container",
	        .entrypoint = SPAN("null"),
	};
}

static int reply_dto(struct reply *reply, struct snapshot_dto dto)
{
	reply_json(reply, &snapshot_dto_shape, &dto);
	return 0;
}

int daytona_build_reply(struct reply *reply, const struct build_record *r)
{
	return reply_dto(reply, dto_of_build(r));
}

enum origin_kind { ORIGIN_SNAPSHOT, ORIGIN_TEMPLATE, ORIGIN_BUILD };
/* What a name or id refers to: the first of these that exists. */
struct origin {
	enum origin_kind kind;
	struct snapshot_record snapshot;
	struct template_record template;
	struct build_record build; /* of a template that does not exist */
};

/* For a finished build, finds its template, which may have been removed since. */
static int find_build(struct request *rq, const struct fleet_ref *ref, struct origin *ret,
                      struct error *err)
{
	const struct build_filter filter = {
	        .project_id = ref->project_id, .name = ref->id_or_name, .limit = 1};
	struct store *store = api_of(rq)->store;
	struct build_list found;

	ret->kind = ORIGIN_BUILD;
	if (store_build_find(store, rq->arena, ref->project_id, ref->id_or_name, &ret->build, err) <
	    0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		if (store_build_list(store, rq->arena, &filter, &found, err) < 0)
			return -1;
		if (found.count == 0)
			return FAIL(err, ERROR_NOT_FOUND, "no snapshot or template '%s'",
			            ref->id_or_name);
		ret->build = found.items[0];
	}
	if (ret->build.state != BUILD_READY)
		return 0;
	ret->kind = ORIGIN_TEMPLATE;
	return store_template_find(store, rq->arena, ref->project_id, ret->build.template_id,
	                           &ret->template, err);
}

static int find_origin(struct request *rq, struct origin *ret, struct error *err)
{
	struct store *store = api_of(rq)->store;
	const struct fleet_ref ref = api_path_ref(rq);

	ret->kind = ORIGIN_SNAPSHOT;
	if (fleet_snapshot_find(api_of(rq)->fleet, rq->arena, &ref, &ret->snapshot, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	ret->kind = ORIGIN_TEMPLATE;
	if (store_template_find(store, rq->arena, ref.project_id, ref.id_or_name, &ret->template,
	                        err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return find_build(rq, &ref, ret, err);
}

static struct snapshot_dto dto_of(const struct origin *o)
{
	if (o->kind == ORIGIN_BUILD)
		return dto_of_build(&o->build);
	return o->kind == ORIGIN_TEMPLATE ? dto_of_template(&o->template)
	                                  : dto_of_snapshot(&o->snapshot);
}

static int get_origin(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	struct origin found;

	return find_origin(rq, &found, err) < 0 ? -1 : reply_dto(reply, dto_of(&found));
}

static int remove_origin(struct request *rq, UNUSED const void *body, UNUSED struct reply *reply,
                         struct error *err)
{
	struct fleet_ref ref = api_path_ref(rq);
	struct origin found;

	if (find_origin(rq, &found, err) < 0)
		return -1;
	if (found.kind == ORIGIN_SNAPSHOT)
		return fleet_snapshot_remove(api_of(rq)->fleet, rq->arena, &ref, err);
	if (api_require(rq, SCOPE_TEMPLATE_WRITE, err) < 0)
		return -1;
	if (found.kind == ORIGIN_BUILD) {
		ref.id_or_name = found.build.id;
		return fleet_build_remove(api_of(rq)->fleet, rq->arena, &ref, err);
	}
	return fleet_template_remove(api_of(rq)->fleet, ref.project_id, found.template.id, err);
}

/* Builds a template that is not built yet. */
static int activate_origin(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	struct origin found;
	const struct template_need need = {api_project(rq), api_awaited_if_parking(rq)};

	if (find_origin(rq, &found, err) < 0)
		return -1;
	if (found.kind == ORIGIN_TEMPLATE &&
	    fleet_template_require(api_of(rq)->fleet, rq->arena, &found.template, &need, err) < 0)
		return -1;
	return reply_dto(reply, dto_of(&found));
}

struct origin_list_query {
	int64_t page, limit;
	const char *source, *name;
};
static const struct json_member list_query_members[] = {
        JSON_WHOLE_MEMBER(origin_list_query, page, .min = 1, .max = 1 << 20),
        JSON_WHOLE_MEMBER(origin_list_query, limit, .min = 1, .max = PAGE_MAX),
        JSON_TEXT_MEMBER(origin_list_query, source, .name = "sourceSandboxId", .max = 64),
        JSON_TEXT_MEMBER(origin_list_query, name, .max = 128),
};
static JSON_OPEN_SHAPE(list_query, "DaytonaSnapshotQuery", origin_list_query,
                       "The snapshots to list");

/* The requested page, and the count of all items. */
struct origin_listing {
	struct buf *out;
	const struct origin_list_query *q;
	size_t from, to, count;
};

static void add_listed(struct origin_listing *l, struct snapshot_dto dto)
{
	if (l->q->name && !strstr(dto.name, l->q->name))
		return;
	if (l->count >= l->from && l->count < l->to)
		json_add_struct(l->out, NULL, &snapshot_dto_shape, &dto);
	l->count++;
}

static int add_templates(struct request *rq, struct origin_listing *l, struct error *err)
{
	struct template_list found;

	if (l->q->source)
		return 0;
	if (store_template_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++)
		add_listed(l, dto_of_template(&found.items[i]));
	return 0;
}

static int add_snapshots(struct request *rq, struct origin_listing *l, struct error *err)
{
	struct snapshot_filter filter = {
	        .project_id = api_project(rq), .sandbox_id = l->q->source, .limit = PAGE_MAX};
	struct snapshot_list found;

	do {
		if (store_snapshot_list(api_of(rq)->store, rq->arena, &filter, &found, err) < 0)
			return -1;
		for (size_t i = 0; i < found.count; i++)
			add_listed(l, dto_of_snapshot(&found.items[i]));
		filter.page = found.next_page;
	} while (filter.page);
	return 0;
}

static int list_origins(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	const struct origin_list_query *q = rq->query;
	size_t limit = q->limit ? (size_t)q->limit : 100, page = q->page ? (size_t)q->page : 1;
	struct origin_listing l = {.out = reply_buf(reply, "application/json"),
	                           .q = q,
	                           .from = (page - 1) * limit,
	                           .to = page * limit};

	json_begin_object(l.out, NULL);
	json_begin_list(l.out, "items");
	if (add_snapshots(rq, &l, err) < 0 || add_templates(rq, &l, err) < 0)
		return -1;
	json_end_list(l.out);
	json_add_whole(l.out, "total", (int64_t)l.count);
	json_add_whole(l.out, "page", (int64_t)page);
	json_add_whole(l.out, "totalPages", (int64_t)((l.count + limit - 1) / limit));
	json_end_object(l.out);
	return 0;
}

struct snapshot_take_body {
	const char *name;
	bool memory;
};
static const struct json_member take_request_members[] = {
        JSON_TEXT_MEMBER(snapshot_take_body, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = SANDBOX_NAME_MAX),
        JSON_BOOL_MEMBER(snapshot_take_body, memory, .name = "includeMemory",
                         .flags = JSON_NULLABLE),
};
static JSON_OPEN_SHAPE(take_request, "DaytonaSnapshotTake", snapshot_take_body,
                       "The snapshot to take");

static int take_snapshot(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct snapshot_take_body *b = body;
	struct fleet_ref ref = api_path_ref(rq);
	const struct fleet_snapshot request = {.name = b->name, .sync = true, .memory = b->memory};
	struct snapshot_record made;
	struct sandbox_record record;

	ref.awaited = api_awaited_if_parking(rq);
	if (fleet_snapshot(api_of(rq)->fleet, rq->arena, &ref, &request, &made, err) < 0 ||
	    fleet_find(api_of(rq)->fleet, rq->arena, &ref, &record, err) < 0)
		return -1;
	return daytona_sandbox_reply(rq, reply, &record, err);
}

struct daytona_fork_body {
	const char *name;
};
static const struct json_member fork_request_members[] = {
        JSON_TEXT_MEMBER(daytona_fork_body, name, .flags = JSON_NULLABLE, .max = SANDBOX_NAME_MAX),
};
static JSON_OPEN_SHAPE(fork_request, "DaytonaFork", daytona_fork_body, "A fork to create");

static int fork_sandbox(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct daytona_fork_body *b = body;
	struct fleet_ref ref = api_path_ref(rq);
	const struct fleet_fork request = {
	        .name = b->name, .count = 1, .key_id = api_key_id(rq), .user_id = api_user_id(rq)};
	struct fleet_forked made;

	ref.awaited = api_awaited_if_parking(rq);
	if (api_check_budgets(rq, err) < 0 ||
	    fleet_fork(api_of(rq)->fleet, rq->arena, &ref, &request, &made, err) < 0)
		return -1;
	return daytona_sandbox_reply(rq, reply, &made.sandboxes[0], err);
}

#define READ SCOPE_SANDBOX_READ, ROUTE_HIDDEN
#define SLOW SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_HIDDEN
#define FILES SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES | ROUTE_HIDDEN
#define TAG .tag = "daytona"
const struct route daytona_snapshots_routes[] = {
        {HTTP_GET, BASE, READ, .query = &list_query, .handle = list_origins, TAG,
         .summary = "List snapshots and templates"},
        {HTTP_GET, BASE "/:id", READ, .handle = get_origin, TAG,
         .summary = "Get a snapshot or template"},
        {HTTP_DELETE, BASE "/:id", FILES, .handle = remove_origin, TAG,
         .summary = "Delete a snapshot or template"},
        {HTTP_POST, BASE "/:id/activate", SLOW, .handle = activate_origin, TAG,
         .summary = "Build a template that is not built yet"},
        {HTTP_POST, SANDBOX "/snapshot", FILES, .body = &take_request, .handle = take_snapshot, TAG,
         .summary = "Take a snapshot of a sandbox's files"},
        {HTTP_POST, SANDBOX "/fork", SLOW, .body = &fork_request, .handle = fork_sandbox, TAG,
         .summary = "Fork a sandbox"},
        {.path = NULL},
};
