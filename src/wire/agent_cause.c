/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/agent_cause.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "wire/agent.h"

void agent_signal_name(uint32_t signal, char out[16])
{
	const char *name = signal < NSIG ? sigabbrev_np((int)signal) : NULL;

	out[0] = '\0';
	if (name)
		(void)snprintf(out, 16, "SIG%s", name);
	else if (signal)
		(void)snprintf(out, 16, "SIG%u", signal % 1000);
}

int agent_signal_parse(const char *text, uint32_t *ret, struct error *err)
{
	struct error ignored;
	int64_t number;

	if (span_parse_whole(span_of(text), 1, 64, &number, &ignored) == 0) {
		*ret = (uint32_t)number;
		return 0;
	}
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (int i = 1; i < 32; i++) {
		const char *name = sigabbrev_np(i);

		if (name && strcasecmp(name, text) == 0) {
			*ret = (uint32_t)i;
			return 0;
		}
	}
	(void)FAIL(err, ERROR_INVALID, "unknown signal '%s'", text);
	error_hint(err, "use a name or a number: SIGTERM, TERM or 15");
	return -1;
}

enum cause {
	CAUSE_EXIT,
	CAUSE_SIGNAL,
	CAUSE_TIMEOUT,
	CAUSE_OOM,
	CAUSE_FILE_SIZE,
	CAUSE_DISK,
	CAUSE_PROCESSES,
	CAUSE_CANCELED,
	CAUSE_SANDBOX_ENDED,
	CAUSE_COUNT,
};
const char *const agent_causes[AGENT_CAUSE_WORDS + 1] = {
        [CAUSE_EXIT] = "exit",
        [CAUSE_SIGNAL] = "signal",
        [CAUSE_TIMEOUT] = "timeout",
        [CAUSE_OOM] = "oom",
        [CAUSE_FILE_SIZE] = "file_size",
        [CAUSE_DISK] = "disk",
        [CAUSE_PROCESSES] = "process_limit",
        [CAUSE_CANCELED] = "canceled",
        [CAUSE_SANDBOX_ENDED] = "sandbox_ended",
        [CAUSE_COUNT] = NULL,
};
_Static_assert(CAUSE_COUNT == AGENT_CAUSE_WORDS, "a word per cause");
static const char *const texts[CAUSE_COUNT] = {
        [CAUSE_TIMEOUT] = "it took longer than its timeout",
        [CAUSE_OOM] = "out of memory: the kernel killed it at the sandbox's memory limit "
                      "(resources.memory_mb)",
        [CAUSE_FILE_SIZE] = "a file grew past the size limit of the sandbox (resources.disk_mb)",
        [CAUSE_DISK] = "the sandbox's disk is full (resources.disk_mb)",
        [CAUSE_PROCESSES] = "no process or thread could be started: the sandbox's limit is "
                            "reached (resources.pids)",
        [CAUSE_CANCELED] = "a caller's signal ended it",
        [CAUSE_SANDBOX_ENDED] = "its sandbox was stopped while it ran",
};

static enum cause find_cause(const struct agent_process *p)
{
	if (p->timed_out)
		return CAUSE_TIMEOUT;
	if (p->flags & AGENT_CAUSE_STOPPED)
		return CAUSE_SANDBOX_ENDED;
	if (p->flags & AGENT_CAUSE_CANCELED)
		return CAUSE_CANCELED;
	if (p->flags & AGENT_CAUSE_OOM)
		return CAUSE_OOM;
	/* A shell tells so of a program that it ran. */
	if (p->signal == SIGXFSZ || p->exit_code == 128 + SIGXFSZ)
		return CAUSE_FILE_SIZE;
	if (p->flags & AGENT_CAUSE_DISK)
		return CAUSE_DISK;
	if (p->flags & AGENT_CAUSE_PROCESSES)
		return CAUSE_PROCESSES;
	return p->signal ? CAUSE_SIGNAL : CAUSE_EXIT;
}

const char *agent_process_cause(const struct agent_process *p)
{
	return agent_causes[find_cause(p)];
}

/* CAUSE_COUNT for an unknown word. */
static enum cause parse_cause(const char *word)
{
	unsigned i = 0;

	while (agent_causes[i] && strcmp(agent_causes[i], word) != 0)
		i++;
	return (enum cause)i;
}

const char *agent_cause_explain(const char *cause)
{
	enum cause found = parse_cause(cause);

	return found < CAUSE_COUNT ? texts[found] : NULL;
}

bool agent_cause_is_limit(const char *cause)
{
	enum cause found = parse_cause(cause);

	return found >= CAUSE_TIMEOUT && found <= CAUSE_PROCESSES;
}
