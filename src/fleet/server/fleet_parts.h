/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/server/fleet_parts.h — struct fleet with all its parts. Only fleet.c needs it. */
#pragma once

#include "fleet/core/background_work.h"
#include "fleet/core/cache_state.h"
#include "fleet/core/gate.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/preparer.h"
#include "fleet/core/project_cache.h"
#include "fleet/core/template_cache.h"
#include "fleet/lease/leases_in_flight.h"
#include "fleet/recovery/pairing.h"
#include "fleet/recovery/pairing_state.h"
#include "fleet/server/ready.h"
#include "fleet/template/pool_states.h"
#include "fleet/usage/meters.h"
#include "fleet/usage/meters_state.h"
#include "fleet/usage/samples.h"
#include "fleet/volume/browsers.h"

/* The fleet and its parts, in one allocation. */
struct fleet_parts {
	struct fleet fleet;
	struct cache cache;
	struct background_work background;
	struct gate gate;
	struct meters meters;
	struct pairing pairing;
	struct trash_counts trash;
	struct pool_counts pools;
	struct preparer_slot preparer;
};
