/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "unit/json/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was accepted must be written as JSON that is accepted again and means the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf first = BUF(1 << 24), second = BUF(1 << 24);
	struct machine m;
	struct error err;

	if (json_parse(&arena, (struct span){(const char *)data, size}, &machine_shape, &m, &err) <
	    0)
		return 0;
	if (m.limits.pids == 0)
		m.limits.pids = 8; /* absent, while an explicit 0 is out of bounds */
	json_write(&first, &machine_shape, &m);
	if (json_parse(&arena, buf_span(&first), &machine_shape, &m, &err) < 0)
		abort();
	json_write(&second, &machine_shape, &m);
	if (!span_equals(buf_span(&first), buf_span(&second)))
		abort();
	return 0;
}
