/* SPDX-License-Identifier: Apache-2.0 */
/* calls/configs.h — what a reusable config gives to a new sandbox, and what it limits. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct error;
struct fleet_create;
struct request;
struct sandbox_record;
struct tool_call;

struct api_config_use {
	const char *id_or_name;
	const char
	        *workspace; /* owner of the home volume: a lease's key; NULL = the config itself */
};
/* Fills the members that the request leaves open from the project's config. Environments are
 * merged; the request's values win. Fails when the config needs abilities that this server's
 * provider does not have. */
MUST_CHECK int api_config_apply(struct request *rq, const struct api_config_use *use,
                                struct fleet_create *request, struct error *err);

/* Limits by the config that a sandbox was made from. 0 and NULL: no limit. */
struct run_limits {
	int64_t timeout_ms, output_bytes, memory_mb; /* at most */
	const char *const *runtimes;                 /* of python, node, bash, r, java; advisory */
};
/* The members of a stored config that limit its sandboxes; 0 and NULL: not given. */
struct config_limit_members {
	int64_t timeout_s, memory_mb, output_limit_bytes;
	const char **runtimes;
};
struct run_limits run_limits_of(const struct config_limit_members *members);
/* Every surface that runs commands in sandboxes calls this. A sandbox without a config, or whose
 * config was deleted, has no limits. Reads the config: on the loop's thread it may fail, see
 * request_may_block. */
MUST_CHECK int run_limits_find(struct request *rq, const struct sandbox_record *sandbox,
                               struct run_limits *ret, struct error *err);
/* The smaller of both, where 0 means no limit. */
int64_t run_limit_apply(int64_t wanted, int64_t most);
/* The same for bytes of output, where a wanted 0 means the server's limit. Never 0. */
int64_t run_limit_output(const struct request *rq, int64_t wanted, const struct run_limits *limits);
/* Refuses a program whose runtime is not allowed; also in a shell's line. */
MUST_CHECK int run_limits_check(const struct run_limits *limits, const char *const *args,
                                struct error *err);

/* Applies the config's permissionMode, runtimes, timeout and outputLimitBytes. With any of them,
 * commands must keep to the workspace. */
MUST_CHECK int api_config_guard(struct request *rq, const char *id_or_name, struct tool_call *call,
                                struct error *err);
