/* SPDX-License-Identifier: Apache-2.0 */
/* agent/reverse.h — connects the agent to its server (wire/agent_reverse.h), where the server
 * cannot connect to the agent.
 *
 * The agent keeps the control connection open and tries again for ever, with growing pauses, so a
 * server that was restarted finds its sandboxes. Connections and commands are independent of it. */
#pragma once

#include <stdint.h>

#include "agent/state.h"

/* Connects as soon as the loop runs. Takes the token out of the environment. `path` lives as long
 * as the agent; NULL: this agent listens instead. */
/* Takes the token out of the environment; nothing happens without one. */
void reverse_take_token(char *ret, size_t size);
/* Drops the variables that are not those of the image. */
void reverse_forget_variables(void);
void reverse_init(struct agent *a, const char *path);
/* The image's variables (ENV), which commands get; NULL-terminated. None in an agent that listens.
 */
const char *const *reverse_variables(const struct agent *a);
int64_t reverse_next_deadline(const struct agent *a);
void reverse_run_timer(struct agent *a, int64_t now);
