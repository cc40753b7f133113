/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/jobs — background jobs, and /sandbox-jobs, where agents report that their jobs ended. */
#include <string.h>

#include "base/clock.h"
#include "calls/jobs.h"
#include "calls/stored_artifact.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/artifacts.h"
#include "http/server/shares.h"
#include "job/job.h"
#include "json/json.h"
#include "sandbox/usage_reason.h"
#include "store/artifacts.h"
#include "store/jobs.h"
#include "surface/native/native.h"
#include "wire/agent_cause.h"

#define BASE "/v1/jobs"
#define LIMIT_USUAL 100
#define LIMIT_MAX 1000
#define TAIL_USUAL (64 * 1024)
#define COMPLETE_BODY_MAX (256 * 1024)

struct job_answer {
	const char *result_id, *status, *reason, *cause, *sandbox_id, *conversation, *command;
	int64_t exit_code, process, stdout_bytes, stderr_bytes, created_at, ended_at, duration_ms;
	struct span origin, logs;
	struct json_list artifacts;
	const char *delivery;
};
#define ANSWER_ROWS                                                                                \
	JSON_TEXT_MEMBER(job_answer, result_id, .name = "resultId"),                               \
	        JSON_TEXT_MEMBER(job_answer, status,                                               \
	                         .about = "running, completed, failed or stopped"),                \
	        JSON_WHOLE_MEMBER(                                                                 \
	                job_answer, exit_code, .name = "exitCode",                                 \
	                .about = "-1 while the job runs, and if the exit code is unknown"),        \
	        JSON_TEXT_MEMBER(job_answer, reason, .flags = JSON_NULLABLE,                       \
	                         .about = "why the job did not complete"),                         \
	        JSON_TEXT_MEMBER(                                                                  \
	                job_answer, cause, .flags = JSON_NULLABLE,                                 \
	                .about = AGENT_CAUSES_ABOUT                                                \
	                "; lost: the job's process disappeared; null while the job runs"),         \
	        JSON_TEXT_MEMBER(job_answer, sandbox_id), JSON_TEXT_MEMBER(job_answer, command),   \
	        JSON_TEXT_MEMBER(job_answer, conversation, .flags = JSON_NULLABLE),                \
	        JSON_RAW_MEMBER(job_answer, origin),                                               \
	        JSON_WHOLE_MEMBER(job_answer, process,                                             \
	                          .about = "number of the process in the sandbox"),                \
	        JSON_WHOLE_MEMBER(job_answer, stdout_bytes,                                        \
	                          .about = "bytes written in total; set when the job has ended"),  \
	        JSON_WHOLE_MEMBER(job_answer, stderr_bytes),                                       \
	        JSON_TIME_MEMBER(job_answer, created_at),                                          \
	        JSON_TIME_MEMBER(job_answer, ended_at, .flags = JSON_NULLABLE),                    \
	        JSON_WHOLE_MEMBER(job_answer, duration_ms)

static const struct json_member job_shape_members[] = {
        ANSWER_ROWS,
        JSON_RAW_MEMBER(job_answer, logs, .flags = JSON_OMIT_EMPTY,
                        .about = "last part of stdout and stderr; present when the job has ended"),
        JSON_LIST_MEMBER(job_answer, artifacts, &stored_artifact_shape, .flags = JSON_OMIT_EMPTY,
                         .about = "artifacts that the job left; present when the job has ended"),
};
static JSON_SHAPE(job_shape, "Job", job_answer, "A background job");
static const struct json_member job_item_shape_members[] = {ANSWER_ROWS};
static JSON_SHAPE(job_item_shape, "JobItem", job_answer, "A background job, without its logs");

static const struct json_member job_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &job_item_shape),
};
static JSON_SHAPE(job_list_shape, "JobList", list_answer, "Background jobs, newest first");

#define CONVERSATION_ROW(s)                                                                        \
	JSON_TEXT_MEMBER(s, conversation, .max = USAGE_CONVERSATION_MAX,                           \
	                 .about = "conversation that the job was started with; same as the "       \
	                          "header Atoll-Conversation")
struct job_query {
	const char *conversation;
};
static const struct json_member job_query_members[] = {CONVERSATION_ROW(job_query)};
static JSON_SHAPE(job_query, "JobQuery", job_query, "The calling conversation");

struct jobs_query {
	const char *conversation, *sandbox;
	int status;
	int64_t before, limit;
	uint64_t present;
};
enum { JOBS_STATUS = 2 };
static const char *const statuses[] = {"running", "completed", "failed", "stopped", NULL};
static const struct json_member jobs_query_members[] = {
        CONVERSATION_ROW(jobs_query),
        JSON_TEXT_MEMBER(jobs_query, sandbox, .max = 64,
                         .about = "name or id of a sandbox; only its jobs"),
        [JOBS_STATUS] = JSON_CHOICE_MEMBER(jobs_query, status, .choices = statuses),
        JSON_WHOLE_MEMBER(jobs_query, before, .min = 0,
                          .about = "Unix ms: created_at of the last job of the previous page"),
        JSON_WHOLE_MEMBER(jobs_query, limit, .min = 1, .max = LIMIT_MAX, .about = "default 100"),
};
static JSON_BITS_SHAPE(jobs_query, "JobsQuery", jobs_query, NULL);

struct job_logs_query {
	const char *conversation;
	int64_t since_stdout, since_stderr, tail;
	uint64_t present;
};
enum { LOGS_SINCE_STDOUT = 1, LOGS_SINCE_STDERR };
static const struct json_member job_logs_query_members[] = {
        CONVERSATION_ROW(job_logs_query),
        [LOGS_SINCE_STDOUT] =
                JSON_WHOLE_MEMBER(job_logs_query, since_stdout, .min = 0,
                                  .about = "offset of the first byte (default: the last bytes)"),
        [LOGS_SINCE_STDERR] = JSON_WHOLE_MEMBER(job_logs_query, since_stderr, .min = 0),
        JSON_WHOLE_MEMBER(job_logs_query, tail, .min = 1, .max = JOB_LOGS_MAX,
                          .about = "maximum number of bytes of each stream (default 65536)"),
};
static JSON_BITS_SHAPE(job_logs_query, "JobLogsQuery", job_logs_query, NULL);
struct job_logs_answer {
	const char *result_id, *status, *out, *err;
	int64_t out_offset, err_offset, out_next, err_next, out_end, err_end;
};
static const struct json_member job_logs_shape_members[] = {
        JSON_TEXT_MEMBER(job_logs_answer, result_id, .name = "resultId"),
        JSON_TEXT_MEMBER(job_logs_answer, status),
        JSON_TEXT_MEMBER(job_logs_answer, out, .name = "stdout"),
        JSON_TEXT_MEMBER(job_logs_answer, err, .name = "stderr"),
        JSON_WHOLE_MEMBER(job_logs_answer, out_offset, .name = "stdout_offset",
                          .about = "offset of the first returned byte"),
        JSON_WHOLE_MEMBER(job_logs_answer, err_offset, .name = "stderr_offset"),
        JSON_WHOLE_MEMBER(job_logs_answer, out_next, .name = "stdout_next",
                          .about = "value of since_stdout for the next call"),
        JSON_WHOLE_MEMBER(job_logs_answer, err_next, .name = "stderr_next"),
        JSON_WHOLE_MEMBER(job_logs_answer, out_end, .name = "stdout_bytes",
                          .about = "bytes written in total"),
        JSON_WHOLE_MEMBER(job_logs_answer, err_end, .name = "stderr_bytes"),
};
static JSON_SHAPE(job_logs_shape, "JobLogs", job_logs_answer, "Output of a background job");

struct job_complete_body {
	int status, cause;
	int64_t exit_code, signal, duration_ms;
	bool timed_out;
	uint64_t present;
	const char *output;
	struct span out, err;
};
enum { COMPLETE_CAUSE };
static const char *const complete_statuses[] = {"completed", "failed", NULL};
static const struct json_member complete_request_members[] = {
        [COMPLETE_CAUSE] = JSON_CHOICE_MEMBER(job_complete_body, cause, .choices = agent_causes,
                                              .about = AGENT_CAUSES_ABOUT),
        JSON_CHOICE_MEMBER(job_complete_body, status, .flags = JSON_REQUIRED,
                           .choices = complete_statuses),
        JSON_WHOLE_MEMBER(job_complete_body, exit_code, .name = "exitCode", .min = -1, .max = 255),
        JSON_WHOLE_MEMBER(job_complete_body, signal, .min = 0, .max = 64),
        JSON_WHOLE_MEMBER(job_complete_body, duration_ms, .name = "durationMs", .min = 0),
        JSON_BOOL_MEMBER(job_complete_body, timed_out, .name = "timedOut"),
        JSON_TEXT_MEMBER(job_complete_body, output, .max = 65536,
                         .about = "last part of the output as text; or as bytes:"),
        JSON_BYTES_MEMBER(job_complete_body, out, .name = "stdoutBase64", .max = 65536),
        JSON_BYTES_MEMBER(job_complete_body, err, .name = "stderrBase64", .max = 65536),
};
static JSON_BITS_SHAPE(complete_request, "JobComplete", job_complete_body,
                       "The result of a background job");

static const char *format_job_logs(struct arena *a, const struct job_record *r)
{
	return arena_format(a, "{\"stdout\":%s,\"stderr\":%s}",
	                    *r->stdout_json ? r->stdout_json : "\"\"",
	                    *r->stderr_json ? r->stderr_json : "\"\"");
}

static struct job_answer make_job_answer(struct arena *a, const struct job_record *r)
{
	int64_t until = r->ended_at > 0 ? r->ended_at : clock_unix_ms();

	return (struct job_answer){
	        .result_id = r->id,
	        .status = job_state_name(r->state),
	        .exit_code = r->exit_code,
	        .reason = text_or_null(r->reason),
	        .cause = text_or_null(r->cause),
	        .sandbox_id = r->sandbox_id,
	        .command = r->command,
	        .conversation = text_or_null(r->conversation),
	        .origin = span_of(r->origin_json),
	        .process = r->process,
	        .stdout_bytes = r->stdout_bytes,
	        .stderr_bytes = r->stderr_bytes,
	        .created_at = r->created_at,
	        .ended_at = r->ended_at,
	        .duration_ms = until > r->created_at ? until - r->created_at : 0,
	        .logs = r->state == JOB_RUNNING ? (struct span){NULL, 0}
	                                        : span_of(format_job_logs(a, r)),
	};
}

static int reply_job(struct request *rq, struct reply *reply, const struct job_record *r,
                     struct error *err)
{
	const struct artifact_filter filter = {
	        .project_id = r->project_id, .job = r->id, .limit = FLEET_ARTIFACTS_MADE_MAX};
	struct job_answer answer = make_job_answer(rq->arena, r);
	struct artifact_list kept;

	if (*r->keep_root && r->state != JOB_RUNNING) {
		if (store_artifact_list(api_of(rq)->store, rq->arena, &filter, &kept, err) < 0)
			return -1;
		answer.artifacts = stored_artifact_items(rq, &kept);
	}
	reply_json(reply, &job_shape, &answer);
	return 0;
}

static struct job_ref path_job_ref(struct request *rq, const char *conversation)
{
	return (struct job_ref){.project_id = api_project(rq),
	                        .conversation = api_conversation(rq, conversation),
	                        .id = request_param(rq, "job")};
}

static int jobs_list(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct jobs_query *q = rq->query;
	const struct fleet_ref sandbox = {api_project(rq), q->sandbox};
	struct job_page page = {
	        .project_id = api_project(rq),
	        .conversation = api_conversation(rq, q->conversation),
	        .state = row_is_given(q->present, JOBS_STATUS) ? statuses[q->status] : NULL,
	        .before = q->before,
	        .limit = q->limit ? q->limit : LIMIT_USUAL,
	};
	struct job_list found;
	struct job_answer *items;

	(void)body;
	if (usage_conversation_check(page.conversation, err) < 0 ||
	    api_resolve_sandbox_id(rq, &sandbox, &page.sandbox_id, err) < 0 ||
	    store_job_list(api_of(rq)->store, rq->arena, &page, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct job_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = make_job_answer(rq->arena, &found.items[i]);
	reply_list(reply, &job_list_shape, items, found.count);
	return 0;
}

static int job_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct job_query *q = rq->query;
	const struct job_ref ref = path_job_ref(rq, q->conversation);
	struct job_record r;

	(void)body;
	if (job_find(api_of(rq)->jobs, rq->arena, &ref, &r, err) < 0)
		return -1;
	return reply_job(rq, reply, &r, err);
}

/* The agent of the sandbox answers for a running job, so the call counts as a call into the
 * sandbox. */
static int find_callable_job(struct request *rq, const struct job_ref *ref, struct job_record *ret,
                             struct error *err)
{
	struct request_sandbox sandbox;

	if (job_find(api_of(rq)->jobs, rq->arena, ref, ret, err) < 0)
		return -1;
	sandbox = (struct request_sandbox){ret->project_id, ret->sandbox_id};
	return ret->state == JOB_RUNNING ? request_may_call(rq, &sandbox, err) : 0;
}

static int job_post_stop(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct job_query *q = rq->query;
	const struct job_ref ref = path_job_ref(rq, q->conversation);
	struct job_record r;

	(void)body;
	if (find_callable_job(rq, &ref, &r, err) < 0 ||
	    job_stop(api_of(rq)->jobs, rq->arena, &ref, &r, err) < 0)
		return -1;
	return reply_job(rq, reply, &r, err);
}

static void fill_logs(struct request *rq, const struct job_record *r, const struct job_logs *logs,
                      struct job_logs_answer *ret)
{
	*ret = (struct job_logs_answer){
	        .result_id = r->id,
	        .status = job_state_name(r->state),
	        .out = arena_copy(rq->arena, logs->out[0]),
	        .err = arena_copy(rq->arena, logs->out[1]),
	        .out_offset = logs->offset[0],
	        .err_offset = logs->offset[1],
	        .out_next = logs->next[0],
	        .err_next = logs->next[1],
	        .out_end = logs->end[0],
	        .err_end = logs->end[1],
	};
}

static int job_logs_get(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct job_logs_query *q = rq->query;
	const struct job_ref ref = path_job_ref(rq, q->conversation);
	struct job_logs_request wanted = {.max = q->tail ? (size_t)q->tail : TAIL_USUAL};
	bool has_out = row_is_given(q->present, LOGS_SINCE_STDOUT);
	bool has_err = row_is_given(q->present, LOGS_SINCE_STDERR);
	struct job_logs_answer answer;
	struct job_record r;
	struct job_logs logs;

	(void)body;
	wanted.since[0] = has_out ? q->since_stdout : -(int64_t)wanted.max;
	wanted.since[1] = has_err ? q->since_stderr : -(int64_t)wanted.max;
	if (find_callable_job(rq, &ref, &r, err) < 0 ||
	    job_logs(api_of(rq)->jobs, rq->arena, &r, &wanted, &logs, err) < 0)
		return -1;
	fill_logs(rq, &r, &logs, &answer);
	reply_json(reply, &job_logs_shape, &answer);
	return 0;
}

/* Older agents send no cause, only whether the job timed out. */
static const char *posted_cause(const struct job_complete_body *b)
{
	if (row_is_given(b->present, COMPLETE_CAUSE))
		return agent_causes[b->cause];
	if (b->timed_out)
		return "timeout";
	return b->signal > 0 ? "signal" : "exit";
}

static int job_post_completion(struct request *rq, const void *body, struct reply *reply,
                               struct error *err)
{
	const struct job_complete_body *b = body;
	struct span token = account_bearer(request_header(rq, "Authorization"), NULL);
	const struct job_completion completion = {
	        .is_completed = b->status == 0,
	        .exit_code = b->exit_code,
	        .cause = posted_cause(b),
	        .out = {b->output ? span_of(b->output) : b->out, b->err},
	};

	if (b->output && b->out.size > 0)
		return FAIL(err, ERROR_INVALID, "output and stdoutBase64 are both given");
	if (!api_of(rq)->jobs)
		return FAIL(err, ERROR_UNAVAILABLE, "this server has no background jobs");
	if (job_complete(api_of(rq)->jobs, request_param(rq, "job"), token, &completion, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "jobs"
const struct route jobs_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .query = &jobs_query, .answer = &job_list_shape,
         .handle = jobs_list, TAG, .summary = "List the background jobs of a conversation"},
        {HTTP_GET, BASE "/:job", SCOPE_SANDBOX_READ, .query = &job_query, .answer = &job_shape,
         .handle = job_get, TAG, .summary = "Get the state of a background job"},
        {HTTP_GET, BASE "/:job/logs", SCOPE_SANDBOX_READ, ROUTE_SLOW, .query = &job_logs_query,
         .answer = &job_logs_shape, .handle = job_logs_get, TAG,
         .summary = "Get the output of a background job: the last bytes, or from an offset"},
        {HTTP_POST, BASE "/:job/stop", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_LONG,
         .query = &job_query, .answer = &job_shape, .handle = job_post_stop, TAG,
         .summary = "Stop a background job and all its processes"},
        {HTTP_POST, "/sandbox-jobs/:job/complete", SCOPE_NONE, ROUTE_PUBLIC,
         .body_max = COMPLETE_BODY_MAX, .body = &complete_request, .status = 204,
         .handle = job_post_completion, TAG,
         .summary = "Report the end of a background job; called inside the sandbox with the job's "
                    "own token"},
        {.path = NULL},
};
