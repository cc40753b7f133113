/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_ports.h — AGENT_PORTS: the TCP ports that programs in a sandbox listen on. Part of
 * wire/agent.h.
 *
 * AGENT_PORTS, empty -> PORT*, DONE. DONE.count is 1 if the agent reached one of its limits,
 * so that ports or their processes are missing. An agent that shares the network of its host
 * reports only ports of its descendants. */
#pragma once

#include <stdint.h>

#include "wire/wire.h"

#define AGENT_PORTS_MAX 512
#define AGENT_PORT_COMMAND_MAX 1024

struct agent_port {
	uint32_t port;
	const char *address; /* that the socket is bound to: "0.0.0.0", "::1" */
	uint32_t pid;        /* of the first process that has the socket; 0: not found */
	uint64_t process;    /* the command of AGENT_EXEC that started it; 0: none */
	const char *command; /* its words, separated by spaces */
};
extern const struct wire_member agent_port_shape[];
