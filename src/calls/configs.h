/* SPDX-License-Identifier: Apache-2.0 */
/* calls/configs.h — a sandbox from a reusable config. Private to this folder. */
#pragma once

#include "edge/caller.h"
#include "tool/tool.h"

struct api_config_use {
	const char *id_or_name;
	const char *workspace; /* whose home it is: a lease's key; NULL = the config's own */
};
/* Fills what the request leaves open from the project's config; the environment is both, the
 * request's over the config's. Refused when the config asks for what this server's provider cannot
 * give. */
MUST_CHECK int api_config_apply(struct request *rq, const struct api_config_use *use,
                                struct fleet_create *request, struct error *err);
/* What a config limits, 0 and NULL where it does not. */
struct run_limits {
	int64_t timeout_ms, output_bytes, memory_mb; /* at most */
	const char *const *runtimes;                 /* of python, node, bash; advisory */
};
/* Of the config that the sandbox was made from; the one place where every surface that runs
 * something looks (config_limits.c). A sandbox of no config, or of one that was deleted, has none.
 * May have to read the config: then it fails on the loop's thread, see request_may_block. */
MUST_CHECK int run_limits_find(struct request *rq, const struct sandbox_record *sandbox,
                               struct run_limits *ret, struct error *err);
/* What is asked for, at most `most`; 0 = no limit, in both. */
int64_t run_limit_apply(int64_t wanted, int64_t most);
/* The same for bytes of a result, where 0 is the server's limit. */
int64_t run_limit_output(const struct request *rq, int64_t wanted, const struct run_limits *limits);
/* Refuses a program, or a shell's line in args, of a runtime that is not listed. */
MUST_CHECK int run_limits_check(const struct run_limits *limits, const char *const *args,
                                struct error *err);
/* What the config says of tools: permissionMode, runtimes, timeout, outputLimitBytes; commands keep
 * to the workspace with any. */
MUST_CHECK int api_config_guard(struct request *rq, const char *id_or_name, struct tool_call *call,
                                struct error *err);
