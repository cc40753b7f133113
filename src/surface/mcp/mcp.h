/* SPDX-License-Identifier: Apache-2.0 */
/* surface/mcp/mcp.h — what the files of this folder share. Private to it. */
#pragma once

#include "base/cancel.h"
#include "edge/forward.h"
#include "surface/mcp/protocol.h"
#include "surface/tools/target.h"

/* Of one request. */
struct mcp {
	struct request *rq;
	struct mcp_message message;
	struct tools_target target; /* where tools act, unless their arguments say otherwise */
	const char *origin; /* JSON: of background jobs, unless the call's _meta says otherwise */
	/* Of a call; see struct tool_call. */
	const struct cancel *cancel;
	void (*on_progress)(void *context, struct span text);
	void *progress_context;
	struct api_hop *hop; /* to the other server that it turns out to be for; NULL: it stays */
};

/* Appends the members of the result, or refuses. */
typedef int mcp_method(struct mcp *m, struct buf *out, struct mcp_fault *fault);
mcp_method mcp_tools_list, mcp_tools_call, mcp_resources_list, mcp_resource_templates,
        mcp_resources_read;

/* Connects with the other server that has what a call is for, if that is why it failed. Always -1:
 * err says what to answer where that cannot be. */
int mcp_fail_elsewhere(struct mcp *m, struct error *err);
/* Makes a refusal of what went wrong. Always -1. */
int mcp_refuse_error(struct mcp_fault *fault, const struct error *err);
