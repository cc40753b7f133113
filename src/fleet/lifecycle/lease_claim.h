/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/lease_claim.h — a lease that is written together with its sandbox. */
#pragma once

#include "store/leases.h"

/* A lease whose sandbox is being created. The claim is written together with the row of the
 * sandbox, and the lease becomes ready together with its start: two commits less. */
struct lease_claim {
	struct lease_record lease; /* to be written, then as it was written */
	bool is_made, is_finished;
	bool is_lost; /* another thread or server has the lease now */
};
/* For the writers of the rows: the result of writing the claim. */
void lease_claimed(struct lease_claim *claim, bool has_failed, bool is_lost);
const struct lease_record *lease_to_finish(struct lease_claim *claim);
void lease_finished(struct lease_claim *claim, bool is_lost);
/* 0: `claim` is NULL. */
int64_t lease_epoch_of(const struct lease_claim *claim);
