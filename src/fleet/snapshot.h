/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/snapshot.h — what the other files of this folder need of snapshot.c. Private to it. */
#pragma once

#include "fleet/parts.h"

struct snapshot_record;

/* Which snapshot a request means, and the template that it needs. */
MUST_CHECK int snapshot_resolve(struct fleet *f, struct arena *a,
                                const struct fleet_create *request, const char **ret_id,
                                const char **ret_template, struct error *err);
/* One that this server has, and is whole. */
MUST_CHECK int snapshot_find_ready(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                                   struct snapshot_record *ret, struct error *err);
/* Finishes what nobody finished, and removes what no row knows. At boot (then nobody is at work)
 * and now and then. */
MUST_CHECK int snapshots_sweep(struct fleet *f, bool at_boot, struct error *err);
