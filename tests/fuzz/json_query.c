/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "unit/json/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = {0};
	struct span query = {(const char *)data, size};
	struct machine m;
	struct error err;

	if (json_parse_query(&arena, query, &machine_shape, &m, &err) == 0 &&
	    (!m.name || !span_is_utf8(span_of(m.name))))
		abort();
	return 0;
}
