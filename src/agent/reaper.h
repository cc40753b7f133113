/* SPDX-License-Identifier: Apache-2.0 */
/* agent/reaper.h — starts one command, below a process that will not let its descendants go.
 *
 * A reaper is a "child subreaper": whatever the command starts and abandons (double forks, setsid)
 * becomes the reaper's child, so a kill finds the whole tree below one pid. It shares the agent's
 * memory and descriptors (no page tables, no copies) and only waits. That costs an eighth on top of
 * vfork and exec of a static program, a forked reaper nearly half (496, 440, 640 µs in one run,
 * with the machine in its slow phase). Once the command's main process has ended the reaper ends
 * too, and what is left behind goes to the agent and lives on; during a kill it stays until nothing
 * is left.
 *
 * Not chosen: making the command itself the subreaper (cheapest, but its wait() would then see
 * children that it never started), a cgroup or pid namespace per command (not to be had inside).
 *
 * The reaper of a command that a warm interpreter runs is a process of the sandbox (warm.h):
 * adopted here, once it is sure that it is a child of ours. What it says of its end is the
 * sandbox's word. One that was started ahead of its call has a reaper of ours, which awaits.
 *
 * reaper_start returns at once. reaper_has_started tells whether the command has been executed; a
 * failed start, like any end, comes as SIGCHLD. `spawn` and its descriptors must stay until then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/user.h"
#include "base/error.h"

struct spawn {
	const char *const *paths; /* to execute, tried in order */
	const char *const *args, *const *env;
	const char *cwd;
	int root;                /* folder that cwd is resolved against */
	uint64_t resolve;        /* RESOLVE_* for that */
	const struct user *user; /* NULL: stay who we are */
	int fds[3];
	bool tty;           /* fds[0] becomes the controlling terminal */
	bool no_privileges; /* set-user-id programs gain nothing */
	bool keeps_none;    /* what it abandons is the agent's at once */
	unsigned cpus;      /* how many processors it may use; 0: all of the agent's */
	const int *extra;   /* become 3, 4 … and are SPAWN_EXTRA_FIRST or more now */
	unsigned extra_count;
};
#define SPAWN_EXTRA_FIRST 16

struct reaper;

MUST_CHECK int reaper_start(const struct spawn *spawn, struct reaper **ret, struct error *err);
/* `command` waits below `pid`, and begins when it has read `token`, an eventfd of 1, which is
 * taken.
 */
struct reaper *reaper_adopt(pid_t pid, pid_t command, int token);
/* One that runs has begun, from now on, only when it has read `token`, which is taken. */
void reaper_await(struct reaper *k, int token);
/* Before one with a token has begun: true = it never will, and is being ended. An adopted one may
 * be freed then; ours has declined once it was waited for. */
bool reaper_revoke(struct reaper *k);
bool reaper_is_adopted(const struct reaper *k);
/* The wait status, once it was waited for. */
void reaper_end(struct reaper *k, int status);
/* It had a token, and has ended without having begun. */
bool reaper_has_declined(const struct reaper *k);
/* Only after the reaper was waited for. */
void reaper_free(struct reaper *k);

pid_t reaper_pid(const struct reaper *k);
/* Of the command's main process; 0 while it has none. */
pid_t reaper_command(const struct reaper *k);
bool reaper_has_started(const struct reaper *k);
/* 0 when the command ran, with its wait status (killed, when the reaper itself was); -1 when it
 * could not be started. Only after the reaper was waited for. */
MUST_CHECK int reaper_result(const struct reaper *k, int *ret_status, struct error *err);
/* From now on the reaper stays until all below it has ended; with reaper_release, that it has. */
void reaper_hold(struct reaper *k);
void reaper_release(struct reaper *k);
/* The command's process is there and uses the agent's memory. */
bool reaper_has_unexecuted_command(const struct reaper *k);
/* SIGCONT to it, and to a command that has not been executed yet. */
void reaper_continue(const struct reaper *k);
/* Kills it, and a command that has not been executed yet. */
void reaper_kill(const struct reaper *k);
/* The same because it is stopped again and again: a start that fails with this says so. */
void reaper_give_up(struct reaper *k);
/* Once the reaper was waited for. True when it has left a command that has not been executed: that
 * still uses the agent's memory, and is killed. Its number is the reaper's from now on, and it is
 * to be waited for before the reaper is used or freed. */
bool reaper_has_left_command(struct reaper *k);
/* To the command's process group. */
void reaper_signal(const struct reaper *k, int signo);
