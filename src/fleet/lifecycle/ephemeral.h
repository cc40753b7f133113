/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/ephemeral.h — the sandbox of a call that names none.
 *
 * The end of its hold deletes it, whether the call succeeded, failed or lost its client. When that
 * delete does not come, because this process died or has no free thread, the sandbox is deleted as
 * an idle one after EPHEMERAL_IDLE_MS.
 *
 * A sandbox that is being deleted counts for its project's limit. A call that finds the limit
 * reached awaits the next delete of an ephemeral sandbox of the project, for 2 s in all. */
#pragma once

#include "base/error.h"

struct arena;
struct fleet;
struct fleet_create;
struct fleet_hold;
struct fleet_use;
struct sandbox_record;

#define EPHEMERAL_IDLE_MS 10000

struct fleet_ephemeral {
	const struct fleet_create *make; /* as if not persistent */
	const struct fleet_use *use;     /* see fleet_ref */
};
/* Creates the sandbox and holds it. Nothing is left of it after a failure. */
MUST_CHECK int fleet_ephemeral_open(struct fleet *fleet, struct arena *a,
                                    const struct fleet_ephemeral *call, struct sandbox_record *ret,
                                    struct fleet_hold *ret_hold, struct error *err);
/* For fleet_unhold: a worker deletes the sandbox, then announces `key`. Any thread. */
void ephemeral_end(struct fleet *f, const char *id, const char *key);
