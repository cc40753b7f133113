/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/snapshot/snapshot.h — snapshots, for the other files of this folder. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct arena;
struct error;
struct fleet;
struct fleet_ref;
struct fleet_snapshot;
struct operation;
struct sandbox_record;
struct snapshot_record;

/* A snapshot in READY that belongs to this server. */
MUST_CHECK int snapshot_find_ready(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                                   struct snapshot_record *ret, struct error *err);
/* Requires an ability (enum provider_ability) of the provider that took it: its layers may be files
 * for that kind of provider alone. */
MUST_CHECK int snapshot_require(const struct fleet *f, const struct snapshot_record *r,
                                unsigned ability, struct error *err);
/* Checks that need no snapshot: the name (NULL: none), and the state of the sandbox. */
MUST_CHECK int snapshot_check_request(const struct fleet *f, const char *name, struct error *err);
MUST_CHECK int snapshot_check_state(const struct sandbox_record *r, struct error *err);
/* Inserts the row and takes the snapshot. A failure leaves neither. */
MUST_CHECK int snapshot_take(struct operation *op, const struct fleet_snapshot *request,
                             struct snapshot_record *ret, struct error *err);
/* Inserts a row in MAKING, within the project's number of snapshots. */
MUST_CHECK int snapshot_insert(struct fleet *f, const struct snapshot_record *r, struct error *err);
/* Removes the snapshot from the provider, then its row. */
MUST_CHECK int snapshot_drop(struct fleet *f, const char *id, struct error *err);
/* Of the tick. With `at_boot` no other thread works on a snapshot. Each minute. */
MUST_CHECK int snapshots_sweep(struct fleet *f, bool at_boot, struct error *err);
