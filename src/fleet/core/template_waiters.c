/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/template_waiters.h"

#include <pthread.h>
#include <string.h>

#include "base/thread.h"
#include "fleet/core/background_work.h"
#include "fleet/core/fleet_state.h"

uint64_t template_waiters_wakes(struct fleet *f)
{
	struct background_work *work = f->background;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&work->mutex);

	return work->wakes;
}

bool template_waiters_add(struct fleet *f, struct template_waiter *waiter, uint64_t wakes)
{
	struct background_work *work = f->background;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&work->mutex);
	bool waits = work->wakes == wakes;

	if (waits)
		list_append(&work->waiters, &waiter->item);
	return waits;
}

void template_waiters_add_for_tick(struct fleet *f, struct template_waiter *waiter)
{
	struct background_work *work = f->background;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&work->mutex);

	list_append(&work->waiters, &waiter->item);
}

/* With the mutex held: takes the waiters for this template (NULL: for any) off the list. */
static void take_waiters(struct background_work *work, const char *template_id, struct list *ret)
{
	LIST_EACH (&work->waiters, struct template_waiter, waiter, item) {
		if (template_id && strcmp(waiter->template_id, template_id) != 0)
			continue;
		list_remove(&waiter->item);
		list_append(ret, &waiter->item);
	}
}

/* Tasks for which no worker has room wait for the next tick. */
void template_waiters_wake(struct fleet *f, const char *template_id)
{
	struct background_work *work = f->background;
	struct list woken;
	struct error err = {0};

	list_init(&woken);
	pthread_mutex_lock(&work->mutex);
	work->wakes++;
	if (!work->is_ending)
		take_waiters(work, template_id, &woken);
	LIST_EACH (&woken, struct template_waiter, waiter, item) {
		list_remove(&waiter->item);
		if (worker_submit(f->workers, &waiter->task, &err) < 0)
			list_append(&work->waiters, &waiter->item);
	}
	pthread_mutex_unlock(&work->mutex);
}

void template_waiters_close(struct fleet *f)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->background->mutex);

	f->background->is_ending = true;
}

void template_waiters_take(struct fleet *f, struct list *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->background->mutex);

	take_waiters(f->background, NULL, ret);
}
