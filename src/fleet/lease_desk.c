/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lease_desk.h"

#include <time.h>

#include "base/clock.h"

void lease_desk_init(struct lease_desk *desk, unsigned waiting_max)
{
	pthread_condattr_t monotonic;

	*desk = (struct lease_desk){.waiting_max = waiting_max};
	pthread_mutex_init(&desk->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&desk->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void lease_desk_done(struct lease_desk *desk)
{
	map_done(&desk->making);
	pthread_cond_destroy(&desk->changed);
	pthread_mutex_destroy(&desk->mutex);
}

const char *lease_name(struct arena *a, const struct lease_ref *ref)
{
	return arena_format(a, "%s/%s", ref->project_id, ref->key);
}

bool lease_desk_enter(struct lease_desk *desk, const char *name)
{
	bool is_free;

	pthread_mutex_lock(&desk->mutex);
	is_free = !map_find(&desk->making, name);
	if (is_free)
		map_put(&desk->making, name, desk);
	pthread_mutex_unlock(&desk->mutex);
	return is_free;
}

static void tell(struct lease_desk *desk)
{
	desk->generation++;
	pthread_cond_broadcast(&desk->changed);
}

void lease_desk_leave(struct lease_desk *desk, const char *name)
{
	pthread_mutex_lock(&desk->mutex);
	map_remove(&desk->making, name);
	tell(desk);
	pthread_mutex_unlock(&desk->mutex);
}

bool lease_desk_has(struct lease_desk *desk, const char *name)
{
	bool has;

	pthread_mutex_lock(&desk->mutex);
	has = map_find(&desk->making, name) != NULL;
	pthread_mutex_unlock(&desk->mutex);
	return has;
}

void lease_desk_tell(struct lease_desk *desk)
{
	pthread_mutex_lock(&desk->mutex);
	tell(desk);
	pthread_mutex_unlock(&desk->mutex);
}

uint64_t lease_desk_generation(struct lease_desk *desk)
{
	uint64_t generation;

	pthread_mutex_lock(&desk->mutex);
	generation = desk->generation;
	pthread_mutex_unlock(&desk->mutex);
	return generation;
}

int lease_desk_wait(struct lease_desk *desk, const struct lease_wait *wait, struct error *err)
{
	const struct timespec until = {.tv_sec = wait->until / 1000,
	                               .tv_nsec = wait->until % 1000 * 1000000};
	bool is_ours;

	pthread_mutex_lock(&desk->mutex);
	/* Who is at it in this process has a thread of his own, and comes to an end. Others may
	 * not: they are not to keep every thread here waiting. */
	is_ours = map_find(&desk->making, wait->name) != NULL;
	if (!is_ours && desk->waiting >= desk->waiting_max) {
		pthread_mutex_unlock(&desk->mutex);
		return FAIL(err, ERROR_UNAVAILABLE,
		            "too many callers wait for leases that others are at");
	}
	desk->waiting += !is_ours;
	while (desk->generation == wait->generation && clock_monotonic_ms() < wait->until)
		pthread_cond_timedwait(&desk->changed, &desk->mutex, &until);
	desk->waiting -= !is_ours;
	pthread_mutex_unlock(&desk->mutex);
	return 0;
}
