/* SPDX-License-Identifier: Apache-2.0 */
/* shell/shell.h — shells that are kept: commands one after another, which share folder and
 * environment, each with an output and an end of its own.
 *
 * A console is a process of the sandbox's agent with the label "console:NAME": bash, else sh, which
 * reads what it is to run on its standard input. Around each command it writes marks (marks.h) on
 * both of its streams. So all that lasts is the agent's: which commands there were, what they wrote
 * and how they ended is read out of what is left of the output, by whoever asks, also after a
 * restart of this server. What has fallen off, SHELL_RING bytes later, is forgotten. Standard
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

#define SHELL_NAME_MAX 100 /* printable ASCII without '/' */
#define SHELL_RING (4 * 1024 * 1024)
#define SHELL_COMMAND_MAX ((size_t)64 * 1024)
#define SHELL_TEXT_MAX 4096 /* bytes of a command that are told later */
#define SHELL_INPUT_MAX ((size_t)64 * 1024)
#define SHELLS_MAX 64 /* of one sandbox */

/* The commands that wait: one memory for all sandboxes. Any thread. */
struct shell_queue;
struct shell_queue *shell_queue_new(void);
void shell_queue_free(struct shell_queue *queue); /* NULL is fine */

struct shell_call {
	struct shell_queue *queue;
	const struct fleet_hold *hold;
	const char *name;
	int64_t deadline;
};

struct shell {
	const char *name;
	uint64_t process;
	bool has_ended; /* a command has ended the shell */
	int64_t exit_code;
	uint64_t output_end[2];
};
struct shell_array {
	struct shell *items; /* oldest first */
	size_t count;
};
MUST_CHECK int shell_name_check(const char *name, struct error *err);
MUST_CHECK int shell_list(const struct shell_call *call, struct arena *a, struct shell_array *ret,
                          struct error *err);
MUST_CHECK int shell_find(const struct shell_call *call, struct arena *a, struct shell *ret,
                          struct error *err);

struct shell_options {
	const char *cwd, *user;
	const char **env; /* "KEY=value", NULL-terminated */
};
/* ERROR_CONFLICT when there is one of that name. */
MUST_CHECK int shell_open(const struct shell_call *call, struct arena *a,
                          const struct shell_options *open, struct error *err);
/* Ends all that runs in it. */
MUST_CHECK int shell_close(const struct shell_call *call, struct arena *a, struct error *err);

/* Has it run a command when those before it have ended. What it writes comes behind the console's
 * output_end. ERROR_CONFLICT when the shell has ended. */
MUST_CHECK int shell_run_command(const struct shell_call *call, struct arena *a,
                                 const struct shell *shell, const char *command, struct id *ret,
                                 struct error *err);
struct shell_command {
	const char *id, *text;
	bool has_begun, has_ended;
	int64_t exit_code;
	struct span out[2], both; /* what is left of what it wrote */
};
struct shell_commands {
	struct shell_command *items; /* oldest first */
	size_t count;
	const char *folder; /* of the pipes */
};
/* All that is left, and then those that have not begun; ERROR_NOT_FOUND from the second when it is
 * not among them. */
MUST_CHECK int shell_read_commands(const struct shell_call *call, struct arena *a,
                                   const struct shell *shell, struct shell_commands *ret,
                                   struct error *err);
MUST_CHECK int shell_command_find(const struct shell_commands *commands, const char *id,
                                  struct shell_command *ret, struct error *err);

struct shell_input {
	const struct shell_command *command;
	const char *folder; /* of the commands among which it was found */
	const char *user;
	struct span bytes;
};
/* For the standard input of one that runs; *ret_taken false: it has ended. One that waits has a
 * second to begin: then ERROR_CONFLICT. */
MUST_CHECK int shell_write_input(const struct shell_call *call, const struct shell *shell,
                                 const struct shell_input *input, bool *ret_taken,
                                 struct error *err);
