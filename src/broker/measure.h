/* SPDX-License-Identifier: Apache-2.0 */
/* broker/measure.h — how much of the disk something takes. Private to this folder.
 *
 * Sandboxes may be changing what is counted, and have made all of it: nothing is followed, each
 * folder is opened beneath its own, and there is an end to entries, depth and time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "broker/host.h"
#include "wire/broker.h"

struct disk_measure {
	uint64_t bytes; /* of blocks; a file with several names counts once */
	uint64_t entries;
	bool is_partial; /* there is more */
};
/* All that is in this folder, or file, until the deadline. In a child: takes as long as it takes.
 */
MUST_CHECK int measure_tree(int folder, const char *name, int64_t deadline,
                            struct disk_measure *ret, struct error *err);
/* What belongs to one of these alone: ERROR_NOT_FOUND when there is none. The same. */
MUST_CHECK int measure_object(const struct host *host, enum broker_measured_kind kind,
                              const char *id, int64_t deadline, struct disk_measure *ret,
                              struct error *err);
