/* SPDX-License-Identifier: Apache-2.0 */
/* The events as the source of a feed. */
#include <string.h>

#include "calls/feed.h"
#include "edge/api.h"
#include "fleet/core/events.h"
#include "sandbox/events.h"
#include "store/events.h"

static void watch_events(struct api *api, struct event_watcher *w)
{
	store_event_watch(api->store, w);
}

static void unwatch_events(struct api *api, struct event_watcher *w)
{
	store_event_unwatch(api->store, w);
}

static int list_events(struct store *s, struct arena *a, const struct feed_page *page,
                       struct feed_rows *ret, struct error *err)
{
	const struct event_page events = {
	        .project_id = page->filter->project_id,
	        .sandbox_id = page->filter->sandbox_id,
	        .pattern = page->filter->pattern,
	        .after = page->after,
	        .before = page->before,
	        .limit = page->limit,
	};
	struct event_list found;

	if (store_event_list(s, a, &events, &found, err) < 0)
		return -1;
	*ret = (struct feed_rows){found.items, found.count};
	return 0;
}

/* As in store/queries/events.sql: every project sees the server's providers and shared templates.
 */
static bool event_is_for_all(const struct event_record *r)
{
	return !r->project_id[0] && (event_pattern_matches("provider.*", r->kind) ||
	                             event_pattern_matches("template.*", r->kind));
}

static bool is_wanted(const struct feed_filter *f, const void *row)
{
	const struct event_record *r = row;

	return (!f->project_id || strcmp(f->project_id, r->project_id) == 0 ||
	        event_is_for_all(r)) &&
	       (!f->sandbox_id || strcmp(f->sandbox_id, r->sandbox_id) == 0) &&
	       (!f->pattern || event_pattern_matches(f->pattern, r->kind));
}

static const char *kind_of(const void *row)
{
	return ((const struct event_record *)row)->kind;
}

static void write_event(struct buf *out, const void *row, struct span object)
{
	fleet_event_write_with(out, row, object);
}

static int read_objects(const struct api *api, struct arena *a, const struct feed_rows *rows,
                        event_object_writer *write, struct span **ret, struct error *err)
{
	/* The list is only read. */
	const struct event_list events = {(struct event_record *)(uintptr_t)rows->items,
	                                  rows->count};

	return event_objects_read(api, a, &events, write, ret, err);
}

const struct feed_source event_feed_source = {
        .watch = watch_events,
        .unwatch = unwatch_events,
        .row_size = sizeof(struct event_record),
        .bounds = store_event_bounds,
        .list = list_events,
        .is_wanted = is_wanted,
        .name = kind_of,
        .write = write_event,
        .read_objects = read_objects,
};
