/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/cache.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define TOUCH_EVERY_MS 1000
#define NAME_KEY_SIZE 256
/* Meters of those that ended between two readings; of more, only who used them is forgotten. */
#define ENDED_MAX 100000

void cache_init(struct cache *c)
{
	pthread_condattr_t monotonic;

	*c = (struct cache){0};
	pthread_mutex_init(&c->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&c->acted, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static void slot_free(struct slot *slot)
{
	arena_done(&slot->arena);
	meter_free(slot->meter);
	free(slot);
}

void cache_done(struct cache *c)
{
	const char *id;
	size_t at = 0;
	struct slot *slot;

	while ((slot = map_next(&c->by_id, &at, &id)))
		slot_free(slot);
	while (c->ended) {
		struct meter *meter = c->ended;

		c->ended = meter->next;
		meter_free(meter);
	}
	map_done(&c->by_id);
	map_done(&c->by_name);
	pthread_cond_destroy(&c->acted);
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

static void forget_record(struct cache *c, struct slot *slot)
{
	char key[NAME_KEY_SIZE];

	if (!slot->is_started)
		return;
	if (name_key(key, slot->record.project_id, slot->record.name) &&
	    map_find(&c->by_name, key) == slot)
		map_remove(&c->by_name, key);
	slot->is_started = false;
	slot->defaults = (struct fleet_defaults){0};
	arena_done(&slot->arena);
}

static void remember_record(struct cache *c, struct slot *slot, const struct sandbox_record *r)
{
	char key[NAME_KEY_SIZE];

	record_copy(&slot->arena, r, &slot->record);
	slot->is_started = true;
	if (!slot->meter)
		slot->meter = meter_new(slot->id);
	if (name_key(key, r->project_id, r->name))
		map_put(&c->by_name, key, slot);
}

static struct slot *pin(struct cache *c, const char *id)
{
	struct slot *slot = map_find(&c->by_id, id);

	if (!slot) {
		slot = calloc(1, sizeof(*slot));
		if (!slot)
			abort();
		snprintf(slot->id, sizeof(slot->id), "%s", id);
		list_init(&slot->actors);
		map_put(&c->by_id, slot->id, slot);
	}
	slot->references++;
	return slot;
}

/* It has still to be read. */
static void keep_meter(struct cache *c, struct slot *slot)
{
	if (!slot->meter || c->ended_count == ENDED_MAX)
		return;
	slot->meter->next = c->ended;
	c->ended = slot->meter;
	c->ended_count++;
	slot->meter = NULL;
}

static void unpin(struct cache *c, struct slot *slot)
{
	assert(slot->references > 0);
	slot->references--;
	if (slot->references > 0 || slot->is_started)
		return;
	map_remove(&c->by_id, slot->id);
	keep_meter(c, slot);
	slot_free(slot);
}

static bool hold(struct cache *c, struct arena *a, struct slot *slot, struct sandbox_record *ret)
{
	if (!slot->is_started || slot->is_closing)
		return false;
	record_copy(a, &slot->record, ret);
	slot->holds++;
	c->held++;
	return true;
}

/* ---- the calls ---- */

struct slot *cache_pin(struct cache *c, const char *id)
{
	struct slot *slot;

	pthread_mutex_lock(&c->mutex);
	slot = pin(c, id);
	pthread_mutex_unlock(&c->mutex);
	return slot;
}

void cache_unpin(struct cache *c, struct slot *slot)
{
	pthread_mutex_lock(&c->mutex);
	unpin(c, slot);
	pthread_mutex_unlock(&c->mutex);
}

static struct timespec timespec_of(int64_t deadline)
{
	return (struct timespec){.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};
}

static bool is_turn(const struct slot *slot, const struct list *turn)
{
	return !slot->has_actor && slot->actors.next == turn;
}

bool cache_act(struct cache *c, struct slot *slot, int64_t deadline)
{
	struct timespec until = timespec_of(deadline);
	struct list turn;
	bool is_mine;

	pthread_mutex_lock(&c->mutex);
	list_append(&slot->actors, &turn);
	while (!is_turn(slot, &turn) && clock_monotonic_ms() < deadline)
		pthread_cond_timedwait(&c->acted, &c->mutex, &until);
	is_mine = is_turn(slot, &turn);
	list_remove(&turn);
	if (is_mine)
		slot->has_actor = true;
	pthread_mutex_unlock(&c->mutex);
	return is_mine;
}

bool cache_act_end(struct cache *c, struct slot *slot)
{
	bool is_called;

	pthread_mutex_lock(&c->mutex);
	slot->has_actor = false;
	is_called = slot->is_called && !slot->is_started;
	slot->is_called = false;
	pthread_cond_broadcast(&c->acted);
	pthread_mutex_unlock(&c->mutex);
	return is_called;
}

bool cache_is_attended(struct cache *c, const char *id)
{
	const struct slot *slot;
	bool is_attended;

	pthread_mutex_lock(&c->mutex);
	slot = map_find(&c->by_id, id);
	is_attended = slot && (slot->has_actor || slot->is_queued);
	pthread_mutex_unlock(&c->mutex);
	return is_attended;
}

bool cache_is_started(struct cache *c, const char *id)
{
	const struct slot *slot;
	bool is_started;

	pthread_mutex_lock(&c->mutex);
	slot = map_find(&c->by_id, id);
	is_started = slot && slot->is_started;
	pthread_mutex_unlock(&c->mutex);
	return is_started;
}

struct slot *cache_take_sleeper(struct cache *c, const char *id)
{
	struct slot *slot;

	pthread_mutex_lock(&c->mutex);
	slot = map_find(&c->by_id, id);
	if (slot && (slot->has_actor || !list_is_empty(&slot->actors)))
		slot->is_called = true;
	if (slot && (slot->is_started || slot->has_actor || slot->is_queued ||
	             !list_is_empty(&slot->actors)))
		slot = NULL;
	if (slot) {
		slot->references++;
		slot->is_queued = true;
	}
	pthread_mutex_unlock(&c->mutex);
	return slot;
}

void cache_set_queued(struct cache *c, struct slot *slot, bool is_queued)
{
	pthread_mutex_lock(&c->mutex);
	slot->is_queued = is_queued;
	pthread_mutex_unlock(&c->mutex);
}

void cache_update(struct cache *c, struct slot *slot, const struct sandbox_record *r)
{
	pthread_mutex_lock(&c->mutex);
	if (r->version > slot->version) {
		forget_record(c, slot);
		slot->version = r->version;
		if (r->actual == SANDBOX_STARTED)
			remember_record(c, slot, r);
	}
	pthread_mutex_unlock(&c->mutex);
}

static struct slot *find_started(const struct cache *c, const char *project_id,
                                 const char *id_or_name)
{
	struct slot *slot = map_find(&c->by_id, id_or_name);
	char key[NAME_KEY_SIZE];

	if (!slot && project_id && name_key(key, project_id, id_or_name))
		slot = map_find(&c->by_name, key);
	if (!slot || !slot->is_started)
		return NULL;
	/* Somebody else's id is to be as unknown as one that does not exist. */
	if (project_id && strcmp(project_id, slot->record.project_id) != 0)
		return NULL;
	return slot;
}

struct slot *cache_hold(struct cache *c, struct arena *a, const char *project_id,
                        const char *id_or_name, struct sandbox_record *ret)
{
	struct slot *slot;

	pthread_mutex_lock(&c->mutex);
	slot = find_started(c, project_id, id_or_name);
	if (slot && hold(c, a, slot, ret))
		slot->references++;
	else
		slot = NULL;
	pthread_mutex_unlock(&c->mutex);
	return slot;
}

struct slot *cache_hold_warm(struct cache *c, struct arena *a, const char *project_id,
                             const char *id_or_name, struct sandbox_record *ret)
{
	struct slot *slot;

	pthread_mutex_lock(&c->mutex);
	slot = find_started(c, project_id, id_or_name);
	if (slot && slot->defaults.env && hold(c, a, slot, ret))
		slot->references++;
	else
		slot = NULL;
	pthread_mutex_unlock(&c->mutex);
	return slot;
}

bool cache_hold_slot(struct cache *c, struct arena *a, struct slot *slot,
                     struct sandbox_record *ret)
{
	bool is_held;

	pthread_mutex_lock(&c->mutex);
	is_held = hold(c, a, slot, ret);
	pthread_mutex_unlock(&c->mutex);
	return is_held;
}

void cache_unhold(struct cache *c, const char *id)
{
	struct slot *slot;

	pthread_mutex_lock(&c->mutex);
	slot = map_find(&c->by_id, id);
	assert(slot && slot->holds > 0);
	slot->holds--;
	c->held--;
	if (slot->holds == 0 && slot->is_closing)
		pthread_cond_broadcast(&c->acted);
	unpin(c, slot);
	pthread_mutex_unlock(&c->mutex);
}

bool cache_touch(struct cache *c, const char *id, int64_t now)
{
	struct slot *slot;
	bool is_news;

	pthread_mutex_lock(&c->mutex);
	slot = map_find(&c->by_id, id);
	is_news = !slot || now - slot->touched_at >= TOUCH_EVERY_MS;
	if (slot && is_news)
		slot->touched_at = now;
	pthread_mutex_unlock(&c->mutex);
	return is_news;
}

unsigned cache_use(struct cache *c, const char *id, const struct fleet_use *use)
{
	struct slot *slot;
	unsigned number;

	pthread_mutex_lock(&c->mutex);
	slot = map_find(&c->by_id, id);
	assert(slot && slot->holds > 0);
	number = meter_begin(slot->meter, use);
	pthread_mutex_unlock(&c->mutex);
	return number;
}

void cache_unuse(struct cache *c, const char *id, unsigned use)
{
	struct slot *slot;

	pthread_mutex_lock(&c->mutex);
	slot = map_find(&c->by_id, id);
	assert(slot && slot->holds > 0);
	meter_end(slot->meter, use);
	pthread_mutex_unlock(&c->mutex);
}

bool cache_meter_read(struct cache *c, const char *id, struct meter *ret)
{
	const struct slot *slot;
	bool is_known;

	pthread_mutex_lock(&c->mutex);
	slot = map_find(&c->by_id, id);
	is_known = slot && slot->meter;
	if (is_known)
		meter_read(slot->meter, ret);
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
	const struct slot *slot;
	bool is_held;

	pthread_mutex_lock(&c->mutex);
	slot = map_find(&c->by_id, id);
	is_held = slot && slot->holds > 0;
	pthread_mutex_unlock(&c->mutex);
	return is_held;
}

bool cache_close_idle(struct cache *c, struct slot *slot, int64_t seen)
{
	bool is_idle;

	pthread_mutex_lock(&c->mutex);
	is_idle = slot->holds == 0 && slot->touched_at <= seen;
	if (is_idle)
		slot->is_closing = true;
	pthread_mutex_unlock(&c->mutex);
	return is_idle;
}

void cache_close(struct cache *c, struct slot *slot)
{
	pthread_mutex_lock(&c->mutex);
	slot->is_closing = true;
	pthread_mutex_unlock(&c->mutex);
}

bool cache_drain(struct cache *c, struct slot *slot, int64_t deadline)
{
	struct timespec until = timespec_of(deadline);
	bool is_free;

	pthread_mutex_lock(&c->mutex);
	while (slot->holds > 0 && clock_monotonic_ms() < deadline)
		pthread_cond_timedwait(&c->acted, &c->mutex, &until);
	is_free = slot->holds == 0;
	pthread_mutex_unlock(&c->mutex);
	return is_free;
}

void cache_reopen(struct cache *c, struct slot *slot)
{
	pthread_mutex_lock(&c->mutex);
	slot->is_closing = false;
	pthread_mutex_unlock(&c->mutex);
}

bool cache_defaults_get(struct cache *c, struct arena *a, const char *id,
                        struct fleet_defaults *ret)
{
	const struct slot *slot;
	bool is_known;

	pthread_mutex_lock(&c->mutex);
	slot = map_find(&c->by_id, id);
	is_known = slot && slot->defaults.env;
	if (is_known)
		defaults_copy(a, &slot->defaults, ret);
	pthread_mutex_unlock(&c->mutex);
	return is_known;
}

void cache_defaults_put(struct cache *c, const char *id, const struct fleet_defaults *defaults)
{
	struct slot *slot;

	pthread_mutex_lock(&c->mutex);
	slot = map_find(&c->by_id, id);
	if (slot && slot->is_started && !slot->defaults.env)
		defaults_copy(&slot->arena, defaults, &slot->defaults);
	pthread_mutex_unlock(&c->mutex);
}
