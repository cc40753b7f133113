/* SPDX-License-Identifier: Apache-2.0 */
/* broker/box_beat.h — messages of the broker to an agent that runs. Private to this folder.
 *
 * They are sent into the queue of the agent's socket, and nothing is waited for. The socket is
 * ours, its name is fixed, and nothing that the sandbox says is read. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "broker/box.h"

/* What the agent makes of it does not matter: the grace ends by the broker's clock. */
MUST_CHECK int sandbox_ask_to_stop(struct sandbox *sandbox, uint64_t grace_ms, struct error *err);

/* Tells all agents that there is a broker, from the beginning on and in turns; see agent/orphan.h.
 */
struct beats {
	const struct sandboxes *sandboxes;
	struct timer timer;
	unsigned turn; /* of those whose slots have this remainder */
};
void beats_begin(struct beats *beats, const struct sandboxes *sandboxes);
void beats_end(struct beats *beats);
