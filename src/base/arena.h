/* SPDX-License-Identifier: Apache-2.0 */
/* base/arena.h — memory of one request: allocated piece by piece, freed at once.
 *
 * Used by one thread at a time. Memory comes zeroed and aligned for any type. Running out of
 * memory aborts; callers limit sizes before they allocate. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/attribute.h"
#include "base/span.h"

struct arena_block;
struct arena {
	struct arena_block *blocks; /* newest first */
	size_t total;               /* bytes handed out since the last reset */
};

void arena_done(struct arena *a);  /* frees everything */
void arena_reset(struct arena *a); /* frees all but one block, for the next request */
/* The position of an arena. arena_rewind frees everything allocated after it. The arena must not be
 * reset in between. */
struct arena_mark {
	struct arena_block *head, *behind;
	size_t used, total;
};
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, const struct arena_mark *mark);
void *arena_alloc(struct arena *a, size_t size);
/* As memory_grow; `items` stay in the arena. */
void *arena_grow(struct arena *a, void *items, size_t count, size_t *capacity, size_t item_size);
char *arena_copy(struct arena *a, struct span s); /* NUL-terminated */
char *arena_text(struct arena *a, const char *text);
char *arena_format(struct arena *a, const char *format, ...) PRINTF(2, 3);
#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, count) ((type *)arena_alloc((a), sizeof(type) * (count)))
