/* SPDX-License-Identifier: Apache-2.0 */
/* base/map.h — text keys to pointers. Copies keys, borrows values. Not for several threads. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attribute.h"

/* Of a text, under a random key of this process: texts that collide cannot be chosen. */
uint64_t map_hash(const char *text);

struct map_slot;
struct map {
	struct map_slot *slots;
	size_t capacity, count, used;
};

void map_done(struct map *m);
void *map_find(const struct map *m, const char *key);
/* Puts or replaces; returns the value that was there, or NULL. `value` is not NULL. */
void *map_put(struct map *m, const char *key, void *value);
/* Returns what was there, or NULL. */
void *map_remove(struct map *m, const char *key);
/* *at starts at 0; NULL at the end. The map must not change meanwhile. */
void *map_next(const struct map *m, size_t *at, const char **ret_key);
