/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/event_lines.h"

#include "json/json.h"

void event_lines_done(struct event_lines *e)
{
	arena_done(&e->arena);
	buf_done(&e->pending);
}

int event_lines_add(struct event_lines *e, struct span bytes,
                    int (*on_event)(void *context, const struct json_value *event,
                                    struct error *err),
                    void *context, struct error *err)
{
	const struct json_value *event;
	struct span rest, line;

	buf_add_span(&e->pending, bytes);
	if (e->pending.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the server sent an event that is too long");
	rest = buf_span(&e->pending);
	while (span_find(rest, '\n') >= 0) {
		(void)span_split(&rest, '\n', &line);
		if (line.size == 0)
			continue;
		arena_reset(&e->arena);
		if (json_load(&e->arena, line, &event, err) < 0)
			return FAIL_CONTEXT(err, "read the server's events");
		if (on_event(context, event, err) < 0)
			return -1;
	}
	buf_consume(&e->pending, e->pending.size - rest.size);
	return 0;
}
