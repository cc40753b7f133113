/* SPDX-License-Identifier: Apache-2.0 */
/* A .gitignore out of a sandbox, and a path: the first line is the path. */
#include "cli/sync/gitignore.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(gitignore_done) struct gitignore g = {0};
	AUTO(arena_done) struct arena arena = {0};
	struct span rest = {(const char *)data, size}, path;
	const char *text;

	if (size > GITIGNORE_SIZE_MAX || !span_split(&rest, '\n', &path))
		return 0;
	text = arena_copy(&arena, path);
	gitignore_add(&g, "", rest);
	gitignore_add(&g, "a", rest);
	(void)gitignore_matches(&g, text, true);
	(void)gitignore_matches(&g, text, false);
	return 0;
}
