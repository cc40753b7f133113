/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tree.h — signals all descendants of a process, by the parents that /proc shows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One process in /proc. tree_look returns false when the process does not exist. */
struct tree_process {
	pid_t parent, group, session;
};
bool tree_look(pid_t pid, struct tree_process *ret);
/* A shell, and the root of its descendants. */
struct tree_shell {
	pid_t root, shell;
};
/* How many shells run a command or use the processor. */
unsigned tree_count_busy(const struct tree_shell *shells, size_t count);
/* Sends to every descendant of `root` that is not dead yet, not to root. Returns how many. */
unsigned tree_signal(pid_t root, int signo);
/* Stops all descendants first, so that none can fork during the search, then sends SIGKILL. Returns
 * how many there were; call it again until that is 0. */
unsigned tree_kill(pid_t root);
