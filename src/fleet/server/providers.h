/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/server/providers.h — the providers of this server as operators see them. */
#pragma once

#include "json/json.h"
#include "provider/health.h"
#include "provider/set.h"

struct arena;
struct fleet;

struct fleet_provider {
	const char *name, *kind, *isolation;
	unsigned abilities; /* enum provider_ability */
	bool is_open;
	bool is_stored; /* it was added at run time */
	bool drains;
	int64_t sandboxes;
	struct provider_bounds limits;
	int64_t cost_day, cost_month; /* micro-dollars */
	int64_t slow_ms;              /* of its recent creates, above the limit; else 0 */
	struct provider_health_report health;
	struct provider_accelerator accelerator; /* name NULL: it makes no machines */
	bool has_warm;                           /* it keeps sandboxes ready */
	struct provider_warm warm;
};
struct fleet_provider_list {
	struct fleet_provider *items; /* the primary first */
	size_t count;
};
MUST_CHECK int fleet_provider_list(struct fleet *fleet, struct arena *a,
                                   struct fleet_provider_list *ret, struct error *err);
struct fleet_provider_checked {
	int64_t took_us;
	struct provider_accelerator accelerator; /* as above */
};
/* Makes a sandbox with this provider and ends it; a provider without a probe is asked for its
 * health. ERROR_NOT_FOUND for an unknown name. */
MUST_CHECK int fleet_provider_check(struct fleet *fleet, const char *name,
                                    struct fleet_provider_checked *ret, struct error *err);

struct fleet_provider_add {
	const char *name, *kind;
	struct json_map settings; /* those of config/providers.h and config/provider_options.h */
};
/* Stores the provider; every server on this store opens it. */
MUST_CHECK int fleet_provider_add(struct fleet *fleet, const struct fleet_provider_add *request,
                                  struct error *err);
struct fleet_provider_change {
	const char *name;
	struct json_map settings; /* a value "" returns to the default; others stay */
};
/* Of a provider that was added at run time; every server on this store takes the settings while it
 * runs. */
MUST_CHECK int fleet_provider_set(struct fleet *fleet, const struct fleet_provider_change *change,
                                  struct error *err);
/* ERROR_CONFLICT, with their number, while it has sandboxes. `drains`: it makes no more sandboxes,
 * and is removed after its last one; *ret_left is their number. */
MUST_CHECK int fleet_provider_remove(struct fleet *fleet, const char *name, bool drains,
                                     int64_t *ret_left, struct error *err);
