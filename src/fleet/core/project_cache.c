/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/project_cache.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/thread.h"
#include "fleet/core/fleet_state.h"
#include "store/projects.h"

#define ENTRIES_MAX 1024

struct project_cache {
	pthread_mutex_t mutex; /* guards all of this */
	struct map by_id;      /* struct project_entry */
};
struct project_entry {
	struct arena arena;
	struct project_record record;
};

static void entry_free(struct project_entry *entry)
{
	if (!entry)
		return;
	arena_done(&entry->arena);
	free(entry);
}

static void copy_project(struct arena *a, const struct project_record *from,
                         struct project_record *ret)
{
	*ret = *from;
	ret->id = arena_text(a, from->id);
	ret->name = arena_text(a, from->name);
	ret->organization_id = arena_text(a, from->organization_id);
	ret->provider = arena_text(a, from->provider);
	ret->isolation = arena_text(a, from->isolation);
	ret->source_address = arena_text(a, from->source_address);
}

static struct project_entry *entry_new(const struct project_record *r)
{
	struct project_entry *entry = memory_new(sizeof(*entry));

	copy_project(&entry->arena, r, &entry->record);
	return entry;
}

/* With the mutex held. */
static void drop_entries(struct project_cache *c)
{
	struct project_entry *entry;
	const char *id;
	size_t at = 0;

	while ((entry = map_next(&c->by_id, &at, &id)))
		entry_free(entry);
	map_done(&c->by_id);
}

struct project_cache *project_cache_new(void)
{
	struct project_cache *c = memory_new(sizeof(*c));

	pthread_mutex_init(&c->mutex, NULL);
	return c;
}

void project_cache_free(struct project_cache *c)
{
	drop_entries(c);
	pthread_mutex_destroy(&c->mutex);
	free(c);
}

static bool find_cached(struct project_cache *c, struct arena *a, const char *id,
                        struct project_record *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	const struct project_entry *entry = map_find(&c->by_id, id);

	if (entry)
		copy_project(a, &entry->record, ret);
	return entry != NULL;
}

/* An outdated copy costs its user a second try, which also drops it. */
static void cache_project(struct project_cache *c, const struct project_record *r)
{
	struct project_entry *entry = entry_new(r);

	pthread_mutex_lock(&c->mutex);
	if (c->by_id.count >= ENTRIES_MAX)
		drop_entries(c);
	entry = map_put(&c->by_id, r->id, entry);
	pthread_mutex_unlock(&c->mutex);
	entry_free(entry);
}

int project_find(struct fleet *f, struct arena *a, const char *id, struct project_record *ret,
                 struct error *err)
{
	if (find_cached(f->projects, a, id, ret))
		return 0;
	if (store_project_find(f->store, a, id, ret, err) < 0)
		return -1;
	cache_project(f->projects, ret);
	return 0;
}

void project_forget_all(struct fleet *f)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->projects->mutex);

	drop_entries(f->projects);
}

void project_forget(struct fleet *f, const char *id)
{
	struct project_entry *entry;

	pthread_mutex_lock(&f->projects->mutex);
	entry = map_remove(&f->projects->by_id, id);
	pthread_mutex_unlock(&f->projects->mutex);
	entry_free(entry);
}
