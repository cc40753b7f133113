/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_cause.h — why a process ended, as its agent tells it. Part of the contract of
 * wire/agent.h. */
#pragma once

#include <stdbool.h>

#include "wire/agent.h"

/* Why one that failed did, where its exit code and its signal do not tell: among its flags. */
enum agent_cause {
	AGENT_CAUSE_OOM = 1 << 24,       /* the kernel killed it, or what it ran, for memory */
	AGENT_CAUSE_PROCESSES = 1 << 25, /* it was refused processes: the sandbox's limit */
	AGENT_CAUSE_DISK = 1 << 26,      /* the sandbox's disk was full at its end */
	AGENT_CAUSE_CANCELED = 1 << 27,  /* by a signal that a caller had sent it */
	AGENT_CAUSE_STOPPED = 1 << 28,   /* the sandbox was being stopped */
	AGENT_CAUSES = 0x1f << 24,
};
/* Why it ended, for programs: "exit", "signal", "timeout", "oom", "file_size", "disk",
 * "process_limit", "canceled" or "sandbox_ended". */
const char *agent_process_cause(const struct agent_process *p);
/* All these words, and NULL. */
#define AGENT_CAUSE_WORDS 9
extern const char *const agent_causes[AGENT_CAUSE_WORDS + 1];
/* Whether the word names a limit that the command reached: timeout, oom, file_size, disk or
 * process_limit. */
bool agent_cause_is_limit(const char *cause);
/* The same word as a sentence for people; NULL when the exit code or the signal says it all. */
const char *agent_cause_explain(const char *cause);
#define AGENT_CAUSES_ABOUT                                                                         \
	"why it ended: exit, signal, timeout, oom (killed for memory), file_size, disk (full), "   \
	"process_limit (no process could be started), canceled (by a caller's signal) or "         \
	"sandbox_ended (while it ran)"
