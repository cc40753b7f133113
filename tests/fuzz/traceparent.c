/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the header: what is accepted has ids, and is written again as its first 55 characters,
 * but for version, span id and flags. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	const char *text = arena_copy(&a, (struct span){(const char *)data, size});
	struct trace_span span = {.is_known = true, .id = {1}};
	char parent[TRACE_PARENT_SIZE];

	if (!trace_parse_parent(text, &span))
		return 0;
	assert(strlen(text) >= TRACE_PARENT_SIZE - 1);
	assert(trace_format_parent(&span, parent));
	assert(memcmp(parent + 2, text + 2, 34) == 0);
	return 0;
}
