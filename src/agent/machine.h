/* SPDX-License-Identifier: Apache-2.0 */
/* agent/machine.h — the agent as the init of a virtual machine.
 *
 * The kernel starts the agent from an initial memory disk, which also holds the kernel's modules.
 * The agent loads them and mounts the machine's only disk, the sandbox's files, as its root. Then
 * it listens on the machine's only network interface. Connections from inside come by another
 * interface and never reach that listener. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct agent_identity;

struct machine {
	const char *hostname; /* NULL: this agent is in no machine of its own */
	int64_t pids_max;     /* of all processes inside */
};

/* Returns the listener. */
MUST_CHECK int machine_begin(const struct machine *m, int *ret_listener, struct error *err);
/* Gives a machine that continues from saved memory its own name, random numbers, time and limit; a
 * new sandbox gets a machine-id of its own, if its files have one. */
MUST_CHECK int machine_identify(const struct agent_identity *identity, struct error *err);
/* Writes all files to the disk, then ends the machine. */
void machine_end(void) __attribute__((noreturn));
