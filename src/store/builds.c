/* SPDX-License-Identifier: Apache-2.0 */
#include "store/builds.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "json/json.h"
#include "json/write.h"
#include "sandbox/events.h"
#include "store/column_rows.h"
#include "store/event_rows.h"
#include "store/events.h"
#include "store/pages.h"
#include "store/query.h"

NAMES_OF(build_state, BUILD_STATE_COUNT, [BUILD_WAITING] = "waiting", [BUILD_BUILDING] = "building",
         [BUILD_READY] = "ready", [BUILD_ERROR] = "error", [BUILD_CANCELLED] = "cancelled")

struct build_page {
	struct build_filter filter;
	struct page_position position;
};

COLUMNS_OF(build_record);
COLUMNS_OF(build_page);
COLUMNS_OF(build_chunk);
COLUMNS_OF(build_log_page);
COLUMNS_OF(cached_layer);
COLUMNS_OF(build_cache_filter);
COLUMNS_OF(layer_filter);
COLUMNS_OF(layer_ref);

int store_build_insert(struct store *s, const struct build_record *r, struct error *err)
{
	return ROW_OR(store_change_query(s, QUERY_BUILD_INSERT, r, err),
	              FAIL(err, ERROR_CONFLICT, "a build '%s' exists already", r->id));
}

int store_build_find(struct store *s, struct arena *a, const char *project_id, const char *id,
                     struct build_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_BUILD_FIND,
	                               LOOKUP(.project_id = project_id, .id = id), INTO(a, ret),
	                               err),
	              FAIL_MISSING(err, "build", id));
}

int store_build_list(struct store *s, struct arena *a, const struct build_filter *filter,
                     struct build_list *ret, struct error *err)
{
	struct build_page page = {.filter = *filter};

	if (page_begin(&page.position, filter->page, filter->limit, err) < 0)
		return -1;
	return store_list_query(s, QUERY_BUILD_LIST, &page, PAGE_INTO(a, ret, &page.position), err);
}

int store_build_list_unfinished(struct store *s, struct arena *a, const char *node,
                                struct build_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_BUILD_UNFINISHED, LOOKUP(.id = node), LIST_INTO(a, ret),
	                        err);
}

/* A template may be built many times: the detail holds the build's id. */
static int add_build_event(struct store_connection *c, struct arena *a,
                           const struct build_record *r, enum build_state state, struct error *err)
{
	static const enum event_kind build_events[BUILD_STATE_COUNT] = {
	        [BUILD_BUILDING] = EVENT_BUILD_STARTED,
	        [BUILD_READY] = EVENT_BUILD_READY,
	        [BUILD_ERROR] = EVENT_BUILD_FAILED,
	        [BUILD_CANCELLED] = EVENT_BUILD_CANCELLED,
	};
	struct json_pair build = {"build", r->id};
	const struct event_record event = {
	        .at = clock_unix_ms(),
	        .project_id = r->project_id,
	        .kind = event_kind_name(build_events[state]),
	        .text = r->name,
	        .detail = json_format_map(a, &(struct json_map){&build, 1, true}),
	};

	return event_add(c, &event, err);
}

static int run_update(struct store_connection *c, void *context, struct error *err)
{
	const struct build_record *r = context;
	AUTO(arena_done) struct arena arena = {0};
	struct build_record before;
	int found =
	        query_find(c, QUERY_BUILD_FIND, LOOKUP(.id = r->id), INTO(&arena, &before), err);
	int count = found > 0 ? query_run(c, QUERY_BUILD_UPDATE, r, NULL, err) : found;

	if (count == 0)
		return FAIL(err, ERROR_CONFLICT, "build '%s' has ended, or is gone", r->id);
	if (count < 0)
		return -1;
	/* Progress changes no state, and no build returns to waiting. */
	if (before.state == r->state || r->state == BUILD_WAITING)
		return 0;
	return add_build_event(c, &arena, &before, r->state, err);
}

int store_build_update(struct store *s, const struct build_record *r, struct error *err)
{
	const struct transaction update = {run_update, r, .is_lazy = !build_has_ended(r->state)};

	return store_transact(s, &update, err);
}

int store_build_remove(struct store *s, const char *project_id, const char *id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct build_record r;
	int count = store_change_query(s, QUERY_BUILD_REMOVE,
	                               LOOKUP(.project_id = project_id, .id = id), err);

	if (count != 0)
		return count < 0 ? -1 : 0;
	if (store_build_find(s, &arena, project_id, id, &r, err) < 0)
		return -1;
	return FAIL(err, ERROR_CONFLICT, "build '%s' is %s and has not ended", id,
	            build_state_name(r.state));
}

int store_build_purge(struct store *s, int64_t before, struct error *err)
{
	return store_change_query(s, QUERY_BUILD_PURGE, LOOKUP(.now = before), err) < 0 ? -1 : 0;
}

int store_build_log_add(struct store *s, const struct build_chunk *chunk, struct error *err)
{
	return store_change_query_lazily(s, QUERY_BUILD_LOG_ADD, chunk, err) < 0 ? -1 : 0;
}

int store_build_log_list(struct store *s, struct arena *a, const struct build_log_page *page,
                         struct build_chunks *ret, struct error *err)
{
	return store_list_query(s, QUERY_BUILD_LOG_LIST, page, LIST_INTO(a, ret), err);
}

int store_build_cache_put(struct store *s, const struct cached_layer *layer, struct error *err)
{
	return store_change_query(s, QUERY_BUILD_CACHE_PUT, layer, err) < 0 ? -1 : 0;
}

int store_build_cache_find(struct store *s, struct arena *a, const struct cached_layer *key,
                           struct cached_layer *ret, struct error *err)
{
	return store_find_query(s, QUERY_BUILD_CACHE_FIND, key, INTO(a, ret), err);
}

int store_build_cache_touch(struct store *s, const struct cached_layer *layer, struct error *err)
{
	return store_change_query_lazily(s, QUERY_BUILD_CACHE_TOUCH, layer, err) < 0 ? -1 : 0;
}

int store_build_cache_remove(struct store *s, const char *snapshot_id, struct error *err)
{
	const struct cached_layer layer = {.snapshot_id = snapshot_id};

	return store_change_query(s, QUERY_BUILD_CACHE_REMOVE, &layer, err) < 0 ? -1 : 0;
}

int store_build_cache_list(struct store *s, struct arena *a,
                           const struct build_cache_filter *filter, struct cached_layers *ret,
                           struct error *err)
{
	return store_list_query(s, QUERY_BUILD_CACHE_LIST, filter, LIST_INTO(a, ret), err);
}

int store_layers_unused(struct store *s, struct arena *a, const struct layer_filter *filter,
                        struct layer_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_LAYER_UNUSED, filter, LIST_INTO(a, ret), err);
}

int store_layer_release(struct store *s, const char *snapshot_id, bool *ret_is_free,
                        struct error *err)
{
	int count = store_change_query(s, QUERY_LAYER_RELEASE, LOOKUP(.id = snapshot_id), err);

	if (count < 0)
		return -1;
	*ret_is_free = count > 0;
	return 0;
}
