/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/path.h"
#include "decision/watch.h"
#include "json/json.h"
#include "tool/artifacts.h"
#include "tool/builtin.h"
#include "tool/window.h"
#include "store/sandbox_record.h"

struct execute_input {
	const char *command, *window, *artifacts;
	int64_t wait_ms;
};
static const struct json_member execute_input_members[] = {
        JSON_TEXT_MEMBER(execute_input, command, .min = 1, .max = TERMINAL_COMMAND_MAX,
                         .about = "one or more shell lines; without it the call waits for "
                                  "the command that runs in the window",
                         .example = "cd src && make test"),
        JSON_TEXT_MEMBER(execute_input, window, .max = TERMINAL_NAME_MAX,
                         .about = "name of the terminal window, which is made if it is missing; "
                                  "default: main"),
        JSON_WHOLE_MEMBER(
                execute_input, wait_ms, .min = 0, .max = TERMINAL_WAIT_MS_MAX,
                .about = "return after this time and leave the command running; 0 = 30000"),
        JSON_TEXT_MEMBER(execute_input, artifacts, .max = PATH_SIZE_MAX,
                         .about = TOOL_ARTIFACTS_ABOUT
                         ". By the call that returns the end of the command",
                         .example = "out"),
};
static JSON_SHAPE(execute_input, "ExecuteCommandInput", execute_input, "A command for a window");

struct execute_output {
	const char *window, *output;
	int64_t exit_code, dropped_bytes;
	bool running, cancelled, closed;
	struct json_list artifacts, network;
};
static const struct json_member execute_output_members[] = {
        JSON_TEXT_MEMBER(execute_output, window),
        JSON_BOOL_MEMBER(execute_output, running, .about = "the command still runs in the window"),
        JSON_WHOLE_MEMBER(execute_output, exit_code, .min = -1, .about = "-1 while it runs"),
        JSON_TEXT_MEMBER(execute_output, output),
        JSON_WHOLE_MEMBER(execute_output, dropped_bytes,
                          .about = "bytes of output that were cut before `output`"),
        JSON_BOOL_MEMBER(execute_output, cancelled,
                         .about = "another command in the window was ended first"),
        JSON_BOOL_MEMBER(execute_output, closed, .about = "the window was closed by the command"),
        JSON_LIST_MEMBER(execute_output, artifacts, &tool_artifact_shape, .flags = JSON_OMIT_EMPTY),
        JSON_LIST_MEMBER(execute_output, network, &network_refusal_shape, .flags = JSON_OMIT_EMPTY,
                         .about = "what network rules refused in the sandbox meanwhile"),
};
static JSON_SHAPE(execute_output, "ExecuteCommandOutput", execute_output,
                  "The result of a command in a window");

static struct span format_output(struct arena *a, const struct terminal_result *r)
{
	AUTO(buf_done) struct buf text = BUF(r->output.size + 512);

	if (r->cancelled)
		buf_add_text(&text, "[what ran in the window was cancelled]\n");
	if (r->dropped)
		buf_addf(&text, "[%" PRIu64 " bytes of output before this are left out]\n",
		         r->dropped);
	buf_add_span(&text, r->output);
	if (text.size > 0 && text.data[text.size - 1] != '\n')
		buf_add_byte(&text, '\n');
	if (r->running)
		buf_add_text(&text, "[still running; wait for it by execute_command without a "
		                    "command, or look at it with terminal_operator]\n");
	else if (r->exit_code != 0)
		buf_addf(&text, "[exit code %" PRId64 "]\n", r->exit_code);
	else if (text.size == 0)
		buf_add_text(&text, "[no output]\n");
	if (r->closed)
		buf_add_text(&text, "[the window has closed]\n");
	return (struct span){arena_copy(a, buf_span(&text)), text.size};
}

static int execute_check(const struct tool_call *call, const void *input, struct error *err)
{
	const struct execute_input *in = input;

	if (tool_check_artifacts(call, in->artifacts, err) < 0)
		return -1;
	return in->command ? tool_check_command(call, in->command, err) : 0;
}

/* Stores the files of the command that ended, also when another call began it. */
static void keep_artifacts(const struct tool_call *call, const char *folder,
                           const struct terminal_result *r, struct json_list *ret,
                           struct tool_result *result)
{
	const struct tool_changed_files left = {
	        .folder = folder, .since = r->began, .process = (int64_t)r->process};

	if (r->running || !folder || !folder[0])
		return;
	if (r->began > 0)
		tool_keep_artifacts(call, &left, ret, result);
	else
		tool_add_text(result, SPAN("[no file is kept: the window does not tell when the "
		                           "command began]\n"));
}

static int execute_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                        struct error *err)
{
	const struct execute_input *in = input;
	struct terminal_at at = tool_window_at(call, in->window);
	size_t limit = (size_t)call->output_limit_bytes;
	struct terminal_execute what = {
	        .command = in->command,
	        .open = {.cwd = call->root, .user = call->user, .env = call->env},
	        .output_max = limit < TERMINAL_OUTPUT_MAX ? limit : TERMINAL_OUTPUT_MAX,
	};
	struct execute_output *out = ARENA_NEW(call->arena, struct execute_output);
	struct decision_watch watch = tool_watch_network(call);
	AUTO(tool_window_secrets_done) struct tool_window_secrets secrets = {.call = call};
	struct terminal_result result;

	at.secrets = &secrets.secrets;
	if (tool_wait_ms(call, in->wait_ms, TERMINAL_EXECUTE_WAIT_MS, &what.wait_ms, err) < 0 ||
	    terminal_take_settings(call->store, call->arena, call->sandbox->project_id, &what.open,
	                           err) < 0 ||
	    tool_prepare_window(call, &secrets, &what.open, err) < 0 ||
	    (!in->command && tool_enter_window(call, in->window, err) < 0) ||
	    terminal_execute(&at, call->arena, &what, &result, err) < 0)
		return -1;
	*out = (struct execute_output){
	        .window = result.window,
	        .running = result.running,
	        .exit_code = result.running ? -1 : result.exit_code,
	        .output = result.output.data,
	        .dropped_bytes = (int64_t)result.dropped,
	        .cancelled = result.cancelled,
	        .closed = result.closed,
	};
	tool_add_text(ret, format_output(call->arena, &result));
	out->network = tool_add_refusals(call, &watch, ret);
	keep_artifacts(call, in->artifacts, &result, &out->artifacts, ret);
	ret->structured = out;
	return 0;
}

const struct tool execute_command_tool = {
        .name = "execute_command",
        .title = "Run a command in a terminal window",
        .description =
                "Types a command into a terminal window that people may be looking at, and returns "
                "its output and exit code, or, after wait_ms, what there is so far: then it is "
                "left running. Folder, variables and functions stay in the window. A command "
                "that already runs there is cancelled first: use another window beside a server, "
                "and terminal_operator to answer a prompt such as [Y/n].",
        .input = &execute_input,
        .output = &execute_output,
        .class = TOOL_RUNS,
        .flags = TOOL_DESTRUCTIVE | TOOL_OPEN_WORLD,
        .check = execute_check,
        .call = execute_call,
};
