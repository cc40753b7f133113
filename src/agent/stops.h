/* SPDX-License-Identifier: Apache-2.0 */
/* agent/stops.h — keeps the agent's helper processes running while root inside stops them.
 *
 * Reapers, file workers and the standby process are visible inside, and root inside may send them
 * SIGSTOP at any rate. The kernel tells the agent of each stop (waitpid, WUNTRACED),
 * and the agent sends SIGCONT, at most once in a millisecond to each helper. Most calls then take
 * longer, and succeed. A helper that is still stopped STOPS_MAX_MS after its first stop is killed,
 * and its call ends: the connection of a file worker is closed, a command that has not begun fails
 * to start. A reaper whose command runs is not killed, since its command would be lost. Other
 * processes stay stopped: their owner wants that. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STOPS_MAX_MS 1000

struct agent;

/* Of one helper; zeroed for a new one. */
struct stops {
	bool stopped;     /* and not continued yet */
	int64_t first_at; /* of stops with less than STOPS_MAX_MS between them */
	int64_t last_at;
	int64_t continued_at;
};

/* The kernel has told that `pid`, a child of the agent, was stopped. */
void stops_on_child(struct agent *a, pid_t pid);
/* When stops_run_timer is due: a->stops_at. */
void stops_run_timer(struct agent *a, int64_t now);
