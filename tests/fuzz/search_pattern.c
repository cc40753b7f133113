/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern of rg's in the words of POSIX: what comes out has the same number of lines, one, and
 * what is refused says why. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "tool/search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = {0};
	struct span pattern = {(const char *)data, size};
	struct error err = {0};
	const char *posix;

	if (size > SEARCH_PATTERN_MAX || span_find(pattern, '\0') >= 0)
		return 0;
	if (search_pattern_to_posix(&a, arena_copy(&a, pattern), &posix, &err) < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	if (strchr(posix, '\n') || strlen(posix) > 16 * SEARCH_PATTERN_MAX)
		abort();
	return 0;
}
