/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/preparer.h"

#include "fleet/core/fleet_state.h"

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
