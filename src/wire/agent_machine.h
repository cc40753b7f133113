/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_machine.h — the agent of a virtual machine: part of wire/agent.h. */
#pragma once

#include <stdint.h>

#include "wire/wire.h"

#define AGENT_MACHINE_LINK "eth0"
#define AGENT_MACHINE_ADDRESS 0x0a00020fu /* 10.0.2.15, in host byte order */
#define AGENT_MACHINE_PORT 1
/* The way to the internet; the machine is kept from the address of QEMU's own side. */
#define AGENT_MACHINE_OUTSIDE "eth1"
#define AGENT_MACHINE_OUTSIDE_ADDRESS 0x0a00030fu /* 10.0.3.15 */
#define AGENT_MACHINE_GATEWAY 0x0a000302u         /* 10.0.3.2 */
#define AGENT_MACHINE_NAMES "10.0.3.3"
#define AGENT_POD_HOME "/home/user"                    /* where the volume of a pod's home is */
#define AGENT_MACHINE_READY "atoll: the agent listens" /* a line of the console */

/* What a machine is told when it has booted, or continues from saved memory: there it replaces what
 * other machines of that memory have, too. Only an agent that is process 1 of a machine accepts it,
 * at any time and more than once. */
struct agent_identity {
	const char *hostname;
	struct span entropy; /* AGENT_IDENTITY_ENTROPY random bytes */
	int64_t unix_us;     /* the time now */
	uint64_t pids_max;   /* of all processes inside */
	uint32_t has_network;
	uint32_t is_new; /* 1: another sandbox than the one that was saved */
	/* 1: the machine only writes all files to its disk, and the other members say nothing. The
	 * agent of a pod accepts this, too, and writes those of AGENT_POD_HOME. */
	uint32_t only_syncs;
};
#define AGENT_IDENTITY_ENTROPY 64
extern const struct wire_member agent_identity_shape[];
