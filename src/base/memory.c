/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void auto_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	errno = saved;
}

void auto_free(void *pointer)
{
	int saved = errno;
	void *memory;

	/* The variable may be of any pointer type: reading it as void * would break aliasing. */
	memcpy(&memory, pointer, sizeof(memory));
	free(memory);
	errno = saved;
}

void *memory_new(size_t size)
{
	return memory_array(1, size);
}

void *memory_array(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		abort();
	return memory;
}

char *memory_text(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(memory_new(size), text, size);
}

void *memory_grow(void *items, size_t count, size_t *capacity, size_t item_size)
{
	if (count < *capacity)
		return items;
	*capacity = *capacity ? 2 * *capacity : MEMORY_GROW_FIRST;
	items = reallocarray(items, *capacity, item_size);
	if (!items)
		abort();
	return items;
}
