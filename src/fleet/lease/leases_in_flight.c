/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lease/leases_in_flight.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"
#include "store/leases.h"

struct leases_in_flight {
	pthread_mutex_t mutex; /* guards all of this */
	pthread_cond_t changed;
	uint64_t generation;           /* counts changes */
	struct map making;             /* "PROJECT/KEY" */
	unsigned waiting, waiting_max; /* threads that wait for other processes */
};

struct leases_in_flight *leases_in_flight_new(unsigned waiting_max)
{
	struct leases_in_flight *leases = memory_new(sizeof(*leases));

	leases->waiting_max = waiting_max;
	pthread_mutex_init(&leases->mutex, NULL);
	thread_condition_init(&leases->changed);
	return leases;
}

void leases_in_flight_free(struct leases_in_flight *leases)
{
	map_done(&leases->making);
	pthread_cond_destroy(&leases->changed);
	pthread_mutex_destroy(&leases->mutex);
	free(leases);
}

const char *lease_name(struct arena *a, const struct lease_ref *ref)
{
	return arena_format(a, "%s/%s", ref->project_id, ref->key);
}

bool leases_in_flight_add(struct leases_in_flight *leases, const char *name)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&leases->mutex);
	bool is_free = !map_find(&leases->making, name);

	if (is_free)
		map_put(&leases->making, name, leases);
	return is_free;
}

static void announce_change(struct leases_in_flight *leases)
{
	leases->generation++;
	pthread_cond_broadcast(&leases->changed);
}

void leases_in_flight_remove(struct leases_in_flight *leases, const char *name)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&leases->mutex);

	map_remove(&leases->making, name);
	announce_change(leases);
}

bool leases_in_flight_has(struct leases_in_flight *leases, const char *name)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&leases->mutex);

	return map_find(&leases->making, name) != NULL;
}

void leases_in_flight_announce(struct leases_in_flight *leases)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&leases->mutex);

	announce_change(leases);
}

uint64_t leases_in_flight_generation(struct leases_in_flight *leases)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&leases->mutex);

	return leases->generation;
}

int leases_in_flight_wait(struct leases_in_flight *leases, const struct lease_wait *wait,
                          struct error *err)
{
	bool is_ours;

	pthread_mutex_lock(&leases->mutex);
	/* A creator in this process has its own thread and finishes. Creators elsewhere may not:
	 * they must not block all threads here. */
	is_ours = map_find(&leases->making, wait->name) != NULL;
	if (!is_ours && leases->waiting >= leases->waiting_max) {
		pthread_mutex_unlock(&leases->mutex);
		return FAIL(err, ERROR_UNAVAILABLE,
		            "too many callers wait for leases that others are at");
	}
	leases->waiting += !is_ours;
	while (leases->generation == wait->generation && clock_monotonic_ms() < wait->until)
		thread_wait(&leases->changed, &leases->mutex, wait->until);
	leases->waiting -= !is_ours;
	pthread_mutex_unlock(&leases->mutex);
	return 0;
}
