/* SPDX-License-Identifier: Apache-2.0 */
/* surface/daytona/intervals.h — Daytona's intervals, in minutes, as settings of a sandbox. Pure.
 *
 *   interval     counts from                           setting
 *   autostop     the last use; 0 = never               idle_stop_ms
 *   autopause    the last use; 0 = never               idle_pause_ms
 *   autoarchive  the stop; 0 = 30 days                 archive_after_ms
 *   autodelete   the stop; below 0 = never, 0 = at once
 *                                                      delete_after_ms (0 = never)
 *   ttl          the creation; 0 = never               timeout_at; deletes in any state
 *
 * Nothing else ends such a sandbox: it is persistent, or it has a ttl and other limits of ten
 * years. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct fleet_create;
struct fleet_settings;

enum daytona_interval {
	DAYTONA_AUTO_STOP,
	DAYTONA_AUTO_PAUSE,
	DAYTONA_AUTO_ARCHIVE,
	DAYTONA_AUTO_DELETE,
	DAYTONA_TTL,
	DAYTONA_INTERVAL_COUNT,
};
#define DAYTONA_INTERVAL_MAX (3650 * 24 * 60) /* minutes */

/* Minutes, rounded up. */
int64_t daytona_minutes(int64_t ms);
int64_t daytona_delete_minutes(int64_t ms);

/* A change of one interval of a sandbox. */
struct daytona_change {
	enum daytona_interval interval;
	int64_t minutes;
	int64_t created_at; /* of the sandbox, unix ms */
};
MUST_CHECK int daytona_interval_set(const struct daytona_change *change,
                                    struct fleet_settings *settings, struct error *err);
/* The intervals of a sandbox to create. Those whose bit in `given` is 0 get Daytona's default. */
struct daytona_intervals {
	int64_t minutes[DAYTONA_INTERVAL_COUNT];
	unsigned given; /* 1 << enum daytona_interval */
	bool can_archive;
};
MUST_CHECK int daytona_intervals_apply(const struct daytona_intervals *wanted,
                                       struct fleet_create *create, struct error *err);
