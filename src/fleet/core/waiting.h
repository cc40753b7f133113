/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/waiting.h — calls that cannot succeed before something else has changed.
 *
 * A call may park if it has `parks` set, or `awaited` in its fleet_ref or fleet_create. It never
 * blocks on the build of a template or on another caller's creation of the same thing. Neither does
 * it block on files on their way to or from the blob store, nor on another thread's work on the
 * same sandbox or its volumes. It fails with an error that awaits the change (error_await); the
 * caller repeats it when the change is announced. Any other call blocks its thread. */
#pragma once

#include <stdint.h>

struct fleet;
struct work_lane;

/* The change that a repeated call awaited before. */
struct fleet_awaited {
	const char *key; /* NULL: nothing */
	int64_t for_ms;
};

/* Calls `tell` with the key of each change that is announced, on any thread. NULL ends that; it
 * returns when no call runs any more. */
void fleet_on_change(struct fleet *fleet, void (*tell)(void *context, const char *key),
                     void *context);

/* The lane of first builds, imports and pulls; option builds_at_once. */
struct work_lane *fleet_work(struct fleet *fleet);
/* Backups packed or unpacked at once. */
#define FLEET_BACKUPS_AT_ONCE 2
/* The lane of backups and archives. */
struct work_lane *fleet_backup_work(struct fleet *fleet);
