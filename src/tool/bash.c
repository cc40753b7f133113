/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/head_tail.h"
#include "base/path.h"
#include "decision/watch.h"
#include "fleet/core/fleet_hold.h"
#include "job/job.h"
#include "json/json.h"
#include "provider/compute.h"
#include "provider/compute_run.h"
#include "provider/provider.h"
#include "terminal/command_cast.h"
#include "tool/artifacts.h"
#include "tool/builtin.h"
#include "tool/recorded.h"
#include "tool/tool.h"
#include "wire/agent_cause.h"

struct bash_input {
	const char *command, *artifacts;
	int64_t timeout_ms;
	bool background, record;
};
static const struct json_member bash_input_members[] = {
        JSON_TEXT_MEMBER(bash_input, command, .flags = JSON_REQUIRED, .min = 1,
                         .max = 128 * 1024 - 1, .about = "a shell line; it starts in the workspace",
                         .example = "python3 notes/run.py"),
        JSON_WHOLE_MEMBER(
                bash_input, timeout_ms, .min = 0, .max = 600000,
                .about = "end it with all its child processes after this time; 0 = the default"),
        JSON_BOOL_MEMBER(bash_input, background,
                         .about = "return at once with a resultId, for async_status"),
        JSON_BOOL_MEMBER(bash_input, record,
                         .about = "record its output as asciicast, for people to replay"),
        JSON_TEXT_MEMBER(bash_input, artifacts, .max = PATH_SIZE_MAX, .about = TOOL_ARTIFACTS_ABOUT,
                         .example = "out"),
};
static JSON_SHAPE(bash_input, "BashInput", bash_input, "A shell line");

struct bash_output {
	const char *standard_output, *standard_error, *result_id, *cause, *recording;
	int64_t exit_code, duration_ms;
	bool timed_out, truncated;
	struct json_list artifacts, network;
};
static const struct json_member bash_output_members[] = {
        JSON_WHOLE_MEMBER(bash_output, exit_code, .min = -1,
                          .about = "128 + the signal that ended it; -1 with background"),
        JSON_BOOL_MEMBER(bash_output, timed_out),
        JSON_TEXT_MEMBER(bash_output, cause, .flags = JSON_OMIT_EMPTY, .about = AGENT_CAUSES_ABOUT),
        JSON_WHOLE_MEMBER(bash_output, duration_ms),
        JSON_TEXT_MEMBER(bash_output, standard_output, .name = "stdout"),
        JSON_TEXT_MEMBER(bash_output, standard_error, .name = "stderr"),
        JSON_BOOL_MEMBER(bash_output, truncated, .about = "the middle of the output was cut"),
        JSON_TEXT_MEMBER(bash_output, result_id, .name = "resultId", .flags = JSON_OMIT_EMPTY,
                         .about = "id of a job in the background"),
        JSON_TEXT_MEMBER(bash_output, recording, .flags = JSON_OMIT_EMPTY,
                         .about = "id of the recording"),
        JSON_LIST_MEMBER(bash_output, artifacts, &tool_artifact_shape, .flags = JSON_OMIT_EMPTY),
        JSON_LIST_MEMBER(bash_output, network, &network_refusal_shape, .flags = JSON_OMIT_EMPTY,
                         .about = "what network rules refused in the sandbox while it ran"),
};
static JSON_SHAPE(bash_output, "BashOutput", bash_output, "The result of a shell line");

struct tool_exec {
	const char **const *alternatives; /* argument lists; the first existing program runs */
	unsigned count;
	const char *label;
	int64_t timeout_ms;
	size_t output_max;         /* bytes of each stream, and of both together */
	struct command_cast *cast; /* gets the output; or NULL */
};
struct tool_exec_result {
	struct agent_process process;
	struct span both, out[2]; /* both streams in order; stdout, stderr */
	uint64_t cut_count;       /* bytes that were cut from `both` */
};

/* The output of both streams in order, and of each stream. */
struct exec_output {
	const struct tool_call *call;
	struct command_cast *cast;
	struct head_tail both, out[2];
};

static void exec_output_done(struct exec_output *g)
{
	head_tail_done(&g->both);
	head_tail_done(&g->out[0]);
	head_tail_done(&g->out[1]);
}

static int on_output(void *context, const struct agent_output *o, UNUSED struct error *err)
{
	struct exec_output *g = context;

	if (g->call->on_progress)
		g->call->on_progress(g->call->progress_context, o->bytes);
	if (g->cast)
		command_cast_add(g->cast, o->bytes);
	head_tail_add(&g->both, g->both.total, o->bytes);
	head_tail_add(&g->out[o->stream == AGENT_STDERR], o->offset, o->bytes);
	return 0;
}

static struct span join_output(struct arena *a, const struct head_tail *k)
{
	AUTO(buf_done) struct buf text = BUF(2 * k->half + 256);

	head_tail_join(k, &text);
	return (struct span){arena_copy(a, buf_span(&text)), text.size};
}

static int run_alternatives(const struct tool_call *call, const struct tool_exec *exec,
                            struct exec_output *g, struct agent_process *ret, struct error *err)
{
	struct agent_exec message = {
	        .env = call->env,
	        .user = call->user,
	        .cwd = call->root,
	        .label = exec->label,
	        .timeout_ms = (uint64_t)exec->timeout_ms,
	};
	const struct compute_run options = {
	        .exec = &message,
	        .deadline = call->deadline,
	        .cancel = call->cancel,
	        .on_output = on_output,
	        .context = g,
	};
	struct compute_result result;

	for (unsigned i = 0; i < exec->count; i++) {
		error_clear(err);
		message.args = exec->alternatives[i];
		if (compute_run(call->hold->provider, call->hold->id, call->arena, &options,
		                &result, err) == 0) {
			*ret = result.process;
			return 0;
		}
		if (!compute_lacks_program(err))
			return -1;
	}
	return -1;
}

/* Runs a command to its end. */
static int run_exec(const struct tool_call *call, const struct tool_exec *exec,
                    struct tool_exec_result *ret, struct error *err)
{
	AUTO(exec_output_done) struct exec_output g = {.call = call, .cast = exec->cast};

	head_tail_init(&g.both, exec->output_max);
	head_tail_init(&g.out[0], exec->output_max);
	head_tail_init(&g.out[1], exec->output_max);
	if (provider_require(call->hold->provider, PROVIDER_CAN_EXEC, err) < 0 ||
	    run_alternatives(call, exec, &g, &ret->process, err) < 0)
		return -1;
	ret->both = join_output(call->arena, &g.both);
	ret->out[0] = join_output(call->arena, &g.out[0]);
	ret->out[1] = join_output(call->arena, &g.out[1]);
	ret->cut_count = head_tail_cut_count(&g.both);
	return 0;
}

static int set_timeout(const struct tool_call *call, const struct bash_input *in, int64_t *ret,
                       struct error *err)
{
	*ret = in->timeout_ms > 0 ? in->timeout_ms : call->timeout_ms;
	if (*ret <= call->timeout_max_ms)
		return 0;
	return FAIL(err, ERROR_INVALID, "timeout_ms: at most %" PRId64 " here",
	            call->timeout_max_ms);
}

/* The output of both streams in order, and a last line about the end if it needs one. */
static struct span format_output(struct arena *a, const struct tool_exec_result *ended,
                                 int64_t timeout_ms)
{
	const char *why = agent_cause_explain(agent_process_cause(&ended->process));
	AUTO(buf_done) struct buf text = BUF(ended->both.size + 512);

	buf_add_span(&text, ended->both);
	if (text.size > 0 && text.data[text.size - 1] != '\n')
		buf_add_byte(&text, '\n');
	if (ended->process.timed_out)
		buf_addf(&text, "[ended after %" PRId64 " ms, its time limit]\n", timeout_ms);
	else if (why)
		buf_addf(&text, "[exit code %" PRId64 ": %s]\n", ended->process.exit_code, why);
	else if (ended->process.signal)
		buf_addf(&text, "[killed by signal %u]\n", ended->process.signal);
	else if (ended->process.exit_code != 0)
		buf_addf(&text, "[exit code %" PRId64 "]\n", ended->process.exit_code);
	else if (text.size == 0)
		buf_add_text(&text, "[no output]\n");
	return (struct span){arena_copy(a, buf_span(&text)), text.size};
}

/* The job gets the call's timeout, or none, within the limit of the sandbox's config. */
static int start_job(const struct tool_call *call, const struct bash_input *in,
                     const struct tool_exec *run, struct tool_result *ret, struct error *err)
{
	static const struct job_origin nowhere;
	int64_t most_ms = call->job_timeout_max_ms;
	bool is_within = most_ms == 0 || (in->timeout_ms > 0 && in->timeout_ms < most_ms);
	const struct agent_exec exec = {
	        .env = call->env,
	        .user = call->user,
	        .cwd = call->root,
	        .label = run->label,
	        .timeout_ms = (uint64_t)(is_within ? in->timeout_ms : most_ms),
	};
	const struct job_request request = {
	        .sandbox = call->sandbox,
	        .key_id = call->key_id,
	        .conversation = call->conversation_id,
	        .origin = call->origin ? call->origin : &nowhere,
	        .command = in->command,
	        .exec = &exec,
	        .keep = tool_job_keep(call, in->artifacts),
	        .args = run->alternatives,
	        .args_count = run->count,
	        .deadline = call->deadline,
	};
	struct bash_output *out = ARENA_NEW(call->arena, struct bash_output);
	struct job_started started;

	if (call->ephemeral) {
		(void)FAIL(err, ERROR_INVALID, "a background job needs a sandbox that stays");
		return FAIL_HINT(err, "call the tool in a lease");
	}
	if (!call->jobs)
		return FAIL(err, ERROR_UNAVAILABLE, "this server has no background jobs");
	if ((in->record && tool_record_check(call, err) < 0) ||
	    job_start(call->jobs, call->arena, &request, &started, err) < 0)
		return -1;
	*out = (struct bash_output){
	        .exit_code = -1,
	        .standard_output = "",
	        .standard_error = "",
	        .result_id = started.id,
	        .recording = in->record ? tool_record_job(call, in->command, &started) : NULL,
	};
	tool_add_text(ret, span_of(arena_format(call->arena,
	                                        "[started in the background, resultId %s: "
	                                        "async_status tells of its end]\n",
	                                        started.id)));
	ret->structured = out;
	return 0;
}

/* Runs the command, and stores what was recorded of it, also when the call fails meanwhile. */
static int run_recorded(const struct tool_call *call, const struct bash_input *in,
                        struct tool_exec *exec, struct tool_exec_result *ret,
                        const char **ret_recording, struct error *err)
{
	int result;

	*ret_recording = NULL;
	if (in->record && tool_cast_begin(call, in->command, &exec->cast, err) < 0)
		return -1;
	result = run_exec(call, exec, ret, err);
	if (exec->cast)
		*ret_recording =
		        tool_cast_end(call, exec->cast, result == 0 ? &ret->process : NULL);
	return result;
}

static int bash_check(const struct tool_call *call, const void *input, struct error *err)
{
	const struct bash_input *in = input;
	int64_t timeout_ms;

	if ((!in->background && set_timeout(call, in, &timeout_ms, err) < 0) ||
	    tool_check_artifacts(call, in->artifacts, err) < 0)
		return -1;
	return tool_check_command(call, in->command, err);
}

static int bash_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                     struct error *err)
{
	const struct bash_input *in = input;
	const char *bash[] = {"bash", "-c", in->command, NULL};
	const char *sh[] = {"sh", "-c", in->command, NULL};
	const char **const alternatives[] = {bash, sh};
	struct tool_exec exec = {
	        .alternatives = alternatives,
	        .count = COUNT_OF(alternatives),
	        .label = "bash",
	        .output_max = (size_t)call->output_limit_bytes,
	};
	struct bash_output *out = ARENA_NEW(call->arena, struct bash_output);
	struct decision_watch watch = tool_watch_network(call);
	struct tool_exec_result ended;
	const char *recording;

	if (in->background)
		return start_job(call, in, &exec, ret, err);
	if (set_timeout(call, in, &exec.timeout_ms, err) < 0 ||
	    run_recorded(call, in, &exec, &ended, &recording, err) < 0)
		return -1;
	*out = (struct bash_output){
	        .recording = recording,
	        .exit_code = ended.process.exit_code,
	        .timed_out = ended.process.timed_out,
	        .cause = agent_process_cause(&ended.process),
	        .duration_ms = (int64_t)ended.process.duration_ms,
	        .standard_output = tool_text(call->arena, ended.out[0]),
	        .standard_error = tool_text(call->arena, ended.out[1]),
	        .truncated = ended.cut_count > 0,
	};
	tool_add_text(ret, format_output(call->arena, &ended, exec.timeout_ms));
	out->network = tool_add_refusals(call, &watch, ret);
	tool_keep_artifacts(
	        call,
	        &(struct tool_changed_files){.folder = in->artifacts,
	                                     .since = (int64_t)ended.process.started_unix_ms,
	                                     .process = (int64_t)ended.process.process},
	        &out->artifacts, ret);
	ret->structured = out;
	return 0;
}

const struct tool bash_tool = {
        .name = "bash",
        .title = "Run a shell command",
        .description =
                "Runs a shell line (bash, else sh) in the sandbox and returns stdout and stderr "
                "together. It starts in the workspace: use relative paths, such as src/main.c. "
                "Each call is a new shell: a cd or an export does not last, files do. Long output "
                "loses its middle. Start long commands with background, and check them with "
                "async_status. To "
                "look at or change files, read, edit, write, glob and grep "
                "are better.",
        .input = &bash_input,
        .output = &bash_output,
        .class = TOOL_RUNS,
        .flags = TOOL_DESTRUCTIVE | TOOL_OPEN_WORLD | TOOL_ALONE | TOOL_OF_WORKSPACE,
        .check = bash_check,
        .call = bash_call,
};
