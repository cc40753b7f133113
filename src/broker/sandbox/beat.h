/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/beat.h — messages of the broker to an agent that runs.
 *
 * The broker writes into the queue of the agent's socket and waits for nothing. The broker owns the
 * socket, its name is fixed, and nothing that the sandbox sends is read. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "broker/host/event.h"

struct sandbox;
struct sandboxes;

/* Asks the agent to stop. If it does not, the grace ends by the broker's clock. */
MUST_CHECK int sandbox_ask_to_stop(struct sandbox *sandbox, uint64_t grace_ms, struct error *err);

/* Tells all agents that there is a broker, at once and then round-robin; see agent/orphan.h. */
struct beats {
	const struct sandboxes *sandboxes;
	struct timer timer;
	unsigned round; /* sandboxes whose slots have this remainder are next */
};
void beats_begin(struct beats *beats, const struct sandboxes *sandboxes);
void beats_end(struct beats *beats);
