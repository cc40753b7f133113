/* SPDX-License-Identifier: Apache-2.0 */
/* base/map.h — a hash map from text keys to pointers. Copies keys, borrows values. Not
 * thread-safe. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Hash of a text under a random key of this process, so an attacker cannot choose colliding
 * texts. */
uint64_t map_hash(const char *text);

struct map_slot;
struct map {
	struct map_slot *slots;
	size_t capacity, count, used;
};

void map_done(struct map *m);
/* map_done of a map whose values are on the heap and hold nothing further: frees them, too. */
void map_free_values(struct map *m);
void *map_find(const struct map *m, const char *key);
/* Inserts or replaces; returns the old value, or NULL. `value` is not NULL. */
void *map_put(struct map *m, const char *key, void *value);
/* Returns the removed value, or NULL. */
void *map_remove(struct map *m, const char *key);
/* Iterates: *at starts at 0; returns NULL at the end. The map must not change during the
 * iteration. */
void *map_next(const struct map *m, size_t *at, const char **ret_key);
