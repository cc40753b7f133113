/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/snapshot.h — what the other files of this folder need of snapshot.c. Private to it. */
#pragma once

#include "fleet/parts.h"
#include "fleet/snapshots.h"

struct snapshot_record;

/* Which snapshot a request means, and the template that it needs. */
MUST_CHECK int snapshot_resolve(struct fleet *f, struct arena *a,
                                const struct fleet_create *request, const char **ret_id,
                                const char **ret_template, struct error *err);
/* One that this server has, and is whole. */
MUST_CHECK int snapshot_find_ready(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                                   struct snapshot_record *ret, struct error *err);
/* What can be refused before anything is done: a name (NULL = none); the state of its sandbox. */
MUST_CHECK int snapshot_check_request(const struct fleet *f, const char *name, struct error *err);
MUST_CHECK int snapshot_check_state(const struct sandbox_record *r, struct error *err);
/* From its row to its files. A failure leaves neither. */
MUST_CHECK int snapshot_take(struct operation *op, const struct fleet_snapshot *request,
                             struct snapshot_record *ret, struct error *err);
/* Removes it from the provider, and then its row. */
MUST_CHECK int snapshot_drop(struct fleet *f, const char *id, struct error *err);
/* Finishes what nobody finished, and removes what no row knows. At boot (then nobody is at work)
 * and now and then. */
MUST_CHECK int snapshots_sweep(struct fleet *f, bool at_boot, struct error *err);
/* One that is whole, and here. */
MUST_CHECK int snapshot_find_ready(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                                   struct snapshot_record *ret, struct error *err);
/* A row in MAKING, within the project's number of them. */
MUST_CHECK int snapshot_insert(struct fleet *f, const struct snapshot_record *r, struct error *err);
/* Removes it from the provider, and then its row. */
MUST_CHECK int snapshot_drop(struct fleet *f, const char *id, struct error *err);
/* fork.c: a request for another sandbox like this one, with all that its row has but its name, its
 * times and its volumes. */
MUST_CHECK int request_like_sandbox(struct arena *a, const struct sandbox_record *r,
                                    struct fleet_create *ret, struct error *err);
