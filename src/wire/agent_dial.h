/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_dial.h — AGENT_DIAL: part of wire/agent.h.
 *
 * The agent makes a TCP socket in the sandbox, begins to connect it to the loopback address and
 * hands it over with its answer, so that what is sent over it never passes through the agent. It
 * does not wait: the connection may still be refused, which the socket tells who has it. Where
 * descriptors cannot be passed, a version with AGENT_DIAL_BYTES is to answer READY and then carry
 * the bytes as DATA both ways; no agent does so yet, and each refuses versions it does not know. */
#pragma once

#include <stdint.h>

#include "wire/wire.h"

struct agent_dial {
	uint32_t port;    /* 1..65535 */
	uint32_t version; /* of IP: 4 or 6 */
};
extern const struct wire_member agent_dial_shape[];
