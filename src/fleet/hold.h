/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/hold.h — use of a started sandbox by a call, and what its commands inherit. */
#pragma once

#include "fleet/fleet.h"
#include "provider/provider.h"

struct json_map;

/* While a hold exists the sandbox is not paused, stopped or deleted for idleness. */
struct fleet_hold {
	struct fleet *fleet; /* NULL: no hold */
	char id[ID_SIZE + 1];
	struct provider *provider;
	unsigned use; /* number of the metered use; 0 = none */
};
/* Wakes a sandbox that is asleep, refuses other states with a hint, and counts as activity. */
MUST_CHECK int fleet_hold(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          struct sandbox_record *ret, struct fleet_hold *ret_hold,
                          struct error *err);
/* fleet_hold if it and fleet_defaults need no store query, provider call or wait; else false. */
bool fleet_hold_warm(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                     struct sandbox_record *ret, struct fleet_hold *ret_hold);
/* Any thread, once; NULL or zeroed is fine. */
void fleet_unhold(struct fleet_hold *hold);
/* Bytes have arrived for the sandbox: if it is asleep, a worker wakes it. Any thread. */
void fleet_wake(const struct fleet_hold *hold);

/* What commands of a sandbox inherit: environment as "KEY=value" texts, NULL-terminated. Values of
 * the row replace those of the template; values of `extra` replace both. */
struct fleet_defaults {
	const char **env, *user, *workdir;
};
MUST_CHECK int fleet_defaults(struct fleet *fleet, struct arena *a, const struct sandbox_record *r,
                              const struct json_map *extra, struct fleet_defaults *ret,
                              struct error *err);
