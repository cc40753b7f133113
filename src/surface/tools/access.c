/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/ID/egress/requests — hosts that a sandbox asks for; and what one click of
 * a person does about a refused host. */
#include "base/clock.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/egress.h"
#include "json/json.h"
#include "sandbox/decision.h"
#include "store/approvals.h"
#include "store/sandbox_record.h"
#include "surface/native/sandbox_answer.h"
#include "surface/tools/approvals.h"
#include "surface/tools/routes.h"
#include "tool/access.h"
#include "tool/tool.h"

#define BASE "/api/sandbox/instances/:id/egress"
#define LIST_USUAL 200

static int find_sandbox(struct request *rq, struct sandbox_record *ret, struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);

	return fleet_find(api_of(rq)->fleet, rq->arena, &ref, ret, err);
}

struct access_query {
	const char *page;
	int64_t limit;
	bool all;
};
static const struct json_member access_query_members[] = {
        JSON_BOOL_MEMBER(access_query, all, .about = "those that were decided on, too"),
        JSON_TEXT_MEMBER(access_query, page, .max = 256, .about = "next_page of the previous page"),
        JSON_WHOLE_MEMBER(access_query, limit, .min = 1, .max = 1000,
                          .about = "items per page (default 200)"),
};
static JSON_SHAPE(access_query, "AccessRequestQuery", access_query, "Which requests for access");

static int requests_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct access_query *q = rq->query;
	struct sandbox_record sandbox;
	struct approval_filter filter = {
	        .project_id = api_project(rq),
	        .tool = ACCESS_TOOL,
	        .state = q->all ? NULL : approval_state_name(APPROVAL_PENDING),
	        .now = clock_unix_ms(),
	        .limit = q->limit ? (unsigned)q->limit : LIST_USUAL,
	        .page = q->page,
	};

	if (find_sandbox(rq, &sandbox, err) < 0)
		return -1;
	filter.sandbox_id = sandbox.id;
	return approvals_reply(rq, reply, &filter, err);
}

static int decide_request(struct request *rq, const void *body, bool allows, struct reply *reply,
                          struct error *err)
{
	const struct approval_decision_body *b = body;
	const struct access_context context = {api_of(rq)->fleet, api_of(rq)->store, rq->arena};
	const struct tool_decision decision = {
	        .project_id = api_project(rq),
	        .id = request_param(rq, "request"),
	        .key_id = api_key_id(rq),
	        .note = b->note,
	        .approves = allows,
	};
	struct sandbox_record sandbox;
	struct approval_record r;

	if (find_sandbox(rq, &sandbox, err) < 0 ||
	    access_decide(&context, &decision, sandbox.id, &r, err) < 0)
		return -1;
	api_audit_subject(rq, r.id);
	return approval_reply(rq, reply, &r, err);
}

static int request_allow(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	return decide_request(rq, body, true, reply, err);
}

static int request_deny(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	return decide_request(rq, body, false, reply, err);
}

struct allow_body {
	const char *host;
};
static const struct json_member allow_request_members[] = {
        JSON_TEXT_MEMBER(allow_body, host, .flags = JSON_REQUIRED, .min = 1,
                         .max = SANDBOX_HOST_NAME_MAX,
                         .about = "a host name, *.name, an address or a range",
                         .example = "api.example.com"),
};
static JSON_SHAPE(allow_request, "EgressAllow", allow_body, "A host to allow");

static int egress_allow(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct allow_body *b = body;
	const struct fleet_ref ref = api_path_ref(rq);
	struct sandbox_record record;

	if (fleet_allow_egress(api_of(rq)->fleet, rq->arena, &ref, b->host, &record, err) < 0)
		return -1;
	return sandbox_reply(rq, reply, &record);
}

struct check_query {
	const char *host;
	int64_t port;
};
static const struct json_member check_query_members[] = {
        JSON_TEXT_MEMBER(check_query, host, .flags = JSON_REQUIRED, .min = 1,
                         .max = SANDBOX_HOST_NAME_MAX, .about = "a host name or an address"),
        JSON_WHOLE_MEMBER(check_query, port, .min = 0, .max = 65535, .about = "default: 443"),
};
static JSON_SHAPE(check_query, "EgressCheckQuery", check_query, "A connection to think of");
struct check_answer {
	const char *host, *decision, *code, *rule, *reason;
	int64_t port;
};
static const struct json_member check_shape_members[] = {
        JSON_TEXT_MEMBER(check_answer, host),
        JSON_WHOLE_MEMBER(check_answer, port),
        JSON_TEXT_MEMBER(check_answer, decision, .about = "allowed, denied or watched"),
        JSON_TEXT_MEMBER(check_answer, code, .about = "as in the log of decisions"),
        JSON_TEXT_MEMBER(check_answer, rule, .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(check_answer, reason, .about = "for people"),
};
static JSON_SHAPE(check_shape, "EgressCheck", check_answer,
                  "What the network rules of a sandbox would decide");

static int egress_check_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	const struct check_query *q = rq->query;
	AUTO(buf_done) struct buf reason = BUF(512);
	struct sandbox_record sandbox;
	struct network_decision d;
	struct check_answer out;

	const struct egress_target target = {q->host, q->port ? (uint16_t)q->port : 443};

	if (find_sandbox(rq, &sandbox, err) < 0 ||
	    egress_predict(api_of(rq)->fleet, rq->arena, &sandbox, &target, &d, err) < 0)
		return -1;
	decision_add_reason(&reason, &d);
	out = (struct check_answer){
	        .host = q->host,
	        .port = d.port,
	        .decision = decision_verdicts[d.verdict],
	        .code = decision_codes[d.code],
	        .rule = *d.rule ? d.rule : NULL,
	        .reason = buf_text(&reason),
	};
	reply_json(reply, &check_shape, &out);
	return 0;
}

struct preset_answer {
	const char *name, *about;
	const char **hosts;
};
static const struct json_member preset_shape_members[] = {
        JSON_TEXT_MEMBER(preset_answer, name),
        JSON_TEXT_MEMBER(preset_answer, about),
        JSON_TEXT_LIST_MEMBER(preset_answer, hosts),
};
static JSON_SHAPE(preset_shape, "EgressPreset", preset_answer, "A named list of hosts to allow");
struct preset_items {
	struct json_list items;
};
static const struct json_member preset_list_members[] = {
        JSON_LIST_MEMBER(preset_items, items, &preset_shape),
};
static JSON_SHAPE(preset_list, "EgressPresetList", preset_items, "Presets of network rules");

static int presets_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                       UNUSED struct error *err)
{
	struct preset_answer *items;
	struct preset_items out;
	size_t count = 0;

	while (egress_presets[count].name)
		count++;
	items = ARENA_ARRAY(rq->arena, struct preset_answer, count + 1);
	for (size_t i = 0; i < count; i++)
		items[i] =
		        (struct preset_answer){egress_presets[i].name, egress_presets[i].about,
		                               (const char **)(uintptr_t)egress_presets[i].hosts};
	out.items = (struct json_list){items, count, true};
	reply_json(reply, &preset_list, &out);
	return 0;
}

#define TAG .tag = "sandboxes"
const struct route access_routes[] = {
        {HTTP_GET, BASE "/requests", SCOPE_SANDBOX_READ, .query = &access_query,
         .answer = &approval_list_shape, .handle = requests_list, TAG,
         .summary = "List the hosts that a sandbox asks for"},
        {HTTP_POST, BASE "/requests/:request/allow", SCOPE_SANDBOX_WRITE, ROUTE_SLOW,
         .body = &approval_decision_shape, .answer = &approval_shape, .handle = request_allow, TAG,
         .summary = "Allow a host that a sandbox asks for, immediately"},
        {HTTP_POST, BASE "/requests/:request/deny", SCOPE_SANDBOX_WRITE,
         .body = &approval_decision_shape, .answer = &approval_shape, .handle = request_deny, TAG,
         .summary = "Refuse a host that a sandbox asks for"},
        {HTTP_POST, BASE "/allow", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .body = &allow_request,
         .answer = &sandbox_shape, .handle = egress_allow, TAG,
         .summary = "Allow one more host, and keep the other rules"},
        {HTTP_GET, BASE "/check", SCOPE_SANDBOX_READ, .query = &check_query, .answer = &check_shape,
         .handle = egress_check_get, TAG,
         .summary = "Ask whether the rules of a sandbox would allow a connection"},
        {HTTP_GET, "/api/sandbox/egress/presets", SCOPE_SANDBOX_READ, .answer = &preset_list,
         .handle = presets_get, TAG, .summary = "List presets of network rules"},
        {.path = NULL},
};
