/* SPDX-License-Identifier: Apache-2.0 */
/* api/tools/target.h — the sandbox that a tool call is for. Private to this folder. */
#pragma once

#include "api/caller.h"
#include "tool/tool.h"

/* One of them: a sandbox that is there, or a lease's or a session's, made on first use. */
struct tools_target {
	const char *sandbox, *lease, *tenant, *session;
	const char *config; /* of /accounts/me/sandboxes: what one that has to be made is like */
	const char *conversation;
};
/* A call without a sandbox: for tools that need none. */
struct tool_call tools_call(struct request *rq, const struct tools_target *which);
/* Fills the call but for its arena's contents; the target holds the sandbox until it is done. */
MUST_CHECK int tools_open(struct request *rq, const struct tools_target *which,
                          struct api_target *ret_target, struct tool_call *ret, struct error *err);
