/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/command.h"
#include "calls/jobs.h"
#include "calls/process_answer.h"
#include "edge/api.h"
#include "edge/target.h"
#include "job/job.h"
#include "json/write.h"

static int start_job(struct request *rq, const struct api_target *t,
                     const struct sandbox_command *c, const struct background_command *b,
                     struct job_started *ret, struct error *err)
{
	const char **args[COMMAND_ALTERNATIVES_MAX];
	struct agent_exec exec = c->exec;
	const struct job_request request = {
	        .sandbox = t->record,
	        .key_id = api_key_id(rq),
	        .conversation = api_conversation(rq, b->conversation),
	        .origin = b->origin,
	        .command = b->command,
	        .exec = &exec,
	        .keep = {.root = c->keep_root,
	                 .folder = ".",
	                 .run = request_header(rq, "Atoll-Run")},
	        .args = args,
	        .args_count = c->count,
	        .deadline = rq->deadline,
	};

	exec.flags |= c->may_be_warm ? AGENT_EXEC_WARM : 0;
	exec.stdin_bytes = c->stdin_bytes;
	for (unsigned i = 0; i < c->count; i++)
		args[i] = c->alternatives[i].args;
	return job_start(api_of(rq)->jobs, rq->arena, &request, ret, err);
}

int background_command_start(struct request *rq, const struct api_target *t,
                             const struct sandbox_command *c, const struct background_command *b,
                             struct reply *reply, struct error *err)
{
	struct job_started started = {.id = NULL};
	struct sandbox_command limited;
	struct buf *out;

	if (request_may_block(rq, err) < 0)
		return -1;
	if (!api_of(rq)->jobs)
		return FAIL(err, ERROR_UNAVAILABLE, "this server has no background jobs");
	if (command_limit(rq, t, c, &limited, err) < 0 ||
	    start_job(rq, t, &limited, b, &started, err) < 0)
		return -1;
	reply_status(reply, 202);
	out = reply_buf(reply, "application/json");
	process_write(out, started.process);
	out->size--; /* more follows */
	json_add_text(out, "status", "running");
	json_add_text(out, "resultId", started.id);
	json_end_object(out);
	return 0;
}

const char *api_conversation(const struct request *rq, const char *given)
{
	const char *header = request_header(rq, "Atoll-Conversation");

	if (given)
		return given;
	return header ? header : "";
}
