/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/record.h"

#include <string.h>

#include "activity/activity.h"
#include "json/json.h"
#include "store/sandbox_record.h"
#include "tool/artifacts.h"
#include "tool/tool.h"

struct activity_note *tool_begin_note(const struct tool *tool, const struct tool_call *call,
                                      struct span input)
{
	struct activity_note *n = activity_begin(
	        call->activity, &(struct activity_start){
	                                .kind = ACTIVITY_TOOL,
	                                .operation = tool->name,
	                                .project_id = call->project_id,
	                                .sandbox_id = call->sandbox ? call->sandbox->id : NULL,
	                                .key_id = call->key_id,
	                                .user_id = call->user_id,
	                                .conversation = call->conversation_id,
	                        });

	activity_add_text(n, input);
	return n;
}

/* A member of the tool's structured result; NULL without one. */
static const void *find_member(const struct tool *tool, const struct tool_result *result,
                               const char *name, enum json_kind kind)
{
	const struct json_shape *shape = tool->output;

	for (size_t i = 0; result->structured && i < shape->member_count; i++) {
		const struct json_member *m = &shape->members[i];

		if (m->kind == kind && strcmp(m->c_name, name) == 0)
			return (const char *)result->structured + m->offset;
	}
	return NULL;
}

static void add_artifacts(const struct tool *tool, struct activity_note *n,
                          const struct tool_result *result)
{
	const struct json_list *list = find_member(tool, result, "artifacts", JSON_LIST);

	for (size_t i = 0; list && i < list->count; i++) {
		const struct tool_artifact *stored = (const struct tool_artifact *)list->items + i;

		activity_add_artifact(n, stored->id, stored->path);
	}
}

static void report_result(const struct tool *tool, struct activity_note *n,
                          const struct tool_result *result)
{
	const int64_t *exit_code = find_member(tool, result, "exit_code", JSON_WHOLE);
	/* -1: of a background job, which has a row of its own. */
	bool is_ok = !result->pending && !result->has_failed && (!exit_code || *exit_code <= 0);

	for (unsigned i = 0; i < result->count; i++)
		if (result->content[i].kind == TOOL_TEXT)
			activity_add_output(n, result->content[i].bytes);
	add_artifacts(tool, n, result);
	activity_report(n, &(struct activity_result){
	                           .outcome = is_ok ? ACTIVITY_OK : ACTIVITY_FAILED,
	                           .exit_code = exit_code ? *exit_code : -1,
	                           .duration_ms = -1,
	                           .reason = result->pending ? "it needs an approval" : NULL,
	                   });
}

void tool_end_note(const struct tool *tool, struct activity_note *n,
                   const struct tool_result *result, const struct error *err)
{
	if (!n)
		return;
	if (result)
		report_result(tool, n, result);
	else
		activity_fail(n, err->text);
	activity_end(n);
}
