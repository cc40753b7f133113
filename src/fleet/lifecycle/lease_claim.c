/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lifecycle/lease_claim.h"

#include "base/clock.h"
#include "base/fault.h"

void lease_claimed(struct lease_claim *claim, bool has_failed, bool is_lost)
{
	claim->is_lost = is_lost;
	if (has_failed)
		return;
	claim->is_made = true;
	claim->lease.lock_version++;
	fault_point("lease", "claimed");
}

int64_t lease_epoch_of(const struct lease_claim *claim)
{
	return claim ? claim->lease.epoch : 0;
}

const struct lease_record *lease_to_finish(struct lease_claim *claim)
{
	claim->lease.active_since = claim->lease.last_activity_at = clock_unix_ms();
	return &claim->lease;
}

void lease_finished(struct lease_claim *claim, bool is_lost)
{
	claim->is_lost = is_lost;
	if (is_lost)
		return;
	claim->is_finished = true;
	claim->lease.lock_version++;
	claim->lease.status = LEASE_READY;
	fault_point("lease", "ready");
}
