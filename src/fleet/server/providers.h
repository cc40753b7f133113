/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/server/providers.h — the providers of this server as operators see them. */
#pragma once

#include "provider/health.h"

struct arena;
struct fleet;

struct fleet_provider {
	const char *name, *kind, *isolation;
	unsigned abilities; /* enum provider_ability */
	bool is_open;
	int64_t sandboxes, sandboxes_max; /* 0 = no limit */
	struct provider_health_report health;
};
struct fleet_provider_list {
	struct fleet_provider *items; /* the primary first */
	size_t count;
};
MUST_CHECK int fleet_provider_list(struct fleet *fleet, struct arena *a,
                                   struct fleet_provider_list *ret, struct error *err);
/* Makes a sandbox with this provider and ends it; a provider without a probe is asked for its
 * health. ERROR_NOT_FOUND for an unknown name. */
MUST_CHECK int fleet_provider_check(struct fleet *fleet, const char *name, int64_t *ret_us,
                                    struct error *err);
