/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/intervals.h — Daytona's intervals, in minutes, and ours. Private to this folder;
 * pure.
 *
 *   autostop     without use; 0 = never          idle_stop_ms
 *   autopause    the same                        idle_pause_ms
 *   autoarchive  of being stopped; 0 = 30 days   archive_after_ms
 *   autodelete   of being stopped; below 0 = never, 0 = at once
 *                                                delete_after_ms (0 = never)
 *   ttl          since it was made; 0 = never    timeout_at; deleted then, whatever its state
 *
 * Nothing else ends one: it is persistent, or has a ttl and ages of ten years. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "fleet/settings.h"

enum daytona_interval {
	DAYTONA_AUTO_STOP,
	DAYTONA_AUTO_PAUSE,
	DAYTONA_AUTO_ARCHIVE,
	DAYTONA_AUTO_DELETE,
	DAYTONA_TTL,
	DAYTONA_INTERVAL_COUNT,
};
#define DAYTONA_INTERVAL_MAX (3650 * 24 * 60) /* minutes */

/* What we have as minutes: begun ones count. */
int64_t daytona_minutes(int64_t ms);
int64_t daytona_delete_minutes(int64_t ms);

/* What becomes of a sandbox that was made at `created_at` when one of them is set. */
struct daytona_change {
	enum daytona_interval interval;
	int64_t minutes, created_at;
};
MUST_CHECK int daytona_interval_set(const struct daytona_change *change,
                                    struct fleet_settings *settings, struct error *err);
/* The same of one that is to be made: those of `given`'s bits, the others as Daytona has them. */
struct daytona_intervals {
	int64_t minutes[DAYTONA_INTERVAL_COUNT];
	unsigned given; /* 1 << enum daytona_interval */
	bool can_archive;
};
MUST_CHECK int daytona_intervals_apply(const struct daytona_intervals *wish,
                                       struct fleet_create *create, struct error *err);
