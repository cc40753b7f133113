/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/pairing.h — the data folder and the store know each other.
 *
 * DATA/pairing/store holds a random id, the node and a generation; the store's row of the node
 * holds the same. The generation grows at each start and, while sandboxes come and go, each minute:
 * first in the store, then in the file. So the file is never ahead of its own store, and a store
 * that is behind is an old copy. A start whose store does not fit to a folder that holds something
 * fails, and during operation nothing is removed as an orphan unless the row is still there. */
#pragma once

#include <stdatomic.h>

#include "fleet/fleet.h"

enum fleet_claim {
	FLEET_CLAIM_CHECK,   /* refuse a store that does not fit */
	FLEET_CLAIM_ADOPT,   /* take it: what it does not know goes to the trash */
	FLEET_CLAIM_RECOVER, /* take it, and make rows for what it does not know */
};
/* Before fleet_recover. ERROR_CONFLICT says what does not fit, and what to do. */
MUST_CHECK int fleet_pair(struct fleet *fleet, enum fleet_claim claim, struct error *err);
