/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/sandbox/egress_cuts.h — the network of running sandboxes under quotas of sent bytes. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct fleet;

/* Of the tick: takes the network from started and paused sandboxes of this server whose project,
 * key or organisation has used up its quota `egress_mb_per_day` on the day of `now` (unix ms), and
 * gives it back to the others. A sandbox that is busy or whose provider fails waits for the next
 * call, but no operation of a caller holds up a cut. Its own rules stay as they are. Fails when the
 * store does. */
MUST_CHECK int egress_cuts_update(struct fleet *f, int64_t now, struct error *err);

/* What the rounds remember. Of the thread of fleet_tick. */
struct egress_cuts;
void egress_cuts_free(struct egress_cuts *cuts); /* NULL is fine */
