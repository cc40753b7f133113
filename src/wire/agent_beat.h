/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_beat.h — the broker's message to an agent that the server lives. */
#pragma once

#include <stdint.h>

#include "wire/agent.h"

/* The agent ends its sandbox when it gets no beat for this long; see agent/orphan.h. */
struct agent_beat {
	uint64_t bound_ms; /* 0 = never */
};
extern const struct wire_member agent_beat_shape[];
