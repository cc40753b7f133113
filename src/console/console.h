/* SPDX-License-Identifier: Apache-2.0 */
/* console/console.h — shells that are kept: commands one after another, which share folder and
 * environment, each with an output and an end of its own.
 *
 * A console is a process of the sandbox's agent with the label "console:NAME": bash, else sh, which
 * reads what it is to run on its standard input. Around each command it writes marks (marks.h) on
 * both of its streams. So all that lasts is the agent's: which commands there were, what they wrote
 * and how they ended is read out of what is left of the output, by whoever asks, also after a
 * restart of this server. What has fallen off, CONSOLE_RING bytes later, is forgotten. Standard
 * input of each command is a pipe of its own. Only commands that wait for those before them are
 * known to this server alone, in a bounded memory.
 *
 * What runs inside can write marks as well: it then tells wrong things about itself, to those who
 * may run it.
 *
 * Calls are made on workers, block until their deadline at most, and need a held sandbox. Texts of
 * results live in the arena. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/id.h"
#include "fleet/fleet.h"
#include "wire/agent.h"

#define CONSOLE_NAME_MAX 100 /* printable ASCII without '/' */
#define CONSOLE_RING (4 * 1024 * 1024)
#define CONSOLE_COMMAND_MAX ((size_t)64 * 1024)
#define CONSOLE_TOLD_MAX 4096 /* bytes of a command that are told later */
#define CONSOLE_INPUT_MAX ((size_t)64 * 1024)
#define CONSOLES_MAX 64 /* of one sandbox */

/* The commands that wait: one memory for all sandboxes. Any thread. */
struct asked;
struct asked *console_asked_new(void);
void console_asked_free(struct asked *asked); /* NULL is fine */

struct console_at {
	struct asked *asked;
	const struct fleet_hold *hold;
	const char *name;
	int64_t deadline;
};

struct console {
	const char *name;
	uint64_t process;
	bool has_ended; /* a command has ended the shell */
	int64_t exit_code;
	uint64_t output_end[2];
};
struct consoles {
	struct console *items; /* oldest first */
	size_t count;
};
MUST_CHECK int console_name_check(const char *name, struct error *err);
MUST_CHECK int console_list(const struct console_at *at, struct arena *a, struct consoles *ret,
                            struct error *err);
MUST_CHECK int console_find(const struct console_at *at, struct arena *a, struct console *ret,
                            struct error *err);

struct console_open {
	const char *cwd, *user;
	const char **env; /* "KEY=value", NULL-terminated */
};
/* ERROR_CONFLICT when there is one of that name. */
MUST_CHECK int console_open(const struct console_at *at, struct arena *a,
                            const struct console_open *open, struct error *err);
/* Ends all that runs in it. */
MUST_CHECK int console_close(const struct console_at *at, struct arena *a, struct error *err);

/* Has it run a command when those before it have ended. What it writes comes behind the console's
 * output_end. ERROR_CONFLICT when the shell has ended. */
MUST_CHECK int console_run(const struct console_at *at, struct arena *a,
                           const struct console *console, const char *command, struct id *ret,
                           struct error *err);
struct console_command {
	const char *id, *text;
	bool has_begun, has_ended;
	int64_t exit_code;
	struct span out[2], both; /* what is left of what it wrote */
};
struct console_commands {
	struct console_command *items; /* oldest first */
	size_t count;
	const char *folder; /* of the pipes */
};
/* All that is left, and then those that have not begun; ERROR_NOT_FOUND from the second when it is
 * not among them. */
MUST_CHECK int console_read(const struct console_at *at, struct arena *a,
                            const struct console *console, struct console_commands *ret,
                            struct error *err);
MUST_CHECK int console_command(const struct console_commands *commands, const char *id,
                               struct console_command *ret, struct error *err);

struct console_input {
	const struct console_command *command;
	const char *folder; /* of the commands among which it was found */
	const char *user;
	struct span bytes;
};
/* For the standard input of one that runs; *ret_taken false: it has ended. One that waits has a
 * second to begin: then ERROR_CONFLICT. */
MUST_CHECK int console_feed(const struct console_at *at, const struct console *console,
                            const struct console_input *input, bool *ret_taken, struct error *err);
