/* SPDX-License-Identifier: Apache-2.0 */
#include "code/locks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/core/fleet_hold.h"

struct code_contexts {
	pthread_mutex_t mutex; /* protects the members below */
	pthread_cond_t released;
	struct list held;
};

struct code_contexts *code_contexts_new(void)
{
	struct code_contexts *c = memory_new(sizeof(*c));

	(void)pthread_mutex_init(&c->mutex, NULL);
	(void)pthread_cond_init(&c->released, NULL);
	list_init(&c->held);
	return c;
}

void code_contexts_free(struct code_contexts *c)
{
	if (!c)
		return;
	(void)pthread_cond_destroy(&c->released);
	(void)pthread_mutex_destroy(&c->mutex);
	free(c);
}

static bool is_held(const struct code_contexts *c, const struct code_lock *wanted)
{
	LIST_EACH (&c->held, const struct code_lock, lock, item)
		if (lock->process == wanted->process && strcmp(lock->sandbox, wanted->sandbox) == 0)
			return true;
	return false;
}

int code_lock_take(const struct code_at *at, uint64_t process, struct code_lock *ret,
                   struct error *err)
{
	struct code_contexts *c = at->contexts;
	const struct timespec until = deadline_wall_time(at->deadline);
	int waited = 0;

	ret->process = process;
	memcpy(ret->sandbox, at->hold->id, sizeof(ret->sandbox));
	(void)pthread_mutex_lock(&c->mutex);
	while (waited != ETIMEDOUT && is_held(c, ret))
		waited = pthread_cond_timedwait(&c->released, &c->mutex, &until);
	if (!is_held(c, ret)) {
		ret->contexts = c;
		list_append(&c->held, &ret->item);
	}
	(void)pthread_mutex_unlock(&c->mutex);
	return ret->contexts
	               ? 0
	               : FAIL(err, ERROR_TIMEOUT, "the contexts of '%s' are in use by another call",
	                      at->hold->id);
}

void code_unlock(struct code_lock *lock)
{
	struct code_contexts *c = lock->contexts;

	if (!c)
		return;
	(void)pthread_mutex_lock(&c->mutex);
	list_remove(&lock->item);
	(void)pthread_cond_broadcast(&c->released);
	(void)pthread_mutex_unlock(&c->mutex);
}
