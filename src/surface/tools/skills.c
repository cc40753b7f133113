/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/skills — bundles of files for load_skill. */
#include "base/clock.h"
#include "base/id.h"
#include "edge/api.h"
#include "store/skills.h"
#include "surface/tools/routes.h"
#include "tool/skill.h"

#define BASE "/v1/skills"
#define BODY_MAX ((size_t)4 << 20)

struct skill_body {
	const char *description;
	struct json_list files;
};
static const struct json_member skill_request_members[] = {
        JSON_TEXT_MEMBER(skill_body, description, .max = 1024, .about = "when to use it"),
        JSON_LIST_MEMBER(skill_body, files, &skill_file_shape, .flags = JSON_REQUIRED, .min = 1,
                         .max = SKILL_FILES_MAX,
                         .about = "must have a SKILL.md; at most 2 MiB in all"),
};
static JSON_SHAPE(skill_request, "SkillPut", skill_body, "A skill");

struct skill_answer {
	const char *name, *description;
	int64_t files, size, updated_at;
};
static const struct json_member skill_shape_members[] = {
        JSON_TEXT_MEMBER(skill_answer, name),
        JSON_TEXT_MEMBER(skill_answer, description),
        JSON_WHOLE_MEMBER(skill_answer, files, .about = "number of files"),
        JSON_WHOLE_MEMBER(skill_answer, size, .about = "bytes"),
        JSON_TIME_MEMBER(skill_answer, updated_at, .name = "updatedAt"),
};
static JSON_SHAPE(skill_shape, "Skill", skill_answer, "A stored skill of the project");
struct skill_items {
	struct json_list items;
};
static const struct json_member skill_list_shape_members[] = {
        JSON_LIST_MEMBER(skill_items, items, &skill_shape),
};
static JSON_SHAPE(skill_list_shape, "SkillList", skill_items, "Skills by name");

static struct skill_answer answer_of(const struct skill_record *r)
{
	return (struct skill_answer){r->name, r->description, r->file_count, r->size_bytes,
	                             r->updated_at};
}

static int skills_list(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct skill_answer *items;
	struct skill_list found;
	struct skill_items out;

	(void)body;
	if (store_skill_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct skill_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = answer_of(&found.items[i]);
	out = (struct skill_items){{items, found.count, true}};
	reply_json(reply, &skill_list_shape, &out);
	return 0;
}

static int skill_put(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct skill_body *b = body;
	AUTO(buf_done) struct buf files = BUF(2 * BODY_MAX);
	const struct skill_bundle bundle = {b->files};
	struct id id = id_new();
	struct skill_record record = {
	        .id = id.text,
	        .project_id = api_project(rq),
	        .name = request_param(rq, "skill"),
	        .description = b->description ? b->description : "",
	        .file_count = (int64_t)b->files.count,
	        .updated_at = clock_unix_ms(),
	};
	struct skill_answer out;

	if (skill_name_check(record.name, err) < 0 ||
	    skill_bundle_check(rq->arena, &bundle, &record.size_bytes, err) < 0)
		return -1;
	json_write(&files, &skill_bundle_shape, &bundle);
	record.files_json = buf_text(&files);
	if (store_skill_put(api_of(rq)->store, &record, err) < 0)
		return -1;
	out = answer_of(&record);
	reply_json(reply, &skill_shape, &out);
	return 0;
}

static int skill_delete(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	(void)body;
	if (store_skill_remove(api_of(rq)->store, api_project(rq), request_param(rq, "skill"),
	                       err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "tools"
const struct route skills_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &skill_list_shape, .handle = skills_list,
         TAG, .summary = "List the skills that load_skill can load"},
        {HTTP_PUT, BASE "/:skill", SCOPE_TEMPLATE_WRITE, .body_max = BODY_MAX,
         .body = &skill_request, .answer = &skill_shape, .handle = skill_put, TAG,
         .summary = "Store a skill; a skill of the same name is replaced"},
        {HTTP_DELETE, BASE "/:skill", SCOPE_TEMPLATE_WRITE, .status = 204, .handle = skill_delete,
         TAG, .summary = "Delete a skill"},
        {.path = NULL},
};
