/* SPDX-License-Identifier: Apache-2.0 */
/* tool/recorded.h — private: recordings of what the tools bash and run_code run
 * (terminal/recording.h). */
#pragma once

#include "base/error.h"

struct agent_process;
struct command_cast;
struct job_started;
struct tool_call;

/* Before a command: *ret gets its output, and belongs to tool_cast_end. */
MUST_CHECK int tool_cast_begin(const struct tool_call *call, const char *title,
                               struct command_cast **ret, struct error *err);
/* Stores and frees it. The recording's id; NULL: it is lost. `process` NULL: not known. */
const char *tool_cast_end(const struct tool_call *call, struct command_cast *cast,
                          const struct agent_process *process);
/* Before a job: whether it can be recorded. */
MUST_CHECK int tool_record_check(const struct tool_call *call, struct error *err);
/* After its start: the recording's id; NULL: the job runs without one. */
const char *tool_record_job(const struct tool_call *call, const char *title,
                            const struct job_started *started);
