/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lease/leases_in_flight.h — leases whose sandbox a thread of this process creates.
 *
 * The store decides which server creates a sandbox. This table wakes waiting threads of the same
 * process at once. It lets only one of them try at a time. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct lease_ref;
struct leases_in_flight;

struct leases_in_flight *leases_in_flight_new(unsigned waiting_max);
void leases_in_flight_free(struct leases_in_flight *leases);

/* "PROJECT/KEY" */
const char *lease_name(struct arena *a, const struct lease_ref *ref);
/* False if a thread of this process creates it already. */
bool leases_in_flight_add(struct leases_in_flight *leases, const char *name);
void leases_in_flight_remove(struct leases_in_flight *leases, const char *name);
bool leases_in_flight_has(struct leases_in_flight *leases, const char *name);
/* Wakes the waiting threads: a lease has changed. */
void leases_in_flight_announce(struct leases_in_flight *leases);
uint64_t leases_in_flight_generation(struct leases_in_flight *leases);
struct lease_wait {
	const char *name;
	uint64_t generation; /* wait for a change after this one */
	int64_t until;       /* monotonic ms */
};
/* ERROR_UNAVAILABLE if too many threads wait for other processes already. */
MUST_CHECK int leases_in_flight_wait(struct leases_in_flight *leases, const struct lease_wait *wait,
                                     struct error *err);
