/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/usage/history.h — recent resource usage of sandboxes, sample by sample.
 *
 * Every config->metrics_every the tick takes a sample of each running sandbox from the provider.
 * The newest FLEET_HISTORY_MAX samples of a sandbox stay in memory, also while it does not run; a
 * restart of the server drops them. Any thread. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct fleet;
struct sandbox_record;

#define FLEET_HISTORY_MAX 240

struct fleet_sample {
	int64_t at;      /* unix ms */
	uint64_t cpu_us; /* since the start of the sandbox */
	uint64_t memory_bytes;
	uint64_t disk_bytes; /* files above the template; UINT64_MAX = unknown */
	uint64_t network_in_bytes, network_out_bytes;
	uint32_t pids;
	float cpu_percent; /* of one vCPU, since the previous sample, or since the start */
};
struct fleet_history {
	struct fleet_sample *items; /* oldest first */
	size_t count;
	uint64_t memory_limit_bytes, disk_limit_bytes; /* of the newest sample */
};
/* Unix ms, both ends included; until 0 = up to now. */
struct fleet_period {
	int64_t from, until;
};
/* If the period includes now, a running sandbox is sampled now, unless its last sample is younger
 * than a second. */
MUST_CHECK int fleet_history(struct fleet *fleet, struct arena *a, const struct sandbox_record *r,
                             const struct fleet_period *period, struct fleet_history *ret,
                             struct error *err);
