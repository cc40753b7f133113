/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/sandbox/ports.h — the TCP ports that programs in a sandbox listen on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct fleet;
struct fleet_hold;
struct sandbox_record;

struct fleet_port {
	uint16_t port;
	const char *address, *command;
	int64_t pid;      /* inside the sandbox; 0: not known */
	int64_t process;  /* the command that started it; 0: none */
	bool has_preview; /* a preview may show it, and reaches its address */
};

struct fleet_ports {
	struct fleet_port *items; /* by port, then address */
	size_t count;
	bool is_cut; /* ports or their processes are missing, because the agent reached a limit */
};
/* Asks the agent; the texts are from the sandbox. ERROR_UNSUPPORTED if the provider runs no
 * programs. Worker threads. */
MUST_CHECK int fleet_ports(struct fleet *fleet, struct arena *a, const struct sandbox_record *r,
                           const struct fleet_hold *hold, struct fleet_ports *ret,
                           struct error *err);
