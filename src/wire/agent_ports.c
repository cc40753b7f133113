/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/agent_ports.h"

#define ADDRESS_MAX_BYTES 64

const struct wire_member agent_port_shape[] = {
        WIRE_U32_MEMBER(agent_port, port),
        WIRE_TEXT_MEMBER(agent_port, address, ADDRESS_MAX_BYTES),
        WIRE_U32_MEMBER(agent_port, pid),
        WIRE_U64_MEMBER(agent_port, process),
        WIRE_TEXT_MEMBER(agent_port, command, AGENT_PORT_COMMAND_MAX),
        WIRE_END,
};
