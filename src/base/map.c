/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"

/* Open addressing with linear probing. A removed entry leaves a slot without a value but with
 * `was_used`, which a search passes and a rehash drops; `used` counts both kinds. */
struct map_slot {
	char *key;
	void *value;
	uint64_t hash;
	int was_used;
};

#define CAPACITY_MIN 16

static uint64_t hash_key[2];
static pthread_once_t hash_key_once = PTHREAD_ONCE_INIT;

static void make_hash_key(void)
{
	random_bytes(hash_key, sizeof(hash_key));
}

static uint64_t rotate_left(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

static void mix_state(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate_left(v[1], 13) ^ v[0];
	v[3] = rotate_left(v[3], 16) ^ v[2];
	v[0] = rotate_left(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate_left(v[1], 17) ^ v[2];
	v[3] = rotate_left(v[3], 21) ^ v[0];
	v[2] = rotate_left(v[2], 32);
}

/* SipHash-1-3 under a random key of this process: callers choose the keys of some maps and must not
 * be able to choose colliding keys. */
uint64_t map_hash(const char *key)
{
	uint64_t v[4], word;
	size_t size = strlen(key), left = size;

	(void)pthread_once(&hash_key_once, make_hash_key);
	v[0] = hash_key[0] ^ 0x736f6d6570736575;
	v[1] = hash_key[1] ^ 0x646f72616e646f6d;
	v[2] = hash_key[0] ^ 0x6c7967656e657261;
	v[3] = hash_key[1] ^ 0x7465646279746573;
	for (; left >= 8; left -= 8, key += 8) {
		memcpy(&word, key, 8);
		v[3] ^= word;
		mix_state(v);
		v[0] ^= word;
	}
	word = (uint64_t)size << 56;
	memcpy(&word, key, left);
	v[3] ^= word;
	mix_state(v);
	v[0] ^= word;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		mix_state(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void map_done(struct map *m)
{
	for (size_t i = 0; i < m->capacity; i++)
		free(m->slots[i].key);
	free(m->slots);
	*m = (struct map){0};
}

void map_free_values(struct map *m)
{
	for (size_t i = 0; i < m->capacity; i++)
		free(m->slots[i].value);
	map_done(m);
}

static struct map_slot *slot_find(const struct map *m, const char *key, uint64_t hash)
{
	size_t mask = m->capacity - 1;

	if (m->capacity == 0)
		return NULL;
	for (size_t i = hash & mask; m->slots[i].was_used; i = (i + 1) & mask) {
		struct map_slot *slot = &m->slots[i];

		if (slot->key && slot->hash == hash && strcmp(slot->key, key) == 0)
			return slot;
	}
	return NULL;
}

static struct map_slot *slot_free(struct map_slot *slots, size_t capacity, uint64_t hash)
{
	size_t mask = capacity - 1, i = hash & mask;

	while (slots[i].was_used)
		i = (i + 1) & mask;
	return &slots[i];
}

/* At most three quarters of the slots are in use, removed ones included. */
static void make_room(struct map *m)
{
	size_t capacity = CAPACITY_MIN;
	struct map_slot *slots;

	if (m->capacity > 0 && (m->used + 1) * 4 <= m->capacity * 3)
		return;
	while (capacity < (m->count + 1) * 2)
		capacity *= 2;
	slots = memory_array(capacity, sizeof(*slots));
	for (size_t i = 0; i < m->capacity; i++) {
		if (m->slots[i].key)
			*slot_free(slots, capacity, m->slots[i].hash) = m->slots[i];
	}
	free(m->slots);
	m->slots = slots;
	m->capacity = capacity;
	m->used = m->count;
}

void *map_find(const struct map *m, const char *key)
{
	struct map_slot *slot = slot_find(m, key, map_hash(key));

	return slot ? slot->value : NULL;
}

void *map_put(struct map *m, const char *key, void *value)
{
	uint64_t hash = map_hash(key);
	struct map_slot *slot = slot_find(m, key, hash);
	void *old = NULL;

	assert(value);
	if (slot) {
		old = slot->value;
		slot->value = value;
		return old;
	}
	make_room(m);
	slot = slot_free(m->slots, m->capacity, hash);
	*slot = (struct map_slot){memory_text(key), value, hash, 1};
	m->count++;
	m->used++;
	return NULL;
}

void *map_remove(struct map *m, const char *key)
{
	struct map_slot *slot = slot_find(m, key, map_hash(key));
	void *old;

	if (!slot)
		return NULL;
	old = slot->value;
	free(slot->key);
	*slot = (struct map_slot){.was_used = 1};
	m->count--;
	return old;
}

void *map_next(const struct map *m, size_t *at, const char **ret_key)
{
	while (*at < m->capacity) {
		const struct map_slot *slot = &m->slots[(*at)++];

		if (slot->key) {
			*ret_key = slot->key;
			return slot->value;
		}
	}
	return NULL;
}
