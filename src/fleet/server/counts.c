/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "base/log.h"
#include "fleet/core/cache.h"
#include "fleet/core/fleet_state.h"
#include "fleet/server/fleet.h"
#include "store/sandboxes.h"

struct fleet_counts fleet_counts_get(struct fleet *fleet)
{
	struct fleet_counts counts = {
	        .created = atomic_load(&fleet->created),
	        .create_failed = atomic_load(&fleet->create_failed),
	        .deleted = atomic_load(&fleet->deleted),
	        .execs = atomic_load(&fleet->execs),
	        .ephemeral = atomic_load(&fleet->ephemeral),
	        .ephemeral_ending = atomic_load(&fleet->endings),
	        .held = cache_held(fleet->cache),
	        .create_us_total = atomic_load(&fleet->create_us_total),
	};
	struct error err = {0};

	if (store_sandbox_count(fleet->store, counts.by_state, &err) < 0)
		log_warning("sandboxes are not counted", FAILURE(&err));
	return counts;
}
