/* SPDX-License-Identifier: Apache-2.0 */
#include "store/activity.h"

#include "base/clock.h"
#include "store/column_rows.h"
#include "store/driver.h"
#include "store/event_rows.h"
#include "store/pages.h"

NAMES_OF(activity_kind, ACTIVITY_KIND_COUNT, "command", "code", "tool", "file")
NAMES_OF(activity_outcome, ACTIVITY_OUTCOME_COUNT, "unknown", "ok", "failed")

struct activity_search {
	const char *project_id, *sandbox_id, *kind, *user_id, *key_id, *conversation;
	int64_t after, before, limit;
};
struct activity_trim {
	const char *sandbox_id;
	int64_t count_max;
};

COLUMNS_OF(activity_record);
COLUMNS_OF(activity_search);
COLUMNS_OF(activity_trim);

static int insert_rows(struct store_connection *c, void *context, struct error *err)
{
	const struct activity_batch *batch = context;

	for (size_t i = 0; i < batch->count; i++)
		if (query_run(c, QUERY_ACTIVITY_INSERT, batch->items[i], NULL, err) < 0)
			return -1;
	return 0;
}

int store_activity_add(struct store *s, const struct activity_batch *batch, struct error *err)
{
	return store_change_lazily(s, insert_rows, batch, err);
}

static void reverse_rows(struct activity_list *list)
{
	for (size_t i = 0; i < list->count / 2; i++) {
		struct activity_record *other = &list->items[list->count - 1 - i];
		struct activity_record item = list->items[i];

		list->items[i] = *other;
		*other = item;
	}
}

int store_activity_list(struct store *s, struct arena *a, const struct activity_page *page,
                        struct activity_list *ret, struct error *err)
{
	static const enum query_name all[2][3] = {
	        {QUERY_ACTIVITY_LIST, QUERY_ACTIVITY_LIST_OF_PROJECT,
	         QUERY_ACTIVITY_LIST_OF_SANDBOX},
	        {QUERY_ACTIVITY_NEWEST, QUERY_ACTIVITY_NEWEST_OF_PROJECT,
	         QUERY_ACTIVITY_NEWEST_OF_SANDBOX},
	};
	const struct activity_filter *f = &page->filter;
	const struct activity_search search = {
	        .project_id = f->project_id,
	        .sandbox_id = f->sandbox_id,
	        .kind = f->kind,
	        .user_id = f->user_id,
	        .key_id = f->key_id,
	        .conversation = f->conversation,
	        .after = page->after,
	        .before = page->before > 0 ? page->before : INT64_MAX,
	        .limit = list_limit(page->limit),
	};
	enum query_name query = all[page->newest][f->sandbox_id ? 2 : f->project_id ? 1 : 0];

	if (store_list_query(s, query, &search, LIST_INTO(a, ret), err) < 0)
		return -1;
	if (page->newest)
		reverse_rows(ret);
	return 0;
}

static const struct numbered_log activity_log = {
        .bounds = QUERY_ACTIVITY_BOUNDS,
        .gap = QUERY_ACTIVITY_GAP,
        .purge = QUERY_ACTIVITY_PURGE,
};

int store_activity_bounds(struct store *s, struct event_bounds *ret, struct error *err)
{
	return numbered_log_bounds(s, &activity_log, ret, err);
}

int store_activity_purge(struct store *s, const struct event_retention *keep, bool *ret_more,
                         struct error *err)
{
	return numbered_log_purge(s, &activity_log, keep, ret_more, err);
}

int store_activity_trim(struct store *s, const char *sandbox_id, int64_t count_max,
                        struct error *err)
{
	const struct activity_trim trim = {sandbox_id, count_max};

	return store_change_query_lazily(s, QUERY_ACTIVITY_TRIM, &trim, err) < 0 ? -1 : 0;
}
