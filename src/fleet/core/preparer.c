/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/preparer.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "fleet/core/fleet_state.h"

struct preparer_slot {
	pthread_rwlock_t lock; /* read: for the time of a call */
	struct fleet_preparer preparer;
};

struct preparer_slot *preparer_slot_new(void)
{
	struct preparer_slot *slot = memory_new(sizeof(*slot));

	(void)pthread_rwlock_init(&slot->lock, NULL);
	return slot;
}

void preparer_slot_free(struct preparer_slot *slot)
{
	(void)pthread_rwlock_destroy(&slot->lock);
	free(slot);
}

void fleet_set_preparer(struct fleet *f, const struct fleet_preparer *preparer)
{
	(void)pthread_rwlock_wrlock(&f->preparer->lock);
	f->preparer->preparer = preparer ? *preparer : (struct fleet_preparer){NULL, NULL};
	(void)pthread_rwlock_unlock(&f->preparer->lock);
}

void preparer_run(struct fleet *f, struct provider *p, const struct sandbox_record *r)
{
	const struct fleet_preparer *preparer = &f->preparer->preparer;

	(void)pthread_rwlock_rdlock(&f->preparer->lock);
	if (preparer->prepare)
		preparer->prepare(preparer->context, p, r);
	(void)pthread_rwlock_unlock(&f->preparer->lock);
}
