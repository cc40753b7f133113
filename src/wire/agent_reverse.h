/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_reverse.h — how an agent that connects to its server is reached. Part of wire/agent.h.
 *
 * A container or virtual machine hides the agent's socket from the server, so the agent connects to
 * a socket of the server. Every connection begins with AGENT_HELLO. The first one is the control
 * connection: the server sends AGENT_OPEN on it for each connection that it needs, and the agent
 * connects again and says the number of that request. Such a connection then carries the messages
 * of wire/agent.h like any other. When the control connection breaks, the agent connects it again.
 */
#pragma once

#include <stdint.h>

#include "wire/wire.h"

#define AGENT_TOKEN_MAX 64
/* The variable of the agent's environment that holds the token. */
#define AGENT_TOKEN_VARIABLE "ATOLL_AGENT_TOKEN"

struct agent_hello {
	uint32_t protocol; /* AGENT_PROTOCOL */
	uint64_t stream;   /* the number of an AGENT_OPEN; 0: this is the control connection */
	const char *token; /* shows that the agent sent this, not other code in the sandbox */
};
struct agent_open {
	uint64_t stream; /* not 0, never used before on this control connection */
};
extern const struct wire_member agent_hello_shape[], agent_open_shape[];
