/* SPDX-License-Identifier: Apache-2.0 */
/* What a request uses a sandbox for, and whether a budget still pays for it. */
#include <string.h>

#include "edge/caller.h"
#include "fleet/core/use.h"
#include "fleet/usage/meters.h"
#include "http/server/http.h"

enum usage_reason api_use_reason(const char *path)
{
	/* The first part that the path contains decides. */
	static const struct {
		const char *part;
		enum usage_reason reason;
	} parts[] = {
	        {"/files", USAGE_FILE_OPS},
	        {"/code", USAGE_CODE},
	        {"/terminal", USAGE_TERMINAL},
	        {"/windows", USAGE_TERMINAL},
	        {"/process/pty", USAGE_TERMINAL},
	        {"/process/interpreter", USAGE_CODE},
	        {"/v1/sandbox/execute", USAGE_CODE},
	        {"/v1/sandbox/read", USAGE_FILE_OPS},
	        {"/v1/sandbox/write", USAGE_FILE_OPS},
	        {"/v1/sandbox/grep", USAGE_FILE_OPS},
	        {"/v1/sandbox/glob", USAGE_FILE_OPS},
	        {"/v1/sandbox/sessions/:tenant/:session/copy", USAGE_FILE_OPS},
	};

	for (size_t i = 0; i < COUNT_OF(parts); i++)
		if (strstr(path, parts[i].part))
			return parts[i].reason;
	return USAGE_EXEC;
}

static enum usage_reason reason_of(const struct request *rq)
{
	const struct api_caller *caller = rq->caller;

	return caller->reason != USAGE_IDLE ? caller->reason : api_use_reason(rq->route->path);
}

const char *api_used_conversation(const struct request *rq)
{
	const struct api_caller *caller = rq->caller;
	const char *name = caller->conversation;

	if (!name && rq->exchange)
		name = request_header(rq, "Atoll-Conversation");
	return name && name[0] && usage_conversation_check(name, &(struct error){0}) == 0 ? name
	                                                                                  : NULL;
}

int api_describe_use(const struct request *rq, struct fleet_use *ret, struct error *err)
{
	const struct api_caller *caller = rq->caller;
	const char *run = rq->exchange ? request_header(rq, "Atoll-Run") : caller->run;
	const char *conversation = api_used_conversation(rq);
	const struct spender spender = {
	        .project_id = api_project(rq), .run = run, .conversation = conversation};

	if (run && usage_run_check(run, err) < 0)
		return FAIL_CONTEXT(err, "Atoll-Run");
	if (api_of(rq)->fleet && budgets_check(api_of(rq)->fleet, &spender, err) < 0)
		return -1;
	*ret = (struct fleet_use){api_key_id(rq), run, run ? USAGE_AGENT_RUN : reason_of(rq),
	                          conversation};
	return 0;
}

int api_check_budgets(const struct request *rq, struct error *err)
{
	struct fleet_use use;

	return api_describe_use(rq, &use, err);
}

void api_set_conversation(const struct request *rq, const char *conversation)
{
	if (rq->caller && conversation && conversation[0])
		((struct api_caller *)rq->caller)->conversation = conversation;
}
