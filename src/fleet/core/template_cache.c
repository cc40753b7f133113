/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/template_cache.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/thread.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"

#define NAME_KEY_SIZE 256
#define ENTRIES_MAX 1024

struct template_cache {
	pthread_mutex_t mutex; /* guards all of this */
	pthread_cond_t moved;  /* a template has changed */
	struct map ready;      /* "PROJECT/NAME" -> struct template_entry */
	uint64_t generation;   /* counts changes */
};
struct template_entry {
	struct arena arena;
	struct template_record record;
};

struct template_cache *template_cache_new(void)
{
	struct template_cache *c = memory_new(sizeof(*c));

	pthread_mutex_init(&c->mutex, NULL);
	thread_condition_init(&c->moved);
	return c;
}

static void drop_entries(struct template_cache *c)
{
	struct template_entry *entry;
	const char *key;
	size_t at = 0;

	while ((entry = map_next(&c->ready, &at, &key))) {
		arena_done(&entry->arena);
		free(entry);
	}
	map_done(&c->ready);
}

void template_cache_free(struct template_cache *c)
{
	drop_entries(c);
	pthread_cond_destroy(&c->moved);
	pthread_mutex_destroy(&c->mutex);
	free(c);
}

/* Templates change so seldom that one change empties the cache. */
void templates_changed(struct fleet *f)
{
	struct template_cache *c = f->templates;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	c->generation++;
	drop_entries(c);
	pthread_cond_broadcast(&c->moved);
}

uint64_t template_cache_generation(struct template_cache *c)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	return c->generation;
}

bool template_cache_wait(struct template_cache *c, uint64_t generation, int64_t deadline)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	while (c->generation == generation && clock_monotonic_ms() < deadline)
		thread_wait(&c->moved, &c->mutex, deadline);
	return c->generation != generation;
}

static void template_copy(struct arena *a, const struct template_record *from,
                          struct template_record *ret)
{
	*ret = *from;
	template_record_own(a, ret);
}

static bool find_cached(struct template_cache *c, struct arena *a, const char *key,
                        struct template_record *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	const struct template_entry *entry = map_find(&c->ready, key);

	if (entry)
		template_copy(a, &entry->record, ret);
	return entry != NULL;
}

/* `generation`: before the record was read; what has changed since is not kept. */
static void cache_template(struct template_cache *c, const char *key,
                           const struct template_record *t, uint64_t generation)
{
	struct template_entry *entry = memory_new(sizeof(*entry)), *old = entry;

	template_copy(&entry->arena, t, &entry->record);
	pthread_mutex_lock(&c->mutex);
	if (c->generation == generation &&
	    (c->ready.count < ENTRIES_MAX || map_find(&c->ready, key)))
		old = map_put(&c->ready, key, entry);
	pthread_mutex_unlock(&c->mutex);
	if (old) {
		arena_done(&old->arena);
		free(old);
	}
}

int template_find(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                  struct template_record *ret, struct error *err)
{
	uint64_t generation = template_cache_generation(f->templates);
	char name[NAME_KEY_SIZE];
	int size = snprintf(name, sizeof(name), "%s/%s", ref->project_id ? ref->project_id : "",
	                    ref->id_or_name);
	bool fits = size > 0 && size < NAME_KEY_SIZE;

	if (fits && find_cached(f->templates, a, name, ret))
		return 0;
	if (store_template_find(f->store, a, ref->project_id, ref->id_or_name, ret, err) < 0)
		return -1;
	if (fits && ret->state == TEMPLATE_READY)
		cache_template(f->templates, name, ret, generation);
	return 0;
}
