/* SPDX-License-Identifier: Apache-2.0 */
/* api/configs.h — a sandbox from a reusable config. Private to this folder. */
#pragma once

#include "api/caller.h"
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
/* What the config says of tools: permissionMode, runtimes, timeout, outputLimitBytes; commands keep
 * to the workspace with any. */
MUST_CHECK int api_config_guard(struct request *rq, const char *id_or_name, struct tool_call *call,
                                struct error *err);
/* Of a sandbox that was made from one: its id. */
#define API_CONFIG_LABEL "atoll.config"
