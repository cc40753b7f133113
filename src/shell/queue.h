/* SPDX-License-Identifier: Apache-2.0 */
/* shell/queue.h — commands that were sent to a shell and have not begun. shell.h has its new and
 * free.
 *
 * Holds the newest SHELL_QUEUE_MAX commands of all sandboxes, in the memory of this process. After
 * a restart of the server a queued command is unknown until it begins. Any thread. */
#pragma once

#include "base/id.h"
#include "shell/shell.h"

#define SHELL_QUEUE_MAX 1024

struct shell_ref {
	const char *sandbox;
	uint64_t process;
};
struct shell_queued_command {
	struct id id;
	const char *text;
};
/* Takes the current moment for shell_queue_add. Commands added before it begin before commands that
 * are sent after it. */
uint64_t shell_queue_advance(struct shell_queue *queue);
/* Adds a command that was sent after the moment `since`; copies `text`. */
void shell_queue_add(struct shell_queue *queue, const struct shell_ref *shell, uint64_t since,
                     const struct shell_queued_command *command);
/* Returns the commands of the shell that have not begun, oldest first, in the arena. Removes those
 * that `has_begun` knows and all earlier ones: a shell runs its commands in order, so their marks
 * have fallen off its output. */
struct shell_queued_commands {
	struct shell_queued_command *items;
	size_t count;
};
typedef bool shell_has_begun(const void *context, const char *id);
struct shell_queued_commands shell_queue_list(struct shell_queue *queue, struct arena *a,
                                              const struct shell_ref *shell,
                                              shell_has_begun *has_begun, const void *context);
/* Removes all commands of this shell: it is new, or has ended. */
void shell_queue_clear(struct shell_queue *queue, const struct shell_ref *shell);
