/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/cache.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fleet/core/cache_state.h"
#include "fleet/core/meter.h"

#define TOUCH_EVERY_MS 1000
#define NAME_KEY_SIZE 256
/* Limit for meters of freed entries between two reads; above it only the attribution is lost. */
#define ENDED_MAX 100000

void cache_init(struct cache *c)
{
	pthread_condattr_t monotonic;

	*c = (struct cache){0};
	pthread_mutex_init(&c->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&c->operation_ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
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

/* ---- copies ---- */

static const size_t record_texts[] = {
        offsetof(struct sandbox_record, id),
        offsetof(struct sandbox_record, project_id),
        offsetof(struct sandbox_record, name),
        offsetof(struct sandbox_record, template_id),
        offsetof(struct sandbox_record, template_name),
        offsetof(struct sandbox_record, provider),
        offsetof(struct sandbox_record, region),
        offsetof(struct sandbox_record, labels_json),
        offsetof(struct sandbox_record, env_json),
        offsetof(struct sandbox_record, last_event),
        offsetof(struct sandbox_record, node),
        offsetof(struct sandbox_record, key_id),
        offsetof(struct sandbox_record, network_json),
        offsetof(struct sandbox_record, egress),
};

void record_copy(struct arena *a, const struct sandbox_record *from, struct sandbox_record *ret)
{
	*ret = *from;
	for (size_t i = 0; i < COUNT_OF(record_texts); i++) {
		const char **text = (const char **)(void *)((char *)ret + record_texts[i]);

		*text = arena_text(a, *text ? *text : "");
	}
}

void defaults_copy(struct arena *a, const struct fleet_defaults *from, struct fleet_defaults *ret)
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

/* ---- slots; these want the mutex held ---- */

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
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			abort();
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

/* ---- the calls ---- */

struct cache_entry *cache_pin(struct cache *c, const char *id)
{
	struct cache_entry *entry;

	pthread_mutex_lock(&c->mutex);
	entry = pin_entry(c, id);
	pthread_mutex_unlock(&c->mutex);
	return entry;
}

void cache_unpin(struct cache *c, struct cache_entry *entry)
{
	pthread_mutex_lock(&c->mutex);
	unpin_entry(c, entry);
	pthread_mutex_unlock(&c->mutex);
}

static struct timespec timespec_of(int64_t deadline)
{
	return (struct timespec){.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};
}

static bool is_turn(const struct cache_entry *entry, const struct list *turn)
{
	return !entry->has_operation && entry->waiters.next == turn;
}

bool cache_operation_begin(struct cache *c, struct cache_entry *entry, int64_t deadline)
{
	struct timespec until = timespec_of(deadline);
	struct list turn;
	bool is_mine;

	pthread_mutex_lock(&c->mutex);
	list_append(&entry->waiters, &turn);
	while (!is_turn(entry, &turn) && clock_monotonic_ms() < deadline)
		pthread_cond_timedwait(&c->operation_ended, &c->mutex, &until);
	is_mine = is_turn(entry, &turn);
	list_remove(&turn);
	if (is_mine)
		entry->has_operation = true;
	pthread_mutex_unlock(&c->mutex);
	return is_mine;
}

bool cache_operation_end(struct cache *c, struct cache_entry *entry)
{
	bool is_called;

	pthread_mutex_lock(&c->mutex);
	entry->has_operation = false;
	is_called = entry->is_called && !entry->is_started;
	entry->is_called = false;
	pthread_cond_broadcast(&c->operation_ended);
	pthread_mutex_unlock(&c->mutex);
	return is_called;
}

bool cache_is_busy(struct cache *c, const char *id)
{
	const struct cache_entry *entry;
	bool is_attended;

	pthread_mutex_lock(&c->mutex);
	entry = map_find(&c->by_id, id);
	is_attended = entry && (entry->has_operation || entry->is_queued);
	pthread_mutex_unlock(&c->mutex);
	return is_attended;
}

bool cache_is_started(struct cache *c, const char *id)
{
	const struct cache_entry *entry;
	bool is_started;

	pthread_mutex_lock(&c->mutex);
	entry = map_find(&c->by_id, id);
	is_started = entry && entry->is_started;
	pthread_mutex_unlock(&c->mutex);
	return is_started;
}

struct cache_entry *cache_take_sleeping(struct cache *c, const char *id)
{
	struct cache_entry *entry;

	pthread_mutex_lock(&c->mutex);
	entry = map_find(&c->by_id, id);
	if (entry && (entry->has_operation || !list_is_empty(&entry->waiters)))
		entry->is_called = true;
	if (entry && (entry->is_started || entry->has_operation || entry->is_queued ||
	              !list_is_empty(&entry->waiters)))
		entry = NULL;
	if (entry) {
		entry->references++;
		entry->is_queued = true;
	}
	pthread_mutex_unlock(&c->mutex);
	return entry;
}

void cache_set_queued(struct cache *c, struct cache_entry *entry, bool is_queued)
{
	pthread_mutex_lock(&c->mutex);
	entry->is_queued = is_queued;
	pthread_mutex_unlock(&c->mutex);
}

void cache_update(struct cache *c, struct cache_entry *entry, const struct sandbox_record *r)
{
	pthread_mutex_lock(&c->mutex);
	if (r->version > entry->version) {
		forget_record(c, entry);
		entry->version = r->version;
		if (r->actual == SANDBOX_STARTED)
			remember_record(c, entry, r);
	}
	pthread_mutex_unlock(&c->mutex);
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
	/* An id of another project must look like one that does not exist. */
	if (project_id && strcmp(project_id, entry->record.project_id) != 0)
		return NULL;
	return entry;
}

struct cache_entry *cache_hold(struct cache *c, struct arena *a, const char *project_id,
                               const char *id_or_name, struct sandbox_record *ret)
{
	struct cache_entry *entry;

	pthread_mutex_lock(&c->mutex);
	entry = find_started(c, project_id, id_or_name);
	if (entry && hold_entry(c, a, entry, ret))
		entry->references++;
	else
		entry = NULL;
	pthread_mutex_unlock(&c->mutex);
	return entry;
}

struct cache_entry *cache_hold_warm(struct cache *c, struct arena *a, const char *project_id,
                                    const char *id_or_name, struct sandbox_record *ret)
{
	struct cache_entry *entry;

	pthread_mutex_lock(&c->mutex);
	entry = find_started(c, project_id, id_or_name);
	if (entry && entry->defaults.env && hold_entry(c, a, entry, ret))
		entry->references++;
	else
		entry = NULL;
	pthread_mutex_unlock(&c->mutex);
	return entry;
}

bool cache_hold_entry(struct cache *c, struct arena *a, struct cache_entry *entry,
                      struct sandbox_record *ret)
{
	bool is_held;

	pthread_mutex_lock(&c->mutex);
	is_held = hold_entry(c, a, entry, ret);
	pthread_mutex_unlock(&c->mutex);
	return is_held;
}

void cache_unhold(struct cache *c, const char *id)
{
	struct cache_entry *entry;

	pthread_mutex_lock(&c->mutex);
	entry = map_find(&c->by_id, id);
	assert(entry && entry->holds > 0);
	entry->holds--;
	c->held--;
	if (entry->holds == 0 && entry->is_closing)
		pthread_cond_broadcast(&c->operation_ended);
	unpin_entry(c, entry);
	pthread_mutex_unlock(&c->mutex);
}

bool cache_touch(struct cache *c, const char *id, int64_t now)
{
	struct cache_entry *entry;
	bool is_news;

	pthread_mutex_lock(&c->mutex);
	entry = map_find(&c->by_id, id);
	is_news = !entry || now - entry->touched_at >= TOUCH_EVERY_MS;
	if (entry && is_news)
		entry->touched_at = now;
	pthread_mutex_unlock(&c->mutex);
	return is_news;
}

unsigned cache_use(struct cache *c, const char *id, const struct fleet_use *use)
{
	struct cache_entry *entry;
	unsigned number;

	pthread_mutex_lock(&c->mutex);
	entry = map_find(&c->by_id, id);
	assert(entry && entry->holds > 0);
	number = meter_begin(entry->meter, use);
	pthread_mutex_unlock(&c->mutex);
	return number;
}

void cache_unuse(struct cache *c, const char *id, unsigned use)
{
	struct cache_entry *entry;

	pthread_mutex_lock(&c->mutex);
	entry = map_find(&c->by_id, id);
	assert(entry && entry->holds > 0);
	meter_end(entry->meter, use);
	pthread_mutex_unlock(&c->mutex);
}

bool cache_meter_read(struct cache *c, const char *id, struct meter *ret)
{
	const struct cache_entry *entry;
	bool is_known;

	pthread_mutex_lock(&c->mutex);
	entry = map_find(&c->by_id, id);
	is_known = entry && entry->meter;
	if (is_known)
		meter_read(entry->meter, ret);
	pthread_mutex_unlock(&c->mutex);
	return is_known;
}

struct meter *cache_meters_take(struct cache *c)
{
	struct meter *ended;

	pthread_mutex_lock(&c->mutex);
	ended = c->ended;
	c->ended = NULL;
	c->ended_count = 0;
	pthread_mutex_unlock(&c->mutex);
	return ended;
}

uint64_t cache_held(struct cache *c)
{
	uint64_t held;

	pthread_mutex_lock(&c->mutex);
	held = c->held;
	pthread_mutex_unlock(&c->mutex);
	return held;
}

bool cache_is_held(struct cache *c, const char *id)
{
	const struct cache_entry *entry;
	bool is_held;

	pthread_mutex_lock(&c->mutex);
	entry = map_find(&c->by_id, id);
	is_held = entry && entry->holds > 0;
	pthread_mutex_unlock(&c->mutex);
	return is_held;
}

bool cache_close_idle(struct cache *c, struct cache_entry *entry, int64_t seen)
{
	bool is_idle;

	pthread_mutex_lock(&c->mutex);
	is_idle = entry->holds == 0 && entry->touched_at <= seen;
	if (is_idle)
		entry->is_closing = true;
	pthread_mutex_unlock(&c->mutex);
	return is_idle;
}

void cache_close(struct cache *c, struct cache_entry *entry)
{
	pthread_mutex_lock(&c->mutex);
	entry->is_closing = true;
	pthread_mutex_unlock(&c->mutex);
}

bool cache_drain(struct cache *c, struct cache_entry *entry, int64_t deadline)
{
	struct timespec until = timespec_of(deadline);
	bool is_free;

	pthread_mutex_lock(&c->mutex);
	while (entry->holds > 0 && clock_monotonic_ms() < deadline)
		pthread_cond_timedwait(&c->operation_ended, &c->mutex, &until);
	is_free = entry->holds == 0;
	pthread_mutex_unlock(&c->mutex);
	return is_free;
}

void cache_reopen(struct cache *c, struct cache_entry *entry)
{
	pthread_mutex_lock(&c->mutex);
	entry->is_closing = false;
	pthread_mutex_unlock(&c->mutex);
}

bool cache_defaults_get(struct cache *c, struct arena *a, const char *id,
                        struct fleet_defaults *ret)
{
	const struct cache_entry *entry;
	bool is_known;

	pthread_mutex_lock(&c->mutex);
	entry = map_find(&c->by_id, id);
	is_known = entry && entry->defaults.env;
	if (is_known)
		defaults_copy(a, &entry->defaults, ret);
	pthread_mutex_unlock(&c->mutex);
	return is_known;
}

void cache_defaults_put(struct cache *c, const char *id, const struct fleet_defaults *defaults)
{
	struct cache_entry *entry;

	pthread_mutex_lock(&c->mutex);
	entry = map_find(&c->by_id, id);
	if (entry && entry->is_started && !entry->defaults.env)
		defaults_copy(&entry->arena, defaults, &entry->defaults);
	pthread_mutex_unlock(&c->mutex);
}
