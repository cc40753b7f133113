/* SPDX-License-Identifier: Apache-2.0 */
/* agent/process.h — one command: its reaper, its streams, its rings, who watches it.
 *
 *   starting ──> running ──> main process ended ──> over (EXIT is sent) ──> forgotten
 *
 * STARTED is sent with the first output, with the end, or after PROCESS_ANNOUNCE_MS: to a short
 * command two messages would cost two wake-ups, on its way and on the client's.
 * It is over when both output pipes are at their end, or PROCESS_GRACE_MS after the main process:
 * `sh -c 'server &'` leaves somebody behind who holds the pipe open for ever. What such a one still
 * writes goes to the ring until the process is forgotten. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/cause.h"
#include "agent/reaper.h"
#include "agent/ring.h"
#include "agent/state.h"
#include "base/arena.h"
#include "wire/agent.h"
#include "wire/agent_terminal.h"

#define PROCESS_RUNNING_MAX 384 /* above the default of requests_per_key_max */
#define PROCESS_ENDED_MAX 64
#define PROCESS_GRACE_MS 50
#define PROCESS_ANNOUNCE_MS 2 /* until a silent command that goes on is told to have started */
#define PROCESS_STDIN_MAX (256 * 1024) /* bytes kept for a command that does not read them */
#define PROCESS_RINGS_MAX (32 * 1024 * 1024)

struct connection;
struct job;
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
	struct arena spawn_arena; /* what only the start needs */
	struct spawn spawn;
	struct user *user;     /* in spawn_arena */
	struct reaper *reaper; /* NULL once it has ended */
	struct stops stops;
	bool started;
	bool killing, over;

	struct channel out[2];
	struct watch in; /* write end of stdin, or the PTY */
	struct buf stdin_bytes;
	bool stdin_ends; /* close after the bytes */
	int pty;         /* master, or -1; also in out[0] */

	struct job *job;            /* NULL: it is none */
	struct service *service;    /* the same */
	struct list viewers;        /* struct connection, attached */
	struct connection *starter; /* waits for the start; NULL when it has gone */
	int64_t started_ms;         /* monotonic, like what follows; or DEADLINE_NEVER */
	int64_t look_at, deadline, over_at, kill_at;
	int64_t reaper_kill_at; /* when the reaper is killed, which then has nothing left to wait
	                           for */
	struct cause_counts before; /* when it was started */
	uint64_t signals_asked;     /* bit n: a caller has sent it signal n */
	int64_t look_again_at;      /* whether a viewer still holds the output back */
	int64_t warm_until;         /* then the warm interpreter has had its time to begin */
	struct warm *warm;          /* whose that is; NULL = was executed */
	struct process_idle {
		int64_t ms, at; /* how long a terminal may stand idle, and when it will have */
	} idle;
};

/* `arena` holds the texts of `exec` and is taken. */
MUST_CHECK int process_start(struct agent *a, const struct agent_exec *exec, struct arena *arena,
                             struct process **ret, struct error *err);
struct process *process_find(struct agent *a, uint64_t id);
/* Drops an ended process; freed by process_free_forgotten, between events. */
void process_forget(struct process *p);
void process_free_forgotten(struct agent *a);
/* What lists and replies tell about it, now. */
struct agent_process process_info(const struct process *p);
/* Looks whether the command has been executed meanwhile. */
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
/* Input or output: its idle time begins again. */
void process_touch(struct process *p);
void process_run_idle(struct process *p, int64_t now);

int64_t process_next_deadline(struct agent *a);
void process_run_timers(struct agent *a, int64_t now);

/* spawn.c: what a command of that user gets for an environment, and where its program is looked
 * for; in the arena. */
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
/* A reader has taken something: reading may go on. */
void process_resume(struct process *p);
/* Reads what is there; once the process is over, its readers learn of it. */
void process_drain(struct process *p);
/* Gives back the rings' unused memory. */
void process_trim(struct process *p);
bool process_output_has_ended(const struct process *p);
/* Something waits in a pipe for a slow reader to make room. */
bool process_output_is_held(const struct process *p);
