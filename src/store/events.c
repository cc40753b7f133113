/* SPDX-License-Identifier: Apache-2.0 */
#include "store/events.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/driver.h"
#include "store/column_rows.h"
#include "sandbox/events.h"
#include "store/event_rows.h"
#include "store/pages.h"

struct event_search {
	const char *project_id, *sandbox_id, *kind, *prefix;
	int64_t after, before, limit;
};

struct event_purge {
	int64_t end, upto, before;
};

COLUMNS_OF(event_record);
COLUMNS_OF(event_search);
COLUMNS_OF(event_bounds);
COLUMNS_OF(event_purge);

#define PURGE_MAX 5000
/* A missing sequence number may still be committed within this time, which is longer than any
 * transaction takes after adding its event. */
#define GAP_MS 5000

struct event_watchers {
	atomic_uint_fast64_t count;
	pthread_mutex_t mutex; /* guards the list, also during notification */
	struct event_watcher *first;
};

struct event_watchers *event_watchers_new(void)
{
	struct event_watchers *w = memory_new(sizeof(*w));

	pthread_mutex_init(&w->mutex, NULL);
	return w;
}

void event_watchers_free(struct event_watchers *w)
{
	if (!w)
		return;
	pthread_mutex_destroy(&w->mutex);
	free(w);
}

uint64_t event_watchers_count(struct event_watchers *w)
{
	return atomic_load(&w->count);
}

void event_watchers_notify(struct event_watchers *w)
{
	pthread_mutex_lock(&w->mutex);
	for (const struct event_watcher *at = w->first; at; at = at->next)
		at->on_events(at->context);
	pthread_mutex_unlock(&w->mutex);
}

void store_event_watch(struct store *s, struct event_watcher *w)
{
	pthread_mutex_lock(&s->watchers->mutex);
	w->next = s->watchers->first;
	s->watchers->first = w;
	pthread_mutex_unlock(&s->watchers->mutex);
}

void store_event_unwatch(struct store *s, struct event_watcher *w)
{
	pthread_mutex_lock(&s->watchers->mutex);
	for (struct event_watcher **at = &s->watchers->first; *at; at = &(*at)->next) {
		if (*at == w) {
			*at = w->next;
			break;
		}
	}
	pthread_mutex_unlock(&s->watchers->mutex);
}

int event_add(struct store_connection *c, const struct event_record *event, struct error *err)
{
	if (query_run(c, QUERY_EVENT_INSERT, event, NULL, err) < 0)
		return -1;
	atomic_fetch_add(&c->store->watchers->count, 1);
	return 0;
}

int event_add_about(struct store_connection *c, enum event_kind kind,
                    const struct event_subject *subject, struct error *err)
{
	return event_add(c,
	                 &(struct event_record){.at = clock_unix_ms(),
	                                        .project_id = subject->project_id,
	                                        .sandbox_id = subject->sandbox_id,
	                                        .kind = event_kind_name(kind),
	                                        .text = subject->name},
	                 err);
}

static int run_add(struct store_connection *c, void *context, struct error *err)
{
	return event_add(c, context, err);
}

int store_event_add(struct store *s, const struct event_record *event, struct error *err)
{
	return store_change(s, run_add, event, err);
}

/* "sandbox.*" -> "sandbox.", and nothing for "*". */
static const char *prefix_of(struct arena *a, const char *pattern)
{
	size_t size = pattern ? strlen(pattern) : 0;

	if (size < 2 || pattern[size - 1] != '*')
		return NULL;
	return arena_copy(a, (struct span){pattern, size - 1});
}

static void reverse_events(struct event_list *list)
{
	for (size_t i = 0; i < list->count / 2; i++) {
		struct event_record *other = &list->items[list->count - 1 - i];
		struct event_record item = list->items[i];

		list->items[i] = *other;
		*other = item;
	}
}

int store_event_list(struct store *s, struct arena *a, const struct event_page *page,
                     struct event_list *ret, struct error *err)
{
	static const enum query_name event_queries[2][2] = {
	        {QUERY_EVENT_LIST, QUERY_EVENT_LIST_OF_SANDBOX},
	        {QUERY_EVENT_NEWEST, QUERY_EVENT_NEWEST_OF_SANDBOX},
	};
	bool is_pattern = page->pattern && strchr(page->pattern, '*');
	const struct event_search search = {
	        .project_id = page->project_id,
	        .sandbox_id = page->sandbox_id,
	        .kind = is_pattern ? NULL : page->pattern,
	        .prefix = prefix_of(a, page->pattern),
	        .after = page->after,
	        .before = page->before > 0 ? page->before : INT64_MAX,
	        .limit = list_limit(page->limit),
	};
	enum query_name query = event_queries[page->newest][page->sandbox_id != NULL];

	if (store_list_query(s, query, &search, LIST_INTO(a, ret), err) < 0)
		return -1;
	if (page->newest)
		reverse_events(ret);
	return 0;
}

static int stop_at_gap(struct store *s, const struct numbered_log *log, struct event_bounds *bounds,
                       struct error *err)
{
	int64_t gap;

	if (store_count_query(s, log->gap, LOOKUP(.now = clock_unix_ms() - GAP_MS), &gap, err) < 0)
		return -1;
	if (gap > 0 && gap < bounds->newest)
		bounds->newest = gap;
	return 0;
}

int numbered_log_bounds(struct store *s, const struct numbered_log *log, struct event_bounds *ret,
                        struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	int found = store_find_query(s, log->bounds, NULL, INTO(&arena, ret), err);

	if (found < 0)
		return -1;
	assert(found == 1);
	return s->driver->is_shared ? stop_at_gap(s, log, ret, err) : 0;
}

/* Checks only the oldest rows: they are in order of time, apart from small differences between
 * clocks and commits. */
int numbered_log_purge(struct store *s, const struct numbered_log *log,
                       const struct event_retention *keep, bool *ret_more, struct error *err)
{
	struct event_bounds bounds;
	struct event_purge purge = {.before = keep->before};

	*ret_more = false;
	if (numbered_log_bounds(s, log, &bounds, err) < 0)
		return -1;
	purge.upto = bounds.newest - keep->count_max;
	if (bounds.oldest == bounds.newest ||
	    (bounds.oldest > purge.upto && bounds.oldest_at >= keep->before))
		return 0;
	purge.end = bounds.oldest + PURGE_MAX < bounds.newest ? bounds.oldest + PURGE_MAX
	                                                      : bounds.newest;
	*ret_more = purge.end < bounds.newest;
	return store_change_query_lazily(s, log->purge, &purge, err) < 0 ? -1 : 0;
}

static const struct numbered_log event_log = {
        .bounds = QUERY_EVENT_BOUNDS, .gap = QUERY_EVENT_GAP, .purge = QUERY_EVENT_PURGE};

int store_event_bounds(struct store *s, struct event_bounds *ret, struct error *err)
{
	return numbered_log_bounds(s, &event_log, ret, err);
}

int store_event_purge(struct store *s, const struct event_retention *keep, bool *ret_more,
                      struct error *err)
{
	return numbered_log_purge(s, &event_log, keep, ret_more, err);
}
