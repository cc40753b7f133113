/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/volume/mounts.h — the volumes that a sandbox has. Changes of a running sandbox are in
 * attach.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct fleet;
struct fleet_awaited;
struct fleet_ref;
struct mount_list;
struct operation;
struct volume_record;

/* A volume in READY that belongs to this server. */
MUST_CHECK int mounts_find_volume(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                                  struct volume_record *ret, struct error *err);
/* Checks all mounts of one sandbox together. */
MUST_CHECK int mounts_check(struct arena *a, const struct mount_list *list, struct error *err);
/* Sorts by volume, so that two calls claim the same volumes in the same order. */
void mounts_sort(struct mount_list *list);
/* Ends the browser of a volume that this sandbox takes. Call it after the row of the mount is
 * written: from then on no browser of it can be opened for writing. */
MUST_CHECK int mounts_end_browsing(struct operation *op, const char *volume_id, struct error *err);
/* After a conflict: waits for the delete of the sandbox that has one of the volumes, or for its
 * detach. False: neither is under way, and the conflict stands. With `awaited` it waits 200 ms at
 * most; then it returns false, and the conflict in `err` awaits that sandbox. */
bool mounts_wait(struct fleet *f, const struct mount_list *mounts,
                 const struct fleet_awaited *awaited, struct error *err);
/* For a call that may park: begins operations on the volumes of a sandbox that is about to start,
 * until mounts_take or operation_end. While another call uses one, it fails with an error that
 * awaits them; while files of one are transferred, it does so for BROWSER_CLOSE_MS. `mounts`: at
 * least one, sorted by volume id. */
MUST_CHECK int mounts_reserve(struct operation *op, const struct mount_list *mounts,
                              const struct fleet_awaited *awaited, struct error *err);
/* mounts_reserve for the volumes of a stopped sandbox; fine if it has none. */
MUST_CHECK int mounts_reserve_own(struct operation *op, const struct fleet_awaited *awaited,
                                  struct error *err);
/* Sets op->mounts of a sandbox that is about to start, and ends the browsers of these volumes:
 * mounts_load from the store, mounts_take from the given list. */
MUST_CHECK int mounts_load(struct operation *op, struct error *err);
MUST_CHECK int mounts_take(struct operation *op, const struct mount_list *mounts,
                           struct error *err);

/* With `at_boot` no other thread works on a volume. Each minute. */
MUST_CHECK int volumes_reconcile(struct fleet *f, bool at_boot, struct error *err);
MUST_CHECK int mounts_reconcile(struct fleet *f, struct error *err);
