/* SPDX-License-Identifier: Apache-2.0 */
/* agent/orphan.h — the end of a sandbox whose server never comes back.
 *
 * The broker tells each agent now and then that it lives, and for how long the agent may go without
 * hearing of a server (AGENT_BEAT); a connection of the server counts, too. After that time the
 * agent ends all that runs inside, and itself. An agent that was never told goes on for ever.
 *
 * Time is counted in ticks while the agent runs: a sandbox that is frozen does not age, and has
 * time to hear of its server when it is thawed. */
#pragma once

#include <stdint.h>

#include "agent/state.h"

void orphan_beat(struct agent *a, uint64_t bound_ms);
/* A server has connected. */
void orphan_renew(struct agent *a);
int64_t orphan_next_deadline(const struct agent *a);
void orphan_run_timer(struct agent *a, int64_t now);
