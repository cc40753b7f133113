/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/leases_in_flight.h — who in this process makes which lease's sandbox, and who waits.
 * Private to this folder.
 *
 * The store decides who makes one. But who waits is woken here by the others of his process, and
 * of those only one at a time tries. Any thread. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "store/leases.h"

struct leases_in_flight {
	pthread_mutex_t mutex; /* over all of this */
	pthread_cond_t changed;
	uint64_t generation;           /* counts changes */
	struct map making;             /* "PROJECT/KEY" */
	unsigned waiting, waiting_max; /* for other processes */
};
void leases_in_flight_init(struct leases_in_flight *leases, unsigned waiting_max);
void leases_in_flight_done(struct leases_in_flight *leases);

/* "PROJECT/KEY" */
const char *lease_name(struct arena *a, const struct lease_ref *ref);
/* False when somebody of this process is making it already. */
bool leases_in_flight_add(struct leases_in_flight *leases, const char *name);
void leases_in_flight_remove(struct leases_in_flight *leases, const char *name);
bool leases_in_flight_has(struct leases_in_flight *leases, const char *name);
/* Wakes those who wait: some lease has changed. */
void leases_in_flight_announce(struct leases_in_flight *leases);
uint64_t leases_in_flight_generation(struct leases_in_flight *leases);
struct lease_wait {
	const char *name;
	uint64_t generation; /* waits for a change since this one */
	int64_t until;       /* monotonic ms */
};
/* Waits, but fails with ERROR_UNAVAILABLE when too many threads wait for other processes. */
MUST_CHECK int leases_in_flight_wait(struct leases_in_flight *leases, const struct lease_wait *wait,
                                     struct error *err);

/* ---- lease_tick.c ---- */

struct fleet;
struct lease_claim;
/* 0: none. */
int64_t lease_epoch_of(const struct lease_claim *claim);
/* Its claim's epoch is older than its lease's, which has another sandbox: deletes it. False: it is
 * not so. */
bool lease_sweep(struct fleet *f, const char *sandbox_id, int64_t epoch);
/* At boot and every few seconds: leases whose makers or sandboxes have gone, and sandboxes that no
 * lease wants. */
MUST_CHECK int leases_reconcile(struct fleet *f, struct error *err);
