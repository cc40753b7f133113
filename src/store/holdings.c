/* SPDX-License-Identifier: Apache-2.0 */
#include "store/holdings.h"

#include "base/bytes.h"
#include "store/column_rows.h"
#include "store/query.h"
#include "store/transaction_parts.h"

WORDS_OF(usage_reason, USAGE_REASON_COUNT)

struct holding_mark {
	const char *id;
	int64_t seen_metered_at;
	int64_t bytes, measured_at, metered_at, unbilled_nano;
};

COLUMNS_OF(holding_record);
COLUMNS_OF(holding_page);
COLUMNS_OF(holding_mark);
COLUMNS_OF(storage_look);
COLUMNS_OF(project_storage);

#define PAGE_MAX 1000

int store_holding_list(struct store *s, struct arena *a, const struct holding_page *page,
                       struct holding_list *ret, struct error *err)
{
	struct holding_page takes = *page;

	takes.limit = page->limit > PAGE_MAX ? PAGE_MAX : page->limit;
	return store_list_query(s, QUERY_HOLDING_LIST, &takes, LIST_INTO(a, ret), err);
}

static int run_write(struct store_connection *c, void *context, struct error *err)
{
	const struct holding_usage *usage = context;
	const struct holding_mark mark = {
	        .id = usage->seen->id,
	        .seen_metered_at = usage->seen->metered_at,
	        .bytes = usage->bytes,
	        .measured_at = usage->measured_at,
	        .metered_at = usage->metered_at,
	        .unbilled_nano = usage->unbilled_nano,
	};
	int marked = query_run(c, QUERY_HOLDING_PUT, &mark, NULL, err);

	return marked <= 0 ? marked : usage_rows_add(c, usage->rows, usage->row_count, err);
}

int store_holding_write(struct store *s, const struct holding_usage *usage, struct error *err)
{
	return store_change_lazily(s, run_write, usage, err);
}

int store_holding_expect(struct store *s, const char *id, int64_t bytes, int64_t now,
                         struct error *err)
{
	const struct holding_mark mark = {.id = id, .bytes = bytes, .measured_at = now};

	return store_change_query(s, QUERY_HOLDING_EXPECT, &mark, err) < 0 ? -1 : 0;
}

int store_project_storage(struct store *s, const struct storage_look *look,
                          struct project_storage *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};

	return ROW_OR(store_find_query(s, QUERY_PROJECT_STORAGE, look, INTO(&arena, ret), err),
	              FAIL(err, ERROR_SYSTEM, "the storage of project '%s' has no row",
	                   look->project_id));
}

int store_holding_tidy(struct store *s, struct error *err)
{
	return store_change_query_lazily(s, QUERY_HOLDING_TIDY, NULL, err) < 0 ? -1 : 0;
}
