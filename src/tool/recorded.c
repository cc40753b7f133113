/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/recorded.h"

#include "base/log.h"
#include "job/job.h"
#include "store/sandbox_record.h"
#include "terminal/command_cast.h"
#include "terminal/recording.h"
#include "terminal/terminal.h"
#include "tool/tool.h"

#define ROWS 24
#define COLUMNS 80

static const char *who_of(const struct tool_call *call)
{
	return call->user_id && call->user_id[0] ? call->user_id : call->key_id;
}

int tool_cast_begin(const struct tool_call *call, const char *title, struct command_cast **ret,
                    struct error *err)
{
	const struct command_cast_options options = {
	        .project_id = call->sandbox->project_id,
	        .sandbox_id = call->sandbox->id,
	        .title = title,
	        .who = who_of(call),
	        .rows = ROWS,
	        .columns = COLUMNS,
	};

	return command_cast_new(call->terminals, &options, ret, err);
}

const char *tool_cast_end(const struct tool_call *call, struct command_cast *cast,
                          const struct agent_process *process)
{
	const char *id = arena_text(call->arena, command_cast_id(cast));
	struct error err = {0};

	if (process)
		command_cast_started(cast, process->process);
	if (command_cast_store(cast, &err) < 0) {
		log_warning("the recording of a command is lost", TEXT("recording", id),
		            FAILURE(&err));
		id = NULL;
	}
	command_cast_free(cast);
	return id;
}

int tool_record_check(const struct tool_call *call, struct error *err)
{
	return terminal_record_check(call->terminals, call->sandbox->project_id, err);
}

const char *tool_record_job(const struct tool_call *call, const char *title,
                            const struct job_started *started)
{
	const struct terminal_at at = {.terminals = call->terminals,
	                               .hold = call->hold,
	                               .deadline = call->deadline,
	                               .who = who_of(call)};
	char id[RECORDING_ID_MAX + 1];
	struct error err = {0};

	if (terminal_record_process(&at, call->sandbox->project_id, started->process, title, id,
	                            &err) == 0)
		return arena_text(call->arena, id);
	log_warning("a job is not recorded", TEXT("job", started->id), FAILURE(&err));
	return NULL;
}
