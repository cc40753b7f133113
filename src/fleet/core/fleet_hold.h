/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/fleet_hold.h — a hold on a sandbox or on the browser of a volume; see
 * lifecycle/hold.h. */
#pragma once

#include "base/error.h"
#include "base/id.h"

struct fleet;
struct provider;

/* While a hold exists the sandbox is not paused, stopped or deleted for idleness. */
struct fleet_hold {
	struct fleet *fleet; /* NULL: no hold; of a passive call, too */
	char id[ID_SIZE + 1];
	struct provider *provider;
	unsigned use; /* number of the metered use; 0 = none */
	/* Of an ephemeral sandbox, which the end of the hold deletes: what that announces, see
	 * lifecycle/ephemeral.h. Else empty. */
	char ending_key[ERROR_AWAITS_MAX];
};
