/* SPDX-License-Identifier: Apache-2.0 */
/* shell/queue.h — commands that were asked for, until their shell has told that they begin.
 * Private to this folder; made and freed as console.h says.
 *
 * What is here is the newest SHELL_QUEUE_MAX of them, of all sandboxes, in this process's memory:
 * after a restart of this server one that waits is unknown until it begins. Any thread. */
#pragma once

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
/* Now, for shell_queue_add: what was added before this moment is begun before what is asked for
 * now. */
uint64_t shell_queue_advance(struct shell_queue *queue);
/* One that was asked for since `since`; `text` is copied. */
void shell_queue_add(struct shell_queue *queue, const struct shell_ref *shell, uint64_t since,
                     const struct shell_queued_command *command);
/* Forgets those that `has_begun` knows, and those that a shell, which takes one after another, must
 * have begun before one of these; they have fallen off its output. The rest is in the arena, in the
 * order of asking. */
struct shell_queued_commands {
	struct shell_queued_command *items;
	size_t count;
};
typedef bool shell_has_begun(const void *context, const char *id);
struct shell_queued_commands shell_queue_list(struct shell_queue *queue, struct arena *a,
                                              const struct shell_ref *shell,
                                              shell_has_begun *has_begun, const void *context);
/* All of this shell: it has begun, or ended. */
void shell_queue_clear(struct shell_queue *queue, const struct shell_ref *shell);
