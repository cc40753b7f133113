/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/approvals — tool calls that need approval. */
#include "surface/tools/approvals.h"

#include <string.h>

#include "base/clock.h"
#include "edge/api.h"
#include "job/job.h"
#include "json/json.h"
#include "store/approvals.h"
#include "surface/tools/routes.h"
#include "tool/access.h"
#include "tool/activation.h"
#include "tool/tool.h"

#define BASE "/v1/approvals"
#define LIST_USUAL 200
#define NOTE_MAX 500

struct approval_answer {
	const char *id, *tool, *input, *state, *sandbox, *conversation, *key, *note, *decided_by;
	const char *key_name, *decided_by_name;
	struct span input_object;
	struct job_origin origin;
	int64_t created_at, decided_at, expires_at;
};
static const struct json_member approval_shape_members[] = {
        JSON_TEXT_MEMBER(approval_answer, id),
        JSON_TEXT_MEMBER(approval_answer, tool),
        JSON_TEXT_MEMBER(approval_answer, input,
                         .about = "input of the call as JSON text; a long one is cut"),
        JSON_RAW_MEMBER(approval_answer, input_object, .name = "inputObject",
                        .flags = JSON_NULLABLE,
                        .about = "input of the call as an object; null: it is cut"),
        JSON_TEXT_MEMBER(approval_answer, state,
                         .about = "pending, approved, refused, used or expired"),
        JSON_TEXT_MEMBER(approval_answer, sandbox, .name = "sandboxId", .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(approval_answer, conversation, .name = "conversationId",
                         .flags = JSON_NULLABLE),
        JSON_OBJECT_MEMBER(approval_answer, origin, &job_origin_shape, .flags = JSON_NULLABLE,
                           .about = "source of the conversation's message, as the caller names it"),
        JSON_TEXT_MEMBER(approval_answer, key, .name = "keyId", .about = "key that made the call"),
        JSON_TEXT_MEMBER(approval_answer, key_name, .name = "keyName", .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(approval_answer, note, .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(approval_answer, decided_by, .name = "decidedBy", .flags = JSON_NULLABLE,
                         .about = "id of the key that decided"),
        JSON_TEXT_MEMBER(approval_answer, decided_by_name, .name = "decidedByName",
                         .flags = JSON_NULLABLE, .about = "name of that key"),
        JSON_TIME_MEMBER(approval_answer, created_at, .name = "createdAt"),
        JSON_TIME_MEMBER(approval_answer, decided_at, .name = "decidedAt"),
        JSON_TIME_MEMBER(
                approval_answer, expires_at, .name = "expiresAt",
                .about = "a pending call must be decided, and an approved call be made, by then"),
};
JSON_SHAPE(approval_shape, "Approval", approval_answer, "A call that needs approval");
struct approval_items {
	struct json_list items;
	const char *next_page;
};
static const struct json_member approval_list_shape_members[] = {
        JSON_LIST_MEMBER(approval_items, items, &approval_shape),
        JSON_TEXT_MEMBER(approval_items, next_page, .flags = JSON_NULLABLE),
};
JSON_SHAPE(approval_list_shape, "ApprovalList", approval_items, "Calls, newest first");

struct approval_list_query {
	const char *state, *page;
	int64_t limit;
};
static const struct json_member approval_list_query_members[] = {
        JSON_TEXT_MEMBER(approval_list_query, state, .max = 16,
                         .about = "pending (default), approved, refused, used or any"),
        JSON_TEXT_MEMBER(approval_list_query, page, .max = 256,
                         .about = "next_page of the previous page"),
        JSON_WHOLE_MEMBER(approval_list_query, limit, .min = 1, .max = 1000,
                          .about = "items per page (default 200)"),
};
static JSON_SHAPE(approval_list_query, "ApprovalListQuery", approval_list_query, "Which approvals");
static const struct json_member approval_decision_shape_members[] = {
        JSON_TEXT_MEMBER(approval_decision_body, note, .max = NOTE_MAX,
                         .about = "shown to the caller"),
};
JSON_SHAPE(approval_decision_shape, "ApprovalDecision", approval_decision_body,
           "A note on the decision");

static int read_record(struct arena *a, const struct approval_record *r,
                       struct approval_answer *ret, struct error *err)
{
	const struct json_value *ignored;
	struct error cut;

	*ret = (struct approval_answer){
	        .id = r->id,
	        .tool = r->tool,
	        .input = r->input,
	        .state = approval_state_name(r->state),
	        .sandbox = text_or_null(r->sandbox_id),
	        .conversation = text_or_null(r->conversation_id),
	        .key = r->key_id,
	        .note = text_or_null(r->note),
	        .decided_by = text_or_null(r->decided_by),
	        .key_name = text_or_null(r->key_name),
	        .decided_by_name = text_or_null(r->decided_by_name),
	        .created_at = r->created_at,
	        .decided_at = r->decided_at,
	        .expires_at = r->expires_at,
	        .origin.type = -1, /* no origin */
	};
	if (json_load(a, span_of(r->input), &ignored, &cut) == 0)
		ret->input_object = span_of(r->input);
	if (!r->origin_json[0])
		return 0;
	return json_parse(a, span_of(r->origin_json), &job_origin_shape, &ret->origin, err);
}

static int check_state(const char *state, struct error *err)
{
	static const char *const names[] = {"pending", "approved", "refused", "used", "any"};

	for (size_t i = 0; state && i < COUNT_OF(names); i++)
		if (strcmp(names[i], state) == 0)
			return 0;
	return !state ? 0
	              : FAIL(err, ERROR_INVALID,
	                     "state: pending, approved, refused, used or any, not '%s'", state);
}

int approvals_reply(struct request *rq, struct reply *reply, const struct approval_filter *filter,
                    struct error *err)
{
	struct approval_answer *items;
	struct approval_list found;
	struct approval_items out;

	if (store_approval_list(api_of(rq)->store, rq->arena, filter, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct approval_answer, found.count + 1);
	for (size_t i = 0; i < found.count; i++)
		if (read_record(rq->arena, &found.items[i], &items[i], err) < 0)
			return -1;
	out = (struct approval_items){{items, found.count, true}, found.next_page};
	reply_json(reply, &approval_list_shape, &out);
	return 0;
}

static int approvals_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	const struct approval_list_query *q = rq->query;
	struct approval_filter filter = {
	        .project_id = api_project(rq),
	        .state = q->state ? q->state : "pending",
	        .now = clock_unix_ms(),
	        .limit = q->limit ? (unsigned)q->limit : LIST_USUAL,
	        .page = q->page,
	};

	if (strcmp(filter.state, "any") == 0)
		filter.state = NULL;
	if (check_state(q->state, err) < 0)
		return -1;
	return approvals_reply(rq, reply, &filter, err);
}

int approval_reply(struct request *rq, struct reply *reply, const struct approval_record *r,
                   struct error *err)
{
	struct approval_answer out;

	if (read_record(rq->arena, r, &out, err) < 0)
		return -1;
	reply_json(reply, &approval_shape, &out);
	return 0;
}

static int approval_get(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	struct approval_record r;

	(void)body;
	if (store_approval_find(api_of(rq)->store, rq->arena, api_project(rq),
	                        request_param(rq, "approval"), &r, err) < 0)
		return -1;
	return approval_reply(rq, reply, &r, err);
}

/* Some approvals do something by themselves; others are used by the call that asked. */
static int apply_decision(struct request *rq, const struct tool_decision *d,
                          struct approval_record *r, struct error *err)
{
	const struct access_context access = {api_of(rq)->fleet, api_of(rq)->store, rq->arena};
	const struct activation_context activation = {api_of(rq)->store, api_of(rq)->grants,
	                                              rq->arena, api_user_id(rq)};

	if (access_is_request(r))
		return access_decide(&access, d, NULL, r, err);
	if (activation_is_request(r))
		return activation_decide(&activation, d, r, err);
	return tool_decide_approval(access.store, rq->arena, d, r, err);
}

static int decide_approval(struct request *rq, const struct approval_decision_body *b,
                           bool approves, struct reply *reply, struct error *err)
{
	const struct tool_decision decision = {
	        .project_id = api_project(rq),
	        .id = request_param(rq, "approval"),
	        .key_id = api_key_id(rq),
	        .note = b->note,
	        .approves = approves,
	};
	struct approval_record r;

	if (store_approval_find(api_of(rq)->store, rq->arena, decision.project_id, decision.id, &r,
	                        err) < 0)
		return -1;
	if (apply_decision(rq, &decision, &r, err) < 0)
		return -1;
	api_audit_subject(rq, r.id);
	return approval_reply(rq, reply, &r, err);
}

static int approval_approve(struct request *rq, const void *body, struct reply *reply,
                            struct error *err)
{
	return decide_approval(rq, body, true, reply, err);
}

static int approval_refuse(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	return decide_approval(rq, body, false, reply, err);
}

#define TAG .tag = "tools"
const struct route approvals_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .query = &approval_list_query,
         .answer = &approval_list_shape, .handle = approvals_list, TAG,
         .summary = "List tool calls that need approval"},
        {HTTP_GET, BASE "/:approval", SCOPE_SANDBOX_READ, .answer = &approval_shape,
         .handle = approval_get, TAG, .summary = "Get a tool call that needs approval"},
        {HTTP_POST, BASE "/:approval/approve", SCOPE_SANDBOX_WRITE, ROUTE_SLOW,
         .body = &approval_decision_shape, .answer = &approval_shape, .handle = approval_approve,
         TAG, .summary = "Approve a tool call, with another key than the one that made it"},
        {HTTP_POST, BASE "/:approval/refuse", SCOPE_SANDBOX_WRITE, .body = &approval_decision_shape,
         .answer = &approval_shape, .handle = approval_refuse, TAG,
         .summary = "Refuse a tool call"},
        {.path = NULL},
};
