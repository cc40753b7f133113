/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 64

void table_done(struct table *t)
{
	for (size_t i = 0; i < t->capacity; i++)
		free(t->slots[i].word);
	free(t->slots);
	*t = (struct table){0};
}

/* FNV-1a */
static uint64_t hash(const char *word, size_t size)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < size; i++)
		h = (h ^ (unsigned char)word[i]) * 1099511628211u;
	return h;
}

/* The word's slot, or the free one where it belongs. The table is never full. */
static struct entry *find(const struct table *t, const char *word, size_t size)
{
	size_t at = hash(word, size) % t->capacity;

	for (;; at = (at + 1) % t->capacity) {
		struct entry *e = &t->slots[at];
		if (!e->word || (!strncmp(e->word, word, size) && !e->word[size]))
			return e;
	}
}

static int grow(struct table *t)
{
	struct table bigger = {.capacity = t->capacity ? 2 * t->capacity : CAPACITY_FIRST};

	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -1;
	bigger.used = t->used;
	for (size_t i = 0; i < t->capacity; i++)
		if (t->slots[i].word)
			*find(&bigger, t->slots[i].word, strlen(t->slots[i].word)) = t->slots[i];
	free(t->slots);
	*t = bigger;
	return 0;
}

int table_add(struct table *t, const char *word, size_t size)
{
	if (2 * (t->used + 1) > t->capacity && grow(t) < 0)
		return -1;
	struct entry *e = find(t, word, size);
	if (!e->word) {
		e->word = strndup(word, size);
		if (!e->word)
			return -1;
		t->used++;
	}
	e->count++;
	return 0;
}

size_t table_count(const struct table *t, const char *word)
{
	return t->capacity ? find(t, word, strlen(word))->count : 0;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->word, y->word);
}

struct entry *table_sorted(const struct table *t)
{
	struct entry *entries = calloc(t->used + 1, sizeof(*entries));
	size_t count = 0;

	if (!entries)
		return NULL;
	for (size_t i = 0; i < t->capacity; i++)
		if (t->slots[i].word)
			entries[count++] = t->slots[i];
	qsort(entries, count, sizeof(*entries), compare);
	return entries;
}
