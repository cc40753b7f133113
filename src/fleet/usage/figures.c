/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/usage/figures.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/map.h"
#include "base/thread.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"
#include "store/sandboxes.h"

#define STATES "{\"started\":true,\"paused\":true}"
/* A sample is dropped when nobody has asked for it for so long. */
#define KEPT_MS (60 * INT64_C(1000))
/* Sandboxes above this number are sampled by each caller anew. */
#define SAMPLES_MAX 8192
#define TOLERANCE_MS 200

struct figure_sample {
	int64_t at; /* monotonic ms */
	struct provider_stats stats;
	double cpu_percent;
};

struct figure_samples {
	pthread_mutex_t mutex;
	struct map samples; /* id -> struct figure_sample */
	int64_t swept_at;
};

struct figure_samples *figure_samples_new(void)
{
	struct figure_samples *s = memory_new(sizeof(*s));

	pthread_mutex_init(&s->mutex, NULL);
	return s;
}

void figure_samples_free(struct figure_samples *s)
{
	map_free_values(&s->samples);
	pthread_mutex_destroy(&s->mutex);
	free(s);
}

/* With the mutex. The map must not change while it is walked. */
static const char *find_unused(const struct figure_samples *s, int64_t before)
{
	const struct figure_sample *sample;
	const char *id;
	size_t at = 0;

	while ((sample = map_next(&s->samples, &at, &id)))
		if (sample->at < before)
			return id;
	return NULL;
}

static void drop_unused(struct figure_samples *s, int64_t now)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);
	char id[ID_SIZE + 1];
	const char *unused;

	if (now - s->swept_at < KEPT_MS)
		return;
	s->swept_at = now;
	while ((unused = find_unused(s, now - KEPT_MS))) {
		memcpy(id, unused, strnlen(unused, ID_SIZE) + 1);
		free(map_remove(&s->samples, id));
	}
}

static bool find_fresh(struct figure_samples *s, const char *id, int64_t now,
                       struct figure_sample *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);
	const struct figure_sample *sample = map_find(&s->samples, id);

	/* A caller's period is never exact. */
	if (!sample || now - sample->at >= FLEET_FIGURES_EVERY_MS - TOLERANCE_MS)
		return false;
	*ret = *sample;
	return true;
}

/* The counter restarts with each start of the sandbox. */
static double figure_load(const struct provider_stats *s, const struct provider_stats *before)
{
	uint64_t used_us = s->cpu_usage_us;
	int64_t took_ms = s->uptime_ms;

	if (before && before->cpu_usage_us <= used_us &&
	    s->sampled_unix_ms > before->sampled_unix_ms && before->uptime_ms <= s->uptime_ms) {
		used_us -= before->cpu_usage_us;
		took_ms = s->sampled_unix_ms - before->sampled_unix_ms;
	}
	return took_ms > 0 ? (double)used_us / 10.0 / (double)took_ms : 0;
}

static void keep_figure(struct figure_samples *s, const char *id, struct figure_sample *sample)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&s->mutex);
	struct figure_sample *kept = map_find(&s->samples, id);

	sample->cpu_percent = figure_load(&sample->stats, kept ? &kept->stats : NULL);
	if (!kept && s->samples.count < SAMPLES_MAX) {
		kept = memory_new(sizeof(*kept));
		map_put(&s->samples, id, kept);
	}
	if (kept)
		*kept = *sample;
}

/* 1 when the sandbox has ended meanwhile. */
static int sample_figure(struct fleet *f, const struct sandbox_record *r, struct figure_sample *ret,
                         struct error *err)
{
	struct provider *p = sandbox_provider(f, r);
	struct error own = {0};

	*ret = (struct figure_sample){.at = clock_monotonic_ms()};
	if (find_fresh(f->figures, r->id, ret->at, ret))
		return 0;
	if (!p || !(provider_ops_of(p)->abilities & PROVIDER_CAN_STATS))
		return 1;
	if (provider_ops_of(p)->stats(p, r->id, &ret->stats, &own) == 0) {
		keep_figure(f->figures, r->id, ret);
		return 0;
	}
	if (own.code != ERROR_UNAVAILABLE && own.code != ERROR_TIMEOUT)
		return 1;
	*err = own;
	return -1;
}

static bool is_asked(const char *const *ids, const struct sandbox_record *r)
{
	if (!ids)
		return true;
	for (; *ids; ids++)
		if (strcmp(*ids, r->id) == 0 || strcmp(*ids, r->name) == 0)
			return true;
	return false;
}

static int add_figures(struct fleet *f, const struct fleet_figures_query *query,
                       const struct sandbox_list *rows, struct fleet_figures *ret,
                       struct error *err)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct sandbox_record *r = &rows->items[i];
		struct figure_sample sample;
		int result;

		if (!sandbox_is_local(f, r) || !is_asked(query->ids, r))
			continue;
		result = sample_figure(f, r, &sample, err);
		if (result < 0)
			return -1;
		if (result == 0)
			ret->items[ret->count++] = (struct fleet_figure){
			        r->id, r->name, r->actual, sample.stats, sample.cpu_percent};
	}
	return 0;
}

int fleet_figures(struct fleet *fleet, struct arena *a, const struct fleet_figures_query *query,
                  struct fleet_figures *ret, struct error *err)
{
	const struct sandbox_filter filter = {
	        .project_id = query->project_id,
	        .state = -1,
	        .states = STATES,
	        .node = fleet->node,
	        .page = query->page,
	        .limit = query->limit,
	        .with_builds = true,
	};
	struct fleet_figures figures = {.count = 0};
	struct sandbox_list rows;

	if (provider_require(fleet->provider, PROVIDER_CAN_STATS, err) < 0 ||
	    store_sandbox_list(fleet->store, a, &filter, &rows, err) < 0)
		return -1;
	drop_unused(fleet->figures, clock_monotonic_ms());
	figures.items = ARENA_ARRAY(a, struct fleet_figure, rows.count + 1);
	figures.next_page = rows.next_page;
	if (add_figures(fleet, query, &rows, &figures, err) < 0)
		return -1;
	*ret = figures;
	return 0;
}
