/* SPDX-License-Identifier: Apache-2.0 */
/* agent/orphan.h — the end of a sandbox whose server never comes back.
 *
 * The broker sends each agent a beat regularly, with the time that the agent may run without one
 * (AGENT_BEAT). A connection of the server counts as a beat. After that time the agent ends all
 * processes and itself. An agent that never got a beat runs for ever.
 *
 * Time is counted in ticks while the agent runs: a frozen sandbox does not age, and gets a beat in
 * time when it is thawed. */
#pragma once

#include <stdint.h>

#include "agent/state.h"

void orphan_beat(struct agent *a, uint64_t bound_ms);
/* The same for the payload of an AGENT_BEAT; a malformed one is ignored. */
void orphan_take_beat(struct agent *a, struct span payload);
/* A server has connected. */
void orphan_renew(struct agent *a);
int64_t orphan_next_deadline(const struct agent *a);
void orphan_run_timer(struct agent *a, int64_t now);
