/* SPDX-License-Identifier: Apache-2.0 */
#include "base/attribute.h"

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
	void *memory = calloc(1, size);

	if (!memory)
		abort();
	return memory;
}
