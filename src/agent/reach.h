/* SPDX-License-Identifier: Apache-2.0 */
/* agent/reach.h — connects the agent to its server (wire/agent_reach.h), where the server cannot
 * connect to the agent.
 *
 * The agent keeps the line open and tries again for ever, with growing pauses, so a server that was
 * restarted finds its sandboxes. Connections and commands are independent of the line. */
#pragma once

#include <stdint.h>

#include "agent/state.h"

/* Connects as soon as the loop runs. Takes the token out of the environment. `path` lives as long
 * as the agent; NULL: this agent listens instead. */
void reach_init(struct agent *a, const char *path);
/* The image's variables (ENV), which commands get; NULL-terminated. None in an agent that listens.
 */
const char *const *reach_variables(const struct agent *a);
int64_t reach_next_deadline(const struct agent *a);
void reach_run_timer(struct agent *a, int64_t now);
