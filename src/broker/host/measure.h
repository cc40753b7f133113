/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/measure.h — how much of the disk a folder takes.
 *
 * Sandboxes made the files that are counted and may be changing them. No link is followed, each
 * folder is opened beneath its parent, and entries, depth and time are bounded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/broker_measure.h"

struct host;

struct disk_measure {
	uint64_t bytes; /* of blocks; a file with several names counts once */
	uint64_t entries;
	bool is_partial; /* there is more */
};
/* Counts the folder or file until the deadline. Call it in a child: it may take long. */
MUST_CHECK int measure_tree(int folder, const char *name, int64_t deadline,
                            struct disk_measure *ret, struct error *err);
/* Counts what belongs to this sandbox, snapshot or volume alone; ERROR_NOT_FOUND when it does not
 * exist. Call it in a child, too. */
MUST_CHECK int measure_object(const struct host *host, enum broker_measured_kind kind,
                              const char *id, int64_t deadline, struct disk_measure *ret,
                              struct error *err);
