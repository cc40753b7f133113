/* SPDX-License-Identifier: Apache-2.0 */
/* agent/reaper.h — starts one command below a process that adopts all its descendants.
 *
 * A reaper is a "child subreaper": whatever the command starts and abandons (double forks, setsid)
 * becomes the reaper's child, so a kill finds the whole tree below one pid. It shares the agent's
 * memory and descriptors (no page tables, no copies) and only waits. That costs an eighth on top of
 * vfork and exec of a static program; a forked reaper costs nearly half (496, 440, 640 µs in one
 * run). When the command's main process ends the reaper ends too, and the agent adopts the
 * remaining processes. During a kill the reaper stays until no descendant is left.
 *
 * Alternatives: the command itself as subreaper is cheaper, but its wait() would see children that
 * it never started. A cgroup or pid namespace per command is not available inside a sandbox.
 *
 * The reaper of a command in a warm interpreter is a process of the sandbox (warm.h). The agent
 * adopts it after checking that it is a child of the agent; its reported end is not trusted. An
 * interpreter that was started ahead of its call has a reaper of the agent.
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
	const char *const *paths; /* of the program, tried in order */
	const char *const *args, *const *env;
	const char *cwd;
	int root;                /* folder that cwd is resolved against */
	uint64_t resolve;        /* RESOLVE_* for that */
	const struct user *user; /* NULL: the agent's own user */
	int fds[3];
	bool tty;           /* fds[0] becomes the controlling terminal */
	bool no_privileges; /* set-user-id programs gain nothing */
	bool keeps_none;    /* the agent adopts abandoned processes at once */
	unsigned cpus;      /* processors that it may use; 0: as the agent */
	const int *extra;   /* become 3, 4 … and are SPAWN_EXTRA_FIRST or more now */
	unsigned extra_count;
};
#define SPAWN_EXTRA_FIRST 16

struct reaper;

MUST_CHECK int reaper_start(const struct spawn *spawn, struct reaper **ret, struct error *err);
/* Adopts the reaper `pid`, whose child `command` begins when it has read `token`, an eventfd of 1.
 * Takes ownership of `token`. */
struct reaper *reaper_adopt(pid_t pid, pid_t command, int token);
/* From now on a running command counts as begun only when it has read `token`. Takes ownership of
 * `token`. */
void reaper_await(struct reaper *k, int token);
/* True: the command with a token had not begun, never will, and is being ended. An adopted reaper
 * may be freed then; any other has declined once it was waited for. */
bool reaper_revoke(struct reaper *k);
bool reaper_is_adopted(const struct reaper *k);
/* Stores the wait status of the reaper. */
void reaper_end(struct reaper *k, int status);
/* The command had a token and has ended without beginning. */
bool reaper_has_declined(const struct reaper *k);
/* Only after the reaper was waited for. */
void reaper_free(struct reaper *k);

pid_t reaper_pid(const struct reaper *k);
/* Pid of the command's main process; 0 before it exists. */
pid_t reaper_command(const struct reaper *k);
bool reaper_has_started(const struct reaper *k);
/* 0 when the command ran, with its wait status (killed, when the reaper itself was); -1 when it
 * could not be started. Only after the reaper was waited for. */
MUST_CHECK int reaper_result(const struct reaper *k, int *ret_status, struct error *err);
/* Keeps the reaper alive until all its descendants have ended; reaper_release undoes it. */
void reaper_hold(struct reaper *k);
void reaper_release(struct reaper *k);
/* The command's process exists and still uses the agent's memory. */
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
