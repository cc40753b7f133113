/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/e2b/announced.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define BUILDS_MAX 256
#define LIFE_MS (3600 * INT64_C(1000))

struct e2b_announced_builds {
	pthread_mutex_t mutex;
	struct e2b_announced_build items[BUILDS_MAX]; /* an empty id: the entry is free */
};

struct e2b_announced_builds *e2b_announced_builds_new(void)
{
	struct e2b_announced_builds *builds = memory_new(sizeof(*builds));

	pthread_mutex_init(&builds->mutex, NULL);
	return builds;
}

void e2b_announced_builds_free(struct e2b_announced_builds *builds)
{
	if (!builds)
		return;
	pthread_mutex_destroy(&builds->mutex);
	free(builds);
}

/* Called with the mutex held. Returns the entry with this id, else the oldest entry. A free entry
 * is the oldest, because its time is 0. */
static struct e2b_announced_build *choose_entry(struct e2b_announced_builds *builds, const char *id)
{
	struct e2b_announced_build *oldest = &builds->items[0];

	for (size_t i = 0; i < BUILDS_MAX; i++) {
		if (strcmp(builds->items[i].id, id) == 0)
			return &builds->items[i];
		if (builds->items[i].made_at < oldest->made_at)
			oldest = &builds->items[i];
	}
	return oldest;
}

void e2b_announced_build_put(struct e2b_announced_builds *builds,
                             const struct e2b_announced_build *build)
{
	pthread_mutex_lock(&builds->mutex);
	*choose_entry(builds, build->id) = *build;
	pthread_mutex_unlock(&builds->mutex);
}

bool e2b_announced_build_find(struct e2b_announced_builds *builds, const char *project_id,
                              const char *id, struct e2b_announced_build *ret)
{
	const struct e2b_announced_build *found;
	bool is_there;

	pthread_mutex_lock(&builds->mutex);
	found = choose_entry(builds, id);
	is_there = strcmp(found->id, id) == 0 && strcmp(found->project_id, project_id) == 0 &&
	           clock_monotonic_ms() - found->made_at < LIFE_MS;
	if (is_there)
		*ret = *found;
	pthread_mutex_unlock(&builds->mutex);
	return is_there;
}
