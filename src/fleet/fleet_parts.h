/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/fleet_parts.h — struct fleet with all its parts. Only fleet.c needs it. */
#pragma once

#include "fleet/background_work.h"
#include "fleet/browsers.h"
#include "fleet/gate.h"
#include "fleet/leases_in_flight.h"
#include "fleet/meters.h"
#include "fleet/operation.h"
#include "fleet/pairing_parts.h"
#include "fleet/pool_states.h"
#include "fleet/project_cache.h"
#include "fleet/samples.h"
#include "fleet/template_cache.h"

/* The fleet and its parts, in one allocation. */
struct fleet_parts {
	struct fleet fleet;
	struct cache cache;
	struct template_cache templates;
	struct project_cache projects;
	struct leases_in_flight leases;
	struct browsers browsers;
	struct background_work background;
	struct gate gate;
	struct meters meters;
	struct sandbox_samples samples;
	struct pairing pairing;
	struct trash_counts trash;
	struct pool_counts pools;
};
