/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/trash.h — what was removed and can be brought back: see provider/trash.h.
 *
 * Whatever no row of the store knows is an orphan and goes there for `orphans_keep`. A sandbox that
 * a caller deleted goes there for `deleted_keep` when the caller asked for that; else it is deleted
 * at once. */
#pragma once

#include "fleet/fleet.h"

struct fleet_trash_counts {
	uint64_t orphans; /* put there since the start */
	uint64_t held;    /* orphans that were left, because they were too many */
	uint64_t entries, bytes;
};
struct fleet_trash_counts fleet_trash_counts_get(const struct fleet *fleet);
