/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tree.h — signals to everything below a process, found by the parents that /proc tells. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What /proc tells of one process; false when it tells nothing. */
struct tree_process {
	pid_t parent, group, session;
};
bool tree_look(pid_t pid, struct tree_process *ret);
/* A shell, and what all that it starts is below of. */
struct tree_shell {
	pid_t root, shell;
};
/* How many of them run something, or compute themselves. */
unsigned tree_count_busy(const struct tree_shell *shells, size_t count);
/* Sends to every descendant of `root` that is not dead yet, not to root. Returns how many. */
unsigned tree_signal(pid_t root, int signo);
/* Stops them first, so that none can fork while others are looked for, then SIGKILL. Returns how
 * many there were; to be called again until there are none. */
unsigned tree_kill(pid_t root);
