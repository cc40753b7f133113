/* SPDX-License-Identifier: Apache-2.0 */
/* A recording that somebody else wrote: its first line as a head, each further one as an event. */
#include <stdint.h>
#include <stdlib.h>

#include "cli/terminal/cast.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = {0};
	struct span text = {(const char *)data, size}, line;
	int64_t columns, rows;
	struct cast_event event;
	struct error err;

	(void)span_split(&text, '\n', &line);
	if (cast_parse_head(&a, line, &columns, &rows, &err) < 0)
		return 0;
	while (text.size > 0) {
		(void)span_split(&text, '\n', &line);
		if (cast_parse_event(&a, line, &event, &err) == 0 && event.at_us < 0)
			abort();
	}
	return 0;
}
