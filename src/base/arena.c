/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT _Alignof(max_align_t)
#define BLOCK_SIZE (16 * 1024 - sizeof(struct arena_block))
/* An idle stream keeps its request's arena, which usually fits in this size. */
#define FIRST_BLOCK_SIZE (4 * 1024 - sizeof(struct arena_block))

struct arena_block {
	struct arena_block *next;
	size_t capacity, used;
	_Alignas(max_align_t) char data[];
};

static struct arena_block *block_new(size_t capacity)
{
	struct arena_block *block = malloc(sizeof(*block) + capacity);

	if (!block)
		abort();
	block->next = NULL;
	block->capacity = capacity;
	block->used = 0;
	return block;
}

static void free_block(const struct arena *a, struct arena_block *block)
{
	if (a->is_secret)
		explicit_bzero(block->data, block->capacity);
	free(block);
}

/* Frees the blocks from `*first` up to, and without, `end`. */
static void free_until(const struct arena *a, struct arena_block **first,
                       const struct arena_block *end)
{
	while (*first != end) {
		struct arena_block *block = *first;

		*first = block->next;
		free_block(a, block);
	}
}

void arena_done(struct arena *a)
{
	free_until(a, &a->blocks, NULL);
	*a = (struct arena){0};
}

void arena_wipe(struct arena *a)
{
	arena_note_secret(a);
	arena_done(a);
}

void arena_reset(struct arena *a)
{
	struct arena_block *kept = a->blocks;

	a->total = 0;
	if (!kept)
		return;
	free_until(a, &kept->next, NULL);
	if (a->is_secret)
		explicit_bzero(kept->data, kept->used);
	kept->used = 0;
	if (kept->capacity > BLOCK_SIZE)
		free_until(a, &a->blocks, NULL);
	a->is_secret = false;
}

struct arena_mark arena_mark(const struct arena *a)
{
	struct arena_block *head = a->blocks;

	return (struct arena_mark){head, head ? head->next : NULL, head ? head->used : 0, a->total};
}

void arena_rewind(struct arena *a, const struct arena_mark *mark)
{
	free_until(a, &a->blocks, mark->head);
	a->total = mark->total;
	if (!mark->head)
		return;
	free_until(a, &mark->head->next, mark->behind);
	if (a->is_secret)
		explicit_bzero(mark->head->data + mark->used, mark->head->used - mark->used);
	mark->head->used = mark->used;
}

/* A large piece gets its own block behind the head block, so the head's free space stays usable. */
static struct arena_block *find_block(struct arena *a, size_t size)
{
	struct arena_block *head = a->blocks, *block;

	if (head && size <= head->capacity - head->used)
		return head;
	if (!head && size <= FIRST_BLOCK_SIZE)
		block = block_new(FIRST_BLOCK_SIZE);
	else
		block = block_new(size > BLOCK_SIZE ? size : BLOCK_SIZE);
	if (head && size > BLOCK_SIZE) {
		block->next = head->next;
		head->next = block;
	} else {
		block->next = head;
		a->blocks = block;
	}
	return block;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *block;
	size_t rounded;
	void *memory;

	assert(size < SIZE_MAX - ALIGNMENT - sizeof(*block));
	rounded = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	block = find_block(a, rounded);
	memory = block->data + block->used;
	block->used += rounded;
	a->total += rounded;
	memset(memory, 0, rounded);
	return memory;
}

void *arena_grow(struct arena *a, void *items, size_t count, size_t *capacity, size_t item_size)
{
	void *more;

	if (count < *capacity)
		return items;
	*capacity = *capacity ? 2 * *capacity : MEMORY_GROW_FIRST;
	more = arena_alloc(a, *capacity * item_size);
	if (count > 0)
		memcpy(more, items, count * item_size);
	return more;
}

char *arena_copy(struct arena *a, struct span s)
{
	char *copy = arena_alloc(a, s.size + 1);

	if (s.size > 0)
		memcpy(copy, s.data, s.size);
	return copy;
}

char *arena_text(struct arena *a, const char *text)
{
	return arena_copy(a, span_of(text));
}

char *arena_format(struct arena *a, const char *format, ...)
{
	va_list args, again;
	char *text;
	int size;

	assert(format); /* UBSan would continue after a NULL format, and gcc warns about that path
	                 */
	va_start(args, format);
	va_copy(again, args);
	size = vsnprintf(NULL, 0, format, args);
	va_end(args);
	assert(size >= 0);
	text = arena_alloc(a, (size_t)size + 1);
	(void)vsnprintf(text, (size_t)size + 1, format, again);
	va_end(again);
	return text;
}
