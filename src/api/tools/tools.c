/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/tools — the agent tools over HTTP. */
#include "api/tables.h"
#include "api/tools/target.h"
#include "sandbox/lease.h"

#define BASE "/v1/tools"
#define INPUT_MAX ((size_t)16 << 20)

struct tool_body {
	struct tools_target target;
	struct span input;
};
#define TARGET_ROW(name_, member_, max_, ...)                                                      \
	{                                                                                          \
		.kind = JSON_TEXT, .name = (name_),                                                \
		.offset = offsetof(struct tool_body, target.member_), .min = 1, .max = (max_),     \
		__VA_ARGS__                                                                        \
	}
static const struct json_member tool_request_members[] = {
        TARGET_ROW("sandboxId", sandbox, 128, .about = "id or name of a sandbox; or"),
        TARGET_ROW("lease", lease, LEASE_KEY_MAX,
                   .about = "key of a lease, whose sandbox is made on first use; or"),
        TARGET_ROW("sessionId", session, 128, .about = "a session, as of /v1/sandbox"),
        TARGET_ROW("tenantId", tenant, 128, .about = "of the session; default: \"default\""),
        TARGET_ROW("config", config, 128,
                   .about = "of /accounts/me/sandboxes: what the lease's sandbox is like"),
        TARGET_ROW("conversationId", conversation, 128,
                   .about = "whom its background jobs belong to"),
        JSON_RAW_MEMBER(tool_body, input, .about = "by the tool's inputSchema"),
        JSON_END,
};
static JSON_SHAPE(tool_request, "ToolCall", tool_body, "A call of a tool, in one sandbox");

/* Written by hand, for the reference only. */
struct tool_list_answer {
	struct span tools;
};
static const struct json_member tool_list_members[] = {
        JSON_RAW_MEMBER(tool_list_answer, tools,
                        .about = "name, title, description, inputSchema, outputSchema and "
                                 "annotations of each"),
        JSON_END,
};
static JSON_SHAPE(tool_list, "ToolList", tool_list_answer, "The agent tools");
struct tool_answer {
	struct span content, structured;
};
static const struct json_member tool_answer_members[] = {
        JSON_RAW_MEMBER(tool_answer, content,
                        .about = "a list of text, image and resource, as in MCP"),
        JSON_RAW_MEMBER(tool_answer, structured, .name = "structuredContent",
                        .about = "by the tool's outputSchema"),
        JSON_END,
};
static JSON_SHAPE(tool_answer, "ToolResult", tool_answer, "What a tool gives back");

static int tools_list(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");

	(void)rq;
	(void)body;
	(void)err;
	buf_add_text(out, "{\"tools\":[");
	for (const struct tool *const *at = tools; *at; at++) {
		if (at != tools)
			buf_add_byte(out, ',');
		tool_write(out, *at);
	}
	buf_add_text(out, "]}");
	return 0;
}

static int tool_post(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct tool_body *b = body;
	const char *name = request_param(rq, "name");
	const struct tool *tool = tool_find(name);
	AUTO(api_target_done) struct api_target target = {.hold = {.fleet = NULL}};
	struct tool_call call;
	struct tool_result result;
	struct buf *out;

	if (!tool) {
		(void)FAIL(err, ERROR_NOT_FOUND, "no tool '%.64s'", name);
		error_hint(err, "GET " BASE " lists them");
		return -1;
	}
	call = tools_call(rq, &b->target);
	if ((!(tool->flags & TOOL_NO_SANDBOX) &&
	     tools_open(rq, &b->target, &target, &call, err) < 0) ||
	    tool_run(tool, &call, b->input, &result, err) < 0)
		return -1;
	out = reply_buf(reply, "application/json");
	buf_add_byte(out, '{');
	tool_write_result(out, tool, &result);
	buf_add_byte(out, '}');
	return 0;
}

#define TAG .tag = "tools"
const struct route tools_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &tool_list, .handle = tools_list, TAG,
         .summary = "List the agent tools and their schemas"},
        {HTTP_POST, BASE "/:name", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .body_max = INPUT_MAX,
         .body = &tool_request, .answer = &tool_answer, .handle = tool_post, TAG,
         .summary = "Call a tool in a sandbox"},
        {.path = NULL},
};
