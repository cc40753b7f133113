/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/daytona/intervals.h"

#include <inttypes.h>

#include "fleet/lifecycle/create.h"
#include "fleet/sandbox/settings.h"

#define MINUTE_MS (60 * INT64_C(1000))
#define LONG_MS (DAYTONA_INTERVAL_MAX * MINUTE_MS)
#define AT_ONCE_MS 1
#define ARCHIVE_LATEST (30 * 24 * 60)

static const struct {
	const char *name;
	bool may_be_negative;
	int64_t initial;
} intervals[DAYTONA_INTERVAL_COUNT] = {
        [DAYTONA_AUTO_STOP] = {"autoStopInterval", false, 15},
        [DAYTONA_AUTO_PAUSE] = {"autoPauseInterval", false, 0},
        [DAYTONA_AUTO_ARCHIVE] = {"autoArchiveInterval", false, 7 * 24 * 60},
        [DAYTONA_AUTO_DELETE] = {"autoDeleteInterval", true, -1},
        [DAYTONA_TTL] = {"ttlMinutes", false, 0},
};

int64_t daytona_minutes(int64_t ms)
{
	return (ms + MINUTE_MS - 1) / MINUTE_MS;
}

int64_t daytona_delete_minutes(int64_t ms)
{
	if (ms <= AT_ONCE_MS)
		return ms == AT_ONCE_MS ? 0 : -1;
	return daytona_minutes(ms);
}

static int check_minutes(enum daytona_interval interval, int64_t minutes, struct error *err)
{
	if ((minutes >= 0 || intervals[interval].may_be_negative) &&
	    minutes <= DAYTONA_INTERVAL_MAX)
		return 0;
	return FAIL(err, ERROR_INVALID, "%s: %" PRId64 " is not between 0 and %d minutes",
	            intervals[interval].name, minutes, DAYTONA_INTERVAL_MAX);
}

static int64_t delete_after(int64_t minutes)
{
	if (minutes < 0)
		return 0;
	return minutes == 0 ? AT_ONCE_MS : minutes * MINUTE_MS;
}

static int64_t archive_after(int64_t minutes)
{
	return (minutes == 0 ? ARCHIVE_LATEST : minutes) * MINUTE_MS;
}

static void set_ttl(const struct daytona_change *change, struct fleet_settings *settings)
{
	bool has_ttl = change->minutes > 0;

	settings->timeout_at = has_ttl ? change->created_at + change->minutes * MINUTE_MS : 0;
	settings->persistent = !has_ttl;
	settings->timeouts.idle_reap_ms = LONG_MS;
	settings->timeouts.lifetime_max_ms = has_ttl ? LONG_MS : 0;
}

int daytona_interval_set(const struct daytona_change *change, struct fleet_settings *settings,
                         struct error *err)
{
	*settings = FLEET_SETTINGS_LEAVE;
	if (check_minutes(change->interval, change->minutes, err) < 0)
		return -1;
	switch (change->interval) {
	case DAYTONA_AUTO_STOP:
		settings->timeouts.idle_stop_ms = change->minutes * MINUTE_MS;
		break;
	case DAYTONA_AUTO_PAUSE:
		settings->timeouts.idle_pause_ms = change->minutes * MINUTE_MS;
		break;
	case DAYTONA_AUTO_ARCHIVE:
		settings->timeouts.archive_after_ms = archive_after(change->minutes);
		break;
	case DAYTONA_AUTO_DELETE:
		settings->timeouts.delete_after_ms = delete_after(change->minutes);
		break;
	case DAYTONA_TTL:
	case DAYTONA_INTERVAL_COUNT:
		set_ttl(change, settings);
		break;
	}
	return 0;
}

/* In a create, 0 means the server's default; -1 means never. */
static int64_t create_value_of(int64_t minutes)
{
	return minutes > 0 ? minutes * MINUTE_MS : -1;
}

int daytona_intervals_apply(const struct daytona_intervals *wanted, struct fleet_create *create,
                            struct error *err)
{
	int64_t minutes[DAYTONA_INTERVAL_COUNT];
	bool may_archive = wanted->can_archive || wanted->given >> DAYTONA_AUTO_ARCHIVE & 1;

	for (unsigned i = 0; i < DAYTONA_INTERVAL_COUNT; i++) {
		minutes[i] = wanted->given >> i & 1 ? wanted->minutes[i] : intervals[i].initial;
		if (check_minutes(i, minutes[i], err) < 0)
			return -1;
	}
	create->timeouts.idle_stop_ms = create_value_of(minutes[DAYTONA_AUTO_STOP]);
	create->timeouts.idle_pause_ms = create_value_of(minutes[DAYTONA_AUTO_PAUSE]);
	create->timeouts.archive_after_ms =
	        may_archive ? archive_after(minutes[DAYTONA_AUTO_ARCHIVE]) : 0;
	create->timeouts.delete_after_ms = delete_after(minutes[DAYTONA_AUTO_DELETE]);
	create->timeout_ms = minutes[DAYTONA_TTL] * MINUTE_MS;
	create->persistent = minutes[DAYTONA_TTL] == 0;
	create->timeouts.idle_reap_ms = LONG_MS;
	create->timeouts.lifetime_max_ms = LONG_MS;
	return 0;
}
