/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/cache.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "fleet/core/cache_state.h"
#include "fleet/core/meter.h"

#define TOUCH_EVERY_MS 1000
#define NAME_KEY_SIZE 256
/* Limit for meters of freed entries between two reads; above it only the attribution is lost. */
#define ENDED_MAX 100000

void cache_init(struct cache *c)
{

	*c = (struct cache){0};
	pthread_mutex_init(&c->mutex, NULL);
	thread_condition_init(&c->operation_ended);
}

static void cache_entry_free(struct cache_entry *entry)
{
	arena_done(&entry->arena);
	meter_free(entry->meter);
	free(entry);
}

void cache_done(struct cache *c)
{
	const char *id;
	size_t at = 0;
	struct cache_entry *entry;

	while ((entry = map_next(&c->by_id, &at, &id)))
		cache_entry_free(entry);
	while (c->ended) {
		struct meter *meter = c->ended;

		c->ended = meter->next;
		meter_free(meter);
	}
	map_done(&c->by_id);
	map_done(&c->by_name);
	pthread_cond_destroy(&c->operation_ended);
	pthread_mutex_destroy(&c->mutex);
}

void record_copy(struct arena *a, const struct sandbox_record *from, struct sandbox_record *ret)
{
	*ret = *from;
	sandbox_record_own(a, ret);
}

static void copy_defaults(struct arena *a, const struct fleet_defaults *from,
                          struct fleet_defaults *ret)
{
	size_t count = 0;

	while (from->env[count])
		count++;
	ret->env = ARENA_ARRAY(a, const char *, count + 1);
	for (size_t i = 0; i < count; i++)
		ret->env[i] = arena_text(a, from->env[i]);
	ret->user = arena_text(a, from->user);
	ret->workdir = arena_text(a, from->workdir);
}

/* False for a key that is too long: such a sandbox is found through the store. */
static bool name_key(char out[NAME_KEY_SIZE], const char *project_id, const char *name)
{
	int size = snprintf(out, NAME_KEY_SIZE, "%s/%s", project_id, name);

	return size > 0 && size < NAME_KEY_SIZE;
}

static void forget_record(struct cache *c, struct cache_entry *entry)
{
	char key[NAME_KEY_SIZE];

	if (!entry->is_started)
		return;
	if (name_key(key, entry->record.project_id, entry->record.name) &&
	    map_find(&c->by_name, key) == entry)
		map_remove(&c->by_name, key);
	entry->is_started = false;
	entry->defaults = (struct fleet_defaults){0};
	arena_done(&entry->arena);
}

static void remember_record(struct cache *c, struct cache_entry *entry,
                            const struct sandbox_record *r)
{
	char key[NAME_KEY_SIZE];

	assert(!entry->is_started && !entry->arena.blocks);
	record_copy(&entry->arena, r, &entry->record);
	entry->is_started = true;
	if (!entry->meter)
		entry->meter = meter_new(entry->id);
	if (name_key(key, r->project_id, r->name))
		map_put(&c->by_name, key, entry);
}

static struct cache_entry *pin_entry(struct cache *c, const char *id)
{
	struct cache_entry *entry = map_find(&c->by_id, id);

	if (!entry) {
		entry = memory_new(sizeof(*entry));
		snprintf(entry->id, sizeof(entry->id), "%s", id);
		list_init(&entry->waiters);
		map_put(&c->by_id, entry->id, entry);
	}
	entry->references++;
	return entry;
}

/* The meter has not been read yet. */
static void keep_meter(struct cache *c, struct cache_entry *entry)
{
	if (!entry->meter || c->ended_count == ENDED_MAX)
		return;
	entry->meter->next = c->ended;
	c->ended = entry->meter;
	c->ended_count++;
	entry->meter = NULL;
}

static void unpin_entry(struct cache *c, struct cache_entry *entry)
{
	assert(entry->references > 0);
	entry->references--;
	if (entry->references > 0 || entry->is_started)
		return;
	map_remove(&c->by_id, entry->id);
	keep_meter(c, entry);
	cache_entry_free(entry);
}

static bool hold_entry(struct cache *c, struct arena *a, struct cache_entry *entry,
                       struct sandbox_record *ret)
{
	if (!entry->is_started || entry->is_closing)
		return false;
	record_copy(a, &entry->record, ret);
	entry->holds++;
	c->held++;
	return true;
}

struct cache_entry *cache_pin(struct cache *c, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	return pin_entry(c, id);
}

void cache_unpin(struct cache *c, struct cache_entry *entry)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	unpin_entry(c, entry);
}

static bool is_turn(const struct cache_entry *entry, const struct list *turn)
{
	return !entry->has_operation && entry->waiters.next == turn;
}

bool cache_operation_begin(struct cache *c, struct cache_entry *entry, int64_t deadline)
{
	struct list turn;
	bool is_mine;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	assert(entry->references > 0);
	list_append(&entry->waiters, &turn);
	while (!is_turn(entry, &turn) && clock_monotonic_ms() < deadline)
		thread_wait(&c->operation_ended, &c->mutex, deadline);
	is_mine = is_turn(entry, &turn);
	list_remove(&turn);
	if (is_mine) {
		entry->has_operation = true;
		entry->operator= pthread_self();
	}
	return is_mine;
}

bool cache_operation_end(struct cache *c, struct cache_entry *entry)
{
	bool is_called;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	assert(entry->has_operation && pthread_equal(entry->operator, pthread_self()));
	entry->has_operation = false;
	is_called = entry->is_called && !entry->is_started;
	entry->is_called = false;
	pthread_cond_broadcast(&c->operation_ended);
	return is_called;
}

bool cache_is_busy(struct cache *c, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	const struct cache_entry *entry = map_find(&c->by_id, id);

	return entry && (entry->has_operation || entry->is_queued);
}

bool cache_is_started(struct cache *c, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	const struct cache_entry *entry = map_find(&c->by_id, id);

	return entry && entry->is_started;
}

struct cache_entry *cache_take_sleeping(struct cache *c, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	struct cache_entry *entry = map_find(&c->by_id, id);

	if (entry && (entry->has_operation || !list_is_empty(&entry->waiters)))
		entry->is_called = true;
	if (entry && (entry->is_started || entry->has_operation || entry->is_queued ||
	              !list_is_empty(&entry->waiters)))
		entry = NULL;
	if (entry) {
		entry->references++;
		entry->is_queued = true;
	}
	return entry;
}

void cache_set_queued(struct cache *c, struct cache_entry *entry, bool is_queued)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	assert(entry->references > 0);
	entry->is_queued = is_queued;
}

void cache_update(struct cache *c, struct cache_entry *entry, const struct sandbox_record *r)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	assert(entry->references > 0);
	if (r->version > entry->version) {
		forget_record(c, entry);
		entry->version = r->version;
		if (r->actual == SANDBOX_STARTED)
			remember_record(c, entry, r);
	}
}

/* A row of the same version is news again, an older one is not. */
static void forget_copy(struct cache *c, struct cache_entry *entry)
{
	entry->references++;
	forget_record(c, entry);
	entry->version--;
	unpin_entry(c, entry);
}

void cache_forget_rows(struct cache *c,
                       bool (*wants)(void *context, const struct sandbox_record *r), void *context)
{
	AUTO(arena_done) struct arena arena = {0};
	struct cache_entry **found, *entry;
	size_t at = 0, count = 0;
	const char *id;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	found = ARENA_ARRAY(&arena, struct cache_entry *, c->by_id.count + 1);
	while ((entry = map_next(&c->by_id, &at, &id)))
		if (entry->is_started && wants(context, &entry->record))
			found[count++] = entry;
	for (size_t i = 0; i < count; i++)
		forget_copy(c, found[i]);
}

static struct cache_entry *find_started(const struct cache *c, const char *project_id,
                                        const char *id_or_name)
{
	struct cache_entry *entry = map_find(&c->by_id, id_or_name);
	char key[NAME_KEY_SIZE];

	if (!entry && project_id && name_key(key, project_id, id_or_name))
		entry = map_find(&c->by_name, key);
	if (!entry || !entry->is_started)
		return NULL;
	/* An id of another project must look like a missing id. */
	if (project_id && strcmp(project_id, entry->record.project_id) != 0)
		return NULL;
	return entry;
}

struct cache_entry *cache_hold(struct cache *c, struct arena *a, const char *project_id,
                               const char *id_or_name, struct sandbox_record *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	struct cache_entry *entry = find_started(c, project_id, id_or_name);

	if (entry && hold_entry(c, a, entry, ret))
		entry->references++;
	else
		entry = NULL;
	return entry;
}

struct cache_entry *cache_hold_warm(struct cache *c, struct arena *a, const char *project_id,
                                    const char *id_or_name, struct sandbox_record *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	struct cache_entry *entry = find_started(c, project_id, id_or_name);

	if (entry && entry->defaults.env && hold_entry(c, a, entry, ret))
		entry->references++;
	else
		entry = NULL;
	return entry;
}

bool cache_hold_entry(struct cache *c, struct arena *a, struct cache_entry *entry,
                      struct sandbox_record *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	assert(entry->references > 0);
	return hold_entry(c, a, entry, ret);
}

void cache_unhold(struct cache *c, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	struct cache_entry *entry = map_find(&c->by_id, id);

	assert(entry && entry->holds > 0 && c->held > 0);
	entry->holds--;
	c->held--;
	if (entry->holds == 0 && entry->is_closing)
		pthread_cond_broadcast(&c->operation_ended);
	unpin_entry(c, entry);
}

bool cache_touch(struct cache *c, const char *id, int64_t now)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	struct cache_entry *entry = map_find(&c->by_id, id);
	bool is_news = !entry || now - entry->touched_at >= TOUCH_EVERY_MS;

	if (entry && is_news)
		entry->touched_at = now;
	return is_news;
}

unsigned cache_use(struct cache *c, const char *id, const struct fleet_use *use)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	struct cache_entry *entry = map_find(&c->by_id, id);

	assert(entry && entry->holds > 0);
	return meter_begin(entry->meter, use);
}

void cache_unuse(struct cache *c, const char *id, unsigned use)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	struct cache_entry *entry = map_find(&c->by_id, id);

	assert(entry && entry->holds > 0);
	meter_end(entry->meter, use);
}

bool cache_meter_read(struct cache *c, const char *id, struct meter *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	const struct cache_entry *entry = map_find(&c->by_id, id);
	bool is_known = entry && entry->meter;

	if (is_known)
		meter_read(entry->meter, ret);
	return is_known;
}

struct meter *cache_meters_take(struct cache *c)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	struct meter *ended = c->ended;

	c->ended = NULL;
	c->ended_count = 0;
	return ended;
}

uint64_t cache_held(struct cache *c)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	return c->held;
}

bool cache_is_held(struct cache *c, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	const struct cache_entry *entry = map_find(&c->by_id, id);

	return entry && entry->holds > 0;
}

bool cache_close_idle(struct cache *c, struct cache_entry *entry, int64_t seen)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	bool is_idle = entry->holds == 0 && entry->touched_at <= seen;

	if (is_idle)
		entry->is_closing = true;
	return is_idle;
}

void cache_close(struct cache *c, struct cache_entry *entry)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	assert(entry->references > 0);
	entry->is_closing = true;
}

bool cache_drain(struct cache *c, struct cache_entry *entry, int64_t deadline)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	assert(entry->references > 0 && entry->is_closing);
	while (entry->holds > 0 && clock_monotonic_ms() < deadline)
		thread_wait(&c->operation_ended, &c->mutex, deadline);
	return entry->holds == 0;
}

void cache_reopen(struct cache *c, struct cache_entry *entry)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);

	assert(entry->references > 0 && entry->is_closing);
	entry->is_closing = false;
}

bool cache_defaults_get(struct cache *c, struct arena *a, const char *id,
                        struct fleet_defaults *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	const struct cache_entry *entry = map_find(&c->by_id, id);
	bool is_known = entry && entry->defaults.env;

	if (is_known)
		copy_defaults(a, &entry->defaults, ret);
	return is_known;
}

void cache_defaults_put(struct cache *c, const char *id, const struct fleet_defaults *defaults)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&c->mutex);
	struct cache_entry *entry = map_find(&c->by_id, id);

	if (entry && entry->is_started && !entry->defaults.env)
		copy_defaults(&entry->arena, defaults, &entry->defaults);
}
