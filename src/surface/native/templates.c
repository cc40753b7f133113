/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/templates — the root filesystems and settings that sandboxes start from.
 *
 * An import takes minutes and gigabytes: its body is received completely (calls/receiver.h), then
 * it waits in the queue of builds and imports. */
#include <stdlib.h>
#include <string.h>

#include "calls/receiver.h"
#include "config/config.h"
#include "edge/api.h"
#include "fleet/build/build.h"
#include "fleet/core/waiting.h"
#include "fleet/template/import.h"
#include "fleet/template/pools.h"
#include "fleet/template/templates.h"
#include "fleet/template/warm.h"
#include "json/write.h"
#include "store/figures.h"
#include "surface/native/native.h"
#include "surface/native/pools.h"
#include "surface/native/timeouts.h"
#include "wire/agent_warm.h"

#define BASE "/api/sandbox/templates"

struct template_answer {
	const char *id, *name, *project, *description, *state, *state_text;
	const char *base_image, *runtime, *isolation, *provider, *user, *workdir, *ready_command;
	bool is_built, is_public, is_pulled;
	int64_t used_at;
	struct span env, entrypoint, ports, resources, pool, warm, idle;
	int64_t size_bytes, created_at, updated_at, sandboxes;
};
static const struct json_member template_shape_members[] = {
        JSON_TEXT_MEMBER(template_answer, id),
        JSON_TEXT_MEMBER(template_answer, name),
        JSON_TEXT_MEMBER(template_answer, project, .flags = JSON_NULLABLE,
                         .about = "null: shared by all projects"),
        JSON_TEXT_MEMBER(template_answer, description),
        JSON_TEXT_MEMBER(template_answer, state, .about = "pending, building, ready or failed"),
        JSON_TEXT_MEMBER(template_answer, state_text, .about = "progress, or why the build failed"),
        JSON_TEXT_MEMBER(template_answer, base_image),
        JSON_TEXT_MEMBER(template_answer, runtime),
        JSON_TEXT_MEMBER(
                template_answer, isolation, .flags = JSON_NULLABLE,
                .about = "the least isolation of its sandboxes; null: the server's default"),
        JSON_TEXT_MEMBER(template_answer, provider, .flags = JSON_NULLABLE,
                         .about = "provider of its sandboxes; null: the server chooses"),
        JSON_TEXT_MEMBER(template_answer, user, .about = "default user for commands"),
        JSON_TEXT_MEMBER(template_answer, workdir),
        JSON_RAW_MEMBER(template_answer, env, .about = "object of strings"),
        JSON_RAW_MEMBER(template_answer, entrypoint, .about = "list of strings"),
        JSON_RAW_MEMBER(template_answer, ports, .about = "list of numbers"),
        JSON_TEXT_MEMBER(
                template_answer, ready_command, .flags = JSON_NULLABLE,
                .about = "command that checks during the build whether the entrypoint is ready"),
        JSON_BOOL_MEMBER(template_answer, is_built, .name = "built",
                         .about = "built from steps on top of base_image"),
        JSON_RAW_MEMBER(template_answer, resources, .about = "0: inherited"),
        JSON_RAW_MEMBER(template_answer, pool, .about = "min, target and max; 0: no pool"),
        JSON_RAW_MEMBER(template_answer, warm,
                        .about = "interpreters that the template's sandboxes keep ready",
                        .example = "[{\"language\":\"python\",\"imports\":[\"numpy\"]}]"),
        JSON_RAW_MEMBER(
                template_answer, idle,
                .about = "pause_ms, stop_ms, reap_ms and lifetime_max_ms; 0: inherited, -1: never"),
        JSON_BOOL_MEMBER(template_answer, is_public, .name = "public",
                         .about = "other projects can use the template by its id"),
        JSON_BOOL_MEMBER(template_answer, is_pulled, .name = "pulled",
                         .about = "an image that was pulled by its name; removed when it has not "
                                  "been used for long"),
        JSON_TIME_MEMBER(template_answer, used_at, .flags = JSON_NULLABLE,
                         .about = "last use of a pulled image"),
        JSON_WHOLE_MEMBER(template_answer, size_bytes),
        JSON_TIME_MEMBER(template_answer, created_at),
        JSON_TIME_MEMBER(template_answer, updated_at, .flags = JSON_NULLABLE),
        JSON_WHOLE_MEMBER(template_answer, sandboxes,
                          .about = "number of the project's sandboxes of it; only lists and GET "
                                   "count them"),
};
static JSON_SHAPE(template_shape, "Template", template_answer,
                  "The root filesystem and settings of new sandboxes");

static const struct json_member template_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &template_shape),
        JSON_TEXT_MEMBER(list_answer, next_page, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(template_list_shape, "TemplateList", list_answer,
                  "Templates, sorted by name; one page of them with limit");

struct template_list_query {
	const char *page;
	int64_t limit;
};
static const struct json_member template_list_query_members[] = {
        JSON_TEXT_MEMBER(template_list_query, page, .max = 256,
                         .about = "next_page of the previous page"),
        JSON_WHOLE_MEMBER(template_list_query, limit, .min = 1, .max = 1000,
                          .about = "items per page (default: all)"),
};
static JSON_SHAPE(template_list_query, "TemplateListQuery", template_list_query,
                  "Page of templates");

struct template_import_query {
	const char *name, *format, *description;
};
static const struct json_member template_import_query_members[] = {
        JSON_TEXT_MEMBER(template_import_query, name, .flags = JSON_REQUIRED, .max = 63),
        JSON_TEXT_MEMBER(
                template_import_query, format, .max = 32,
                .about = "tar (default; plain, gzip, xz or zstd), oci, docker-archive or backup "
                         "(the template of a full backup)"),
        JSON_TEXT_MEMBER(template_import_query, description, .max = 1000),
};
static JSON_SHAPE(template_import_query, "TemplateImportQuery", template_import_query,
                  "Format and name of an import");

struct template_resources {
	double cpu;
	int64_t memory_mb, disk_mb, pids;
};
static const struct json_member template_resources_members[] = {
        JSON_NUMBER_MEMBER(template_resources, cpu, .max = 1024, .about = "vCPUs; 0: inherited"),
        JSON_WHOLE_MEMBER(template_resources, memory_mb, .max = 1 << 24, .about = "MiB"),
        JSON_WHOLE_MEMBER(template_resources, disk_mb, .max = 1 << 28, .about = "MiB"),
        JSON_WHOLE_MEMBER(template_resources, pids, .max = 1 << 22,
                          .about = "processes and threads"),
};
static JSON_SHAPE(template_resources, "TemplateResources", template_resources,
                  "Limits of sandboxes that request none");

struct template_warm {
	const char *language;
	const char **imports;
};
static const struct json_member template_warm_members[] = {
        JSON_TEXT_MEMBER(template_warm, language, .flags = JSON_REQUIRED, .max = 32,
                         .about = "python or javascript", .example = "python"),
        JSON_TEXT_LIST_MEMBER(template_warm, imports, .max = AGENT_WARM_IMPORTS_MAX,
                              .about = "modules that the interpreter imports in advance",
                              .example = "[\"numpy\"]"),
};
static JSON_SHAPE(template_warm, "TemplateWarm", template_warm,
                  "An interpreter that each sandbox keeps ready for code");

/* One struct for create and change; a change accepts only the members of RECIPE_ROWS. */
struct template_body {
	const char *description, *runtime, *isolation, *provider, *user, *workdir;
	const char **entrypoint;
	struct json_map env;
	struct json_list warm;
	struct span ports;
	struct template_resources resources;
	struct pool_body pool;
	struct idle_body idle;
	const char *name, *image, *from;
	struct image_login login;
	bool is_public;
	uint64_t present;
};
enum { TEMPLATE_RESOURCES, TEMPLATE_POOL, TEMPLATE_IDLE, TEMPLATE_PUBLIC };
#define RECIPE_ROWS                                                                                \
	[TEMPLATE_RESOURCES] = JSON_OBJECT_MEMBER(template_body, resources, &template_resources),  \
	[TEMPLATE_POOL] = JSON_OBJECT_MEMBER(template_body, pool, &pool_body_shape),               \
	[TEMPLATE_IDLE] = JSON_OBJECT_MEMBER(template_body, idle, &idle_body_shape),               \
	[TEMPLATE_PUBLIC] =                                                                        \
	        JSON_BOOL_MEMBER(template_body, is_public, .name = "public",                       \
	                         .about = "other projects can use the template by its id"),        \
	JSON_TEXT_MEMBER(template_body, description, .max = 1000),                                 \
	JSON_TEXT_MEMBER(template_body, runtime, .max = 64,                                        \
	                 .about = "free-form label of the purpose"),                               \
	JSON_TEXT_MEMBER(template_body, isolation, .max = 16,                                      \
	                 .about = "the least isolation that its sandboxes accept, unless their "   \
	                          "request names another; \"\": the server's default"),            \
	JSON_TEXT_MEMBER(template_body, provider, .max = SANDBOX_NAME_MAX,                         \
	                 .about =                                                                  \
	                         "provider of its sandboxes, unless their request names another; " \
	                         "\"\": the server chooses"),                                      \
	JSON_TEXT_MEMBER(template_body, user, .max = 64, .about = "default user for commands"),    \
	JSON_TEXT_MEMBER(template_body, workdir, .max = 1024, .about = "an absolute path"),        \
	JSON_TEXT_MAP_MEMBER(template_body, env, .max = 256,                                       \
	                     .about = "environment; replaces the whole stored one"),               \
	JSON_LIST_MEMBER(                                                                          \
	        template_body, warm, &template_warm, .max = 4,                                     \
	        .about = "interpreters that the template's sandboxes keep ready for code"),        \
	JSON_TEXT_LIST_MEMBER(template_body, entrypoint, .max = 64,                                \
	                      .about = "program and arguments that a sandbox starts"),             \
	JSON_RAW_MEMBER(template_body, ports, .about = "list of up to 64 numbers from 1 to 65535", \
	                .example = "[3000]")
static const struct json_member template_request_members[] = {
        RECIPE_ROWS,
        JSON_TEXT_MEMBER(template_body, name, .flags = JSON_REQUIRED, .max = 63),
        JSON_TEXT_MEMBER(template_body, image, .max = 512,
                         .about = "image reference in a registry; give either image or from",
                         .example = "docker.io/library/debian:12"),
        JSON_OBJECT_MEMBER(template_body, login, &build_login_shape,
                           .about = "login for the registry of image"),
        JSON_TEXT_MEMBER(template_body, from, .max = 63,
                         .about = "template whose root filesystem the new template shares",
                         .example = "host"),
};
static JSON_BITS_SHAPE(template_request, "TemplateCreate", template_body,
                       "A template from a registry's image or another template");
static const struct json_member template_change_members[] = {RECIPE_ROWS};
static JSON_BITS_SHAPE(template_change, "TemplateChange", template_body,
                       "Given members replace the stored ones");

struct template_seed_answer {
	int64_t added;
};
static const struct json_member seed_shape_members[] = {
        JSON_WHOLE_MEMBER(template_seed_answer, added),
};
static JSON_SHAPE(seed_shape, "TemplatesSeeded", template_seed_answer, "Number of added templates");

static struct span json_or_default(const char *json, struct span otherwise)
{
	return json && json[0] ? span_of(json) : otherwise;
}

static struct span format_resources(struct arena *a, const struct sandbox_resources *limits)
{
	const struct template_resources answer = {limits->cpu, limits->memory_mb, limits->disk_mb,
	                                          limits->pids};
	AUTO(buf_done) struct buf out = BUF(1024);

	json_write(&out, &template_resources, &answer);
	return span_of(arena_copy(a, buf_span(&out)));
}

static struct span format_pool(struct arena *a, const struct template_record *r)
{
	AUTO(buf_done) struct buf out = BUF(1024);

	json_begin_object(&out, NULL);
	json_add_whole(&out, "min", r->pool_min);
	json_add_whole(&out, "target", r->pool_target);
	json_add_whole(&out, "max", r->pool_max);
	json_end_object(&out);
	return span_of(arena_copy(a, buf_span(&out)));
}

static void fill_template_answer(struct arena *a, const struct template_record *r,
                                 struct template_answer *ret)
{
	static const char *const states[] = {
	        [TEMPLATE_PENDING] = "pending",
	        [TEMPLATE_BUILDING] = "building",
	        [TEMPLATE_READY] = "ready",
	        [TEMPLATE_FAILED] = "failed",
	};

	*ret = (struct template_answer){
	        .id = r->id,
	        .name = r->name,
	        .project = r->project_id[0] ? r->project_id : NULL,
	        .description = r->description,
	        .state = states[r->state],
	        .state_text = r->state_text,
	        .base_image = r->base_image,
	        .runtime = r->runtime,
	        .isolation = text_or_null(r->isolation),
	        .provider = text_or_null(r->provider),
	        .user = r->user,
	        .workdir = r->workdir,
	        .env = json_or_default(r->env_json, SPAN("{}")),
	        .entrypoint = json_or_default(r->entrypoint_json, SPAN("[]")),
	        .ports = json_or_default(r->ports_json, SPAN("[]")),
	        .warm = json_or_default(r->warm_json, SPAN("[]")),
	        .ready_command = *r->ready ? r->ready : NULL,
	        .is_built = *r->snapshot_id != '\0',
	        .is_public = r->is_public,
	        .is_pulled = r->is_pulled,
	        .used_at = r->used_at,
	        .size_bytes = r->size_bytes,
	        .created_at = r->created_at,
	        .updated_at = r->updated_at,
	};
	ret->resources = format_resources(a, &r->resources);
	ret->idle = idle_times_format(a, &r->timeouts);
	ret->pool = format_pool(a, r);
}

/* "NAME/PROJECT" of the last item of a page: names have no '/'. */
static const char *page_of(struct arena *a, const struct template_record *r)
{
	return arena_format(a, "%s/%s", r->name, r->project_id);
}

/* Whether the template comes after those of the page, in the order of the list. */
static bool is_after(const struct template_record *r, const char *page)
{
	struct span project = span_of(page), name;
	int order;

	if (!page)
		return true;
	(void)span_split(&project, '/', &name);
	order = strncmp(r->name, name.data, name.size);
	if (order == 0)
		order = r->name[name.size] != '\0';
	return order > 0 || (order == 0 && strcmp(r->project_id, project.data) > 0);
}

static int templates_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	const struct template_list_query *q = rq->query;
	size_t limit = q->limit ? (size_t)q->limit : SIZE_MAX, count = 0;
	struct store *store = api_of(rq)->store;
	const char *next_page = NULL;
	struct template_list found;
	struct template_answer *items;
	struct figure_list sandboxes;

	if (store_template_list(store, rq->arena, api_project(rq), &found, err) < 0 ||
	    store_figures(store, rq->arena, FIGURE_TEMPLATE_SANDBOXES, api_project(rq), &sandboxes,
	                  err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct template_answer, found.count + 1);
	for (size_t i = 0; i < found.count && !next_page; i++) {
		if (!is_after(&found.items[i], q->page))
			continue;
		fill_template_answer(rq->arena, &found.items[i], &items[count]);
		items[count++].sandboxes = figure_of(&sandboxes, found.items[i].id, 0);
		if (count == limit && i + 1 < found.count)
			next_page = page_of(rq->arena, &found.items[i]);
	}
	reply_page(reply, &template_list_shape, (struct json_list){items, count, .present = true},
	           next_page);
	return 0;
}

static int template_get(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	struct store *store = api_of(rq)->store;
	struct template_record record;
	struct template_answer out;
	struct figure_list sandboxes;

	(void)body;
	if (store_template_find(store, rq->arena, api_project(rq), request_param(rq, "template"),
	                        &record, err) < 0 ||
	    store_figures(store, rq->arena, FIGURE_TEMPLATE_SANDBOXES, api_project(rq), &sandboxes,
	                  err) < 0)
		return -1;
	fill_template_answer(rq->arena, &record, &out);
	out.sandboxes = figure_of(&sandboxes, record.id, 0);
	reply_json(reply, &template_shape, &out);
	return 0;
}

static int templates_seed(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	struct template_seed_answer out;
	unsigned added;

	(void)body;
	if (fleet_templates_seed(api_of(rq)->fleet, &added, err) < 0)
		return -1;
	out.added = added;
	reply_json(reply, &seed_shape, &out);
	return 0;
}

static int template_delete(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	(void)body;
	if (fleet_template_remove(api_of(rq)->fleet, api_project(rq), request_param(rq, "template"),
	                          err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

struct template_import_task {
	struct arena arena; /* holds copies of the request's texts, and the reply */
	struct api *api;
	struct fleet_import request;
	struct fleet_recipe recipe;
	struct sandbox_resources resources;
	struct fleet_warm warm;
	struct fleet_pool_size pool;
	struct sandbox_timeouts timeouts;
	struct image_login login;
	const char *from; /* the template to share; NULL: the request's image */
};

static int run_import(struct template_import_task *job, struct template_record *ret,
                      struct error *err)
{
	struct fleet *fleet = job->api->fleet;
	const struct fleet_derive derive = {job->request.project_id, job->request.name, job->from,
	                                    &job->recipe};

	if (job->from)
		return fleet_template_derive(fleet, &job->arena, &derive, ret, err);
	return fleet_template_import(fleet, &job->arena, &job->request, ret, err);
}

static int finish_import(void *state, int fd, struct buf *json, struct error *err)
{
	struct template_import_task *job = state;
	struct template_record record;
	struct template_answer answer;

	job->request.source_fd = fd;
	if (run_import(job, &record, err) < 0)
		return -1;
	fill_template_answer(&job->arena, &record, &answer);
	json_write(json, &template_shape, &answer);
	return 0;
}

static void import_task_free(void *state)
{
	struct template_import_task *job = state;

	arena_done(&job->arena);
	free(job);
}

static const struct receiver_upload_ops import_ops = {.work = finish_import,
                                                      .done = import_task_free};

static const char *copy_text(struct arena *a, const char *text)
{
	return text ? arena_text(a, text) : NULL;
}

static const char *const *copy_list(struct arena *a, const char *const *list)
{
	const char **copy;
	size_t count = 0;

	if (!list)
		return NULL;
	while (list[count])
		count++;
	copy = ARENA_ARRAY(a, const char *, count + 1);
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_text(a, list[i]);
	return copy;
}

static void copy_map(struct arena *a, struct json_map *map)
{
	struct json_pair *pairs = ARENA_ARRAY(a, struct json_pair, map->count + 1);

	for (size_t i = 0; i < map->count; i++)
		pairs[i] = (struct json_pair){arena_text(a, map->pairs[i].key),
		                              arena_text(a, map->pairs[i].value)};
	map->pairs = pairs;
}

static void copy_warm(struct template_import_task *job, const struct fleet_warm *from)
{
	struct fleet_warm_one *items;

	if (!from)
		return;
	items = ARENA_ARRAY(&job->arena, struct fleet_warm_one, from->count + 1);
	for (size_t i = 0; i < from->count; i++) {
		items[i].language = arena_text(&job->arena, from->items[i].language);
		items[i].imports = copy_list(&job->arena, from->items[i].imports);
	}
	job->warm = (struct fleet_warm){items, from->count};
	job->recipe.warm = &job->warm;
}

/* The request's texts are freed before the worker runs, so they are copied. */
static void copy_recipe(struct template_import_task *job, const struct fleet_recipe *from)
{
	struct fleet_recipe *r = &job->recipe;
	int64_t *ports;

	*r = *from;
	r->description = copy_text(&job->arena, from->description);
	r->runtime = copy_text(&job->arena, from->runtime);
	r->isolation = copy_text(&job->arena, from->isolation);
	r->provider = copy_text(&job->arena, from->provider);
	r->user = copy_text(&job->arena, from->user);
	r->workdir = copy_text(&job->arena, from->workdir);
	r->entrypoint = copy_list(&job->arena, from->entrypoint);
	copy_map(&job->arena, &r->env);
	if (from->ports) {
		ports = ARENA_ARRAY(&job->arena, int64_t, from->port_count + 1);
		for (size_t i = 0; i < from->port_count; i++)
			ports[i] = from->ports[i];
		r->ports = ports;
	}
	copy_warm(job, from->warm);
	if (from->resources) {
		job->resources = *from->resources;
		r->resources = &job->resources;
	}
	if (from->timeouts) {
		job->timeouts = *from->timeouts;
		r->timeouts = &job->timeouts;
	}
	if (from->pool) {
		job->pool = *from->pool;
		r->pool = &job->pool;
	}
	job->request.recipe = r;
}

static struct template_import_task *import_task_new(struct api *api,
                                                    const struct fleet_import *request)
{
	struct template_import_task *job = memory_new(sizeof(*job));

	job->api = api;
	job->request = *request;
	job->request.project_id = arena_text(&job->arena, request->project_id);
	job->request.name = arena_text(&job->arena, request->name);
	job->request.description =
	        arena_text(&job->arena, request->description ? request->description : "");
	if (request->reference)
		job->request.reference = arena_text(&job->arena, request->reference);
	if (request->login) {
		job->login =
		        (struct image_login){arena_text(&job->arena, request->login->username),
		                             arena_text(&job->arena, request->login->password)};
		job->request.login = &job->login;
	}
	if (request->recipe)
		copy_recipe(job, request->recipe);
	return job;
}

/* `from`: the template to share; NULL: an image. */
static int start_import(struct request *rq, const struct fleet_import *request, const char *from,
                        struct reply *reply, struct error *err)
{
	struct api *api = api_of(rq);
	struct receiver_upload_options options = {.ops = &import_ops,
	                                          .lane = fleet_work(api->fleet),
	                                          .project_id = request->project_id,
	                                          .what = "the image",
	                                          .bytes_max = IMAGE_BYTES_MAX};
	struct template_import_task *job;

	if (image_name_check(request->name, err) < 0)
		return -1;
	job = import_task_new(api, request);
	job->from = copy_text(&job->arena, from);
	options.state = job;
	if (request->format == IMAGE_REGISTRY)
		return receiver_queue(rq, &options, reply, err);
	return receiver_take(rq, &options, reply, err);
}

static int template_import(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct template_import_query *q = rq->query;
	struct fleet_import request = {
	        .project_id = api_project(rq),
	        .name = q->name,
	        .description = q->description,
	        .source_fd = -1,
	};

	(void)body;
	if (image_format_parse(q->format ? q->format : "tar", &request.format, err) < 0)
		return -1;
	if (request.format == IMAGE_REGISTRY)
		return FAIL(err, ERROR_INVALID, "an image of a registry has no body: POST " BASE);
	return start_import(rq, &request, NULL, reply, err);
}

static int parse_ports(struct arena *a, struct span json, struct fleet_recipe *ret,
                       struct error *err)
{
	const struct json_value *list;
	int64_t *ports;

	if (json.size == 0)
		return 0;
	if (json.data[0] != '[')
		return FAIL(err, ERROR_INVALID, "ports: a list of numbers");
	if (json_load(a, json, &list, err) < 0)
		return FAIL_CONTEXT(err, "ports");
	ret->port_count = json_count(list);
	ports = ARENA_ARRAY(a, int64_t, ret->port_count + 1);
	for (size_t i = 0; i < ret->port_count; i++)
		ports[i] = json_whole(json_item_at(list, i), 0); /* recipe_parse refuses 0 */
	ret->ports = ports;
	return 0;
}

static void parse_warm(struct arena *a, const struct json_list *list, struct fleet_recipe *ret)
{
	const struct template_warm *from = list->items;
	struct fleet_warm_one *items;
	struct fleet_warm *warm;

	if (!list->present)
		return;
	items = ARENA_ARRAY(a, struct fleet_warm_one, list->count + 1);
	warm = ARENA_NEW(a, struct fleet_warm);
	for (size_t i = 0; i < list->count; i++)
		items[i] = (struct fleet_warm_one){from[i].language,
		                                   (const char *const *)from[i].imports};
	*warm = (struct fleet_warm){items, list->count};
	ret->warm = warm;
}

static int recipe_parse(struct request *rq, const struct template_body *b, struct fleet_recipe *ret,
                        struct error *err)
{
	struct sandbox_resources *resources = ARENA_ARRAY(rq->arena, struct sandbox_resources, 1);
	struct fleet_pool_size *pool = ARENA_NEW(rq->arena, struct fleet_pool_size);
	struct sandbox_timeouts *timeouts = ARENA_NEW(rq->arena, struct sandbox_timeouts);

	*ret = (struct fleet_recipe){
	        .description = b->description,
	        .runtime = b->runtime,
	        .isolation = b->isolation,
	        .provider = b->provider,
	        .user = b->user,
	        .workdir = b->workdir,
	        .env = b->env,
	        .entrypoint = b->entrypoint,
	};
	*resources = (struct sandbox_resources){b->resources.cpu, b->resources.memory_mb,
	                                        b->resources.disk_mb, b->resources.pids};
	if (row_is_given(b->present, TEMPLATE_RESOURCES))
		ret->resources = resources;
	*timeouts = idle_body_parse(&b->idle);
	if (row_is_given(b->present, TEMPLATE_IDLE))
		ret->timeouts = timeouts;
	if (row_is_given(b->present, TEMPLATE_PUBLIC))
		ret->visibility = b->is_public ? RECIPE_PUBLIC : RECIPE_PRIVATE;
	if (row_is_given(b->present, TEMPLATE_POOL)) {
		if (pool_body_parse(&b->pool, api_of(rq)->config->internet, pool, err) < 0)
			return -1;
		ret->pool = pool;
	}
	parse_warm(rq->arena, &b->warm, ret);
	if (parse_ports(rq->arena, b->ports, ret, err) < 0)
		return -1;
	if (fleet_recipe_check(api_of(rq)->fleet, ret, err) < 0)
		return -1;
	return native_check_placement(rq, b->provider, b->isolation, err);
}

static int template_create(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct template_body *b = body;
	struct fleet_recipe recipe;
	struct fleet_import request = {
	        .project_id = api_project(rq),
	        .name = b->name,
	        .description = b->description,
	        .format = IMAGE_REGISTRY,
	        .reference = b->image,
	        .login = b->login.username ? &b->login : NULL,
	        .source_fd = -1,
	        .recipe = &recipe,
	};

	if (!b->image == !b->from)
		return FAIL(err, ERROR_INVALID, "give either image or from");
	if (request.login && !b->image)
		return FAIL(err, ERROR_INVALID, "login is given without image");
	if ((b->image && image_reference_check(b->image, err) < 0) ||
	    recipe_parse(rq, b, &recipe, err) < 0)
		return -1;
	return start_import(rq, &request, b->from, reply, err);
}

static int template_patch(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct fleet_ref ref = {api_project(rq), request_param(rq, "template")};
	struct fleet_recipe recipe;
	struct template_record record;
	struct template_answer out;

	if (recipe_parse(rq, body, &recipe, err) < 0 ||
	    fleet_template_change(api_of(rq)->fleet, rq->arena, &ref, &recipe, &record, err) < 0)
		return -1;
	fill_template_answer(rq->arena, &record, &out);
	reply_json(reply, &template_shape, &out);
	return 0;
}

#define TAG .tag = "templates"
const struct route templates_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .query = &template_list_query,
         .answer = &template_list_shape, .handle = templates_list, TAG,
         .summary = "List the project's templates and shared templates"},
        {HTTP_POST, BASE, SCOPE_TEMPLATE_WRITE, .body = &template_request,
         .answer = &template_shape, .status = 201, .handle = template_create, TAG,
         .summary = "Create a template from a registry's image or another template"},
        {HTTP_POST, BASE "/seed", SCOPE_TEMPLATE_WRITE, ROUTE_SLOW, .answer = &seed_shape,
         .handle = templates_seed, TAG, .summary = "Add the default templates that are missing"},
        {HTTP_POST, BASE "/import", SCOPE_TEMPLATE_WRITE, ROUTE_STREAM_BODY,
         .query = &template_import_query, .answer = &template_shape, .status = 201,
         .handle = template_import, TAG, .summary = "Create a template from the request's body"},
        {HTTP_GET, BASE "/:template", SCOPE_SANDBOX_READ, .answer = &template_shape,
         .handle = template_get, TAG, .summary = "Get a template by name or id"},
        {HTTP_PATCH, BASE "/:template", SCOPE_TEMPLATE_WRITE, .body = &template_change,
         .answer = &template_shape, .handle = template_patch, TAG,
         .summary = "Change the settings that a template gives its sandboxes"},
        {HTTP_DELETE, BASE "/:template", SCOPE_TEMPLATE_WRITE, ROUTE_SLOW, .status = 204,
         .handle = template_delete, TAG, .summary = "Delete an unused template"},
        {.path = NULL},
};
