/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/preparer.h — work of a folder above the fleet in a sandbox that starts, before its
 * entrypoint and its first command. */
#pragma once

#include <pthread.h>

struct fleet;
struct provider;
struct sandbox_record;

struct fleet_preparer {
	/* Returns within a few seconds, also when the sandbox does not answer. A failure does not
	 * end the start: the preparer tries again later. Any thread. */
	void (*prepare)(void *context, struct provider *p, const struct sandbox_record *r);
	void *context;
};

/* Of the fleet. */
struct preparer_slot {
	pthread_rwlock_t lock; /* read: for the time of a call */
	struct fleet_preparer preparer;
};

/* Replaces the preparer; NULL: none. Returns when no call of the former one runs. */
void fleet_set_preparer(struct fleet *f, const struct fleet_preparer *preparer);

/* Of the start of a sandbox with rules of credentials. */
void preparer_run(struct fleet *f, struct provider *p, const struct sandbox_record *r);
