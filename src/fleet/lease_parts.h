/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lease_parts.h — what the files about leases share. Private to this folder.
 *
 * lease.c: from a key to its sandbox. lease_calls.c: the other calls. lease_tick.c: what nobody
 * finished. leases_in_flight.h: who of this process is at it. */
#pragma once

#include "fleet/lease.h"
#include "fleet/parts.h"

/* A lease whose sandbox is being made. The claim is written with the sandbox's row, and the lease
 * is ready with its start: a commit each instead of two. */
struct lease_claim {
	struct lease_record lease; /* as it is to be written, or was */
	bool is_made, is_finished;
	bool is_lost; /* to somebody else, before it was made or before it was finished */
};
/* For who writes the rows: what came of it. */
void lease_claimed(struct lease_claim *claim, bool has_failed, bool is_lost);
const struct lease_record *lease_to_finish(struct lease_claim *claim);
void lease_finished(struct lease_claim *claim, bool is_lost);

/* A compare-and-set that loses this often is not losing to others. */
#define LEASE_TRIES 64

/* As fleet_lease_acquire; the sandbox is held, unless it is another server's: ret_hold->fleet is
 * NULL then. */
MUST_CHECK int lease_open(struct fleet *f, struct arena *a, const struct fleet_lease *request,
                          struct fleet_leased *ret, struct fleet_hold *ret_hold, struct error *err);
/* Whether a reset of the lease's sandbox gives what `make` would: else another one is made. A lease
 * of another server's, or of a sandbox that is not there, is none. */
bool lease_can_reset(struct fleet *f, struct arena *a, const struct lease_record *lease,
                     const struct fleet_create *make);
/* What a row becomes when its sandbox is not its sandbox any more: compare and set. */
MUST_CHECK int lease_empty(struct fleet *f, const struct lease_record *r, struct error *err);
/* The server's own labels of a lease's sandbox: those given, and its key. */
struct json_map lease_labels(struct arena *a, const struct json_map *given, const char *key);
/* Ends what is counted as in use. */
void lease_end_use(struct lease_record *r);
/* Deletes a sandbox that was a lease's. `is_known`: no maker can come with it any more. */
void lease_drop_sandbox(struct fleet *f, const char *project_id, const char *id, bool is_known);
