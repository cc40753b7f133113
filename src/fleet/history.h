/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/history.h — what sandboxes have used lately, from sample to sample. Part of the fleet's
 * contract, see fleet.h.
 *
 * Once in config->metrics_every the tick asks the provider about each sandbox that runs. The newest
 * FLEET_HISTORY_MAX samples of each are kept in memory, also of one that rests; a restart of the
 * server forgets them. Any thread. */
#pragma once

#include "fleet/fleet.h"

#define FLEET_HISTORY_MAX 240

struct fleet_sample {
	int64_t at;      /* unix ms */
	uint64_t cpu_us; /* since its start */
	uint64_t memory_bytes;
	uint64_t disk_bytes; /* files on top of the template; UINT64_MAX = not known */
	uint64_t network_in_bytes, network_out_bytes;
	uint32_t pids;
	float cpu_percent; /* of one vCPU, since the sample before; else since its start */
};
struct fleet_history {
	struct fleet_sample *items; /* oldest first */
	size_t count;
	uint64_t memory_limit_bytes, disk_limit_bytes; /* as they were last */
};
/* Unix ms, both ends belong to it; until 0 = up to now. */
struct fleet_period {
	int64_t from, until;
};
/* The last one is of this very moment if that belongs to the period and the sandbox runs; one that
 * is younger than a second is good enough for that. */
MUST_CHECK int fleet_history(struct fleet *fleet, struct arena *a, const struct sandbox_record *r,
                             const struct fleet_period *period, struct fleet_history *ret,
                             struct error *err);
