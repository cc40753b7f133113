/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/resize and /env — settings that can change after the create. */
#include <inttypes.h>

#include "calls/configs.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/settings.h"
#include "store/sandbox_record.h"
#include "surface/native/native.h"
#include "surface/native/sandbox_answer.h"

#define BASE "/api/sandbox/instances/:id"

struct sandbox_limits_body {
	double cpu;
	int64_t memory_mb, disk_mb, pids;
};
static const struct json_member resize_request_members[] = {
        JSON_NUMBER_MEMBER(sandbox_limits_body, cpu, .min = 0, .max = 1024, .about = "vCPUs",
                           .example = "2"),
        JSON_WHOLE_MEMBER(sandbox_limits_body, memory_mb, .min = 0, .max = 1 << 24, .about = "MiB",
                          .example = "2048"),
        JSON_WHOLE_MEMBER(sandbox_limits_body, disk_mb, .min = 0, .max = 1 << 28,
                          .about = "MiB; can be raised while the sandbox is stopped"),
        JSON_WHOLE_MEMBER(sandbox_limits_body, pids, .min = 0, .max = 1 << 22,
                          .about = "processes and threads"),
};
static JSON_SHAPE(resize_request, "SandboxResize", sandbox_limits_body,
                  "New limits; omitted members and 0 keep their values");

/* A sandbox gets no more memory than the config that it was created from allows. */
static int check_config_limits(struct request *rq, const struct fleet_ref *ref,
                               const struct sandbox_resources *change, struct error *err)
{
	struct sandbox_record r;
	struct run_limits limits;

	if (fleet_find(api_of(rq)->fleet, rq->arena, ref, &r, err) < 0 ||
	    run_limits_find(rq, &r, &limits, err) < 0)
		return -1;
	if (limits.memory_mb == 0 || change->memory_mb <= limits.memory_mb)
		return 0;
	return FAIL(err, ERROR_LIMIT, "memory_mb %" PRId64 ": the sandbox's config allows %" PRId64,
	            change->memory_mb, limits.memory_mb);
}

static int sandbox_resize(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct sandbox_limits_body *b = body;
	const struct fleet_ref ref = api_path_ref(rq);
	const struct sandbox_resources change = {
	        .cpu = b->cpu, .memory_mb = b->memory_mb, .disk_mb = b->disk_mb, .pids = b->pids};
	struct sandbox_record r;

	if (check_config_limits(rq, &ref, &change, err) < 0 ||
	    fleet_resize(api_of(rq)->fleet, rq->arena, &ref, &change, &r, err) < 0)
		return -1;
	return sandbox_reply(rq, reply, &r);
}

struct sandbox_env_body {
	struct json_map set;
	const char **unset;
};
static const struct json_member env_request_members[] = {
        JSON_TEXT_MAP_MEMBER(sandbox_env_body, set, .max = 256, .flags = JSON_SECRET,
                             .about = "variables to add or replace"),
        JSON_TEXT_LIST_MEMBER(sandbox_env_body, unset, .max = 256,
                              .about = "names to remove before variables are added"),
};
static JSON_SHAPE(env_request, "SandboxEnvironment", sandbox_env_body,
                  "Changes of a sandbox's own variables; the template's variables stay");

static int sandbox_env(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct sandbox_env_body *b = body;
	const struct fleet_ref ref = api_path_ref(rq);
	const struct fleet_environment change = {.set = &b->set,
	                                         .unset = (const char *const *)b->unset};
	struct sandbox_record r;

	if (fleet_set_environment(api_of(rq)->fleet, rq->arena, &ref, &change, &r, err) < 0)
		return -1;
	return sandbox_reply(rq, reply, &r);
}

#define TAG .tag = "sandboxes"
const struct route limits_routes[] = {
        {HTTP_POST, BASE "/resize", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .body = &resize_request,
         .answer = &sandbox_shape, .handle = sandbox_resize, TAG,
         .summary = "Change the limits of a sandbox; a running sandbox gets them immediately"},
        {HTTP_POST, BASE "/env", SCOPE_SANDBOX_WRITE, .body = &env_request,
         .answer = &sandbox_shape, .handle = sandbox_env, TAG,
         .summary = "Change a sandbox's variables; processes that start later get them"},
        {.path = NULL},
};
