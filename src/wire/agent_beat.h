/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_beat.h — the message by which a broker tells an agent that there is a server. */
#pragma once

#include <stdint.h>

#include "wire/agent.h"

/* The agent ends its sandbox when it hears of no server for so long; see agent/orphan.h. */
struct agent_beat {
	uint64_t bound_ms; /* 0 = never */
};
extern const struct wire_member agent_beat_shape[];
