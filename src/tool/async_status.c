/* SPDX-License-Identifier: Apache-2.0 */
#include "job/job.h"
#include "json/json.h"
#include "store/jobs.h"
#include "tool/artifacts.h"
#include "tool/builtin.h"
#include "tool/tool.h"
#include "wire/agent_cause.h"

enum async_action { ASYNC_STATUS, ASYNC_LOGS, ASYNC_STOP };
static const char *const actions[] = {"status", "logs", "stop", NULL};

struct async_input {
	const char *result_id;
	int action;
};
static const struct json_member async_input_members[] = {
        JSON_TEXT_MEMBER(async_input, result_id, .name = "resultId", .flags = JSON_REQUIRED,
                         .min = 1, .max = 64, .about = "resultId of bash with background"),
        JSON_CHOICE_MEMBER(async_input, action, .choices = actions,
                           .about = "status (the default); logs: the end of what it wrote so "
                                    "far; stop: ends it"),
};
static JSON_SHAPE(async_input, "AsyncStatusInput", async_input, "Which job, and what about it");

struct async_output {
	const char *result_id, *status, *reason, *cause, *standard_output, *standard_error;
	int64_t exit_code;
	struct json_list artifacts;
};
static const struct json_member async_output_members[] = {
        JSON_TEXT_MEMBER(async_output, result_id, .name = "resultId"),
        JSON_TEXT_MEMBER(async_output, status, .about = "running, completed, failed or stopped"),
        JSON_WHOLE_MEMBER(async_output, exit_code, .min = -1, .about = "-1 while it is not known"),
        JSON_TEXT_MEMBER(async_output, reason, .about = "why it has not completed, or empty"),
        JSON_TEXT_MEMBER(async_output, cause, .flags = JSON_OMIT_EMPTY,
                         .about = AGENT_CAUSES_ABOUT "; or lost: its process does not exist"),
        JSON_TEXT_MEMBER(async_output, standard_output, .name = "stdout"),
        JSON_TEXT_MEMBER(async_output, standard_error, .name = "stderr"),
        JSON_LIST_MEMBER(async_output, artifacts, &tool_artifact_shape, .flags = JSON_OMIT_EMPTY,
                         .about = "stored files of a job that has ended"),
};
static JSON_SHAPE(async_output, "AsyncStatusOutput", async_output, "The state of a background job");

static int find_job(const struct tool_call *call, const struct async_input *in,
                    struct job_record *ret, struct error *err)
{
	const struct job_ref ref = {
	        .project_id = call->project_id,
	        .conversation = call->conversation_id ? call->conversation_id : "",
	        .id = in->result_id,
	};

	if (!call->jobs)
		return FAIL(err, ERROR_UNAVAILABLE, "this server has no background jobs");
	if (in->action == ASYNC_STOP)
		return job_stop(call->jobs, call->arena, &ref, ret, err);
	return job_find(call->jobs, call->arena, &ref, ret, err);
}

/* The state and both streams, as text for the model. */
static struct span format_status(struct arena *a, const struct job_record *r,
                                 const struct job_logs *logs)
{
	AUTO(buf_done) struct buf text = BUF(2 * JOB_LOGS_MAX + 1024);

	buf_addf(&text, "[%s%s%s]\n", job_state_name(r->state), *r->reason ? ": " : "", r->reason);
	for (int i = 0; i < 2; i++) {
		buf_add_span(&text, logs->out[i]);
		if (text.data[text.size - 1] != '\n')
			buf_add_byte(&text, '\n');
	}
	return (struct span){arena_copy(a, buf_span(&text)), text.size};
}

static int async_status_call(const struct tool_call *call, const void *input,
                             struct tool_result *ret, struct error *err)
{
	const struct async_input *in = input;
	struct async_output *out = ARENA_NEW(call->arena, struct async_output);
	struct job_logs_request wanted = {.max = (size_t)call->output_limit_bytes / 2};
	struct job_logs logs = {.out = {{"", 0}, {"", 0}}};
	struct job_record r;

	if (wanted.max > JOB_LOGS_MAX)
		wanted.max = JOB_LOGS_MAX;
	wanted.since[0] = wanted.since[1] = -(int64_t)wanted.max;
	if (find_job(call, in, &r, err) < 0)
		return -1;
	/* The status of a running job does not wake its sandbox; reading its logs does. */
	if ((r.state != JOB_RUNNING || in->action == ASYNC_LOGS) &&
	    job_logs(call->jobs, call->arena, &r, &wanted, &logs, err) < 0)
		return -1;
	*out = (struct async_output){
	        .result_id = r.id,
	        .status = job_state_name(r.state),
	        .reason = r.reason,
	        .cause = r.cause,
	        .exit_code = r.exit_code,
	        .standard_output = tool_text(call->arena, logs.out[0]),
	        .standard_error = tool_text(call->arena, logs.out[1]),
	};
	tool_add_text(ret, format_status(call->arena, &r, &logs));
	ret->structured = out;
	return tool_add_job_artifacts(call, &r, &out->artifacts, ret, err);
}

const struct tool async_status_tool = {
        .name = "async_status",
        .title = "Check a background job",
        .description = "Says whether a job that bash started with background still runs, and, "
                       "once it has ended, how, with the end of its output. Action logs shows "
                       "what it has written so far, stop ends it and all that it started. Jobs "
                       "belong to the conversation that started them.",
        .input = &async_input,
        .output = &async_output,
        /* A caller that may not run commands has started no job that this could stop. */
        .class = TOOL_READS,
        .flags = TOOL_NO_SANDBOX | TOOL_IDEMPOTENT | TOOL_ENDS_OWN | TOOL_OF_WORKSPACE,
        .call = async_status_call,
};
