/* SPDX-License-Identifier: Apache-2.0 */
/* tools/list and tools/call. */
#include <string.h>

#include "edge/api.h"
#include "edge/target.h"
#include "http/server/http.h"
#include "json/write.h"
#include "surface/mcp/fixtures.h"
#include "surface/mcp/mcp.h"
#include "tool/tool.h"

#define ARGUMENTS_MAX ((size_t)32 << 20)
#define SANDBOX "sandbox"

/* The argument that every tool has here in addition. */
static const struct json_member sandbox_member = {
        .kind = JSON_TEXT,
        .name = SANDBOX,
        .about = "id or name of the sandbox to act in; default: your own, made on first use"};

/* The tool with one more argument, for its schema only. */
static struct tool with_sandbox(struct arena *a, const struct tool *tool)
{
	struct tool copy = *tool;
	struct json_shape *shape = ARENA_NEW(a, struct json_shape);
	struct json_member *members;
	size_t count = tool->input->member_count;

	members = ARENA_ARRAY(a, struct json_member, count + 1);
	memcpy(members, tool->input->members, count * sizeof(*members));
	members[count] = sandbox_member;
	*shape = *tool->input;
	shape->members = members;
	shape->member_count = count + 1;
	copy.input = shape;
	return copy;
}

static bool takes_sandbox(const struct mcp *m, const struct tool *tool)
{
	return !(tool->flags & TOOL_NO_SANDBOX) && !tools_are_ephemeral(&m->target);
}

int mcp_tools_list(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	struct tool described;
	struct error err;

	json_begin_list(out, "tools");
	for (const struct tool *const *at = tools; *at; at++) {
		if (!tools_offer(&m->target, *at))
			continue;
		if (tools_describe(m->rq, m->target.config, *at, &described, &err) < 0)
			return mcp_refuse_error(fault, &err);
		if (takes_sandbox(m, &described))
			described = with_sandbox(m->rq->arena, &described);
		tool_write(out, &described);
	}
	mcp_fixtures_list(m, MCP_FIXTURE_TOOLS, out);
	json_end_list(out);
	return 0;
}

/* Separates the tool's own arguments from the sandbox; *ret_sandbox NULL: no sandbox is named. */
static int read_arguments(struct mcp *m, const struct tool *tool, struct buf *ret_own,
                          const char **ret_sandbox, struct mcp_fault *fault)
{
	const struct json_value *arguments = json_get(m->message.params, "arguments"), *value;
	bool takes = takes_sandbox(m, tool);
	const char *key;

	*ret_sandbox = NULL;
	json_begin_object(ret_own, NULL);
	for (size_t i = 0; (value = json_member_at(arguments, i, &key)); i++) {
		if (takes && strcmp(key, SANDBOX) == 0) {
			*ret_sandbox = json_text(value, NULL);
			if (!*ret_sandbox)
				return mcp_refuse(fault, MCP_INVALID_PARAMS, 200,
				                  "arguments.sandbox: a text is expected");
			continue;
		}
		json_add_value(ret_own, key, value);
	}
	json_end_object(ret_own);
	if (ret_own->overflowed)
		return mcp_refuse(fault, MCP_INVALID_PARAMS, 200, "the arguments are too large");
	return 0;
}

/* The client sets the origin, in the call or in the URL. It is not an argument, because the model
 * must not set it. */
static int read_origin(struct mcp *m, struct error *err)
{
	const struct json_value *given = json_get(json_get(m->message.params, "_meta"), MCP_ORIGIN);
	AUTO(buf_done) struct buf text = BUF(MCP_ORIGIN_MAX);

	if (given)
		json_print(&text, given, 0);
	else if (m->origin)
		buf_add_text(&text, m->origin);
	if (text.overflowed)
		return FAIL(err, ERROR_INVALID, MCP_ORIGIN ": at most %d bytes", MCP_ORIGIN_MAX);
	if (tools_parse_origin(m->rq->arena, buf_span(&text), &m->target.origin, err) < 0)
		return FAIL_CONTEXT(err, given ? "_meta: " MCP_ORIGIN : "the URL's origin");
	return 0;
}

static void write_failure(struct buf *out, const struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(ERROR_TEXT_MAX + ERROR_HINT_MAX + 16);

	buf_add_text(&text, err->text);
	if (err->hint[0])
		buf_addf(&text, "\nhint: %s", err->hint);
	json_begin_list(out, "content");
	json_begin_object(out, NULL);
	json_add_text(out, "type", "text");
	json_add_span(out, "text", buf_span(&text));
	json_end_object(out);
	json_end_list(out);
	json_add_bool(out, "isError", true);
}

static int run_tool(struct mcp *m, const struct tool *tool, const char *sandbox, struct span input,
                    struct tool_result *ret, struct error *err)
{
	AUTO(api_target_done) struct api_target target = {.hold = NULL};
	struct tools_target which = m->target;
	struct tool_call call;

	if (sandbox) {
		which.sandbox = sandbox;
		which.lease = which.tenant = which.session = NULL;
	}
	which.approval_wait_ms = TOOLS_APPROVAL_WAIT_MS;
	if (tools_open_call(m->rq, tool, &which, &target, &call, err) < 0)
		return mcp_fail_elsewhere(m, err);
	call.cancel = m->cancel;
	call.on_progress = m->on_progress;
	call.progress_context = m->progress_context;
	return tool_run(tool, &call, input, ret, err);
}

/* A failed tool is a result, which the model sees. Other failures are errors of the protocol. */
int mcp_tools_call(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	const char *name = json_text(json_get(m->message.params, "name"), "");
	const struct tool *tool = tool_find(name);
	AUTO(buf_done) struct buf own = BUF(ARGUMENTS_MAX);
	struct tool_result result;
	const char *sandbox;
	struct error err;

	if (!tool)
		return mcp_refuse(fault, MCP_INVALID_PARAMS, 200, "unknown tool '%.64s'", name);
	if (api_require(m->rq, SCOPE_SANDBOX_WRITE, &err) < 0) {
		m->tool_status = error_kind_get(err.code)->http_status;
		return mcp_refuse(fault, MCP_INVALID_REQUEST, 403, "%s", err.text);
	}
	if (read_arguments(m, tool, &own, &sandbox, fault) < 0)
		return -1;
	if (read_origin(m, &err) < 0)
		return mcp_refuse_error(fault, &err);
	if (run_tool(m, tool, sandbox, buf_span(&own), &result, &err) < 0) {
		m->tool_status = error_kind_get(err.code)->http_status;
		write_failure(out, &err);
		return 0;
	}
	tool_write_result(out, tool, &result);
	/* A client may validate a result without isError against the outputSchema, which a pending
	 * call does not match. */
	json_add_bool(out, "isError", result.pending != NULL);
	return 0;
}
