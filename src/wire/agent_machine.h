/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_machine.h — where the agent of a virtual machine listens: part of wire/agent.h. */
#pragma once

#define AGENT_MACHINE_LINK "eth0"
#define AGENT_MACHINE_ADDRESS 0x0a00020fu /* 10.0.2.15, in host byte order */
#define AGENT_MACHINE_PORT 1
#define AGENT_MACHINE_READY "atoll: the agent listens" /* a line of the console */
