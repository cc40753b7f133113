/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/limiter.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

struct api_limiter_slot {
	unsigned running;
	char key_id[];
};

struct api_limiter {
	pthread_mutex_t lock;
	struct map slots; /* key id -> slot; only keys with running requests */
	unsigned max;
};

struct api_limiter *api_limiter_new(unsigned max_per_key)
{
	struct api_limiter *l = memory_new(sizeof(*l));

	(void)pthread_mutex_init(&l->lock, NULL);
	l->max = max_per_key;
	return l;
}

void api_limiter_free(struct api_limiter *l)
{
	if (!l)
		return;
	map_free_values(&l->slots);
	(void)pthread_mutex_destroy(&l->lock);
	free(l);
}

static struct api_limiter_slot *slot_new(struct api_limiter *l, const char *key_id)
{
	size_t size = strlen(key_id) + 1;
	struct api_limiter_slot *slot = memory_new(sizeof(*slot) + size);

	memcpy(slot->key_id, key_id, size);
	(void)map_put(&l->slots, key_id, slot);
	return slot;
}

int api_limiter_take(struct api_limiter *l, const char *key_id, struct api_limiter_slot **ret,
                     struct error *err)
{
	struct api_limiter_slot *slot;

	(void)pthread_mutex_lock(&l->lock);
	slot = map_find(&l->slots, key_id);
	if (!slot)
		slot = slot_new(l, key_id);
	if (slot->running < l->max) {
		slot->running++;
		*ret = slot;
		slot = NULL;
	}
	(void)pthread_mutex_unlock(&l->lock);
	if (!slot)
		return 0;
	(void)FAIL(err, ERROR_LIMIT, "this key has %u requests running already", l->max);
	return FAIL_HINT(err, "wait for one to end, or raise requests_per_key_max");
}

struct api_limiter_slot *api_limiter_take_again(struct api_limiter *l, const char *key_id)
{
	struct api_limiter_slot *slot;

	(void)pthread_mutex_lock(&l->lock);
	slot = map_find(&l->slots, key_id);
	if (!slot)
		slot = slot_new(l, key_id);
	slot->running++;
	(void)pthread_mutex_unlock(&l->lock);
	return slot;
}

bool api_limiter_has_room(struct api_limiter *l, const char *key_id)
{
	const struct api_limiter_slot *slot;
	bool has_room;

	(void)pthread_mutex_lock(&l->lock);
	slot = map_find(&l->slots, key_id);
	has_room = !slot || slot->running < l->max;
	(void)pthread_mutex_unlock(&l->lock);
	return has_room;
}

void api_limiter_give(struct api_limiter *l, struct api_limiter_slot *slot)
{
	if (!slot)
		return;
	(void)pthread_mutex_lock(&l->lock);
	assert(slot->running > 0);
	if (--slot->running == 0) {
		(void)map_remove(&l->slots, slot->key_id);
		free(slot);
	}
	(void)pthread_mutex_unlock(&l->lock);
}
