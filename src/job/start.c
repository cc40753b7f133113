/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/id.h"
#include "base/thread.h"
#include "config/config.h"
#include "config/url.h"
#include "fleet/core/sandboxes.h"
#include "job/parts.h"
#include "json/json.h"
#include "provider/agent_reader.h"
#include "provider/provider.h"
#include "sandbox/usage_reason.h"
#include "store/channels.h"
#include "wire/agent_jobs.h"
#include "store/sandbox_record.h"

#define TOKEN_MARK "atj_"
#define COMMAND_MAX 1024 /* bytes that are kept for display */
/* Time after the command's limit, for a repeated post or a sandbox that was paused. */
#define TOKEN_GRACE_MS (INT64_C(24) * 3600 * 1000)
#define TOKEN_LIFE_MS (INT64_C(30) * 24 * 3600 * 1000)

bool job_is_starting(struct jobs *jobs, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&jobs->mutex);

	LIST_EACH (&jobs->starting, const struct starting, starting, item)
		if (strcmp(starting->id, id) == 0)
			return true;
	return false;
}

struct resolved_job {
	const struct job_request *request;
	struct job_record record;
	struct id id;
	char token[JOB_TOKEN_SIZE + 1];
	bool has_callback; /* the agent can be told where to post */
};

/* UTF-8 cut between characters, because databases refuse half a character. */
static const char *cut_command(struct arena *a, const char *text)
{
	size_t size = strnlen(text, COMMAND_MAX + 1);

	if (size <= COMMAND_MAX)
		return arena_text(a, text);
	for (size = COMMAND_MAX; size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80; size--)
		;
	return arena_copy(a, (struct span){text, size});
}

static const char *origin_json(struct arena *a, const struct job_origin *origin)
{
	AUTO(buf_done) struct buf text = BUF(16 * 1024);

	json_write(&text, &job_origin_shape, origin);
	return arena_text(a, buf_text(&text));
}

static void fill_token(struct resolved_job *d, int64_t now)
{
	int64_t timeout_ms = (int64_t)d->request->exec->timeout_ms;

	memcpy(d->token, TOKEN_MARK, sizeof(TOKEN_MARK) - 1);
	id_random_text(d->token + sizeof(TOKEN_MARK) - 1,
	               (unsigned)(sizeof(d->token) - sizeof(TOKEN_MARK) + 1));
	job_token_hash(span_of(d->token), d->record.token_hash);
	d->record.token_expires_at =
	        now + (timeout_ms > 0 ? timeout_ms + TOKEN_GRACE_MS : TOKEN_LIFE_MS);
}

static void fill_draft(struct jobs *jobs, struct arena *a, struct resolved_job *d)
{
	const struct job_request *request = d->request;
	const struct sandbox_record *sandbox = request->sandbox;
	int64_t now = clock_unix_ms();

	d->id = id_new();
	d->record = (struct job_record){
	        .id = d->id.text,
	        .project_id = sandbox->project_id,
	        .sandbox_id = sandbox->id,
	        .key_id = request->key_id,
	        .conversation = request->conversation,
	        .channel = (enum job_channel)request->origin->type,
	        .origin_json = origin_json(a, request->origin),
	        .command = cut_command(a, request->command),
	        .exit_code = -1,
	        .created_at = now,
	};
	if (request->keep.root) {
		d->record.keep_root = request->keep.root;
		d->record.keep_folder = request->keep.folder;
		d->record.keep_user = request->exec->user;
		d->record.run = request->keep.run;
	}
	/* Without a way to post from inside, the job has no token. */
	d->has_callback =
	        *jobs->config->jobs_callback_url && sandbox->network == SANDBOX_NETWORK_INTERNET;
	if (d->has_callback)
		fill_token(d, now);
}

static int fill_job(struct jobs *jobs, struct arena *a, const struct resolved_job *d,
                    struct config_callback *callback, struct agent_job *ret, struct error *err)
{
	*ret = (struct agent_job){.id = d->id.text};
	if (!d->has_callback)
		return 0;
	if (config_callback_parse(jobs->config->jobs_callback_url, callback, err) < 0)
		return -1;
	ret->address = callback->address;
	ret->port = callback->port;
	ret->host = callback->host;
	ret->path = arena_format(a, "%s/sandbox-jobs/%s/complete", callback->path, d->id.text);
	ret->token = d->token;
	return 0;
}

/* An agent of an older server does not know jobs and answers only that. */
static int explain_old_agent(struct error *err)
{
	if (err->code != ERROR_INVALID || strncmp(err->text, "unknown message", 15) != 0)
		return -1;
	error_clear(err);
	(void)FAIL(err, ERROR_UNSUPPORTED, "the sandbox's agent is older than this server");
	return FAIL_HINT(err, "stop the sandbox and start it again");
}

struct launch {
	const struct agent_job *job;
	struct provider *provider;
	struct agent_exec exec;
	struct agent_pong pong;
	struct agent_process *process;
};

/* The next command on this connection after AGENT_JOB is the job. */
static int launch_once(struct arena *a, const struct resolved_job *d, struct launch *launch,
                       struct error *err)
{
	const struct agent_limits limits = {.deadline = d->request->deadline};
	const struct compute_request job = {AGENT_JOB, agent_job_shape, launch->job, NULL};
	const struct compute_request exec = {AGENT_EXEC, agent_exec_shape, &launch->exec, NULL};
	struct agent_process *process = launch->process;
	AUTO(agent_reader_done) struct agent_reader r;

	agent_reader_init(&r, launch->provider, d->record.sandbox_id, &limits);
	if (agent_reader_ask(&r, &job, err) < 0)
		return -1;
	if (agent_reader_expect(&r, AGENT_PONG, err) < 0)
		return explain_old_agent(err);
	if (wire_decode(a, buf_span(&r.payload), agent_pong_shape, &launch->pong,
	                sizeof(launch->pong), err) < 0 ||
	    agent_reader_ask(&r, &exec, err) < 0 ||
	    agent_reader_expect(&r, AGENT_STARTED, err) < 0 ||
	    wire_decode(a, buf_span(&r.payload), agent_process_shape, process, sizeof(*process),
	                err) < 0)
		return -1;
	return agent_reader_expect(&r, AGENT_DONE, err);
}

static int launch_first(struct jobs *jobs, struct arena *a, const struct resolved_job *d,
                        struct launch *launch, struct error *err)
{
	if (sandbox_provider_find(jobs->fleet, d->record.sandbox_id, &launch->provider, err) < 0)
		return -1;
	launch->exec = *d->request->exec;
	launch->exec.flags |= AGENT_EXEC_DETACH;
	for (unsigned i = 0; i < d->request->args_count; i++) {
		launch->exec.args = d->request->args[i];
		error_clear(err);
		if (launch_once(a, d, launch, err) == 0)
			return 0;
		if (!compute_lacks_program(err))
			break;
	}
	return -1;
}

/* No command of the job runs, so no message is sent. If only the reply was lost, the watch finds
 * the job. */
static bool is_surely_not_started(const struct error *err)
{
	return err->code != ERROR_TIMEOUT && err->code != ERROR_UNAVAILABLE &&
	       err->code != ERROR_SYSTEM;
}

static int start_job(struct jobs *jobs, struct arena *a, const struct resolved_job *d,
                     struct job_started *ret, struct error *err)
{
	struct config_callback callback;
	struct agent_job job;
	struct launch launch = {.job = &job, .process = ARENA_NEW(a, struct agent_process)};
	struct error second = {0};
	struct job_start started = {.id = d->id.text};

	fault_point("api", "job-recorded");
	if (fill_job(jobs, a, d, &callback, &job, err) < 0 ||
	    launch_first(jobs, a, d, &launch, err) < 0) {
		if (is_surely_not_started(err))
			(void)!store_job_remove(jobs->store, d->id.text, &second);
		return -1;
	}
	fault_point("api", "job-launched");
	started.boot_id = launch.pong.boot_id;
	started.process = (int64_t)launch.process->process;
	started.started_at = (int64_t)launch.process->started_unix_ms;
	/* The job runs: if this fails, the watch finds its process by its id. */
	(void)!store_job_started(jobs->store, &started, &second);
	ret->id = arena_text(a, d->id.text);
	ret->process = launch.process;
	return 0;
}

/* A failed message is reported now, not after the job's end. */
static int check_origin(struct jobs *jobs, struct arena *a, const struct job_request *request,
                        struct error *err)
{
	const struct job_origin *origin = request->origin;
	const struct channel_ref ref = {request->sandbox->project_id,
	                                job_origin_credential(origin)};
	struct channel_record channel;

	if (job_origin_check(origin, err) < 0 ||
	    !job_channel_is_chat((enum job_channel)origin->type))
		return err->code == ERROR_NONE ? 0 : -1;
	if (store_channel_find(jobs->store, a, &ref, &channel, err) < 0)
		return FAIL_HINT(err, "PUT /v1/channels/%s with its token", ref.name);
	if (channel.kind != (enum job_channel)origin->type)
		return FAIL(err, ERROR_INVALID, "origin: channel '%s' is one of %s", channel.name,
		            job_channel_name(channel.kind));
	return 0;
}

int job_start(struct jobs *jobs, struct arena *a, const struct job_request *request,
              struct job_started *ret, struct error *err)
{
	struct resolved_job draft = {.request = request};
	struct starting starting = {.id = draft.id.text};
	int result;

	if (sandbox_require(jobs->fleet, request->sandbox, PROVIDER_CAN_EXEC, err) < 0 ||
	    usage_conversation_check(request->conversation, err) < 0 ||
	    check_origin(jobs, a, request, err) < 0)
		return -1;
	fill_draft(jobs, a, &draft);
	jobs_add(jobs, &jobs->starting, &starting.item);
	result = store_job_insert(jobs->store, &draft.record, JOB_RUNNING_MAX, err);
	if (result == 0)
		result = start_job(jobs, a, &draft, ret, err);
	jobs_remove(jobs, &starting.item);
	jobs_wake(jobs);
	return result;
}
