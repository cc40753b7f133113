/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/operations.h"

#include <string.h>

const struct api_operation *operation_find(const char *name)
{
	size_t size = strcspn(name, "?");

	for (const struct api_operation *o = api_operations; o->name; o++) {
		if (strncmp(o->name, name, size) == 0 && o->name[size] == '\0')
			return o;
	}
	return NULL;
}

const struct operation_member *operation_member_find(const struct api_operation *operation,
                                                     const char *name)
{
	for (const struct operation_member *m = operation->members; m && m->name; m++) {
		if (strcmp(m->name, name) == 0)
			return m;
	}
	return NULL;
}
