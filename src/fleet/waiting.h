/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/waiting.h — calls that cannot succeed before something else has changed, and the lane of
 * what takes minutes. Part of the fleet's contract, see fleet.h.
 *
 * A call with `parks` set, or with `awaited` in its fleet_ref or fleet_create, never waits for a
 * template's build, for another caller's creation of the same thing, for files that go to or come
 * from the blob store, or for what another thread does with the same sandbox or with a volume of a
 * sandbox that is to start: it fails with an error that awaits the change (error_await), and is
 * made again when that is announced. Without it the calling thread waits. */
#pragma once

#include "fleet/fleet.h"
#include "fleet/work_lane.h"

/* What a call that is made again has awaited before. */
struct fleet_awaited {
	const char *key; /* NULL: nothing */
	int64_t for_ms;
};

/* Calls `tell` with the key of each change that is announced. Any thread; NULL ends it, and returns
 * when no call runs any more. */
void fleet_on_change(struct fleet *fleet, void (*tell)(void *context, const char *key),
                     void *context);

/* Builds on first use, imports and pulls; option builds_at_once. */
struct work_lane *fleet_work(struct fleet *fleet);
/* What is packed, unpacked or read whole: backups and archives; FLEET_BACKUPS_AT_ONCE. */
struct work_lane *fleet_backup_work(struct fleet *fleet);

/* fleet_template_ready that does not wait: fails with an error that awaits the template, whose
 * build it has queued for `project_id` if need be. */
MUST_CHECK int fleet_template_require(struct fleet *fleet, struct arena *a,
                                      struct template_record *t, const char *project_id,
                                      struct error *err);
