/* SPDX-License-Identifier: Apache-2.0 */
/* Templates: find, list, tag and remove them. A tag of a template is a separate template with the
 * same content. The store's name of "name:tag" is NAME..TAG, and that of "name:default" is NAME. */
#include <math.h>
#include <string.h>

#include "config/config.h"
#include "fleet/snapshot/snapshots.h"
#include "fleet/template/recipe.h"
#include "fleet/template/templates.h"
#include "json/write.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/routes.h"

#define TAGS_MAX 16

struct e2b_template_answer {
	const char *template_id, *build_id, *envd_version, *build_status, *created_by;
	int64_t cpu_count, memory_mb, disk_mb, created_at, updated_at, last_spawned_at, spawn_count,
	        build_count;
	bool is_public;
	const char **names, **aliases;
	struct json_list builds;
};
#define COMMON_ROWS                                                                                \
	JSON_TEXT_MEMBER(e2b_template_answer, template_id, .name = "templateID"),                  \
	        JSON_BOOL_MEMBER(e2b_template_answer, is_public, .name = "public"),                \
	        JSON_TEXT_LIST_MEMBER(e2b_template_answer, aliases),                               \
	        JSON_TEXT_LIST_MEMBER(e2b_template_answer, names),                                 \
	        JSON_TIME_MEMBER(e2b_template_answer, created_at, .name = "createdAt"),            \
	        JSON_TIME_MEMBER(e2b_template_answer, updated_at, .name = "updatedAt"),            \
	        JSON_TIME_MEMBER(e2b_template_answer, last_spawned_at, .name = "lastSpawnedAt",    \
	                         .flags = JSON_NULLABLE),                                          \
	        JSON_WHOLE_MEMBER(e2b_template_answer, spawn_count, .name = "spawnCount")
static const struct json_member listed_template_shape_members[] = {
        COMMON_ROWS,
        JSON_TEXT_MEMBER(e2b_template_answer, build_id, .name = "buildID"),
        JSON_WHOLE_MEMBER(e2b_template_answer, cpu_count, .name = "cpuCount"),
        JSON_WHOLE_MEMBER(e2b_template_answer, memory_mb, .name = "memoryMB"),
        JSON_WHOLE_MEMBER(e2b_template_answer, disk_mb, .name = "diskSizeMB"),
        JSON_TEXT_MEMBER(e2b_template_answer, created_by, .name = "createdBy",
                         .flags = JSON_NULLABLE),
        JSON_WHOLE_MEMBER(e2b_template_answer, build_count, .name = "buildCount"),
        JSON_TEXT_MEMBER(e2b_template_answer, envd_version, .name = "envdVersion"),
        JSON_TEXT_MEMBER(e2b_template_answer, build_status, .name = "buildStatus"),
};
static JSON_SHAPE(listed_template_shape, "E2bTemplate", e2b_template_answer, "A template");

struct e2b_build_answer {
	const char *build_id, *status, *envd_version;
	int64_t created_at, updated_at, cpu_count, memory_mb;
};
static const struct json_member build_answer_shape_members[] = {
        JSON_TEXT_MEMBER(e2b_build_answer, build_id, .name = "buildID"),
        JSON_TEXT_MEMBER(e2b_build_answer, status),
        JSON_TIME_MEMBER(e2b_build_answer, created_at, .name = "createdAt"),
        JSON_TIME_MEMBER(e2b_build_answer, updated_at, .name = "updatedAt"),
        JSON_WHOLE_MEMBER(e2b_build_answer, cpu_count, .name = "cpuCount"),
        JSON_WHOLE_MEMBER(e2b_build_answer, memory_mb, .name = "memoryMB"),
        JSON_TEXT_MEMBER(e2b_build_answer, envd_version, .name = "envdVersion"),
};
static JSON_SHAPE(build_answer_shape, "E2bTemplateBuild", e2b_build_answer,
                  "A build of a template");
static const struct json_member whole_template_shape_members[] = {
        COMMON_ROWS,
        JSON_LIST_MEMBER(e2b_template_answer, builds, &build_answer_shape),
};
static JSON_SHAPE(whole_template_shape, "E2bTemplateWithBuilds", e2b_template_answer,
                  "A template and its builds");

static const char *const states[] = {
        [TEMPLATE_PENDING] = "ready", /* its first use builds it */
        [TEMPLATE_BUILDING] = "building",
        [TEMPLATE_READY] = "ready",
        [TEMPLATE_FAILED] = "error",
};

/* The resources that its sandboxes get, as far as they are known before one is created. */
static struct sandbox_resources resources_of(struct request *rq, const struct template_record *t)
{
	const struct config *config = api_of(rq)->config;
	const struct sandbox_resources layers[] = {t->resources, config->defaults,
	                                           SANDBOX_BUILT_IN_RESOURCES};

	return sandbox_resources_resolve(layers, COUNT_OF(layers), &config->caps);
}

/* Templates of all projects are public by nature. */
static bool is_public(const struct template_record *t)
{
	return t->is_public || t->project_id[0] == '\0';
}

/* By their names alone other projects' templates are not found. */
static const char *template_id_of(struct request *rq, const struct template_record *t)
{
	const char *project = api_project(rq);

	return t->project_id[0] && project && strcmp(t->project_id, project) != 0
	               ? t->id
	               : e2b_name_short(rq->arena, t->name);
}

static struct e2b_template_answer answer_of(struct request *rq, const struct template_record *t)
{
	const struct sandbox_resources resources = resources_of(rq, t);
	struct e2b_template_answer out = {
	        .template_id = template_id_of(rq, t),
	        .build_id = e2b_uuid_format(rq->arena, t->id, 0),
	        .envd_version = E2B_ENVD_VERSION,
	        .build_status = states[t->state],
	        .cpu_count = (int64_t)ceil(resources.cpu),
	        .memory_mb = resources.memory_mb,
	        .disk_mb = resources.disk_mb,
	        .created_at = t->created_at,
	        .updated_at = t->updated_at,
	        .build_count = 1,
	        .is_public = is_public(t),
	        .names = ARENA_ARRAY(rq->arena, const char *, 3),
	        .aliases = ARENA_ARRAY(rq->arena, const char *, 2),
	};

	out.names[0] = e2b_name_format(rq->arena, t->name);
	if (t->is_public)
		out.names[1] = t->id; /* for other projects */
	out.aliases[0] = t->name;
	return out;
}

static int find_template(struct request *rq, const char *text, struct template_record *ret,
                         struct error *err)
{
	struct e2b_name name;

	return e2b_name_parse(rq->arena, text, &name, err) < 0
	               ? -1
	               : e2b_template_find(rq, &name, ret, err);
}

static int list_templates(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	struct template_list found;

	if (store_template_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	json_begin_list(out, NULL);
	for (size_t i = 0; i < found.count; i++) {
		const struct e2b_template_answer item = answer_of(rq, &found.items[i]);

		json_add_struct(out, NULL, &listed_template_shape, &item);
	}
	json_end_list(out);
	return 0;
}

/* Shows the current build only; the native API lists earlier ones. */
static int get_template(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	struct template_record t;
	struct e2b_template_answer out;
	struct e2b_build_answer build;

	if (find_template(rq, request_param(rq, "id"), &t, err) < 0)
		return -1;
	out = answer_of(rq, &t);
	build = (struct e2b_build_answer){
	        .build_id = out.build_id,
	        .status = out.build_status,
	        .envd_version = out.envd_version,
	        .created_at = t.created_at,
	        .updated_at = t.updated_at,
	        .cpu_count = out.cpu_count,
	        .memory_mb = out.memory_mb,
	};
	out.builds = (struct json_list){&build, 1, true};
	reply_json(reply, &whole_template_shape, &out);
	return 0;
}

/* E2B's clients delete snapshots with this call, too. */
static int delete_template(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	struct fleet_ref ref = {.project_id = api_project(rq)};
	struct template_record t;
	struct e2b_name name;

	if (e2b_name_parse(rq->arena, request_param(rq, "id"), &name, err) < 0)
		return -1;
	ref.id_or_name = name.own;
	reply_status(reply, 204);
	if (e2b_template_find(rq, &name, &t, err) == 0)
		return fleet_template_remove(api_of(rq)->fleet, ref.project_id, name.own, err);
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return fleet_snapshot_remove(api_of(rq)->fleet, rq->arena, &ref, err);
}

struct template_update_body {
	bool is_public;
};
static const struct json_member update_request_members[] = {
        JSON_BOOL_MEMBER(template_update_body, is_public, .name = "public"),
};
static JSON_OPEN_SHAPE(update_request, "E2bTemplateUpdate", template_update_body,
                       "Whether all projects may use the template");

struct names_answer {
	const char **names;
};
static const struct json_member names_shape_members[] = {
        JSON_TEXT_LIST_MEMBER(names_answer, names),
};
static JSON_SHAPE(names_shape, "E2bTemplateNames", names_answer, "The names of a template");

static int update_template(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct template_update_body *b = body;
	const struct fleet_recipe recipe = {.visibility =
	                                            b->is_public ? RECIPE_PUBLIC : RECIPE_PRIVATE};
	struct fleet_ref ref = {.project_id = api_project(rq)};
	struct names_answer out;
	struct template_record t;

	if (find_template(rq, request_param(rq, "id"), &t, err) < 0)
		return -1;
	ref.id_or_name = t.id;
	if (b->is_public != is_public(&t) &&
	    fleet_template_change(api_of(rq)->fleet, rq->arena, &ref, &recipe, &t, err) < 0)
		return -1;
	out.names = answer_of(rq, &t).names;
	reply_json(reply, &names_shape, &out);
	return 0;
}

struct alias_answer {
	const char *template_id;
	bool is_public;
};
static const struct json_member alias_shape_members[] = {
        JSON_TEXT_MEMBER(alias_answer, template_id, .name = "templateID"),
        JSON_BOOL_MEMBER(alias_answer, is_public, .name = "public"),
};
static JSON_SHAPE(alias_shape, "E2bAlias", alias_answer, "The template of an alias");

static int get_alias(struct request *rq, UNUSED const void *body, struct reply *reply,
                     struct error *err)
{
	struct template_record t;
	struct alias_answer out;

	if (find_template(rq, request_param(rq, "alias"), &t, err) < 0)
		return -1;
	out = (struct alias_answer){template_id_of(rq, &t), is_public(&t)};
	reply_json(reply, &alias_shape, &out);
	return 0;
}

struct tags_body {
	const char *target;
	const char **tags;
};
#define TAGS_ROW                                                                                   \
	JSON_TEXT_LIST_MEMBER(tags_body, tags, .flags = JSON_REQUIRED, .min = 1, .max = TAGS_MAX)
static const struct json_member assign_request_members[] = {
        JSON_TEXT_MEMBER(tags_body, target, .flags = JSON_REQUIRED, .min = 1, .max = 256),
        TAGS_ROW,
};
static JSON_OPEN_SHAPE(assign_request, "E2bTagsAssign", tags_body,
                       "A template and the tags to add");
static const struct json_member untag_request_members[] = {
        JSON_TEXT_MEMBER(tags_body, target, .name = "name", .flags = JSON_REQUIRED, .min = 1,
                         .max = 256),
        TAGS_ROW,
};
static JSON_OPEN_SHAPE(untag_request, "E2bTagsRemove", tags_body,
                       "A template and the tags to remove");

struct tags_assigned {
	const char **tags;
	const char *build_id;
};
static const struct json_member assigned_shape_members[] = {
        JSON_TEXT_LIST_MEMBER(tags_assigned, tags),
        JSON_TEXT_MEMBER(tags_assigned, build_id, .name = "buildID"),
};
static JSON_SHAPE(assigned_shape, "E2bTagsAssigned", tags_assigned,
                  "The tags that were added, and their build");

static int parse_tagged_name(struct request *rq, const char *name, const char *tag,
                             struct e2b_name *ret, struct error *err)
{
	return e2b_name_parse(rq->arena, arena_format(rq->arena, "%s:%s", name, tag), ret, err);
}

/* Replaces the template that had the tag before; fails if that one is in use. */
static int assign_tag(struct request *rq, const struct template_record *target,
                      const struct e2b_name *name, struct error *err)
{
	struct fleet *fleet = api_of(rq)->fleet;
	const struct fleet_recipe nothing = {.description = NULL};
	const struct fleet_derive request = {.project_id = api_project(rq),
	                                     .name = name->own,
	                                     .from = target->id,
	                                     .recipe = &nothing};
	struct template_record made, old;

	if (strcmp(name->own, target->name) == 0)
		return 0;
	if (e2b_template_find(rq, name, &old, err) == 0) {
		if (fleet_template_remove(fleet, request.project_id, old.id, err) < 0)
			return -1;
	} else if (err->code != ERROR_NOT_FOUND) {
		return -1;
	}
	error_clear(err);
	return fleet_template_derive(fleet, rq->arena, &request, &made, err);
}

static int assign_tags(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct tags_body *b = body;
	struct template_record target;
	struct e2b_name name, tagged;
	struct tags_assigned out = {.tags = b->tags};

	if (e2b_name_parse(rq->arena, b->target, &name, err) < 0 ||
	    e2b_template_find(rq, &name, &target, err) < 0)
		return -1;
	for (size_t i = 0; b->tags[i]; i++)
		if (parse_tagged_name(rq, name.name, b->tags[i], &tagged, err) < 0 ||
		    assign_tag(rq, &target, &tagged, err) < 0)
			return FAIL_CONTEXT(err, "tag '%.63s'", b->tags[i]);
	out.build_id = e2b_uuid_format(rq->arena, target.id, 0);
	reply_status(reply, 201);
	reply_json(reply, &assigned_shape, &out);
	return 0;
}

static int remove_tags(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct tags_body *b = body;
	struct e2b_name name, tagged;

	if (e2b_name_parse(rq->arena, b->target, &name, err) < 0)
		return -1;
	for (size_t i = 0; b->tags[i]; i++)
		if (parse_tagged_name(rq, name.name, b->tags[i], &tagged, err) < 0 ||
		    fleet_template_remove(api_of(rq)->fleet, api_project(rq), tagged.own, err) < 0)
			return FAIL_CONTEXT(err, "tag '%.63s'", b->tags[i]);
	reply_status(reply, 204);
	return 0;
}

struct tag_answer {
	const char *tag, *build_id;
	int64_t created_at;
};
static const struct json_member tag_shape_members[] = {
        JSON_TEXT_MEMBER(tag_answer, tag),
        JSON_TEXT_MEMBER(tag_answer, build_id, .name = "buildID"),
        JSON_TIME_MEMBER(tag_answer, created_at, .name = "createdAt"),
};
static JSON_SHAPE(tag_shape, "E2bTag", tag_answer, "A tag of a template");

static int list_tags(struct request *rq, UNUSED const void *body, struct reply *reply,
                     struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	struct template_list found;
	struct e2b_name name, other;

	if (e2b_name_parse(rq->arena, request_param(rq, "id"), &name, err) < 0 ||
	    store_template_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	json_begin_list(out, NULL);
	for (size_t i = 0; i < found.count; i++) {
		const struct template_record *t = &found.items[i];
		struct tag_answer item;

		if (e2b_name_parse(rq->arena, e2b_name_format(rq->arena, t->name), &other, err) < 0)
			return -1;
		if (strcmp(other.name, name.name) != 0)
			continue;
		item = (struct tag_answer){other.tag, e2b_uuid_format(rq->arena, t->id, 0),
		                           t->created_at};
		json_add_struct(out, NULL, &tag_shape, &item);
	}
	json_end_list(out);
	if (out->size == 2)
		return FAIL_MISSING(err, "template", name.name);
	return 0;
}

#define READ SCOPE_SANDBOX_READ
#define WRITE SCOPE_TEMPLATE_WRITE
const struct route e2b_templates_routes[] = {
        {HTTP_GET, "/templates", READ, ROUTE_HIDDEN, .handle = list_templates, E2B_ROW},
        {HTTP_GET, "/v2/templates", READ, ROUTE_HIDDEN, .handle = list_templates, E2B_ROW},
        {HTTP_GET, "/templates/:id", READ, ROUTE_HIDDEN, .handle = get_template, E2B_ROW},
        {HTTP_DELETE, "/templates/:id", WRITE, ROUTE_SLOW | ROUTE_HIDDEN, .status = 204,
         .handle = delete_template, E2B_ROW},
        {HTTP_PATCH, "/templates/:id", WRITE, ROUTE_HIDDEN, .body = &update_request,
         .handle = update_template, E2B_ROW},
        {HTTP_PATCH, "/v2/templates/:id", WRITE, ROUTE_HIDDEN, .body = &update_request,
         .handle = update_template, E2B_ROW},
        {HTTP_GET, "/templates/aliases/:alias", READ, ROUTE_HIDDEN, .handle = get_alias, E2B_ROW},
        {HTTP_POST, "/templates/tags", WRITE, ROUTE_SLOW | ROUTE_HIDDEN, .body = &assign_request,
         .status = 201, .handle = assign_tags, E2B_ROW},
        {HTTP_DELETE, "/templates/tags", WRITE, ROUTE_SLOW | ROUTE_HIDDEN, .body = &untag_request,
         .status = 204, .handle = remove_tags, E2B_ROW},
        {HTTP_GET, "/templates/:id/tags", READ, ROUTE_HIDDEN, .handle = list_tags, E2B_ROW},
        {.path = NULL},
};
