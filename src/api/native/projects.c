/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/projects and /resource-config — who owns what, and a project's default limits. */
#include "api/caller.h"
#include "api/tables.h"
#include "base/clock.h"

struct project_body {
	const char *id, *name;
	int64_t sandboxes_max, created_at;
};
static const struct json_member project_request_members[] = {
        JSON_TEXT_MEMBER(project_body, id, .max = 63, .about = "else generated"),
        JSON_TEXT_MEMBER(project_body, name, .flags = JSON_REQUIRED, .min = 1, .max = 100),
        JSON_WHOLE_MEMBER(project_body, sandboxes_max, .min = 0, .max = 1000000,
                          .about = "0 = the platform's"),
        JSON_END,
};
static JSON_SHAPE(project_request, "ProjectCreate", project_body, "A project to make");
static const struct json_member project_shape_members[] = {
        JSON_TEXT_MEMBER(project_body, id),
        JSON_TEXT_MEMBER(project_body, name),
        JSON_WHOLE_MEMBER(project_body, sandboxes_max),
        JSON_TIME_MEMBER(project_body, created_at),
        JSON_END,
};
static JSON_SHAPE(project_shape, "Project", project_body,
                  "Owns keys, templates and sandboxes; an admin acts in it by the header "
                  "X-Atoll-Project");

static int project_create(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct project_body *b = body;
	struct id id = id_new();
	struct project_body answer = *b;
	struct project_record record = {
	        .id = b->id ? b->id : id.text,
	        .name = b->name,
	        .sandboxes_max = b->sandboxes_max,
	        .created_at = clock_unix_ms(),
	};

	if (sandbox_name_check(record.id, err) < 0)
		return FAIL_CONTEXT(err, "id");
	if (store_project_insert(api_of(rq)->store, &record, err) < 0)
		return -1;
	answer.id = record.id;
	answer.created_at = record.created_at;
	reply_status(reply, 201);
	reply_json(reply, &project_shape, &answer);
	return 0;
}

static int project_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct project_record record;
	struct project_body answer;

	(void)body;
	if (store_project_find(api_of(rq)->store, rq->arena, request_param(rq, "project"), &record,
	                       err) < 0)
		return -1;
	answer = (struct project_body){record.id, record.name, record.sandboxes_max,
	                               record.created_at};
	reply_json(reply, &project_shape, &answer);
	return 0;
}

/* ---- resource-config ---- */

struct limits {
	double cpu;
	int64_t memory_mb, disk_mb, pids;
};
#define LIMIT_ROWS                                                                                 \
	JSON_NUMBER_MEMBER(limits, cpu, .min = 0, .max = 1024, .about = "vCPUs; 0 = not set"),     \
	        JSON_WHOLE_MEMBER(limits, memory_mb, .min = 0, .max = 1 << 24, .about = "MiB"),    \
	        JSON_WHOLE_MEMBER(limits, disk_mb, .min = 0, .max = 1 << 28, .about = "MiB"),      \
	        JSON_WHOLE_MEMBER(limits, pids, .min = 0, .max = 1 << 22)
static const struct json_member limits_shape_members[] = {LIMIT_ROWS, JSON_END};
static JSON_SHAPE(limits_shape, "Limits", limits, "Limits of a sandbox");

struct resource_config {
	struct limits defaults, platform, caps, effective;
};
static const struct json_member resource_config_shape_members[] = {
        JSON_OBJECT_MEMBER(resource_config, defaults, &limits_shape,
                           .about = "what the project sets"),
        JSON_OBJECT_MEMBER(resource_config, platform, &limits_shape,
                           .about = "what holds where the project sets nothing"),
        JSON_OBJECT_MEMBER(resource_config, caps, &limits_shape,
                           .about = "that nothing may exceed"),
        JSON_OBJECT_MEMBER(resource_config, effective, &limits_shape,
                           .about = "of a sandbox that asks for nothing"),
        JSON_END,
};
static JSON_SHAPE(resource_config_shape, "ResourceConfig", resource_config,
                  "Default limits of the project's sandboxes");

static struct limits limits_of(const struct sandbox_resources *r)
{
	return (struct limits){r->cpu, r->memory_mb, r->disk_mb, r->pids};
}

static int resource_config_get(struct request *rq, const void *body, struct reply *reply,
                               struct error *err)
{
	const struct config *config = api_of(rq)->config;
	struct sandbox_resources layers[2], effective;
	struct resource_config answer;
	struct project_record project;

	(void)body;
	if (store_project_find(api_of(rq)->store, rq->arena, api_project(rq), &project, err) < 0)
		return -1;
	layers[0] = project.defaults;
	layers[1] = config->defaults;
	effective = sandbox_resources_resolve(layers, 2, &config->caps);
	answer = (struct resource_config){
	        .defaults = limits_of(&project.defaults),
	        .platform = limits_of(&config->defaults),
	        .caps = limits_of(&config->caps),
	        .effective = limits_of(&effective),
	};
	reply_json(reply, &resource_config_shape, &answer);
	return 0;
}

static int resource_config_put(struct request *rq, const void *body, struct reply *reply,
                               struct error *err)
{
	const struct limits *b = body;
	struct sandbox_resources defaults = {b->cpu, b->memory_mb, b->disk_mb, b->pids};

	if (sandbox_resources_check(&defaults, err) < 0 ||
	    store_project_set_defaults(api_of(rq)->store, api_project(rq), &defaults, err) < 0)
		return -1;
	return resource_config_get(rq, NULL, reply, err);
}

const struct route projects_routes[] = {
        {HTTP_POST, "/api/sandbox/projects", SCOPE_ADMIN, .body = &project_request,
         .answer = &project_shape, .status = 201, .handle = project_create, .tag = "projects",
         .summary = "Make a project"},
        {HTTP_GET, "/api/sandbox/projects/:project", SCOPE_ADMIN, .answer = &project_shape,
         .handle = project_get, .tag = "projects", .summary = "Get a project"},
        {HTTP_GET, "/api/sandbox/resource-config", SCOPE_SANDBOX_READ,
         .answer = &resource_config_shape, .handle = resource_config_get, .tag = "projects",
         .summary = "Default limits of the project's sandboxes"},
        {HTTP_PUT, "/api/sandbox/resource-config", SCOPE_ADMIN, .body = &limits_shape,
         .answer = &resource_config_shape, .handle = resource_config_put, .tag = "projects",
         .summary = "Set the project's default limits"},
        {.path = NULL},
};
