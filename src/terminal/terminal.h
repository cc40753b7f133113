/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/terminal.h — named windows of a sandbox: terminals that people and agents share.
 *
 * A window is a process of the agent with a terminal and the label "terminal:NAME". The agent holds
 * all lasting state: the process, its last output, its size, its idle time. So the server finds
 * windows by listing processes, also after its restart, and rebuilds the screen from the output
 * that the agent still has. The server only keeps caches and the state of connections.
 *
 * Calls are made on workers, block until their deadline at most, and need a held sandbox. Texts of
 * results live in the arena. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "sandbox/events.h"
#include "wire/agent.h"
#include "wire/agent_terminal.h"

#define TERMINAL_NAME_MAX 32     /* [A-Za-z0-9._-], no dot first */
#define TERMINAL_WINDOWS_MAX 32  /* of one sandbox */
#define TERMINAL_ROWS_MAX 300    /* of a window; bounds the memory of screens */
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
struct fleet_hold;
struct store;
struct terminal_secrets;
struct terminals;
struct terminals_options {
	struct blob_store *blobs; /* of recordings; NULL = no recordings */
	const char *spool;        /* with blobs: the folder of unfinished recordings */
	unsigned waits_max;       /* concurrent waiting calls; each holds a thread */
	/* A call has typed into a process. Any thread; may be NULL. */
	void (*on_typed)(void *context, const char *sandbox, uint64_t process, const char *who);
	/* A call has opened or closed a window, or a recording began or is ready; `name` is that of
	 * the window, or the id of the recording. Any thread; may be NULL. */
	void (*on_change)(void *context, enum event_kind kind, const char *sandbox,
	                  const char *name);
	void *context;
};
struct terminals *terminals_new(const struct terminals_options *options);
void terminals_free(struct terminals *t); /* NULL is fine */

/* A call for one window. */
struct terminal_at {
	struct terminals *terminals;
	const struct fleet_hold *hold;
	const char *window;
	int64_t deadline;
	const char *who;                        /* name shown to other viewers; "" or NULL = none */
	const struct cancel *cancel;            /* ends the wait, not the command; or NULL */
	const struct terminal_secrets *secrets; /* guards open windows with values; or NULL */
	/* While a call waits: the command's last output, or the screen, as text. Or NULL. */
	void (*on_progress)(void *context, struct span text);
	void *progress_context;
};

MUST_CHECK int terminal_name_check(const char *name, struct error *err);
struct terminal_window {
	const char *name;
	struct agent_process process;
	struct agent_terminal_state state;
	bool is_shell; /* a bash with the marks that terminal_execute needs */
};
struct terminal_windows {
	struct terminal_window *items; /* running ones, oldest first */
	size_t count;
};
MUST_CHECK int terminal_list(const struct terminal_at *at, struct arena *a,
                             struct terminal_windows *ret, struct error *err);
MUST_CHECK int terminal_find(const struct terminal_at *at, struct arena *a,
                             struct terminal_window *ret, struct error *err);

struct terminal_open {
	const char *command;                    /* a shell line; NULL = a login shell */
	const struct terminal_secrets *secrets; /* see secrets.h; NULL = none */
	const char *cwd, *user;
	const char **env;       /* "KEY=value", NULL-terminated */
	uint32_t rows, columns; /* 0 = 24 x 80; ignored for an existing window */
	int64_t ttl_ms;         /* idle time before it is closed; 0 = TERMINAL_TTL_MS */
	const char
	        *record_for; /* records a new window for this project, in a blob store; or NULL */
};
/* Fills `ttl_ms` and `record_for` (which borrows `project_id`) from the project's settings. Read
 * for each new window, so that a change applies to the next one. */
MUST_CHECK int terminal_take_settings(struct store *store, struct arena *a, const char *project_id,
                                      struct terminal_open *ret, struct error *err);
/* Finds or opens the window; a NULL name gets a new name. */
MUST_CHECK int terminal_open(const struct terminal_at *at, struct arena *a,
                             const struct terminal_open *open, struct terminal_window *ret,
                             bool *ret_created, struct error *err);
/* Kills all processes of the window. */
MUST_CHECK int terminal_close(const struct terminal_at *at, struct arena *a, struct error *err);
struct terminal_change {
	uint32_t rows, columns; /* 0 = unchanged */
	int64_t ttl_ms;         /* 0 = unchanged */
};
MUST_CHECK int terminal_change(const struct terminal_at *at, struct arena *a,
                               const struct terminal_change *change, struct terminal_window *ret,
                               struct error *err);

#define TERMINAL_CANCEL "\x18" /* ends a control sequence or an incomplete character */
/* The agent stops waiting for a viewer that reads nothing for a while (agent/streams.c). Returns
 * how many bytes such a viewer has missed before this output. *next is the offset of its next byte,
 * 0 = any; the call advances it. */
uint64_t terminal_missed(uint64_t *next, const struct agent_output *o);

enum terminal_form {
	TERMINAL_TEXT, /* lines without trailing blanks */
	TERMINAL_ANSI, /* bytes that draw the screen on an empty terminal of its size */
	TERMINAL_CELLS,
};
/* Consecutive characters with the same attributes. */
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
	uint64_t offset;  /* the screen shows the output up to here */
	uint64_t missing; /* bytes of lost output before it: the screen may be incomplete */
	const char *text; /* of the form; NULL for CELLS */
	struct terminal_line *lines; /* of CELLS, rows of them */
};
MUST_CHECK int terminal_screen(const struct terminal_at *at, struct arena *a,
                               enum terminal_form form, struct terminal_screen *ret,
                               struct error *err);

/* typing and waiting: the rule of terminal_operator */

struct terminal_operate {
	const char *text;        /* typed unchanged */
	const char *paste;       /* typed as a bracketed paste where the program enabled it */
	const char *const *keys; /* NULL-terminated: "C-c", "Up", "Enter", …; other text is typed */
	/* Waits for the first of these; all absent = does not wait. After typing, only later
	 * output counts. */
	const char *wait_text, *wait_regex; /* on the screen; POSIX extended */
	bool wait_change;                   /* of the screen */
	int64_t quiet_ms;                   /* without output */
	int64_t wait_ms;                    /* limit; 0 = TERMINAL_OPERATE_WAIT_MS */
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

/* running a command: the rule of execute_command */

struct terminal_execute {
	const char *command;       /* NULL: waits for the command that runs there */
	struct terminal_open open; /* for a new window; its command is NULL */
	bool keep;                 /* fail while a command runs there, instead of cancelling it */
	int64_t wait_ms;           /* 0 = TERMINAL_EXECUTE_WAIT_MS */
	size_t output_max;         /* bytes of the end; 0 = 64 KiB */
};
struct terminal_result {
	const char *window;
	uint64_t process;
	bool running;        /* wait_ms has passed; the command continues */
	bool cancelled;      /* another command ran there and was ended first */
	bool closed;         /* the window has ended with the command */
	int64_t exit_code;   /* unless running */
	struct span output;  /* as text, without control sequences */
	uint64_t since, end; /* offsets of the output in that of the process */
	uint64_t dropped;    /* bytes of output that are not in `output` */
	int64_t began;       /* unix ms, by the sandbox's clock; 0 = not begun or not known */
};
/* Folder and environment persist in the window. ERROR_UNSUPPORTED without bash in the sandbox. */
MUST_CHECK int terminal_execute(const struct terminal_at *at, struct arena *a,
                                const struct terminal_execute *what, struct terminal_result *ret,
                                struct error *err);
