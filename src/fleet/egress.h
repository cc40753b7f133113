/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/egress.h — whom a sandbox may reach, by rules that sandbox/egress.h makes a text of. Part
 * of the fleet's contract, see fleet.h. */
#pragma once

#include "fleet/fleet.h"
#include "sandbox/egress.h"

/* Other rules in place of all that were; "" = none. They hold at once for one that is started or
 * paused, connections that are there included, and else from its start on. One that was made
 * without a network can only be told what leaves it so. */
MUST_CHECK int fleet_set_egress(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                const char *egress, struct sandbox_record *ret, struct error *err);
