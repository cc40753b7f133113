/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/sandbox/fork.h — what is done with the files of snapshots: restore, reset, fork. The rules
 * of lifecycle.h apply. */
#pragma once

#include "fleet/core/sandboxes.h"
#include "store/sandbox_record.h"
#include "store/snapshots.h"
#include "store/volumes.h"

struct fleet;

/* Restores the files of the sandbox that the snapshot was taken of; a started sandbox is stopped
 * for that and started again. ERROR_CONFLICT if the sandbox is deleted. */
MUST_CHECK int fleet_snapshot_restore(struct fleet *fleet, struct arena *a,
                                      const struct fleet_ref *ref, struct sandbox_record *ret,
                                      struct error *err);

/* fleet_snapshot_restore, or a new sandbox with the files of the snapshot: on request, or if its
 * own sandbox is deleted. */
struct fleet_restore {
	bool is_new;
	const char *name;    /* of a new sandbox; NULL: generated */
	const char *key_id;  /* API key of the caller; NULL: none */
	const char *user_id; /* as in fleet_create */
};
struct fleet_restored {
	struct sandbox_record sandbox;
	bool is_new;
};
MUST_CHECK int fleet_snapshot_restore_as(struct fleet *fleet, struct arena *a,
                                         const struct fleet_ref *ref,
                                         const struct fleet_restore *request,
                                         struct fleet_restored *ret, struct error *err);

/* Resets the files to those of the creation and starts the sandbox again with the same id, network
 * and volumes. Its processes are killed, without a hook. */
MUST_CHECK int fleet_reset(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                           struct sandbox_record *ret, struct error *err);

#define FLEET_FORK_MAX 100
struct fleet_fork {
	const char *name;    /* NULL: generated; of several forks: NAME-1, NAME-2 … */
	unsigned count;      /* 1..FLEET_FORK_MAX */
	const char *key_id;  /* API key of the caller; NULL: none */
	const char *user_id; /* as in fleet_create */
	int64_t timeout_ms;  /* of the forks; 0 = none */
	bool memory;         /* the forks continue with the processes of the sandbox */
};
struct fleet_forked {
	struct snapshot_record snapshot;
	struct sandbox_record *sandboxes; /* in the arena */
	unsigned count;
	struct mount_list mounts;   /* volumes that each fork has, too */
	struct mount_list left_out; /* volumes that only the source has */
};
/* Takes a snapshot and creates sandboxes from it with the same limits, environment, labels, network
 * and read-only volumes. If one cannot be created, the others and the snapshot are removed. */
MUST_CHECK int fleet_fork(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          const struct fleet_fork *request, struct fleet_forked *ret,
                          struct error *err);
