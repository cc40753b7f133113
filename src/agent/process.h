/* SPDX-License-Identifier: Apache-2.0 */
/* agent/process.h — one command: its reaper, streams, rings and viewers.
 *
 *   starting ──> running ──> main process ended ──> over (EXIT is sent) ──> forgotten
 *
 * STARTED is sent with the first output, with the end, or after PROCESS_ANNOUNCE_MS: for a short
 * command a separate message would cost another wake-up of the client. The process is over when
 * both output pipes are at their end, or PROCESS_GRACE_MS after its main process has ended, because
 * `sh -c 'server &'` leaves a process that holds the pipe open. Later output goes to the ring until
 * the process is forgotten. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/cause.h"
#include "agent/reaper.h"
#include "agent/ring.h"
#include "agent/state.h"
#include "base/bytes.h"
#include "wire/agent.h"
#include "wire/agent_terminal.h"

#define PROCESS_RUNNING_MAX 384 /* above the default of requests_per_key_max */
#define PROCESS_ENDED_MAX 64
#define PROCESS_GRACE_MS 50
#define PROCESS_ANNOUNCE_MS 2          /* until STARTED is sent for a silent command */
#define PROCESS_STDIN_MAX (256 * 1024) /* unread bytes kept for a command */
#define PROCESS_RINGS_MAX (32 * 1024 * 1024)

struct connection;
struct job;
struct secret_mask;
struct service;

struct channel {
	struct watch watch; /* the read end */
	struct ring ring;
	struct process *process;
};

struct process {
	struct list item;
	struct agent *agent;
	struct agent_process info; /* texts in `arena` */
	struct arena arena;
	struct arena spawn_arena; /* used only for the start */
	struct spawn spawn;
	struct user *user;     /* in spawn_arena */
	struct reaper *reaper; /* NULL once it has ended */
	struct stops stops;
	bool started;
	bool killing, over;

	struct channel out[2];
	struct watch in; /* write end of stdin, or the PTY */
	struct buf stdin_bytes;
	bool stdin_ends;          /* close after the bytes */
	int pty;                  /* master, or -1; also in out[0] */
	struct secret_mask *mask; /* of out[0]; NULL: no secrets */

	struct job *job;            /* NULL: not a job */
	struct service *service;    /* NULL: not a service's */
	struct list viewers;        /* struct connection, attached */
	struct connection *starter; /* waits for the start; NULL after it or when closed */
	int64_t started_ms;         /* monotonic, like what follows; or DEADLINE_NEVER */
	int64_t look_at, deadline, over_at, kill_at;
	int64_t reaper_kill_at; /* when the reaper is killed, which then has nothing left to wait
	                           for */
	struct cause_counts before; /* when it was started */
	uint64_t signals_asked;     /* bit n: a caller has sent signal n */
	int64_t look_again_at;      /* when to check whether a viewer still blocks output */
	int64_t warm_until;         /* until when the warm interpreter may begin */
	struct warm *warm;          /* that interpreter; NULL = the command was executed */
	struct process_idle {
		int64_t ms, at; /* idle limit of a terminal, and when it is reached */
	} idle;
};

/* `arena` holds the texts of `exec` and is taken. */
MUST_CHECK int process_start(struct agent *a, const struct agent_exec *exec, struct arena *arena,
                             struct process **ret, struct error *err);
struct process *process_find(struct agent *a, uint64_t id);
/* Drops an ended process; freed by process_free_forgotten, between events. */
void process_forget(struct process *p);
void process_free_forgotten(struct agent *a);
/* The current state, for lists and replies. */
struct agent_process process_info(const struct process *p);
/* Checks whether the command has been executed by now. */
void process_look_for_start(struct process *p);
/* True when the pid was one of our reapers. */
bool process_on_reaper_exit(struct agent *a, pid_t pid, int status);
void process_kill_tree(struct process *p);
MUST_CHECK int process_signal(struct process *p, const struct agent_signal *signal,
                              struct error *err);
MUST_CHECK int process_resize(struct process *p, const struct agent_resize *size,
                              struct error *err);
/* terminal.c */
MUST_CHECK int process_set_terminal(struct process *p, const struct agent_terminal *change,
                                    struct error *err);
struct agent_terminal_state process_terminal(const struct process *p);
/* Restarts the idle time after input or output. */
void process_touch(struct process *p);
void process_run_idle(struct process *p, int64_t now);

int64_t process_next_deadline(struct agent *a);
void process_run_timers(struct agent *a, int64_t now);

/* spawn.c: the environment of a command of that user, and the paths where its program may lie; in
 * the arena. */
const char **spawn_env(struct arena *arena, const struct agent *a, const struct user *user,
                       const struct agent_exec *exec);
const char **spawn_paths(struct arena *arena, const char *name, const char *const *env);
/* Makes pipes or a PTY and starts the reaper. */
MUST_CHECK int process_spawn(struct process *p, const struct agent_exec *exec, struct error *err);

/* streams.c */
void process_open_stdin(struct process *p);
bool process_stdin_is_full(const struct process *p);
void process_feed(struct process *p, struct span bytes);
void process_end_stdin(struct process *p);
void process_watch_output(struct process *p);
/* A viewer has read output: reading from the pipe may continue. */
void process_resume(struct process *p);
/* Reads available output; once the process is over, tells its viewers. */
void process_drain(struct process *p);
/* Frees unused memory of the rings. */
void process_trim(struct process *p);
bool process_output_has_ended(const struct process *p);
/* Output waits in a pipe until a slow viewer has read more. */
bool process_output_is_held(const struct process *p);
