/* SPDX-License-Identifier: Apache-2.0 */
/* shell/shell.h — shells that stay open: commands run in sequence, share folder and environment,
 * and each has its own output and exit code.
 *
 * A shell is a process of the sandbox's agent with the label "console:NAME": bash, or sh without
 * bash. It reads its commands from its standard input, and writes marks (marks.h) around each of
 * them on both output streams. The agent keeps the last SHELL_RING bytes of output. The server
 * reads the commands, their output and their exit codes from there, also after a restart; older
 * commands are lost. The standard input of each command is a pipe of its own. Only queued commands
 * are kept in the memory of this server (queue.h).
 *
 * Programs in the shell can write false marks. They deceive only the callers that may run them.
 *
 * Calls are made on workers, block until their deadline at most, and need a held sandbox. Texts of
 * results live in the arena. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct id;

#define SHELL_NAME_MAX 100 /* printable ASCII without '/' */
#define SHELL_RING (4 * 1024 * 1024)
#define SHELL_COMMAND_MAX ((size_t)64 * 1024)
#define SHELL_TEXT_MAX 4096 /* bytes of a command's text that are kept */
#define SHELL_INPUT_MAX ((size_t)64 * 1024)
#define SHELLS_MAX 64 /* in one sandbox */

/* The queued commands of all sandboxes. Any thread. */
struct fleet_hold;
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
/* Starts a shell. ERROR_CONFLICT when the name is taken. */
MUST_CHECK int shell_open(const struct shell_call *call, struct arena *a,
                          const struct shell_options *open, struct error *err);
/* Kills the shell and all processes that it started. */
MUST_CHECK int shell_close(const struct shell_call *call, struct arena *a, struct error *err);

/* Queues a command behind the earlier ones. Its output begins after shell->output_end.
 * ERROR_CONFLICT when the shell has ended. */
MUST_CHECK int shell_run_command(const struct shell_call *call, struct arena *a,
                                 const struct shell *shell, const char *command, struct id *ret,
                                 struct error *err);
struct shell_command {
	const char *id, *text;
	bool has_begun, has_ended;
	int64_t exit_code;
	struct span out[2], both; /* the output that the agent still has */
};
struct shell_commands {
	struct shell_command *items; /* oldest first */
	size_t count;
	const char *folder; /* of the pipes */
};
/* Reads the commands that the output still shows, then the queued ones. shell_command_find fails
 * with ERROR_NOT_FOUND. */
MUST_CHECK int shell_read_commands(const struct shell_call *call, struct arena *a,
                                   const struct shell *shell, struct shell_commands *ret,
                                   struct error *err);
MUST_CHECK int shell_command_find(const struct shell_commands *commands, const char *id,
                                  struct shell_command *ret, struct error *err);

struct shell_input {
	const struct shell_command *command;
	const char *folder; /* of the shell_commands that hold the command */
	const char *user;
	struct span bytes;
};
/* Writes to the standard input of a running command; *ret_taken is false when it has ended. Waits
 * one second for a queued command to begin, then fails with ERROR_CONFLICT. */
MUST_CHECK int shell_write_input(const struct shell_call *call, const struct shell *shell,
                                 const struct shell_input *input, bool *ret_taken,
                                 struct error *err);
