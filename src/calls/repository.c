/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/repository.h"

#include <string.h>

#include "calls/files.h"
#include "edge/activity.h"
#include "edge/target.h"
#include "git/git.h"
#include "http/server/http.h"
#include "provider/compute_run.h"

struct repository_call {
	const struct request *rq;
	const struct api_target *target;
};

static void report_result(struct activity_note *n, const struct compute_result *result)
{
	const struct agent_process *p = &result->process;

	activity_add_output(n, result->out[0]);
	activity_add_output(n, result->out[1]);
	activity_report(n, &(struct activity_result){
	                           .outcome = p->exit_code == 0 ? ACTIVITY_OK : ACTIVITY_FAILED,
	                           .exit_code = p->exit_code,
	                           .duration_ms = (int64_t)p->duration_ms,
	                   });
}

static void on_git_end(void *context, const struct git_ended *ended)
{
	const struct repository_call *call = context;
	const struct api_activity_call what = {
	        .kind = ACTIVITY_COMMAND,
	        .operation = "git",
	        .at = ended->result ? (int64_t)ended->result->process.started_unix_ms : 0,
	};
	struct activity_note *n = api_activity_begin(call->rq, call->target, &what);

	for (const char *const *arg = ended->args; *arg; arg++)
		activity_add_word(n, *arg);
	for (const char *const *path = ended->paths; path && *path; path++)
		activity_add_word(n, *path);
	if (ended->result)
		report_result(n, ended->result);
	else
		activity_fail(n, ended->err->text);
	activity_end(n);
}

int repository_locate(struct request *rq, struct api_target *target, const char *path,
                      struct git_at *ret, struct error *err)
{
	struct repository_call *call = ARENA_NEW(rq->arena, struct repository_call);

	*call = (struct repository_call){rq, target};
	*ret = (struct git_at){
	        .hold = target->hold,
	        .user = target->user,
	        .env = target->env,
	        .deadline = rq->deadline,
	        .on_end = on_git_end,
	        .context = call,
	};
	return files_resolve(rq, target, path ? path : "", &ret->path, err);
}
