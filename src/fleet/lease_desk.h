/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lease_desk.h — who in this process makes which lease's sandbox, and who waits. Private to
 * this folder.
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

struct lease_desk {
	pthread_mutex_t mutex; /* over all of this */
	pthread_cond_t changed;
	uint64_t generation;           /* counts changes */
	struct map making;             /* "PROJECT/KEY" */
	unsigned waiting, waiting_max; /* for other processes */
};
void lease_desk_init(struct lease_desk *desk, unsigned waiting_max);
void lease_desk_done(struct lease_desk *desk);

/* "PROJECT/KEY" */
const char *lease_name(struct arena *a, const struct lease_ref *ref);
/* False when somebody of this process is making it already. */
bool lease_desk_enter(struct lease_desk *desk, const char *name);
void lease_desk_leave(struct lease_desk *desk, const char *name);
bool lease_desk_has(struct lease_desk *desk, const char *name);
/* Wakes those who wait: some lease has changed. */
void lease_desk_tell(struct lease_desk *desk);
uint64_t lease_desk_generation(struct lease_desk *desk);
struct lease_wait {
	const char *name;
	uint64_t generation; /* waits for a change since this one */
	int64_t until;       /* monotonic ms */
};
/* Waits, but fails with ERROR_UNAVAILABLE when too many threads wait for other processes. */
MUST_CHECK int lease_desk_wait(struct lease_desk *desk, const struct lease_wait *wait,
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
MUST_CHECK int leases_settle(struct fleet *f, struct error *err);
