/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/settings.h — what of a sandbox may be changed after it was made. Part of the fleet's
 * contract, see fleet.h. */
#pragma once

#include "fleet/fleet.h"

/* All that is not FLEET_LEAVE, or NULL, replaces what was. */
#define FLEET_LEAVE INT64_MIN
struct fleet_settings {
	const struct json_map *labels;
	int64_t idle_pause_ms, idle_stop_ms, archive_after_ms, delete_after_ms; /* 0 = never */
	int64_t timeout_at; /* unix ms; 0 = none. It is deleted then, unless it is persistent */
	int persistent;     /* -1 leaves it */
	int64_t idle_reap_ms, lifetime_max_ms; /* 0 = never */
};
#define FLEET_SETTINGS_LEAVE                                                                       \
	((struct fleet_settings){NULL, FLEET_LEAVE, FLEET_LEAVE, FLEET_LEAVE, FLEET_LEAVE,         \
	                         FLEET_LEAVE, -1, FLEET_LEAVE, FLEET_LEAVE})
/* Holds from the next tick on, in any state but deleted. Refuses what a create refuses. */
MUST_CHECK int fleet_set(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                         const struct fleet_settings *change, struct sandbox_record *ret,
                         struct error *err);

/* Other cpu, memory and pids, at once when it runs and for every start from now on; zeros leave
 * what is. ERROR_LIMIT above what the project and the server allow, ERROR_CONFLICT for less memory
 * than it uses, and for a smaller disk; more of it only while it is stopped. A crash of this server
 * in between leaves it with limits that its row does not tell, until it is asked for them again or
 * starts. */
MUST_CHECK int fleet_resize(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                            const struct sandbox_resources *change, struct sandbox_record *ret,
                            struct error *err);

/* Its own variables, for what is started in it from now on: first those in `unset` go. */
struct fleet_environment {
	const struct json_map *set;
	const char *const *unset; /* NULL-terminated, or NULL */
};
MUST_CHECK int fleet_set_environment(struct fleet *fleet, struct arena *a,
                                     const struct fleet_ref *ref,
                                     const struct fleet_environment *change,
                                     struct sandbox_record *ret, struct error *err);

/* Its end, or what its traits say in place of that, is so long from now; sooner than before, too,
 * unless it is only to be later. lifetime_max holds. */
struct fleet_timeout {
	int64_t for_ms; /* 1..FLEET_TIMEOUT_MAX_MS */
	bool is_later;
};
#define FLEET_TIMEOUT_MAX_MS (365 * 24 * 3600 * INT64_C(1000))
MUST_CHECK int fleet_set_timeout(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                 const struct fleet_timeout *timeout, struct sandbox_record *ret,
                                 struct error *err);

/* For so long from now it is neither paused, stopped nor deleted for idleness, and its timeout is
 * no earlier; lifetime_max holds. Never shortens what was given, but for 0, which ends it. */
#define FLEET_KEEP_MAX_MS (24 * 3600 * INT64_C(1000))
MUST_CHECK int fleet_keep(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          int64_t keep_ms, struct sandbox_record *ret, struct error *err);
