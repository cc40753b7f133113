/* SPDX-License-Identifier: Apache-2.0 */
/* What network rules refuse while a tool runs something. */
#include "decision/watch.h"
#include "store/sandbox_record.h"
#include "tool/builtin.h"
#include "tool/tool.h"

#define LINES_MAX 8192

struct decision_watch tool_watch_network(const struct tool_call *call)
{
	return decision_watch_begin(call->arena, call->decisions, call->sandbox->id,
	                            call->sandbox->egress);
}

struct json_list tool_add_refusals(const struct tool_call *call, const struct decision_watch *w,
                                   struct tool_result *ret)
{
	AUTO(buf_done) struct buf lines = BUF(LINES_MAX);
	struct decision_refusals refusals;

	decision_watch_end(w, &refusals);
	if (refusals.count == 0)
		return (struct json_list){0};
	decision_refusals_lines(&lines, &refusals);
	if (ret->count < TOOL_CONTENT_MAX)
		tool_add_text(ret,
		              (struct span){arena_copy(call->arena, buf_span(&lines)), lines.size});
	return decision_refusals_list(call->arena, &refusals);
}
