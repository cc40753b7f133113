/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/projects — projects. A platform admin creates and deletes them, an admin of the project
 * changes them. */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "config/config.h"
#include "edge/access_watch.h"
#include "edge/caller.h"
#include "fleet/core/project_cache.h"
#include "fleet/lifecycle/source.h"
#include "fleet/sandbox/egress.h"
#include "fleet/server/projects.h"
#include "fleet/usage/usage.h"
#include "store/members.h"
#include "store/organizations.h"
#include "store/projects.h"
#include "surface/native/native.h"
#include "surface/native/user_name.h"
#include "surface/native/project_limits.h"

struct project_list;

#define BASE "/v1/projects"
#define PAGE_DEFAULT 100

struct project_body {
	const char *id, *name, *owner, *organization, *provider, *isolation, *source_address;
	struct resource_limits defaults, maximums;
	int64_t sandboxes_max, storage_max_mb, created_at;
	bool closing;
	uint64_t present;
};
enum {
	PROJECT_NAME,
	PROJECT_SANDBOXES_MAX,
	PROJECT_STORAGE_MAX_MB,
	PROJECT_DEFAULTS,
	PROJECT_MAXIMUMS,
	PROJECT_ORGANIZATION,
	PROJECT_PROVIDER,
	PROJECT_ISOLATION,
	PROJECT_SOURCE_ADDRESS,
};
#define ROW_NAME(...)                                                                              \
	[PROJECT_NAME] = JSON_TEXT_MEMBER(project_body, name, .min = 1, .max = 100, __VA_ARGS__)
#define OTHER_ROWS                                                                                 \
	[PROJECT_SANDBOXES_MAX] = JSON_WHOLE_MEMBER(                                               \
	        project_body, sandboxes_max, .min = 0, .max = 1000000,                             \
	        .about = "0: the platform's setting; only a platform admin can set it"),           \
	[PROJECT_STORAGE_MAX_MB] = JSON_WHOLE_MEMBER(                                              \
	        project_body, storage_max_mb, .min = 0, .max = 1 << 30,                            \
	        .about = "MiB for templates, snapshots, backups and volumes together; 0: the "     \
	                 "platform's setting; only a platform admin can set it"),                  \
	[PROJECT_DEFAULTS] = JSON_OBJECT_MEMBER(project_body, defaults, &resource_limits_shape,    \
	                                        .about = "limits of sandboxes that request none"), \
	[PROJECT_MAXIMUMS] = JSON_OBJECT_MEMBER(                                                   \
	        project_body, maximums, &resource_limits_shape,                                    \
	        .about = "limits that no sandbox exceeds; only a platform admin can set them"),    \
	[PROJECT_ORGANIZATION] = JSON_TEXT_MEMBER(                                                 \
	        project_body, organization, .max = 64,                                             \
	        .about = "id of the organisation that it belongs to (default: the first); only "   \
	                 "a platform admin can set it"),                                           \
	[PROJECT_PROVIDER] = JSON_TEXT_MEMBER(                                                     \
	        project_body, provider, .max = SANDBOX_NAME_MAX,                                   \
	        .about = "provider of its sandboxes, unless their request or template names "      \
	                 "another; \"\": the server chooses"),                                     \
	[PROJECT_ISOLATION] = JSON_TEXT_MEMBER(                                                    \
	        project_body, isolation, .max = 16,                                                \
	        .about = "the least isolation that its sandboxes accept, unless their request or " \
	                 "template names another; \"\": the server's default"),                    \
	[PROJECT_SOURCE_ADDRESS] = JSON_TEXT_MEMBER(                                               \
	        project_body, source_address, .max = 15,                                           \
	        .about = "IPv4 address of the host by which all connections of its sandboxes "     \
	                 "leave, and those of no other project; \"\": any; only a platform "       \
	                 "admin can set it")
static const struct json_member project_request_members[] = {
        ROW_NAME(.flags = JSON_REQUIRED),
        OTHER_ROWS,
        JSON_TEXT_MEMBER(project_body, id, .max = SANDBOX_NAME_MAX, .about = "default: generated"),
        JSON_TEXT_MEMBER(project_body, owner, .max = ACCOUNT_USER_MAX,
                         .about = "user that becomes the first member, with the role admin",
                         .example = "ann@example.com"),
};
static JSON_BITS_SHAPE(project_request, "ProjectCreate", project_body, "A project to create");
static const struct json_member project_change_members[] = {ROW_NAME(), OTHER_ROWS};
static JSON_BITS_SHAPE(project_change, "ProjectChange", project_body,
                       "Given members replace the stored ones");
static const struct json_member project_shape_members[] = {
        JSON_TEXT_MEMBER(project_body, id),
        JSON_TEXT_MEMBER(project_body, name),
        JSON_TEXT_MEMBER(project_body, organization, .about = "id of its organisation"),
        JSON_WHOLE_MEMBER(project_body, sandboxes_max),
        JSON_WHOLE_MEMBER(project_body, storage_max_mb, .about = "0: the platform's setting"),
        JSON_OBJECT_MEMBER(project_body, defaults, &resource_limits_shape),
        JSON_OBJECT_MEMBER(project_body, maximums, &resource_limits_shape),
        JSON_BOOL_MEMBER(project_body, closing, .about = "the project is being deleted"),
        JSON_TEXT_MEMBER(project_body, provider, .flags = JSON_NULLABLE,
                         .about = "provider of its sandboxes; null: the server chooses"),
        JSON_TEXT_MEMBER(
                project_body, isolation, .flags = JSON_NULLABLE,
                .about = "the least isolation of its sandboxes; null: the server's default"),
        JSON_TEXT_MEMBER(project_body, source_address, .flags = JSON_NULLABLE,
                         .about = "by which connections of its sandboxes leave; null: any"),
        JSON_TIME_MEMBER(project_body, created_at),
};
static JSON_SHAPE(project_shape, "Project", project_body,
                  "Owns keys, templates and sandboxes; a platform admin selects a project with the "
                  "header X-Atoll-Project");

struct project_list_query {
	const char *page;
	int64_t limit;
};
static const struct json_member project_list_query_members[] = {
        JSON_TEXT_MEMBER(project_list_query, page, .max = 100,
                         .about = "next_page of the previous page"),
        JSON_WHOLE_MEMBER(project_list_query, limit, .min = 1, .max = 1000,
                          .about = "items per page (default 100)"),
};
static JSON_SHAPE(project_list_query, "ProjectListQuery", project_list_query,
                  "Filter for projects");
static const struct json_member project_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &project_shape),
        JSON_TEXT_MEMBER(list_answer, next_page, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(project_list_shape, "ProjectList", list_answer, "Projects, sorted by name");

struct project_delete_query {
	bool force;
};
static const struct json_member project_delete_query_members[] = {
        JSON_BOOL_MEMBER(project_delete_query, force,
                         .about = "delete the project's sandboxes, too"),
};
static JSON_SHAPE(project_delete_query, "ProjectDeleteQuery", project_delete_query,
                  "Options of a deletion");

static struct project_body make_project_answer(const struct project_record *r)
{
	return (struct project_body){
	        .id = r->id,
	        .name = r->name,
	        .organization = r->organization_id,
	        .provider = text_or_null(r->provider),
	        .isolation = text_or_null(r->isolation),
	        .source_address = text_or_null(r->source_address),
	        .sandboxes_max = r->sandboxes_max,
	        .storage_max_mb = r->storage_max_mb,
	        .defaults = resource_limits_from(&r->defaults),
	        .maximums = resource_limits_from(&r->maximums),
	        .closing = r->closing,
	        .created_at = r->created_at,
	};
}

static int reply_project(struct reply *reply, const struct project_record *r)
{
	const struct project_body out = make_project_answer(r);

	reply_json(reply, &project_shape, &out);
	return 0;
}

/* A caller that is not a platform admin sees only its own project. */
static int find_own_project(struct request *rq, struct project_list *ret, struct error *err)
{
	struct project_record *own = ARENA_NEW(rq->arena, struct project_record);

	*ret = (struct project_list){own, 1};
	return store_project_find(api_of(rq)->store, rq->arena, api_project(rq), own, err);
}

static int projects_list(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct project_list_query *q = rq->query;
	int64_t limit = q->limit ? q->limit : PAGE_DEFAULT;
	/* One more item than requested tells whether there is another page. */
	const struct project_page page = {q->page ? q->page : "", limit + 1};
	struct project_list found;
	struct project_body *items;
	const char *next_page = NULL;

	(void)body;
	if (!(api_account(rq)->scopes & SCOPE_ADMIN)) {
		if (find_own_project(rq, &found, err) < 0)
			return -1;
	} else if (store_project_list(api_of(rq)->store, rq->arena, &page, &found, err) < 0) {
		return -1;
	}
	if ((int64_t)found.count > limit) {
		found.count = (size_t)limit;
		next_page = found.items[found.count - 1].name;
	}
	items = ARENA_ARRAY(rq->arena, struct project_body, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = make_project_answer(&found.items[i]);
	reply_page(reply, &project_list_shape, (struct json_list){items, found.count, true},
	           next_page);
	return 0;
}

static int project_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct project_record record;
	const char *id;

	(void)body;
	if (api_path_project(rq, &id, err) < 0 ||
	    store_project_find(api_of(rq)->store, rq->arena, id, &record, err) < 0)
		return -1;
	return reply_project(reply, &record);
}

static int add_owner(struct request *rq, const struct project_record *r, const char *owner,
                     struct error *err)
{
	const struct member_record member = {.project_id = r->id,
	                                     .user_id = owner,
	                                     .role = account_role_name(ROLE_ADMIN),
	                                     .created_at = r->created_at,
	                                     .updated_at = r->created_at};

	if (!owner)
		return 0;
	return store_member_insert(api_of(rq)->store, &member, err);
}

static int project_create(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct project_body *b = body;
	const struct resource_limits_change limits = {&b->defaults, &b->maximums,
	                                              &api_of(rq)->config->caps};
	struct id id = id_new();
	struct project_record record = {
	        .id = b->id ? b->id : id.text,
	        .name = b->name,
	        .organization_id = b->organization ? b->organization : STORE_ORGANIZATION_FIRST,
	        .sandboxes_max = b->sandboxes_max,
	        .storage_max_mb = b->storage_max_mb,
	        .provider = b->provider,
	        .isolation = b->isolation,
	        .source_address = b->source_address ? b->source_address : "",
	        .created_at = clock_unix_ms(),
	};
	const char *owner = NULL;

	if (sandbox_name_check(record.id, err) < 0)
		return FAIL_CONTEXT(err, "id");
	if (strcmp(record.id, API_PROJECT_ME) == 0)
		return FAIL(err, ERROR_INVALID,
		            "id '" API_PROJECT_ME "' is reserved for the caller's own project");
	if (native_check_placement(rq, b->provider, b->isolation, err) < 0 ||
	    source_check(api_of(rq)->fleet, record.source_address, err) < 0 ||
	    (b->owner && user_name_parse(rq, b->owner, &owner, err) < 0) ||
	    resource_limits_apply(&limits, &record, err) < 0 ||
	    store_project_insert(api_of(rq)->store, &record, err) < 0 ||
	    add_owner(rq, &record, owner, err) < 0)
		return -1;
	api_audit_subject(rq, record.id);
	reply_status(reply, 201);
	return reply_project(reply, &record);
}

struct project_change {
	const struct project_body *body;
	const struct sandbox_resources *caps;
};

static int edit_project(struct project_record *r, const void *context, struct error *err)
{
	const struct project_change *change = context;
	const struct project_body *b = change->body;
	const struct resource_limits_change limits = {
	        row_is_given(b->present, PROJECT_DEFAULTS) ? &b->defaults : NULL,
	        row_is_given(b->present, PROJECT_MAXIMUMS) ? &b->maximums : NULL,
	        change->caps,
	};

	if (row_is_given(b->present, PROJECT_NAME))
		r->name = b->name;
	if (row_is_given(b->present, PROJECT_ORGANIZATION))
		r->organization_id = b->organization;
	if (row_is_given(b->present, PROJECT_PROVIDER))
		r->provider = b->provider;
	if (row_is_given(b->present, PROJECT_ISOLATION))
		r->isolation = b->isolation;
	if (row_is_given(b->present, PROJECT_SOURCE_ADDRESS))
		r->source_address = b->source_address;
	if (row_is_given(b->present, PROJECT_SANDBOXES_MAX))
		r->sandboxes_max = b->sandboxes_max;
	if (row_is_given(b->present, PROJECT_STORAGE_MAX_MB))
		r->storage_max_mb = b->storage_max_mb;
	return limits.defaults || limits.maximums ? resource_limits_apply(&limits, r, err) : 0;
}

static int project_patch(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct project_body *b = body;
	const struct project_change change = {b, &api_of(rq)->config->caps};
	bool is_platforms = row_is_given(b->present, PROJECT_SANDBOXES_MAX) ||
	                    row_is_given(b->present, PROJECT_MAXIMUMS) ||
	                    row_is_given(b->present, PROJECT_ORGANIZATION) ||
	                    row_is_given(b->present, PROJECT_SOURCE_ADDRESS) ||
	                    row_is_given(b->present, PROJECT_STORAGE_MAX_MB);
	struct project_edit request = {.edit = edit_project, .context = &change};
	struct project_record record;

	if (is_platforms && api_require(rq, SCOPE_ADMIN, err) < 0)
		return FAIL_CONTEXT(err,
		                    "sandboxes_max, storage_max_mb, maximums, organization and "
		                    "source_address");
	if (api_path_project(rq, &request.id, err) < 0 ||
	    native_check_placement(rq, b->provider, b->isolation, err) < 0 ||
	    (b->source_address && source_check(api_of(rq)->fleet, b->source_address, err) < 0) ||
	    store_project_edit(api_of(rq)->store, rq->arena, &request, &record, err) < 0)
		return -1;
	project_forget(api_of(rq)->fleet, record.id);
	if (row_is_given(b->present, PROJECT_SOURCE_ADDRESS))
		egress_repeat_all(api_of(rq)->fleet);
	return reply_project(reply, &record);
}

struct project_storage_answer {
	int64_t limit_mb, bytes, templates_bytes, snapshots_bytes, backups_bytes, volumes_bytes;
};
static const struct json_member project_storage_answer_members[] = {
        JSON_WHOLE_MEMBER(project_storage_answer, limit_mb, .about = "0 = no limit"),
        JSON_WHOLE_MEMBER(project_storage_answer, bytes, .about = "sum of the members below"),
        JSON_WHOLE_MEMBER(project_storage_answer, templates_bytes),
        JSON_WHOLE_MEMBER(project_storage_answer, snapshots_bytes),
        JSON_WHOLE_MEMBER(project_storage_answer, backups_bytes,
                          .about = "includes archived sandboxes"),
        JSON_WHOLE_MEMBER(project_storage_answer, volumes_bytes),
};
static JSON_SHAPE(project_storage_answer, "ProjectStorage", project_storage_answer,
                  "Storage that a project uses, as last measured, and its limit");

static int project_storage(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	struct project_storage_answer out;
	struct fleet_storage found;
	const char *id;

	(void)body;
	if (api_path_project(rq, &id, err) < 0 ||
	    fleet_project_storage(api_of(rq)->fleet, id, &found, err) < 0)
		return -1;
	out = (struct project_storage_answer){found.limit_mb,     found.bytes,
	                                      found.of.templates, found.of.snapshots,
	                                      found.of.backups,   found.of.volumes};
	reply_json(reply, &project_storage_answer, &out);
	return 0;
}

static int project_delete(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct api_caller *caller = rq->caller;
	const struct project_delete_query *q = rq->query;
	struct api *api = api_of(rq);
	const char *id;
	int result;

	(void)body;
	if (api_path_project(rq, &id, err) < 0)
		return -1;
	if (strcmp(id, caller->own_project) == 0)
		return FAIL(err, ERROR_CONFLICT,
		            "this key belongs to project '%s'; delete the project with a key of "
		            "another one",
		            id);
	result = fleet_project_remove(api->fleet, id, q->force, err);
	/* The removal revokes the project's keys first, also if a later step fails. */
	api_access_changed(api);
	if (result < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "projects"
const struct route projects_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .query = &project_list_query,
         .answer = &project_list_shape, .handle = projects_list, TAG,
         .summary = "List projects; callers that are not platform admins see their own project"},
        {HTTP_POST, BASE, SCOPE_ADMIN, .body = &project_request, .answer = &project_shape,
         .status = 201, .handle = project_create, TAG, .summary = "Create a project"},
        {HTTP_GET, BASE "/:project", SCOPE_SANDBOX_READ, .answer = &project_shape,
         .handle = project_get, TAG, .summary = "Get a project; 'me' is the caller's own"},
        {HTTP_PATCH, BASE "/:project", SCOPE_PROJECT_WRITE, .body = &project_change,
         .answer = &project_shape, .handle = project_patch, TAG, .summary = "Change a project"},
        {HTTP_GET, BASE "/:project/storage", SCOPE_SANDBOX_READ, .answer = &project_storage_answer,
         .handle = project_storage, TAG,
         .summary = "Get the storage that a project uses, and its limit"},
        {HTTP_DELETE, BASE "/:project", SCOPE_ADMIN, ROUTE_SLOW, .query = &project_delete_query,
         .status = 204, .handle = project_delete, TAG,
         .summary = "Delete a project and everything that it owns"},
        {.path = NULL},
};
