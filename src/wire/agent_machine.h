/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_machine.h — the agent of a virtual machine: part of wire/agent.h. */
#pragma once

#include <stdint.h>

#include "wire/wire.h"

#define AGENT_MACHINE_LINK "eth0"
#define AGENT_MACHINE_ADDRESS 0x0a00020fu /* 10.0.2.15, in host byte order */
#define AGENT_MACHINE_PORT 1
#define AGENT_MACHINE_READY "atoll: the agent listens" /* a line of the console */

/* What a machine that continues from saved memory must not share with others of the same memory.
 * Only an agent that is process 1 of a machine accepts it, at any time and more than once. */
struct agent_identity {
	const char *hostname;
	struct span entropy; /* AGENT_IDENTITY_ENTROPY random bytes */
	int64_t unix_us;     /* the time now */
	uint64_t pids_max;   /* of all processes inside */
	uint32_t is_new;     /* 1: another sandbox than the one that was saved */
};
#define AGENT_IDENTITY_ENTROPY 64
extern const struct wire_member agent_identity_shape[];
