/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the bytes: an accepted path is plain, and a workspace path stays inside. */
#include <assert.h>
#include <stdint.h>

#include "base/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every name in it is one that path_name_is_valid accepts. */
static void check_names(const char *path)
{
	struct span rest = span_of(path), name;
	bool more;

	do {
		more = span_split(&rest, '/', &name);
		assert(path_name_is_valid(name));
	} while (more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span input = {(const char *)data, size};
	AUTO(arena_done) struct arena arena = {0};
	const char *path;
	struct error err;

	if (path_resolve(&arena, "/home/user", input, &path, &err) == 0) {
		assert(path[0] == '/' && strlen(path) < PATH_SIZE_MAX);
		if (path[1])
			check_names(path + 1);
		(void)path_last(path);
	}
	if (path_check_relative(&arena, input, &path, &err) == 0 && strcmp(path, ".") != 0)
		check_names(path);
	return 0;
}
