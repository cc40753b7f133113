/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to the standard input of one command. */
#include "base/clock.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "provider/compute_run.h"
#include "shell/marks.h"
#include "shell/shell.h"
#include "fleet/core/fleet_hold.h"

#include <limits.h>
#include <signal.h>
#include <string.h>

#define WAIT_MS 1000 /* for a command to begin, or to end */
#define GONE 3       /* exit status: the pipe does not exist */
/* The known end of a stream may lie within a mark, which is at most this long. */
#define MARK_MAX (MARK_TEXT_MAX + 64)

static int write_input(const struct shell_call *call, const struct shell_input *input,
                       const char *folder, bool *ret_taken, struct error *err)
{
	/* Opening for writing only waits until the command has opened the pipe, because bytes in a
	 * pipe without a reader are lost. If the command ends meanwhile its pipe is removed: then
	 * the open makes a new file, or the pipe has no reader. */
	static const char script[] = "[ -p \"$1\" ] || exit 3; exec 3>\"$1\"; "
	                             "[ -p /dev/fd/3 ] || { rm -f \"$1\"; exit 3; }; exec cat >&3";
	AUTO(arena_done) struct arena a = {0};
	const char *path = arena_format(&a, "%s/%s", folder, input->command->id);
	const char *args[] = {"sh", "-c", script, "sh", path, NULL};
	const struct agent_exec exec = {
	        .args = args, .cwd = "/", .user = input->user, .stdin_bytes = input->bytes};
	const struct compute_run run = {.exec = &exec, .out_max = 4096, .deadline = call->deadline};
	struct compute_result result;

	if (compute_run(call->hold->provider, call->hold->id, &a, &run, &result, err) < 0)
		return -1;
	bool has_ended =
	        result.process.exit_code == GONE || result.process.exit_code == 128 + SIGPIPE;
	if (result.process.exit_code != 0 && !has_ended)
		return FAIL(err, ERROR_SYSTEM, "the input could not be written");
	*ret_taken = !has_ended;
	return 0;
}

/* The state of a command, by the marks that the shell writes from now on. */
struct shell_command_progress {
	const char *id;
	struct shell_marks marks; /* of stdout */
	char folder[PATH_MAX];
	bool has_begun, has_ended;
	struct agent_reader agent; /* attached to the shell */
};

static void shell_command_progress_done(struct shell_command_progress *p)
{
	shell_marks_done(&p->marks);
	agent_reader_done(&p->agent);
}

static void on_bytes(UNUSED void *context, UNUSED struct span bytes)
{
}

static void on_mark(void *context, const struct shell_mark *mark)
{
	struct shell_command_progress *p = context;

	if (mark->kind == MARK_FOLDER && mark->text.size < sizeof(p->folder)) {
		memcpy(p->folder, mark->text.data, mark->text.size);
		p->folder[mark->text.size] = '\0';
	}
	if (strcmp(mark->id, p->id) != 0)
		return;
	p->has_begun = true;
	p->has_ended = mark->kind == MARK_END;
}

static const struct shell_marks_ops progress_ops = {.on_bytes = on_bytes, .on_mark = on_mark};

static int attach_to_shell(const struct shell_call *call, const struct shell *shell,
                           struct shell_command_progress *p, struct error *err)
{
	uint64_t end = shell->output_end[0];
	const struct agent_attach message = {
	        .process = shell->process,
	        .since = {end > MARK_MAX ? end - MARK_MAX : 0, shell->output_end[1]},
	        .read_only = 1,
	        .until_end = 1,
	};
	const struct compute_request request = {AGENT_ATTACH, agent_attach_shape, &message, NULL};

	shell_marks_init(&p->marks, &progress_ops, p);
	agent_reader_init(&p->agent, call->hold->provider, call->hold->id,
	                  &(struct agent_limits){.deadline = call->deadline});
	return agent_reader_ask(&p->agent, &request, err);
}

/* Reads one message of the shell. */
static int read_shell_message(struct shell_command_progress *p, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct agent_reader *r = &p->agent;
	struct agent_output output;

	if (agent_reader_next(r, err) < 0)
		return -1;
	p->has_ended = p->has_ended || r->has_ended;
	if (r->type != AGENT_OUTPUT)
		return 0;
	if (wire_decode(&a, buf_span(&r->payload), agent_output_shape, &output, sizeof(output),
	                err) < 0)
		return -1;
	if (output.stream == AGENT_STDOUT)
		shell_marks_add(&p->marks, output.bytes);
	return 0;
}

/* Waits for the begin, or with `end` for the end of the command; ERROR_TIMEOUT when it does not
 * come. A command that runs and has no pipe is about to end. */
static int await_progress(struct shell_command_progress *p, int64_t deadline, bool end,
                          struct error *err)
{
	p->agent.limits.deadline = deadline;
	while (!p->has_ended && (end || !p->has_begun))
		if (read_shell_message(p, err) < 0)
			return -1;
	return 0;
}

static int explain_timeout(const struct shell_command_progress *p, struct error *err)
{
	if (err->code != ERROR_TIMEOUT)
		return -1;
	error_clear(err);
	return FAIL(err, ERROR_CONFLICT, "command '%s' %s", p->id,
	            p->has_begun ? "takes no input" : "has not begun");
}

/* The pipe exists before the begin mark and is removed before the end mark. */
int shell_write_input(const struct shell_call *call, const struct shell *shell,
                      const struct shell_input *input, bool *ret_taken, struct error *err)
{
	AUTO(shell_command_progress_done)
	struct shell_command_progress p = {.id = input->command->id,
	                                   .has_begun = input->command->has_begun};
	int64_t deadline = deadline_after(WAIT_MS);

	*ret_taken = false;
	if (input->bytes.size > SHELL_INPUT_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "input has at most %zu bytes", SHELL_INPUT_MAX);
	if (input->command->has_ended)
		return 0;
	if (p.has_begun && write_input(call, input, input->folder, ret_taken, err) < 0)
		return -1;
	if (*ret_taken)
		return 0;
	if (attach_to_shell(call, shell, &p, err) < 0)
		return -1;
	if (!p.has_begun) {
		if (await_progress(&p, deadline, false, err) < 0)
			return explain_timeout(&p, err);
		if (write_input(call, input, p.folder, ret_taken, err) < 0 || *ret_taken)
			return *ret_taken ? 0 : -1;
	}
	return await_progress(&p, deadline_after(WAIT_MS), true, err) < 0 ? explain_timeout(&p, err)
	                                                                  : 0;
}
