/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/server/pair.h — the data folder and its store identify each other.
 *
 * DATA/pairing/store holds a random id, the node and a generation; the store's row of the node
 * holds the same. The generation is raised at each start and, while sandboxes are created or
 * deleted, each minute: first in the store, then in the file. So the file is never ahead of its own
 * store, and a store that is behind is an old copy. The server does not start if the store does not
 * match a folder that holds something; and while it runs, it removes orphans only if the row still
 * matches. */
#pragma once

#include "base/error.h"

struct error;
struct fleet;

enum fleet_claim {
	FLEET_CLAIM_CHECK,   /* refuse a store that does not match */
	FLEET_CLAIM_ADOPT,   /* accept it; things without a row go to the trash */
	FLEET_CLAIM_RECOVER, /* accept it, and make rows for things without one */
};
/* Call it before fleet_recover. ERROR_CONFLICT says what does not match, and what to do. */
MUST_CHECK int fleet_pair(struct fleet *fleet, enum fleet_claim claim, struct error *err);
