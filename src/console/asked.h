/* SPDX-License-Identifier: Apache-2.0 */
/* console/asked.h — commands that were asked for, until their shell has told that they begin.
 * Private to this folder; made and freed as console.h says.
 *
 * What is here is the newest ASKED_MAX of them, of all sandboxes, in this process's memory: after
 * a restart of this server one that waits is unknown until it begins. Any thread. */
#pragma once

#include "console/console.h"

#define ASKED_MAX 1024

struct asked_shell {
	const char *sandbox;
	uint64_t process;
};
struct asked_command {
	struct id id;
	const char *text;
};
/* Now, for asked_add: what was added before this moment is begun before what is asked for now. */
uint64_t asked_now(struct asked *asked);
/* One that was asked for since `since`; `text` is copied. */
void asked_add(struct asked *asked, const struct asked_shell *shell, uint64_t since,
               const struct asked_command *command);
/* Forgets those that `has_begun` knows, and those that a shell, which takes one after another, must
 * have begun before one of these; they have fallen off its output. The rest is in the arena, in the
 * order of asking. */
struct asked_commands {
	struct asked_command *items;
	size_t count;
};
typedef bool asked_question(const void *context, const char *id);
struct asked_commands asked_take(struct asked *asked, struct arena *a,
                                 const struct asked_shell *shell, asked_question *has_begun,
                                 const void *context);
/* All of this shell: it has begun, or ended. */
void asked_forget(struct asked *asked, const struct asked_shell *shell);
