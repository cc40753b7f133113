/* SPDX-License-Identifier: Apache-2.0 */
/* surface/tools/target.h — the sandbox that a tool call is for. Private to this folder. */
#pragma once

#include "edge/caller.h"
#include "tool/tool.h"

/* One of them: a sandbox that is there, or a lease's or a session's, made on first use. */
struct tools_target {
	const char *sandbox, *lease, *tenant, *session;
	/* Of /accounts/me/sandboxes: what one that has to be made is like, and what tools may do.
	 * NULL: what the sandbox was made from says that. */
	const char *config;
	const char *conversation;
	const struct job_origin *origin; /* checked; NULL = none */
	int64_t approval_wait_ms;
};
/* Makes the call ready; the target holds the sandbox until it is done. None for a tool that needs
 * none; NULL stands for one that reads a file. */
MUST_CHECK int tools_open_call(struct request *rq, const struct tool *tool,
                               const struct tools_target *which, struct api_target *ret_target,
                               struct tool_call *ret, struct error *err);
/* The shares that a call with this target runs under, before its sandbox is known; those of the
 * caller are set already. */
void tools_find_shares(const struct tools_target *which, uint64_t shares[WORKER_SHARES]);
#define TOOLS_APPROVAL_WAIT_MS 20000
#define TOOLS_APPROVAL_WAIT_MAX_MS 300000
/* The tool with what the config, if one is named, makes of its description. */
MUST_CHECK int tools_describe(struct request *rq, const char *config, const struct tool *tool,
                              struct tool *ret, struct error *err);
