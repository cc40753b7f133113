/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/event_objects.h"

#include <string.h>

#include "base/map.h"
#include "edge/api.h"
#include "store/events.h"
#include "store/snapshots.h"
#include "store/sandbox_record.h"

#define SUBJECT "sandbox."
#define OBJECT_MAX ((size_t)1024 * 1024)

static int read_object(const struct api *api, struct arena *a, const struct event_record *event,
                       event_object_writer *write, struct span *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(OBJECT_MAX);
	struct sandbox_record r;

	if (store_sandbox_find_ended(api->store, a, event->project_id, event->sandbox_id, &r, err) <
	    0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		*ret = SPAN("null");
		return 0;
	}
	if (write(api, a, &r, &text, err) < 0)
		return -1;
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "sandbox '%s' is too large for an event", r.id);
	*ret = (struct span){arena_copy(a, buf_span(&text)), text.size};
	return 0;
}

int event_objects_read(const struct api *api, struct arena *a, const struct event_list *events,
                       event_object_writer *write, struct span **ret, struct error *err)
{
	struct span *objects = ARENA_ARRAY(a, struct span, events->count + 1);
	AUTO(map_done) struct map known = {0};

	for (size_t i = 0; i < events->count; i++) {
		const struct event_record *event = &events->items[i];
		struct span *earlier;

		if (strncmp(event->kind, SUBJECT, strlen(SUBJECT)) != 0 || !event->sandbox_id[0])
			continue;
		earlier = map_find(&known, event->sandbox_id);
		if (!earlier) {
			if (read_object(api, a, event, write, &objects[i], err) < 0)
				return -1;
			map_put(&known, event->sandbox_id, &objects[i]);
		} else {
			objects[i] = *earlier;
		}
	}
	*ret = objects;
	return 0;
}
