/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/agent_cause.h"

#include <signal.h>
#include <string.h>

#include "base/attribute.h"

enum cause {
	CAUSE_EXIT,
	CAUSE_SIGNAL,
	CAUSE_TIMEOUT,
	CAUSE_OOM,
	CAUSE_FILE_SIZE,
	CAUSE_DISK,
	CAUSE_PROCESSES,
	CAUSE_CANCELED,
};
static const struct {
	const char *word, *text;
} causes[] = {
        [CAUSE_EXIT] = {"exit", NULL},
        [CAUSE_SIGNAL] = {"signal", NULL},
        [CAUSE_TIMEOUT] = {"timeout", "it took longer than its timeout"},
        [CAUSE_OOM] = {"oom", "out of memory: the kernel killed it at the sandbox's memory limit "
                              "(resources.memory_mb)"},
        [CAUSE_FILE_SIZE] = {"file_size", "a file grew past the size limit of the sandbox "
                                          "(resources.disk_mb)"},
        [CAUSE_DISK] = {"disk", "the sandbox's disk is full (resources.disk_mb)"},
        [CAUSE_PROCESSES] = {"process_limit",
                             "no process or thread could be started: the sandbox's limit is "
                             "reached (resources.pids)"},
        [CAUSE_CANCELED] = {"canceled", "a caller's signal ended it"},
};

static enum cause find_cause(const struct agent_process *p)
{
	if (p->timed_out)
		return CAUSE_TIMEOUT;
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
	return causes[find_cause(p)].word;
}

const char *agent_cause_explain(const char *cause)
{
	for (size_t i = 0; i < COUNT_OF(causes); i++)
		if (strcmp(causes[i].word, cause) == 0)
			return causes[i].text;
	return NULL;
}
