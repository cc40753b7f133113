/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/server/down.h — every sandbox of this server is stopped, its files kept. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct error;
struct fleet;

/* Stops all running sandboxes of every project until the deadline; `left` still run then. */
struct fleet_stop {
	int64_t deadline;
	/* The server ends next: from now on, and for a minute longer than a drain takes, no sandbox
	 * is created or started (gate.h). */
	bool for_good;
};
struct fleet_stopped {
	int64_t stopped, left;
};
MUST_CHECK int fleet_stop_all(struct fleet *fleet, const struct fleet_stop *how,
                              struct fleet_stopped *ret, struct error *err);
