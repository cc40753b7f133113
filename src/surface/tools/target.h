/* SPDX-License-Identifier: Apache-2.0 */
/* surface/tools/target.h — the sandbox of a tool call. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

struct api_target;
struct job_origin;
struct native_create_body;
struct request;
struct tool;
struct tool_call;

/* Exactly one of: a sandbox; a lease or a session, whose sandbox is made on first use; or none of
 * them, for an ephemeral call. */
struct tools_target {
	const char *sandbox, *lease, *tenant, *session;
	bool is_ephemeral; /* also without a config and a workspace */
	/* Of an ephemeral call; the workspace also of a lease. */
	const char *workspace, *template, *image, *provider, *isolation;
	const struct native_create_body *settings; /* instead of the last four; or NULL */
	/* A config of /accounts/me/sandboxes, for a new sandbox and for the limits of tools. NULL:
	 * the sandbox's own config. */
	const char *config;
	const char *conversation;
	const struct job_origin *origin; /* checked; NULL = none */
	int64_t approval_wait_ms;
};
/* Prepares a call; the target holds the sandbox until api_target_done. A tool with TOOL_NO_SANDBOX
 * gets no sandbox. A NULL tool reads a file. */
MUST_CHECK int tools_open_call(struct request *rq, const struct tool *tool,
                               const struct tools_target *which, struct api_target *ret_target,
                               struct tool_call *ret, struct error *err);
/* Whether no sandbox, lease or session is named. */
bool tools_are_ephemeral(const struct tools_target *which);
/* An ephemeral call has few tools: files that end with it are of no use without a workspace. */
bool tools_offer(const struct tools_target *which, const struct tool *tool);
/* Sets the share of the sandbox, in WORKER_SHARES numbers, for a call whose sandbox is not known
 * yet. The caller's shares are set already. */
void tools_find_shares(const struct tools_target *which, uint64_t *shares);
/* Parses and checks an origin; empty text is the origin without members. */
MUST_CHECK int tools_parse_origin(struct arena *a, struct span text, const struct job_origin **ret,
                                  struct error *err);
#define TOOLS_APPROVAL_WAIT_MS 20000
#define TOOLS_APPROVAL_WAIT_MAX_MS 300000
/* The tool; its description also names the limits of the config, if there is one. */
MUST_CHECK int tools_describe(struct request *rq, const char *config, const struct tool *tool,
                              struct tool *ret, struct error *err);
