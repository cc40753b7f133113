/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/snapshots.h — states of a sandbox's files: taken, forked, gone back to, compared. Part of
 * the fleet: the rules of fleet.h hold. */
#pragma once

#include "fleet/fleet.h"
#include "store/snapshots.h"
#include "store/volumes.h"

/* Of a sandbox that is started (its processes stand still meanwhile, and go on) or stopped. */
struct fleet_snapshot {
	const char *name; /* NULL = its id */
	bool sync;        /* return when it has come to the disk */
	bool is_fork;     /* it must not wait until its files are counted */
	enum snapshot_kind kind;
	bool memory; /* with its processes: refused, saying why */
};
MUST_CHECK int fleet_snapshot(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                              const struct fleet_snapshot *request, struct snapshot_record *ret,
                              struct error *err);
MUST_CHECK int fleet_snapshot_find(struct fleet *fleet, struct arena *a,
                                   const struct fleet_ref *ref, struct snapshot_record *ret,
                                   struct error *err);
/* Sandboxes and snapshots that lie on it go on. Fine on one that is being removed. */
MUST_CHECK int fleet_snapshot_remove(struct fleet *fleet, struct arena *a,
                                     const struct fleet_ref *ref, struct error *err);
/* Its own sandbox gets its files back as they were then; when it was started it is stopped for that
 * and started again. ERROR_CONFLICT when that is deleted. */
MUST_CHECK int fleet_snapshot_restore(struct fleet *fleet, struct arena *a,
                                      const struct fleet_ref *ref, struct sandbox_record *ret,
                                      struct error *err);

/* The same, or a new sandbox with its files, as its template says: when its own is deleted, or when
 * one is asked for. */
struct fleet_restore {
	bool is_new;
	const char *name;   /* of a new one; NULL = generated */
	const char *key_id; /* the caller's; NULL = none */
};
struct fleet_restored {
	struct sandbox_record sandbox;
	bool is_new;
};
MUST_CHECK int fleet_snapshot_restore_as(struct fleet *fleet, struct arena *a,
                                         const struct fleet_ref *ref,
                                         const struct fleet_restore *request,
                                         struct fleet_restored *ret, struct error *err);

/* Its files become those that it was made with, and it is started: same id, same network, same
 * volumes; what ran in it is killed, without a hook. */
MUST_CHECK int fleet_reset(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                           struct sandbox_record *ret, struct error *err);

#define FLEET_FORK_MAX 100
struct fleet_fork {
	const char *name;   /* NULL = generated; of several: NAME-1, NAME-2 … */
	unsigned count;     /* 1..FLEET_FORK_MAX */
	const char *key_id; /* the caller's; NULL = none */
	int64_t timeout_ms; /* theirs; 0 = none */
};
struct fleet_forked {
	struct snapshot_record snapshot;
	struct sandbox_record *sandboxes; /* in the arena */
	unsigned count;
	struct mount_list mounts, left_out; /* of the first one's volumes: that each has, and not */
};
/* A snapshot, and sandboxes made of it that are as theirs is in all else: limits, environment,
 * labels, network, the volumes that it only reads. When one cannot be made, the others and the
 * snapshot go again. */
MUST_CHECK int fleet_fork(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          const struct fleet_fork *request, struct fleet_forked *ret,
                          struct error *err);
