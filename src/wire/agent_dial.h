/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_dial.h — AGENT_DIAL: part of wire/agent.h.
 *
 * The agent makes a TCP socket in the sandbox, begins to connect it to the loopback address and
 * passes it with its answer, so that its bytes do not go through the agent. The agent does not
 * wait: the connection may still be refused, which the receiver sees on the socket.
 *
 * Where descriptors cannot be passed, version + AGENT_DIAL_CARRIES asks the agent to carry the
 * bytes on this connection: after its answer, which waits for the server, the connection is the
 * server's. */
#pragma once

#include <stdint.h>

#include "wire/wire.h"

struct agent_dial {
	uint32_t port;    /* 1..65535 */
	uint32_t version; /* of IP: 4 or 6 */
};
#define AGENT_DIAL_CARRIES 16
extern const struct wire_member agent_dial_shape[];
