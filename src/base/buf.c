/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 64

void buf_done(struct buf *b)
{
	if (b->is_secret && b->data)
		explicit_bzero(b->data, b->capacity);
	free(b->data);
	*b = (struct buf){.size_max = b->size_max, .is_secret = b->is_secret};
}

void buf_wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->capacity);
	buf_done(b);
}

void buf_reset(struct buf *b)
{
	b->size = 0;
	b->overflowed = false;
	if (b->data)
		b->data[0] = '\0';
}

/* As realloc, which leaves a copy of the old content behind. */
static char *move_secret(struct buf *b, size_t capacity)
{
	char *data = malloc(capacity);

	if (data && b->data) {
		memcpy(data, b->data, b->size);
		explicit_bzero(b->data, b->capacity);
		free(b->data);
	}
	return data;
}

char *buf_reserve(struct buf *b, size_t size)
{
	size_t needed, capacity;

	/* Nothing may follow a dropped append, or the text would have a hole. */
	if (b->overflowed || size > b->size_max - b->size) {
		b->overflowed = true;
		return NULL;
	}
	needed = b->size + size + 1;
	if (needed > b->capacity) {
		capacity = b->capacity * 2;
		if (capacity < CAPACITY_MIN)
			capacity = CAPACITY_MIN;
		if (capacity > b->size_max + 1)
			capacity = b->size_max + 1;
		if (capacity < needed)
			capacity = needed;
		b->data = b->is_secret ? move_secret(b, capacity) : realloc(b->data, capacity);
		if (!b->data)
			abort();
		b->capacity = capacity;
		b->data[b->size] = '\0';
	}
	return b->data + b->size;
}

void buf_commit(struct buf *b, size_t size)
{
	assert(b->size + size < b->capacity || (size == 0 && !b->data));
	b->size += size;
	if (b->data)
		b->data[b->size] = '\0';
}

void buf_add(struct buf *b, const void *data, size_t size)
{
	char *at = buf_reserve(b, size);

	if (!at || size == 0)
		return;
	memcpy(at, data, size);
	buf_commit(b, size);
}

void buf_add_span(struct buf *b, struct span s)
{
	buf_add(b, s.data, s.size);
}

void buf_add_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_add_byte(struct buf *b, char byte)
{
	buf_add(b, &byte, 1);
}

void buf_addf(struct buf *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_addv(b, format, args);
	va_end(args);
}

void buf_addv(struct buf *b, const char *format, va_list args)
{
	va_list again;
	char *at;
	int size;

	va_copy(again, args);
	size = vsnprintf(NULL, 0, format, args);
	assert(size >= 0);
	at = buf_reserve(b, (size_t)size);
	if (at) {
		(void)vsnprintf(at, (size_t)size + 1, format, again);
		buf_commit(b, (size_t)size);
	}
	va_end(again);
}

void buf_consume(struct buf *b, size_t size)
{
	assert(size <= b->size);
	if (size == 0)
		return;
	memmove(b->data, b->data + size, b->size - size + 1);
	b->size -= size;
}
