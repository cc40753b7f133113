/* SPDX-License-Identifier: Apache-2.0 */
/* agent/carry.h — connections from outside that carry the bytes of a server inside: AGENT_DIAL
 * where no descriptor can be passed out.
 *
 * The agent keeps at most CARRY_BYTES_MAX for each direction: a side that does not read stops the
 * other one. */
#pragma once

#include "agent/state.h"

#define CARRIES_MAX 256
#define CARRY_BYTES_MAX 65536

/* Takes both descriptors over, also when it fails. `server` is being connected: then `outside` gets
 * AGENT_DONE and the bytes, or AGENT_FAILED. */
MUST_CHECK int carry_begin(struct agent *a, int outside, int server, struct error *err);
/* Frees what ended during this round of events. */
void carries_free_ended(struct agent *a);
