/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/process_answer.h"

#include "wire/agent.h"
#include "wire/agent_cause.h"

struct process_answer {
	int64_t process, pid, exit_code, duration_ms, stdout_bytes, stderr_bytes, started_at;
	const char *state, *signal, *cause, *label, *user, *cwd;
	bool timed_out, tty, warm;
	const char **args;
};
static const char *const process_states[] = {"running", "ended", NULL};
static const struct json_member process_shape_members[] = {
        JSON_WHOLE_MEMBER(process_answer, process, .about = "its number in this sandbox"),
        JSON_WHOLE_MEMBER(process_answer, pid, .about = "inside the sandbox"),
        JSON_TEXT_MEMBER(process_answer, state, .about = "running or ended"),
        JSON_WHOLE_MEMBER(process_answer, exit_code, .min = -1, .about = "-1 while it runs"),
        JSON_TEXT_MEMBER(process_answer, signal, .flags = JSON_NULLABLE,
                         .about = "that ended it, such as SIGKILL"),
        JSON_BOOL_MEMBER(process_answer, timed_out),
        JSON_TEXT_MEMBER(process_answer, cause, .flags = JSON_NULLABLE,
                         .about = AGENT_CAUSES_ABOUT "; null while it runs"),
        JSON_TIME_MEMBER(process_answer, started_at),
        JSON_WHOLE_MEMBER(process_answer, duration_ms),
        JSON_WHOLE_MEMBER(process_answer, stdout_bytes, .about = "written so far"),
        JSON_WHOLE_MEMBER(process_answer, stderr_bytes),
        JSON_BOOL_MEMBER(process_answer, tty),
        JSON_BOOL_MEMBER(process_answer, warm,
                         .about = "code in an interpreter that waited for it"),
        JSON_TEXT_MEMBER(process_answer, label),
        JSON_TEXT_MEMBER(process_answer, user),
        JSON_TEXT_MEMBER(process_answer, cwd),
        JSON_TEXT_LIST_MEMBER(process_answer, args),
};
JSON_SHAPE(process_shape, "Process", process_answer, "A command that was started in a sandbox");

void process_write(struct buf *out, const struct agent_process *p)
{
	char signal[16];
	struct process_answer answer = {
	        .process = (int64_t)p->process,
	        .pid = p->pid,
	        .state = process_states[p->state == AGENT_PROCESS_ENDED],
	        .exit_code = p->exit_code,
	        .timed_out = p->timed_out != 0,
	        .cause = p->state == AGENT_PROCESS_ENDED ? agent_process_cause(p) : NULL,
	        .started_at = (int64_t)p->started_unix_ms,
	        .duration_ms = (int64_t)p->duration_ms,
	        .stdout_bytes = (int64_t)p->output_end[0],
	        .stderr_bytes = (int64_t)p->output_end[1],
	        .tty = p->flags & AGENT_EXEC_TTY,
	        .warm = p->flags & AGENT_EXEC_WARM,
	        .label = p->label,
	        .user = p->user,
	        .cwd = p->cwd,
	        .args = p->args,
	};

	agent_signal_name(p->signal, signal);
	answer.signal = signal[0] ? signal : NULL;
	json_write(out, &process_shape, &answer);
}
