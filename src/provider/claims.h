/* SPDX-License-Identifier: Apache-2.0 */
/* provider/claims.h — the claim of a sandbox's last start, for providers whose labels cannot
 * change: a JSON file CLAIMS_DIR/ID. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct provider_entry;

struct provider_claim {
	const char *owner; /* NULL = none */
	int64_t lease_epoch;
	bool is_stopped; /* the provider calls it paused, but its memory is gone */
};
MUST_CHECK int provider_claim_write(const char *claims_dir, const char *id,
                                    const struct provider_claim *claim, struct error *err);
/* Sets owner and epoch of the entry. Leaves it without such a file. Returns is_stopped. */
bool provider_claim_read(const char *claims_dir, struct provider_entry *entry);
void provider_claim_remove(const char *claims_dir, const char *id);
