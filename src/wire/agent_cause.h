/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_cause.h — why a process ended, as its agent reports it. Part of wire/agent.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct agent_process;
struct error;

/* Fills "SIGKILL" and the like, "" for 0. */
void agent_signal_name(uint32_t signal, char out[16]);
/* "SIGTERM", "TERM" or "15". */
MUST_CHECK int agent_signal_parse(const char *text, uint32_t *ret, struct error *err);

/* Flags of agent_process: the cause of a failure that exit code and signal do not show. */
enum agent_cause {
	AGENT_CAUSE_OOM = 1 << 24,       /* the kernel killed it, or a child, for memory */
	AGENT_CAUSE_PROCESSES = 1 << 25, /* a fork failed at the sandbox's process limit */
	AGENT_CAUSE_DISK = 1 << 26,      /* the sandbox's disk was full at its end */
	AGENT_CAUSE_CANCELED = 1 << 27,  /* a caller sent it a signal */
	AGENT_CAUSE_STOPPED = 1 << 28,   /* the sandbox was being stopped */
	AGENT_CAUSES = 0x1f << 24,
};
/* The cause as a word for programs: "exit", "signal", "timeout", "oom", "file_size", "disk",
 * "process_limit", "canceled" or "sandbox_ended". */
const char *agent_process_cause(const struct agent_process *p);
/* All these words, NULL-terminated. */
#define AGENT_CAUSE_WORDS 9
extern const char *const agent_causes[AGENT_CAUSE_WORDS + 1];
/* Whether the cause is a limit that the command reached: timeout, oom, file_size, disk or
 * process_limit. */
bool agent_cause_is_limit(const char *cause);
/* The cause as a sentence for people; NULL when the exit code or signal is enough. */
const char *agent_cause_explain(const char *cause);
#define AGENT_CAUSES_ABOUT                                                                         \
	"why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), "   \
	"process_limit (no process could be started), canceled (by a caller's signal) or "         \
	"sandbox_ended (while it ran)"
