/* SPDX-License-Identifier: Apache-2.0 */
/* agent/keeper.h — starts one command, below a process that will not let its descendants go.
 *
 * A keeper is a "child subreaper": whatever the command starts and abandons (double forks, setsid)
 * becomes the keeper's child, so a kill finds the whole tree below one pid. It shares the agent's
 * memory and descriptors (no page tables, no copies) and only waits. That costs an eighth on top of
 * vfork and exec of a static program, a forked keeper nearly half (496, 440, 640 µs in one run,
 * with the machine in its slow phase). Once the command's main process has ended the keeper ends
 * too, and what is left behind goes to the agent and lives on; during a kill it stays until nothing
 * is left.
 *
 * Not chosen: making the command itself the subreaper (cheapest, but its wait() would then see
 * children that it never started), a cgroup or pid namespace per command (not to be had inside).
 *
 * The keeper of a command that a warm interpreter runs is a process of the sandbox (warm.h):
 * adopted here, once it is sure that it is a child of ours. What it says of its end is the
 * sandbox's word. One that was started ahead of its call has a keeper of ours, which awaits.
 *
 * keeper_start returns at once. keeper_has_started tells whether the command has been executed; a
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

struct keeper;

MUST_CHECK int keeper_start(const struct spawn *spawn, struct keeper **ret, struct error *err);
/* `command` waits below `pid`, and begins when it has read `token`, an eventfd of 1, which is
 * taken.
 */
struct keeper *keeper_adopt(pid_t pid, pid_t command, int token);
/* One that runs has begun, from now on, only when it has read `token`, which is taken. */
void keeper_await(struct keeper *k, int token);
/* Before one with a token has begun: true = it never will, and is being ended. An adopted one may
 * be freed then; ours has declined once it was waited for. */
bool keeper_revoke(struct keeper *k);
bool keeper_is_adopted(const struct keeper *k);
/* The wait status, once it was waited for. */
void keeper_end(struct keeper *k, int status);
/* It had a token, and has ended without having begun. */
bool keeper_has_declined(const struct keeper *k);
/* Only after the keeper was waited for. */
void keeper_free(struct keeper *k);

pid_t keeper_pid(const struct keeper *k);
/* Of the command's main process; 0 while it has none. */
pid_t keeper_command(const struct keeper *k);
bool keeper_has_started(const struct keeper *k);
/* 0 when the command ran, with its wait status (killed, when the keeper itself was); -1 when it
 * could not be started. Only after the keeper was waited for. */
MUST_CHECK int keeper_result(const struct keeper *k, int *ret_status, struct error *err);
/* From now on the keeper stays until all below it has ended; with keeper_release, that it has. */
void keeper_hold(struct keeper *k);
void keeper_release(struct keeper *k);
/* The command's process is there and uses the agent's memory. */
bool keeper_has_unexecuted_command(const struct keeper *k);
/* SIGCONT to it, and to a command that has not been executed yet. */
void keeper_continue(const struct keeper *k);
/* Kills it, and a command that has not been executed yet. */
void keeper_kill(const struct keeper *k);
/* The same because it is stopped again and again: a start that fails with this says so. */
void keeper_give_up(struct keeper *k);
/* Once the keeper was waited for. True when it has left a command that has not been executed: that
 * still uses the agent's memory, and is killed. Its number is the keeper's from now on, and it is
 * to be waited for before the keeper is used or freed. */
bool keeper_has_left_command(struct keeper *k);
/* To the command's process group. */
void keeper_signal(const struct keeper *k, int signo);
