/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/sandbox/settings.h — settings of a sandbox that can be changed after its creation. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/lifecycle/lifecycle.h"
#include "sandbox/timeouts.h"

struct fleet;
struct fleet_ref;
struct json_map;
struct operation;
struct sandbox_record;

/* Members that are neither FLEET_LEAVE nor NULL replace the present value. */
#define FLEET_LEAVE INT64_MIN
struct fleet_settings {
	const char *name;
	int64_t version; /* the sandbox must have this version; 0 = any */
	const struct json_map *labels;
	struct sandbox_timeouts timeouts; /* SANDBOX_TIMEOUT_LEAVE keeps one; 0 = never */
	int64_t timeout_at; /* unix ms; 0 = none. An ephemeral sandbox is deleted then */
	int persistent;     /* -1 = unchanged */
};
#define FLEET_SETTINGS_LEAVE                                                                       \
	((struct fleet_settings){                                                                  \
	        .timeouts = SANDBOX_TIMEOUTS_LEAVE, .timeout_at = FLEET_LEAVE, .persistent = -1})
/* Takes effect at the next tick, in any state but deleted. Refuses what a create refuses, and a
 * name that a living sandbox of the project has. */
MUST_CHECK int fleet_set(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                         const struct fleet_settings *change, struct sandbox_record *ret,
                         struct error *err);

/* Changes cpu, memory and pids, at once if the sandbox runs, and for every later start; 0 =
 * unchanged. The disk only grows, while the sandbox is stopped. ERROR_LIMIT above the limits of
 * project and server; ERROR_CONFLICT for less memory than it uses and for a smaller disk. After a
 * crash of the server in between, limits and row may differ until the next resize or start. */
MUST_CHECK int fleet_resize(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                            const struct sandbox_resources *change, struct sandbox_record *ret,
                            struct error *err);

/* The sandbox's own variables, for processes that start from now on. `unset` is applied first. */
struct fleet_environment {
	const struct json_map *set;
	const char *const *unset; /* NULL-terminated; NULL: none */
};
MUST_CHECK int fleet_set_environment(struct fleet *fleet, struct arena *a,
                                     const struct fleet_ref *ref,
                                     const struct fleet_environment *change,
                                     struct sandbox_record *ret, struct error *err);

/* Sets the timeout, counted from now; at its end the sandbox is deleted, or what its traits say.
 * lifetime_max still applies. */
struct fleet_timeout {
	int64_t for_ms; /* 1..FLEET_TIMEOUT_MAX_MS */
	bool is_later;  /* never earlier than the present timeout */
};
#define FLEET_TIMEOUT_MAX_MS (365 * 24 * 3600 * INT64_C(1000))
MUST_CHECK int fleet_set_timeout(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                 const struct fleet_timeout *timeout, struct sandbox_record *ret,
                                 struct error *err);

/* Suspends the idle timeouts for keep_ms from now, and moves the timeout if it is earlier.
 * lifetime_max still applies. Never shortens an earlier call; 0 ends the suspension. */
#define FLEET_KEEP_MAX_MS (24 * 3600 * INT64_C(1000))
MUST_CHECK int fleet_keep(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          int64_t keep_ms, struct sandbox_record *ret, struct error *err);

/* Gives the provider the limits of the row again, as egress_reconcile does with the rules. */
MUST_CHECK int limits_reconcile(struct operation *op, struct error *err);
