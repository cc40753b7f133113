/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a sandbox's config. */
#include <string.h>

#include "calls/configs.h"
#include "config/config.h"
#include "edge/api.h"
#include "http/server/http.h"
#include "json/json.h"
#include "store/configs.h"
#include "store/sandbox_record.h"
#include "tool/tool.h"

static const struct json_member config_limit_shape_members[] = {
        JSON_WHOLE_MEMBER(config_limit_members, timeout_s, .name = "timeout"),
        JSON_WHOLE_MEMBER(config_limit_members, memory_mb, .name = "memoryLimit"),
        JSON_WHOLE_MEMBER(config_limit_members, output_limit_bytes, .name = "outputLimitBytes"),
        JSON_TEXT_LIST_MEMBER(config_limit_members, runtimes, .max = 8),
};
static JSON_OPEN_SHAPE(config_limit_shape, "SandboxConfigLimits", config_limit_members,
                       "What a config limits");

#define QUOTED_LABEL "\"" SANDBOX_CONFIG_LABEL "\""

struct run_limits run_limits_of(const struct config_limit_members *members)
{
	const char *const *runtimes = members->runtimes;

	return (struct run_limits){
	        .timeout_ms = members->timeout_s * 1000,
	        .output_bytes = members->output_limit_bytes,
	        .memory_mb = members->memory_mb,
	        .runtimes = runtimes && runtimes[0] ? runtimes : NULL,
	};
}

static int read_config_limits(struct request *rq, const char *config_id, struct run_limits *ret,
                              struct error *err)
{
	struct config_limit_members limits;
	struct config_record record;

	if (store_config_find(api_of(rq)->store, rq->arena, api_project(rq), config_id, &record,
	                      err) < 0 ||
	    json_parse(rq->arena, span_of(record.config_json), &config_limit_shape, &limits, err) <
	            0)
		return -1;
	*ret = run_limits_of(&limits);
	return 0;
}

int run_limits_find(struct request *rq, const struct sandbox_record *sandbox,
                    struct run_limits *ret, struct error *err)
{
	const struct json_value *labels;
	const char *config;

	*ret = (struct run_limits){.runtimes = NULL};
	/* Most sandboxes have no config: avoid parsing their labels. */
	if (!strstr(sandbox->labels_json, QUOTED_LABEL))
		return 0;
	if (request_may_block(rq, err) < 0 ||
	    json_load(rq->arena, span_of(sandbox->labels_json), &labels, err) < 0)
		return -1;
	config = json_text(json_get(labels, SANDBOX_CONFIG_LABEL), NULL);
	if (!config || read_config_limits(rq, config, ret, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return FAIL_CONTEXT(err, "limits of sandbox '%s'", sandbox->name);
	error_clear(err);
	return 0;
}

int64_t run_limit_apply(int64_t wanted, int64_t most)
{
	return most > 0 && (wanted == 0 || wanted > most) ? most : wanted;
}

int64_t run_limit_output(const struct request *rq, int64_t wanted, const struct run_limits *limits)
{
	int64_t limit = run_limit_apply(wanted ? wanted : api_of(rq)->config->output_limit_bytes,
	                                limits->output_bytes);

	if (limit < 1)
		return 1;
	return limit > CONFIG_OUTPUT_LIMIT_MAX ? CONFIG_OUTPUT_LIMIT_MAX : limit;
}

/* Checks the line of "bash -c LINE", and the name of other programs. */
int run_limits_check(const struct run_limits *limits, const char *const *args, struct error *err)
{
	const struct tool_call call = {.runtimes = limits->runtimes};
	bool is_line;

	if (!limits->runtimes || !args || !args[0])
		return 0;
	is_line = args[1] && args[2] && strcmp(args[1], "-c") == 0 &&
	          (strcmp(args[0], "bash") == 0 || strcmp(args[0], "sh") == 0);
	return tool_check_command(&call, is_line ? args[2] : args[0], err);
}
