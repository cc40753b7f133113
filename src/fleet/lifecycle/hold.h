/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/hold.h — use of a started sandbox by a call. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "fleet/core/fleet_hold.h"
#include "fleet/core/sandboxes.h"

struct arena;
struct error;
struct fleet;
struct sandbox_record;

/* Wakes a sandbox that is asleep, refuses other states with a hint, and counts as activity. */
MUST_CHECK int fleet_hold(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          struct sandbox_record *ret, struct fleet_hold *ret_hold,
                          struct error *err);
/* fleet_hold if it and fleet_defaults need no store query, provider call or wait; else false. */
bool fleet_hold_warm(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                     struct sandbox_record *ret, struct fleet_hold *ret_hold);
/* Lets a call look into a started sandbox without being a use of it: neither wakes the sandbox nor
 * counts as activity, and the sandbox may be paused or end during the call. ERROR_CONFLICT with a
 * hint if it is not started. fleet_unhold of such a hold does nothing. */
MUST_CHECK int fleet_look(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          struct sandbox_record *ret, struct fleet_hold *ret_hold,
                          struct error *err);
/* Any thread, once; NULL or zeroed is fine. */
void fleet_unhold(struct fleet_hold *hold);
/* Bytes have arrived for the sandbox: if it is asleep, a worker wakes it. Any thread. */
void fleet_wake(const struct fleet_hold *hold);
