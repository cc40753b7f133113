/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/usage/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/map.h"
#include "base/thread.h"
#include "config/config.h"
#include "fleet/core/cache.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"
#include "fleet/usage/samples.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"

#define RING_FIRST 8
#define FRESH_MS 1000
/* Least time that the samples of a sandbox are kept after its last one. */
#define KEPT_MS (3600 * INT64_C(1000))

/* A history takes 14 KB; sandboxes above this number have none. */
#define SAMPLED_SANDBOXES_MAX 4096

struct sandbox_samples {
	pthread_mutex_t mutex;
	struct map rings; /* id -> struct sample_ring */
	int64_t round_at; /* monotonic; of the ticking thread */
	bool is_sampling; /* this round takes samples; of the ticking thread */
};

/* The newest samples of one sandbox. */
struct sample_ring {
	struct fleet_sample *items;
	unsigned capacity, count;
	unsigned next; /* where the next one goes, once it is full */
	uint64_t memory_limit_bytes, disk_limit_bytes;
};

struct sandbox_samples *samples_new(void)
{
	struct sandbox_samples *s = memory_new(sizeof(*s));

	pthread_mutex_init(&s->mutex, NULL);
	s->round_at = INT64_MIN / 2;
	return s;
}

static void sample_ring_free(struct sample_ring *ring)
{
	free(ring->items);
	free(ring);
}

void samples_free(struct sandbox_samples *s)
{
	const char *id;
	size_t at = 0;
	struct sample_ring *ring;

	while ((ring = map_next(&s->rings, &at, &id)))
		sample_ring_free(ring);
	map_done(&s->rings);
	pthread_mutex_destroy(&s->mutex);
	free(s);
}

static const struct fleet_sample *ring_sample(const struct sample_ring *ring, unsigned i)
{
	return &ring->items[(ring->next + i) % ring->count];
}

/* The ring is not empty, as is every ring in the map. */
static const struct fleet_sample *ring_last(const struct sample_ring *ring)
{
	return ring_sample(ring, ring->count - 1);
}

static void ring_add(struct sample_ring *ring, const struct fleet_sample *sample)
{
	if (ring->count == FLEET_HISTORY_MAX) {
		ring->items[ring->next] = *sample;
		ring->next = (ring->next + 1) % FLEET_HISTORY_MAX;
		return;
	}
	if (ring->count == ring->capacity) {
		ring->capacity = ring->capacity ? 2 * ring->capacity : RING_FIRST;
		if (ring->capacity > FLEET_HISTORY_MAX)
			ring->capacity = FLEET_HISTORY_MAX;
		ring->items = realloc(ring->items, ring->capacity * sizeof(*ring->items));
		if (!ring->items)
			abort();
	}
	ring->items[ring->count++] = *sample;
}

/* The counter restarts with each start of the sandbox. */
static float load_of(const struct provider_stats *s, const struct fleet_sample *before)
{
	uint64_t used_us = s->cpu_usage_us;
	int64_t took_ms = s->uptime_ms;

	if (before && before->cpu_us <= used_us && s->sampled_unix_ms > before->at) {
		used_us -= before->cpu_us;
		took_ms = s->sampled_unix_ms - before->at;
	}
	return took_ms > 0 ? (float)((double)used_us / 10.0 / (double)took_ms) : 0;
}

static struct fleet_sample sample_of(const struct provider_stats *s,
                                     const struct fleet_sample *before)
{
	return (struct fleet_sample){
	        .at = s->sampled_unix_ms,
	        .cpu_us = s->cpu_usage_us,
	        .memory_bytes = s->memory_bytes,
	        .disk_bytes = s->disk_bytes,
	        .network_in_bytes = s->network_in_bytes,
	        .network_out_bytes = s->network_out_bytes,
	        .pids = s->pids > UINT32_MAX ? UINT32_MAX : (uint32_t)s->pids,
	        .cpu_percent = load_of(s, before),
	};
}

/* With the mutex. The map must not change while it is walked. */
static const char *find_old(const struct sandbox_samples *s, int64_t before)
{
	const char *id;
	size_t at = 0;
	const struct sample_ring *ring;

	while ((ring = map_next(&s->rings, &at, &id)))
		if (ring_last(ring)->at < before)
			return id;
	return NULL;
}

static void forget_old(struct sandbox_samples *s, int64_t before)
{
	char id[ID_SIZE + 1];
	const char *old;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);

	while ((old = find_old(s, before))) {
		memcpy(id, old, strnlen(old, ID_SIZE) + 1);
		sample_ring_free(map_remove(&s->rings, id));
	}
}

void samples_forget(struct fleet *f, const char *id)
{
	struct sandbox_samples *s = f->samples;
	struct sample_ring *ring;

	pthread_mutex_lock(&s->mutex);
	ring = map_remove(&s->rings, id);
	pthread_mutex_unlock(&s->mutex);
	if (ring)
		sample_ring_free(ring);
}

void samples_begin(struct fleet *f)
{
	struct sandbox_samples *s = f->samples;
	int64_t every_ms = f->config->metrics_every_ms, now = clock_monotonic_ms();

	s->is_sampling = every_ms > 0 && now - s->round_at >= every_ms;
	if (!s->is_sampling)
		return;
	s->round_at = now;
	every_ms *= FLEET_HISTORY_MAX;
	forget_old(s, clock_unix_ms() - (every_ms > KEPT_MS ? every_ms : KEPT_MS));
}

/* Keeps nothing for a sandbox that ended during the query: a delete ends it in the cache before it
 * forgets the samples. */
static void keep_sample(struct fleet *f, const char *id, const struct provider_stats *stats)
{
	struct sandbox_samples *s = f->samples;
	struct fleet_sample sample;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);
	struct sample_ring *ring = map_find(&s->rings, id);

	if (!ring && s->rings.count < SAMPLED_SANDBOXES_MAX && cache_is_started(f->cache, id)) {
		ring = memory_new(sizeof(*ring));
		map_put(&s->rings, id, ring);
	}
	if (ring) {
		sample = sample_of(stats, ring->count > 0 ? ring_last(ring) : NULL);
		ring_add(ring, &sample);
		ring->memory_limit_bytes = stats->memory_limit_bytes;
		ring->disk_limit_bytes = stats->disk_limit_bytes;
	}
}

void samples_add(struct fleet *f, const struct sandbox_record *r)
{
	struct provider *p = sandbox_provider(f, r);
	struct provider_stats stats;
	struct error err = {0};

	if (!f->samples->is_sampling || r->actual != SANDBOX_STARTED || !p ||
	    !(provider_ops_of(p)->abilities & PROVIDER_CAN_STATS))
		return;
	if (provider_ops_of(p)->stats(p, r->id, &stats, &err) == 0) {
		keep_sample(f, r->id, &stats);
		return;
	}
	log_debug("no sample", TEXT("sandbox", r->id), FAILURE(&err));
	/* A provider that does not answer would be waited for once per sandbox. */
	if (err.code == ERROR_UNAVAILABLE || err.code == ERROR_TIMEOUT)
		f->samples->is_sampling = false;
}

static bool is_in_period(const struct fleet_period *period, int64_t at)
{
	return at >= period->from && (period->until == 0 || at <= period->until);
}

/* With the mutex; there is room for one more. */
static void copy_period(const struct sample_ring *ring, struct arena *a,
                        const struct fleet_period *period, struct fleet_history *ret)
{
	size_t count = 0;

	for (unsigned i = 0; i < ring->count; i++)
		count += is_in_period(period, ring->items[i].at);
	ret->items = ARENA_ARRAY(a, struct fleet_sample, count + 1);
	for (unsigned i = 0; i < ring->count; i++)
		if (is_in_period(period, ring_sample(ring, i)->at))
			ret->items[ret->count++] = *ring_sample(ring, i);
	ret->memory_limit_bytes = ring->memory_limit_bytes;
	ret->disk_limit_bytes = ring->disk_limit_bytes;
}

/* *ret_last: the newest sample, inside the period or not; its `at` is 0 if there is none. */
static void copy_ring(const struct sample_ring *ring, struct arena *a,
                      const struct fleet_period *period, struct fleet_history *ret,
                      struct fleet_sample *ret_last)
{
	static const struct sample_ring none;

	*ret = (struct fleet_history){.count = 0};
	*ret_last = (struct fleet_sample){.at = 0};
	if (ring)
		*ret_last = *ring_last(ring);
	copy_period(ring ? ring : &none, a, period, ret);
}

/* One second of tolerance for the clock of the caller. */
static bool is_period_open(const struct fleet_period *period, int64_t now)
{
	return period->from <= now + 1000 && (period->until == 0 || period->until >= now);
}

int fleet_history(struct fleet *fleet, struct arena *a, const struct sandbox_record *r,
                  const struct fleet_period *period, struct fleet_history *ret, struct error *err)
{
	int64_t now = clock_unix_ms();
	struct fleet_sample last;
	struct provider_stats stats;

	pthread_mutex_lock(&fleet->samples->mutex);
	copy_ring(map_find(&fleet->samples->rings, r->id), a, period, ret, &last);
	pthread_mutex_unlock(&fleet->samples->mutex);
	if (r->actual != SANDBOX_STARTED || !is_period_open(period, now) ||
	    (ret->count > 0 && now - last.at < FRESH_MS))
		return 0;
	if (fleet_stats(fleet, r, &stats, err) < 0)
		return -1;
	ret->items[ret->count++] = sample_of(&stats, last.at ? &last : NULL);
	ret->memory_limit_bytes = stats.memory_limit_bytes;
	ret->disk_limit_bytes = stats.disk_limit_bytes;
	return 0;
}
