/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cause.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/process.h"
#include "wire/agent_cause.h"

#define EVENTS_TEXT_MAX 1024
#define FULL_BYTES ((uint64_t)256 << 10) /* free blocks below this number mean a full disk */
#define SHELL_KILLED (128 + SIGKILL) /* a shell's status when a program that it ran was killed */

/* Parses a line "KEY NUMBER". */
static uint64_t read_key(int fd, const char *key)
{
	char text[EVENTS_TEXT_MAX + 2] = "\n";
	ssize_t size = fd < 0 ? -1 : pread(fd, text + 1, EVENTS_TEXT_MAX, 0);
	const char *found;

	if (size <= 0)
		return 0;
	text[size + 1] = '\0';
	found = strstr(text, key);
	return found ? strtoull(found + strlen(key), NULL, 10) : 0;
}

void cause_count(const struct agent *a, struct cause_counts *ret)
{
	ret->oom_kills = read_key(a->memory_events_fd, "\noom_kill ");
	ret->processes_refused = read_key(a->pids_events_fd, "\nmax ");
}

/* Looks at the root filesystem only: a FUSE server inside may serve another one and not answer. A
 * filesystem refuses writes before its last block is used. */
static bool is_disk_full(const struct agent *a)
{
	struct statvfs disk;

	return !a->home && statvfs("/", &disk) == 0 &&
	       (disk.f_bavail * disk.f_frsize < FULL_BYTES ||
	        (disk.f_files > 0 && disk.f_favail == 0));
}

uint32_t cause_find(const struct process *p, int status)
{
	int signo = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	struct cause_counts now;

	if (p->agent->stopping)
		return AGENT_CAUSE_STOPPED;
	if (signo > 0 && signo < 64 && p->signals_asked >> signo & 1)
		return AGENT_CAUSE_CANCELED;
	cause_count(p->agent, &now);
	if (now.oom_kills > p->before.oom_kills &&
	    (signo == SIGKILL || (!signo && WEXITSTATUS(status) == SHELL_KILLED)))
		return AGENT_CAUSE_OOM;
	if (now.processes_refused > p->before.processes_refused)
		return AGENT_CAUSE_PROCESSES;
	return is_disk_full(p->agent) ? AGENT_CAUSE_DISK : 0;
}
