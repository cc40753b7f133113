/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern and a path, parted by the first newline. A path that is its own pattern must match. */
#include <stdlib.h>
#include <string.h>

#include "agent/glob.h"
#include "base/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_plain(const char *path)
{
	return path[0] && !strpbrk(path, "*?[\\") && path[strlen(path) - 1] != '/';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span path = {(const char *)data, size}, pattern;
	AUTO(arena_done) struct arena a = {0};
	const char *text;
	struct globs globs;
	struct error err;

	if (size > 4096 || !span_split(&path, '\n', &pattern))
		return 0;
	text = arena_copy(&a, path);
	(void)glob_matches(arena_copy(&a, pattern), text);
	(void)glob_depth(text);
	if (globs_parse(&a, text, &globs, &err) == 0) {
		(void)globs_depth(&globs);
		if (glob_matches(text, text) && !strchr(text, '{') && !globs_match(&globs, text))
			abort();
	}
	if (is_plain(text) && !glob_matches(text, text))
		abort();
	return 0;
}
