/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "calls/command.h"
#include "calls/jobs.h"
#include "calls/process_answer.h"
#include "edge/api.h"
#include "edge/target.h"
#include "job/job.h"
#include "json/write.h"
#include "store/sandbox_record.h"
#include "terminal/recording.h"
#include "terminal/terminal.h"

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

/* The job runs: without its recording the call has succeeded, too. */
static void record_job(struct request *rq, const struct api_target *t,
                       const struct background_command *b, const struct job_started *started,
                       char ret[RECORDING_ID_MAX + 1])
{
	const struct terminal_at at = {.terminals = api_of(rq)->terminals,
	                               .hold = t->hold,
	                               .deadline = rq->deadline,
	                               .who = api_caller_name(rq)};
	struct error err = {0};

	if (terminal_record_process(&at, t->record->project_id, started->process, b->command, ret,
	                            &err) == 0)
		return;
	ret[0] = '\0';
	log_warning("a job is not recorded", TEXT("job", started->id), FAILURE(&err));
}

int background_command_start(struct request *rq, const struct api_target *t,
                             const struct sandbox_command *c, const struct background_command *b,
                             struct reply *reply, struct error *err)
{
	struct job_started started = {.id = NULL};
	char recording[RECORDING_ID_MAX + 1] = "";
	struct sandbox_command limited;
	struct buf *out;

	if (request_may_block(rq, err) < 0)
		return -1;
	if (!api_of(rq)->jobs)
		return FAIL(err, ERROR_UNAVAILABLE, "this server has no background jobs");
	if (command_limit(rq, t, c, &limited, err) < 0 ||
	    (b->is_recorded &&
	     terminal_record_check(api_of(rq)->terminals, t->record->project_id, err) < 0) ||
	    start_job(rq, t, &limited, b, &started, err) < 0)
		return -1;
	if (b->is_recorded)
		record_job(rq, t, b, &started, recording);
	reply_status(reply, 202);
	out = reply_buf(reply, "application/json");
	process_write(out, started.process);
	out->size--; /* more follows */
	json_add_text(out, "status", "running");
	json_add_text(out, "resultId", started.id);
	if (recording[0])
		json_add_text(out, "recording", recording);
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
