/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "json/json.h"
#include "tool/builtin.h"
#include "tool/guard.h"
#include "tool/record.h"
#include "tool/tool.h"
#include "wire/agent_files.h"

/* A line each. */
/* clang-format off */
const struct tool *const tools[] = {
        &bash_tool,
        &run_code_tool,
        &read_tool,
        &write_tool,
        &edit_tool,
        &glob_tool,
        &grep_tool,
        &list_files_tool,
        &snapshot_tool,
        &rollback_tool,
        &async_status_tool,
        &preview_url_tool,
        &execute_command_tool,
        &terminal_operator_tool,
        &load_skill_tool,
        &request_access_tool,
        &list_credentials_tool,
        &activate_credential_tool,
        &create_sandbox_tool,
        &list_sandboxes_tool,
        &delete_sandbox_tool,
        NULL,
};
/* clang-format on */

const struct tool *tool_find(const char *name)
{
	for (const struct tool *const *at = tools; *at; at++)
		if (strcmp((*at)->name, name) == 0)
			return *at;
	return NULL;
}

static bool needs_approval(const struct tool *tool, const struct tool_call *call)
{
	static const enum tool_class most[] = {
	        [TOOL_BYPASS] = TOOL_RUNS, [TOOL_EDIT] = TOOL_EDITS, [TOOL_ASK] = TOOL_READS};

	return tool->class > most[call->permission];
}

int tool_check_command(const struct tool_call *call, const char *line, struct error *err)
{
	/* With the working folder "/", every path is in the workspace. */
	bool has_border = call->keeps_to_workspace && strcmp(call->root, "/") != 0;
	const struct command_guard guard = {call->runtimes, has_border ? call->root : NULL};

	return command_guard_check(&guard, line, err);
}

static int run_checked(const struct tool *tool, const struct tool_call *call, struct span input,
                       struct tool_result *ret, struct error *err)
{
	void *parsed = arena_alloc(call->arena, tool->input->size);

	*ret = (struct tool_result){.count = 0};
	if (json_parse(call->arena, input, tool->input, parsed, err) < 0)
		return FAIL_CONTEXT(err, "%s", tool->name);
	if (tool->check && tool->check(call, parsed, err) < 0)
		return FAIL_CONTEXT(err, "%s", tool->name);
	if (needs_approval(tool, call) && tool_await_approval(tool, call, input, ret, err) < 0)
		return FAIL_CONTEXT(err, "%s", tool->name);
	return ret->pending ? 0 : tool->call(call, parsed, ret, err);
}

int tool_run(const struct tool *tool, const struct tool_call *call, struct span input,
             struct tool_result *ret, struct error *err)
{
	struct activity_note *note = tool_begin_note(tool, call, input);
	int result = run_checked(tool, call, input, ret, err);

	tool_end_note(tool, note, result == 0 ? ret : NULL, err);
	return result;
}

int tool_wait_ms(const struct tool_call *call, int64_t asked, int64_t otherwise, int64_t *ret,
                 struct error *err)
{
	if (asked > call->timeout_max_ms)
		return FAIL(err, ERROR_INVALID, "wait_ms: at most %" PRId64 " here",
		            call->timeout_max_ms);
	*ret = asked > 0 ? asked : otherwise;
	if (*ret > call->timeout_max_ms)
		*ret = call->timeout_max_ms;
	return 0;
}

int tool_resolve_path(const struct tool_call *call, const char *path, struct agent_path *ret,
                      struct error *err)
{
	ret->root = call->root;
	ret->user = call->user;
	ret->flags |= AGENT_PATH_BENEATH;
	if (path_check_relative(call->arena, span_of(path ? path : "."), &ret->path, err) == 0)
		return 0;
	return FAIL_HINT(err, "paths are relative to the workspace, such as src/main.c");
}
