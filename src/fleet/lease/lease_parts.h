/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lease/lease_parts.h — leases, for the other files of this folder. lease.c: from a key to
 * its sandbox. lease_calls.c: the other calls. lease_tick.c: repair. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/core/fleet_state.h"

struct fleet_create;
struct json_map;
struct lease_record;

/* A compare-and-set that fails this often has another reason than concurrent changes. */
#define LEASE_TRIES 64

/* Whether a reset of the lease's sandbox leads to what `make` asks for; else a new sandbox is
 * created. False for a sandbox of another server and for a missing sandbox. */
bool lease_can_reset(struct fleet *f, struct arena *a, const struct lease_record *lease,
                     const struct fleet_create *make);
/* Compare and set: the row has no sandbox any more. */
MUST_CHECK int lease_empty(struct fleet *f, const struct lease_record *r, struct error *err);
/* The server's own labels of the sandbox of a lease: the given ones and its key. */
struct json_map lease_labels(struct arena *a, const struct json_map *given, const char *key);
/* The lease is no longer counted as in use. */
void lease_end_use(struct lease_record *r);
/* Deletes a sandbox that the lease had. `is_known`: no creator can come with it any more. */
void lease_drop_sandbox(struct fleet *f, const char *project_id, const char *id, bool is_known);
/* Deletes a sandbox whose claim is older than its lease, which has another sandbox by now. False:
 * it is not such a sandbox. */
bool lease_sweep(struct fleet *f, const char *sandbox_id, int64_t epoch);
/* Of the tick, and at boot: repairs leases whose creator or sandbox is gone and deletes sandboxes
 * that no lease uses. */
MUST_CHECK int leases_reconcile(struct fleet *f, struct error *err);
/* Each second: repairs claims of leases that were abandoned. */
void leases_repair_claims(struct fleet *f);
