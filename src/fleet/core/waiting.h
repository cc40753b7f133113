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

#include "base/error.h"

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

/* For the parts of the fleet. */

/* Announces the change that errors await by this key. */
void awaited_announce(struct fleet *f, const char *key);
/* "kind:" and a digest of the name. */
void awaited_key(const char *kind, const char *name, char ret[ERROR_AWAITS_MAX]);
/* Since when the caller has awaited the key, in monotonic ms; now if it has not. */
int64_t awaited_since(const struct fleet_awaited *awaited, const char *key);
/* How long a parked call rests before it polls by itself: a quarter of the time it has waited,
 * between `least_ms` and a second. Changes of this server are announced, so that many calls that
 * await the same thing cost little. */
int awaited_rest_ms(const struct fleet_awaited *awaited, const char *key, int least_ms);

/* The lane of first builds, imports and pulls; option builds_at_once. */
struct work_lane *fleet_work(struct fleet *fleet);
/* Backups packed or unpacked at once. */
#define FLEET_BACKUPS_AT_ONCE 2
/* The lane of backups and archives. */
struct work_lane *fleet_backup_work(struct fleet *fleet);
