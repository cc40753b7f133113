/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/stack.h"

#include <stddef.h>
#include <sys/mman.h>

char *stack_map(void)
{
	char *map = mmap(NULL, STACK_MAPPING_SIZE, PROT_READ | PROT_WRITE,
	                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return NULL;
	(void)mprotect(map, STACK_GUARD_SIZE, PROT_NONE);
	return map;
}
