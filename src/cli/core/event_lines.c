/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/event_lines.h"

int event_lines_add(struct buf *pending, struct span bytes,
                    int (*on_line)(void *context, struct span line, struct error *err),
                    void *context, struct error *err)
{
	struct span rest, line;

	buf_add_span(pending, bytes);
	if (pending->overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the server sent an event that is too long");
	rest = buf_span(pending);
	while (span_find(rest, '\n') >= 0) {
		(void)span_split(&rest, '\n', &line);
		if (on_line(context, line, err) < 0)
			return -1;
	}
	buf_consume(pending, pending->size - rest.size);
	return 0;
}
