/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/server/routing.h — the rules that choose the provider of a sandbox, as operators see them.
 */
#pragma once

#include "base/error.h"
#include "config/routing.h"

struct arena;
struct fleet;

struct fleet_routing {
	struct config_rules rules;
	bool is_stored; /* false: those of the configuration */
};
MUST_CHECK int fleet_routing_get(struct fleet *fleet, struct arena *a, struct fleet_routing *ret,
                                 struct error *err);
/* Rules in the form of config/routing.h, for every server on this store; NULL: those of each
 * server's configuration. */
MUST_CHECK int fleet_routing_set(struct fleet *fleet, const char *rules, struct error *err);
