/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/tools — the agent tools over HTTP. */
#include "account/account.h"
#include "edge/target.h"
#include "job/job.h"
#include "json/json.h"
#include "json/write.h"
#include "sandbox/lease.h"
#include "surface/native/create_body.h"
#include "surface/tools/routes.h"
#include "surface/tools/target.h"
#include "tool/tool.h"

#define BASE "/v1/tools"
#define INPUT_MAX ((size_t)16 << 20)

struct tool_body {
	struct tools_target target;
	struct native_create_body settings;
	struct job_origin origin;
	struct span input;
	uint64_t present;
};
enum { TOOL_WAIT, TOOL_SANDBOX };
#define TARGET_ROW(name_, member_, max_, ...)                                                      \
	{                                                                                          \
		.kind = JSON_TEXT, .name = (name_),                                                \
		.offset = offsetof(struct tool_body, target.member_), .min = 1, .max = (max_),     \
		__VA_ARGS__                                                                        \
	}
static const struct json_member tool_request_members[] = {
        [TOOL_WAIT] = {.kind = JSON_WHOLE,
                       .name = "approvalWaitMs",
                       .offset = offsetof(struct tool_body, target.approval_wait_ms),
                       .min = 0,
                       .max = TOOLS_APPROVAL_WAIT_MAX_MS,
                       .about = "how long to wait for the approval of a call that needs one "
                                "(default 20 s)"},
        [TOOL_SANDBOX] = {.kind = JSON_OBJECT,
                          .name = "sandbox",
                          .offset = offsetof(struct tool_body, settings),
                          .of = &native_create_shape,
                          .about = "settings of the sandbox that an ephemeral call makes"},
        JSON_BOOL_MEMBER(tool_body, target.is_ephemeral, .name = "ephemeral",
                         .about = "true, or a config, a workspace or settings without a sandbox, "
                                  "lease or session: a sandbox is made for the call and ends "
                                  "with it; without a workspace only bash is offered"),
        TARGET_ROW("workspace", workspace, 53,
                   .about = "workspace whose files an ephemeral call, or the lease's sandbox, "
                            "has at /mnt/workspaces/NAME"),
        TARGET_ROW("sandboxId", sandbox, 128, .about = "id or name of a sandbox; or"),
        TARGET_ROW("lease", lease, LEASE_KEY_MAX,
                   .about = "key of a lease, whose sandbox is made on first use; or"),
        TARGET_ROW("sessionId", session, 128, .about = "a session, as of /v1/sandbox"),
        TARGET_ROW("tenantId", tenant, 128, .about = "of the session; default: \"default\""),
        TARGET_ROW("config", config, 128,
                   .about = "a config of /accounts/me/sandboxes for the lease's sandbox and for "
                            "the limits of tools; "
                            "default: the sandbox's own config"),
        TARGET_ROW("conversationId", conversation, 128,
                   .about = "the conversation that owns the call's background jobs"),
        JSON_OBJECT_MEMBER(
                tool_body, origin, &job_origin_shape,
                .about = "source of the conversation's message: the ends of background jobs are "
                         "reported there, and approvals show it"),
        JSON_RAW_MEMBER(tool_body, input, .about = "an object of the tool's inputSchema"),
};
static JSON_BITS_SHAPE(tool_request, "ToolCall", tool_body, "A call of a tool, in one sandbox");

struct tool_list_query {
	const char *config, *workspace;
	bool ephemeral;
};
static const struct json_member tool_list_query_members[] = {
        JSON_TEXT_MEMBER(
                tool_list_query, config, .max = 128,
                .about = "a config of /accounts/me/sandboxes; descriptions then name its limits"),
        JSON_TEXT_MEMBER(tool_list_query, workspace, .max = 53,
                         .about = "only the tools of an ephemeral call with this workspace"),
        JSON_BOOL_MEMBER(tool_list_query, ephemeral,
                         .about = "only the tools of an ephemeral call"),
};
static JSON_SHAPE(tool_list_query, "ToolListQuery", tool_list_query, "Which config");

/* Written by hand, for the reference only. */
struct tool_list_answer {
	struct span tools;
};
static const struct json_member tool_list_members[] = {
        JSON_RAW_MEMBER(tool_list_answer, tools,
                        .about = "name, title, description, inputSchema, outputSchema and "
                                 "annotations of each"),
};
static JSON_SHAPE(tool_list, "ToolList", tool_list_answer, "The agent tools");
struct tool_answer {
	struct span content, structured;
	const char *approval;
};
static const struct json_member tool_answer_members[] = {
        JSON_RAW_MEMBER(tool_answer, content,
                        .about = "a list of texts, images and resources, as in MCP"),
        JSON_RAW_MEMBER(tool_answer, structured, .name = "structuredContent",
                        .about = "an object of the tool's outputSchema"),
        JSON_TEXT_MEMBER(
                tool_answer, approval, .name = "approvalId",
                .about = "with status 202: the call did nothing, see /v1/approvals. Repeat the "
                         "same call after the approval"),
};
static JSON_SHAPE(tool_answer, "ToolResult", tool_answer, "The result of a tool");

static int tools_list(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct tool_list_query *q = rq->query;
	struct buf *out = reply_buf(reply, "application/json");
	const struct tools_target which = {.is_ephemeral = q->ephemeral, .workspace = q->workspace};
	struct tool described;

	(void)body;
	json_begin_object(out, NULL);
	json_begin_list(out, "tools");
	for (const struct tool *const *at = tools; *at; at++) {
		if (!tools_offer(&which, *at))
			continue;
		if (tools_describe(rq, q->config, *at, &described, err) < 0)
			return -1;
		tool_write(out, &described);
	}
	json_end_list(out);
	json_end_object(out);
	return 0;
}

static void reply_result(struct reply *reply, const struct tool *tool,
                         const struct tool_result *result)
{
	struct buf *out = reply_buf(reply, "application/json");

	json_begin_object(out, NULL);
	tool_write_result(out, tool, result);
	if (result->pending) {
		json_add_text(out, "approvalId", result->pending);
		reply_status(reply, 202);
	}
	json_end_object(out);
}

static int tool_post(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct tool_body *b = body;
	const char *name = request_param(rq, "name");
	const struct tool *tool = tool_find(name);
	AUTO(api_target_done) struct api_target target = {.hold = NULL};
	struct tools_target which = b->target;
	struct tool_call call;
	struct tool_result result;

	if (!tool) {
		(void)FAIL_MISSING(err, "tool", name);
		error_hint(err, "GET " BASE " lists them");
		return -1;
	}
	if (!(b->present >> TOOL_WAIT & 1))
		which.approval_wait_ms = TOOLS_APPROVAL_WAIT_MS;
	if (b->present >> TOOL_SANDBOX & 1) {
		which.is_ephemeral = true;
		which.settings = &b->settings;
	}
	which.origin = &b->origin;
	if (job_origin_check(&b->origin, err) < 0 ||
	    tools_open_call(rq, tool, &which, &target, &call, err) < 0 ||
	    tool_run(tool, &call, b->input, &result, err) < 0)
		return -1;
	reply_result(reply, tool, &result);
	return 0;
}

#define TAG .tag = "tools"
const struct route tools_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .query = &tool_list_query, .answer = &tool_list,
         .handle = tools_list, TAG, .summary = "List the agent tools and their schemas"},
        {HTTP_POST, BASE "/:name", SCOPE_SANDBOX_WRITE,
         ROUTE_LONG | ROUTE_NEEDS_BODY | ROUTE_CANCEL, .body_max = INPUT_MAX, .body = &tool_request,
         .answer = &tool_answer, .handle = tool_post, TAG, .summary = "Call a tool in a sandbox"},
        {.path = NULL},
};
