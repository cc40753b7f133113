/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/templates/builds — templates built from steps. */
#include "surface/native/builds.h"

#include "fleet/build/build.h"
#include "store/builds.h"
#include "surface/native/native.h"

struct build_answer {
	const char *id, *name, *from, *template, *status, *message, *project, *node, *sandbox;
	int64_t step, step_count, cached_count, exit_code, log_lines;
	int64_t created_at, started_at, ended_at;
	uint64_t present;
};
enum build_row { BUILD_ROW_EXIT_CODE };
static const struct json_member build_shape_members[] = {
        [BUILD_ROW_EXIT_CODE] = JSON_WHOLE_MEMBER(build_answer, exit_code, .flags = JSON_NULLABLE,
                                                  .about = "exit code of the command that failed"),
        JSON_TEXT_MEMBER(build_answer, id),
        JSON_TEXT_MEMBER(build_answer, name, .about = "name of the template"),
        JSON_TEXT_MEMBER(build_answer, from),
        JSON_TEXT_MEMBER(build_answer, template, .flags = JSON_NULLABLE,
                         .about = "id of the template; null until the build is ready"),
        JSON_TEXT_MEMBER(build_answer, status,
                         .about = "waiting, building, ready, error or cancelled"),
        JSON_TEXT_MEMBER(build_answer, message, .flags = JSON_NULLABLE,
                         .about = "why the build failed"),
        JSON_WHOLE_MEMBER(
                build_answer, step,
                .about = "current step, or the step that failed, from 1; 0: no step has started"),
        JSON_WHOLE_MEMBER(build_answer, step_count),
        JSON_WHOLE_MEMBER(build_answer, cached_count,
                          .about = "number of steps that were taken from the cache"),
        JSON_WHOLE_MEMBER(build_answer, log_lines),
        JSON_TEXT_MEMBER(build_answer, sandbox, .flags = JSON_NULLABLE,
                         .about = "id of the sandbox that runs the current step"),
        JSON_TEXT_MEMBER(build_answer, project),
        JSON_TEXT_MEMBER(build_answer, node),
        JSON_TIME_MEMBER(build_answer, created_at),
        JSON_TIME_MEMBER(build_answer, started_at, .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(build_answer, ended_at, .flags = JSON_NULLABLE),
};
static JSON_BITS_SHAPE(build_shape, "Build", build_answer, "A build of a template from steps");

struct build_list_query {
	const char *name, *page;
	int64_t limit;
};
static const struct json_member build_list_query_members[] = {
        JSON_TEXT_MEMBER(build_list_query, name, .max = 63,
                         .about = "only builds of this template"),
        JSON_TEXT_MEMBER(build_list_query, page, .max = 256,
                         .about = "next_page of the previous page"),
        JSON_WHOLE_MEMBER(build_list_query, limit, .min = 1, .max = 1000,
                          .about = "items per page (default 100)"),
};
static JSON_SHAPE(build_list_query, "BuildListQuery", build_list_query, "Filter for builds");

static const struct json_member build_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &build_shape),
        JSON_TEXT_MEMBER(list_answer, next_page, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(build_list_shape, "BuildList", list_answer, "One page of builds");

static struct build_answer make_build_answer(const struct build_record *r)
{
	return (struct build_answer){
	        .id = r->id,
	        .name = r->name,
	        .from = r->source,
	        .template = text_or_null(r->template_id),
	        .status = build_state_name(r->state),
	        .message = text_or_null(r->message),
	        .step = r->step,
	        .step_count = r->step_count,
	        .cached_count = r->cached_count,
	        .exit_code = r->exit_code < 0 ? 0 : r->exit_code,
	        .log_lines = r->log_lines,
	        .sandbox = text_or_null(r->sandbox_id),
	        .project = r->project_id,
	        .node = r->node,
	        .created_at = r->created_at,
	        .started_at = r->started_at,
	        .ended_at = r->ended_at,
	        .present = r->exit_code < 0 ? 0 : UINT64_C(1) << BUILD_ROW_EXIT_CODE,
	};
}

static int reply_build(struct reply *reply, const struct build_record *r)
{
	const struct build_answer out = make_build_answer(r);

	reply_json(reply, &build_shape, &out);
	return 0;
}

static int build_create(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct fleet_build request = {
	        .project_id = api_project(rq), .key_id = api_key_id(rq), .spec = body};
	struct build_record made;

	if (fleet_build_start(api_of(rq)->fleet, rq->arena, &request, &made, err) < 0)
		return -1;
	reply_status(reply, 202);
	return reply_build(reply, &made);
}

static int build_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	const struct build_list_query *q = rq->query;
	const struct build_filter filter = {
	        .project_id = api_project(rq),
	        .name = q->name,
	        .page = q->page,
	        .limit = q->limit ? (unsigned)q->limit : 100,
	};
	struct build_list found;
	struct build_answer *items;

	if (store_build_list(api_of(rq)->store, rq->arena, &filter, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct build_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = make_build_answer(&found.items[i]);
	reply_page(reply, &build_list_shape, (struct json_list){items, found.count, true},
	           found.next_page);
	return 0;
}

static int build_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                     struct error *err)
{
	const struct fleet_ref ref = build_ref(rq);
	struct build_record found;

	if (fleet_build_find(api_of(rq)->fleet, rq->arena, &ref, &found, err) < 0)
		return -1;
	return reply_build(reply, &found);
}

static int build_cancel(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	const struct fleet_ref ref = build_ref(rq);
	struct build_record ended;

	if (fleet_build_cancel(api_of(rq)->fleet, rq->arena, &ref, &ended, err) < 0)
		return -1;
	return reply_build(reply, &ended);
}

static int build_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	const struct fleet_ref ref = build_ref(rq);

	if (fleet_build_remove(api_of(rq)->fleet, rq->arena, &ref, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "templates"
const struct route builds_routes[] = {
        {HTTP_POST, BUILDS, SCOPE_TEMPLATE_WRITE, .body = &build_spec_shape, .answer = &build_shape,
         .status = 202, .handle = build_create, TAG,
         .summary = "Build a template from steps; the reply does not wait for the build"},
        {HTTP_GET, BUILDS, SCOPE_SANDBOX_READ, .query = &build_list_query,
         .answer = &build_list_shape, .handle = build_list, TAG,
         .summary = "List builds, newest first"},
        {HTTP_GET, BUILDS "/:build", SCOPE_SANDBOX_READ, .answer = &build_shape,
         .handle = build_get, TAG, .summary = "Get a build"},
        {HTTP_GET, BUILDS "/:build/logs", SCOPE_SANDBOX_READ, .query = &build_logs_query,
         .answer = &build_logs_shape, .handle = build_logs_get, TAG,
         .summary = "Get the log of a build, or follow it"},
        {HTTP_POST, BUILDS "/:build/cancel", SCOPE_TEMPLATE_WRITE, ROUTE_SLOW,
         .answer = &build_shape, .handle = build_cancel, TAG, .summary = "Cancel a build"},
        {HTTP_DELETE, BUILDS "/:build", SCOPE_TEMPLATE_WRITE, ROUTE_SLOW, .status = 204,
         .handle = build_delete, TAG, .summary = "Cancel a build and delete it with its log"},
        {HTTP_GET, BUILDS "/files/:hash", SCOPE_SANDBOX_READ, .answer = &build_files_shape,
         .handle = build_files_get, TAG, .summary = "Check whether files for copy steps exist"},
        {HTTP_PUT, BUILDS "/files/:hash", SCOPE_TEMPLATE_WRITE, ROUTE_STREAM_BODY,
         .answer = &build_files_shape, .status = 201, .handle = build_files_put, TAG,
         .summary = "Upload files for copy steps as tar, tar.gz or tar.zst, under a digest of "
                    "their content"},
        {.path = NULL},
};
