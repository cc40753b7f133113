/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fleet/lifecycle/moves.h"
#include "provider/compute_run.h"

#define HOOK_TIMEOUT_MS 10000
#define HOOK_ANSWER_MS (HOOK_TIMEOUT_MS + 1000)
#define OUTPUT_MAX 4096

static const char *log_failure(struct operation *op, const char *path, const char *what)
{
	const char *name = strrchr(path, '/') + 1;

	log_info("a hook failed", TEXT("sandbox", op->record.id), TEXT("hook", name),
	         TEXT("why", what));
	return arena_format(op->arena, "; hook %s %s", name, what);
}

static const char *describe_end(struct operation *op, const char *path,
                                const struct agent_process *end)
{
	if (end->timed_out)
		return log_failure(op, path, "did not end in time");
	if (end->exit_code == 0 && end->signal == 0)
		return "";
	return log_failure(
	        op, path,
	        end->signal ? arena_format(op->arena, "was killed by signal %u", end->signal)
	                    : arena_format(op->arena, "exited with %d", (int)end->exit_code));
}

/* The agent's report with AGENT_EXEC_IF_THERE; a hook without its interpreter has an errno. */
static bool is_absent(const struct error *err)
{
	return err->code == ERROR_NOT_FOUND && err->sys_errno == 0;
}

const char *hook_run(struct operation *op, const char *path)
{
	const char *args[] = {path, NULL}, *env[] = {NULL};
	const struct agent_exec exec = {
	        .args = args,
	        .env = env,
	        .cwd = "/",
	        .user = "root",
	        .label = "hook",
	        .flags = AGENT_EXEC_IF_THERE | AGENT_EXEC_RESIDENT,
	        .timeout_ms = HOOK_TIMEOUT_MS,
	};
	const struct compute_run run = {
	        .exec = &exec, .out_max = OUTPUT_MAX, .deadline = deadline_after(HOOK_ANSWER_MS)};
	struct compute_result result;
	struct error err = {0};

	/* Without isolation the path would be on the host itself. */
	if (!(op->ops->abilities & PROVIDER_CAN_ISOLATE) ||
	    !(op->ops->abilities & PROVIDER_CAN_EXEC))
		return "";
	if (compute_run(op->provider, op->record.id, op->arena, &run, &result, &err) == 0)
		return describe_end(op, path, &result.process);
	return is_absent(&err)
	               ? ""
	               : log_failure(op, path, arena_format(op->arena, "failed: %s", err.text));
}
