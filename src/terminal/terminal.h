/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/terminal.h — named windows of a sandbox: terminals that people and agents share.
 *
 * A window is a process of the agent with a terminal and the label "terminal:NAME". All that lasts
 * is the agent's: the process, its last output, its size, its idle time. So a window is found again
 * after a restart of this server by asking for the processes, and its screen is made anew from the
 * output that the agent still has. What is kept here is only what saves time, or ends with the
 * connections.
 *
 * Calls are made on workers, block until their deadline at most, and need a held sandbox. Texts of
 * results live in the arena. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "fleet/fleet.h"
#include "wire/agent.h"
#include "wire/agent_terminal.h"

#define TERMINAL_NAME_MAX 32     /* [A-Za-z0-9._-], no dot first */
#define TERMINAL_WINDOWS_MAX 32  /* of one sandbox */
#define TERMINAL_ROWS_MAX 300    /* of a window, so that its screen can be kept */
#define TERMINAL_COLUMNS_MAX 500 /* the same */
#define TERMINAL_TTL_MS (3600 * INT64_C(1000))
#define TERMINAL_TTL_MS_MAX (30 * 24 * 3600 * INT64_C(1000))
#define TERMINAL_WAIT_MS_MAX (600 * INT64_C(1000))
#define TERMINAL_EXECUTE_WAIT_MS (30 * INT64_C(1000)) /* when none is given */
#define TERMINAL_OPERATE_WAIT_MS (10 * INT64_C(1000)) /* the same */
#define TERMINAL_COMMAND_MAX ((size_t)64 * 1024)
#define TERMINAL_INPUT_MAX ((size_t)128 * 1024)
#define TERMINAL_OUTPUT_MAX ((size_t)1024 * 1024)

struct blob_store;
struct cancel;
struct store;
struct terminals;
struct terminals_options {
	struct blob_store *blobs; /* of recordings; NULL = none are made */
	const char *spool;        /* with blobs: a folder for those that are not whole yet */
	unsigned waits_max;       /* calls that wait at once, each on a thread of its caller */
	/* A call has typed into a process. Any thread; may be NULL. */
	void (*on_typed)(void *context, const char *sandbox, uint64_t process, const char *who);
	void *context;
};
struct terminals *terminals_new(const struct terminals_options *options);
void terminals_free(struct terminals *t); /* NULL is fine */

/* Which window. */
struct terminal_at {
	struct terminals *terminals;
	const struct fleet_hold *hold;
	const char *window;
	int64_t deadline;
	const char *who;             /* types; "" or NULL = nobody that others should know */
	const struct cancel *cancel; /* ends waiting, not what runs; or NULL */
	/* Told as text, while a call waits, what the command has written last, or what the screen
	 * shows; or NULL. */
	void (*on_progress)(void *context, struct span text);
	void *progress_context;
};

/* ---- windows ---- */

MUST_CHECK int terminal_name_check(const char *name, struct error *err);
struct terminal_window {
	const char *name;
	struct agent_process process;
	struct agent_terminal_state state;
	bool is_shell; /* bash as terminal_execute needs it */
};
struct terminal_windows {
	struct terminal_window *items; /* oldest first; those that run */
	size_t count;
};
MUST_CHECK int terminal_list(const struct terminal_at *at, struct arena *a,
                             struct terminal_windows *ret, struct error *err);
MUST_CHECK int terminal_find(const struct terminal_at *at, struct arena *a,
                             struct terminal_window *ret, struct error *err);

struct terminal_open {
	const char *command; /* a shell line; NULL = a login shell */
	const char *cwd, *user;
	const char **env;       /* "KEY=value", NULL-terminated */
	uint32_t rows, columns; /* 0 = 24 x 80; of one that is there they are left alone */
	int64_t ttl_ms;         /* without input and output; 0 = TERMINAL_TTL_MS */
	/* The project that a new window is recorded for; NULL = it is not. ERROR_UNSUPPORTED
	 * without a blob store. */
	const char *record_for;
};
/* What the project's settings say of new windows: `ttl_ms` and `record_for`, which borrows
 * `project_id`. Asked for each time, so that a change holds from the next window on. */
MUST_CHECK int terminal_take_settings(struct store *store, struct arena *a, const char *project_id,
                                      struct terminal_open *ret, struct error *err);
/* The window of that name, or a new one; a NULL name is given a new one. */
MUST_CHECK int terminal_open(const struct terminal_at *at, struct arena *a,
                             const struct terminal_open *open, struct terminal_window *ret,
                             bool *ret_created, struct error *err);
/* Ends all that runs in it. */
MUST_CHECK int terminal_close(const struct terminal_at *at, struct arena *a, struct error *err);
struct terminal_change {
	uint32_t rows, columns; /* 0 = as they are */
	int64_t ttl_ms;         /* the same */
};
MUST_CHECK int terminal_change(const struct terminal_at *at, struct arena *a,
                               const struct terminal_change *change, struct terminal_window *ret,
                               struct error *err);

/* ---- output as it comes ---- */

#define TERMINAL_CANCEL "\x18" /* ends a control sequence, and no character goes on with it */
/* Who takes nothing for a while holds a window back no longer (agent/streams.c): how many bytes he
 * has missed before this output. *next is the offset of what he has not got, 0 = any; it moves. */
uint64_t terminal_missed(uint64_t *next, const struct agent_output *o);

/* ---- the screen ---- */

enum terminal_form {
	TERMINAL_TEXT, /* lines without what is blank at their end */
	TERMINAL_ANSI, /* bytes that draw it on an empty terminal of that size */
	TERMINAL_CELLS,
};
/* A run of characters that look the same. */
struct terminal_run {
	uint32_t column;
	const char *text;
	const char *foreground, *background; /* "#rrggbb"; NULL = the terminal's own */
	bool bold, italic, underline, reverse, blink, strike;
};
struct terminal_line {
	struct terminal_run *runs;
	size_t count;
};
struct terminal_screen {
	uint32_t rows, columns;
	uint32_t cursor_row, cursor_column; /* from 0 */
	bool cursor_visible, alternate;
	const char *title;
	uint64_t offset;  /* output up to here is on it */
	uint64_t missing; /* bytes of output before it that were lost: it may not be whole */
	const char *text; /* of the form; NULL for CELLS */
	struct terminal_line *lines; /* of CELLS, rows of them */
};
MUST_CHECK int terminal_screen(const struct terminal_at *at, struct arena *a,
                               enum terminal_form form, struct terminal_screen *ret,
                               struct error *err);

/* ---- typing and waiting: the rule of terminal_operator ---- */

struct terminal_operate {
	const char *text;        /* typed as it is */
	const char *paste;       /* the same, as one paste where the program knows of pastes */
	const char *const *keys; /* NULL-terminated: "C-c", "Up", "Enter", …; others are typed */
	/* Wait for the first of these; all absent = for nothing. When something was typed, only
	 * what comes after it counts. */
	const char *wait_text, *wait_regex; /* on the screen; POSIX extended */
	bool wait_change;                   /* anything on the screen */
	int64_t quiet_ms;                   /* no output for so long */
	int64_t wait_ms;                    /* at most; 0 = TERMINAL_OPERATE_WAIT_MS */
	enum terminal_form form;
};
enum terminal_reason {
	TERMINAL_NOTHING,
	TERMINAL_FOUND, /* the text or the regex */
	TERMINAL_CHANGED,
	TERMINAL_QUIET,
	TERMINAL_TIMED_OUT,
	TERMINAL_ENDED, /* the window has closed */
};
extern const char *const terminal_reasons[]; /* names in enum's order, NULL-terminated */
MUST_CHECK int terminal_operate(const struct terminal_at *at, struct arena *a,
                                const struct terminal_operate *what, struct terminal_screen *ret,
                                enum terminal_reason *ret_reason, struct error *err);

/* ---- running a command: the rule of execute_command ---- */

struct terminal_execute {
	const char *command;       /* NULL: go on waiting for what runs there */
	struct terminal_open open; /* of a window that is not there yet; its command is NULL */
	bool keep;                 /* refuse, when something runs there, instead of cancelling it */
	int64_t wait_ms;           /* 0 = TERMINAL_EXECUTE_WAIT_MS */
	size_t output_max;         /* bytes; 0 = 64 KiB; the end of it is kept */
};
struct terminal_result {
	const char *window;
	uint64_t process;
	bool running;        /* wait_ms has passed: it goes on */
	bool cancelled;      /* something else ran there, and was ended first */
	bool closed;         /* the window has ended with it */
	int64_t exit_code;   /* unless running */
	struct span output;  /* as text, without what only moves or colours */
	uint64_t since, end; /* offsets of the output in that of the process */
	uint64_t dropped;    /* bytes of it that are not in `output` */
	int64_t began;       /* unix ms, by the sandbox's clock; 0 = it did not, or nobody knows */
};
/* cwd and environment persist in the window. ERROR_UNSUPPORTED without bash in the sandbox. */
MUST_CHECK int terminal_execute(const struct terminal_at *at, struct arena *a,
                                const struct terminal_execute *what, struct terminal_result *ret,
                                struct error *err);
