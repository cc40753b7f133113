/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/snapshot/snapshots.h — snapshots of a sandbox's files: take, find, remove. The
 * rules of fleet.h apply. */
#pragma once

#include "fleet/core/sandboxes.h"
#include "store/snapshots.h"

struct arena;
struct error;
struct fleet;

/* Of a stopped sandbox, or of a started one, whose processes are frozen meanwhile. */
struct fleet_snapshot {
	const char *name; /* NULL: its id */
	bool sync;        /* return when it is on disk */
	bool is_fork;     /* does not wait until its files are counted */
	enum snapshot_kind kind;
	bool memory; /* with its processes; the provider must be able to keep memory */
};
MUST_CHECK int fleet_snapshot(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                              const struct fleet_snapshot *request, struct snapshot_record *ret,
                              struct error *err);
MUST_CHECK int fleet_snapshot_find(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *ref, struct snapshot_record *ret,
                                   struct error *err);
/* Sandboxes and snapshots on top of it continue. Succeeds if it is being removed already. */
MUST_CHECK int fleet_snapshot_remove(struct fleet *fleet, struct arena *a,
                                     const struct fleet_ref *ref, struct error *err);
