/* SPDX-License-Identifier: Apache-2.0 */
#include "store/query.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "store/column_rows.h"
#include "store/driver.h"
#include "store/event_rows.h"

#define ROWS_FIRST 8

const struct column columns_of_record_lookup[] = {
        FILTER_OF(record_lookup, project_id),
        TEXT_OF(record_lookup, id),
        WHOLE_OF(record_lookup, now),
        END,
};

const struct column columns_of_row_count[] = {
        WHOLE_OF(row_count, count),
        END,
};

const struct column *query_column(const struct store_query *query, const struct column *shape,
                                  const char *name)
{
	for (const struct column *column = shape; column && column->kind != COLUMN_END; column++)
		if (strcmp(column->name, name) == 0)
			return column;
	log_error("query names what its shape does not have", TEXT("query", query->name),
	          TEXT("name", name));
	abort();
}

void *rows_add(struct rows *rows)
{
	assert(rows->arena && rows->size > 0 && rows->count <= rows->capacity);
	if (rows->count == rows->capacity) {
		size_t capacity = rows->capacity ? 2 * rows->capacity : ROWS_FIRST;
		char *items = arena_alloc(rows->arena, capacity * rows->size);

		if (rows->count > 0)
			memcpy(items, rows->items, rows->count * rows->size);
		rows->items = items;
		rows->capacity = capacity;
	}
	return (char *)rows->items + rows->count++ * rows->size;
}

int query_run(struct store_connection *c, enum query_name query, const void *takes,
              struct rows *rows, struct error *err)
{
	return c->store->driver->run(c, query, takes, rows, err);
}

static int take_first(const struct rows *rows, void *ret)
{
	if (rows->count == 0)
		return 0;
	memcpy(ret, rows->items, rows->size);
	return 1;
}

int query_find(struct store_connection *c, enum query_name query, const void *takes,
               struct rows *row, void *ret, struct error *err)
{
	row->count = 0;
	if (query_run(c, query, takes, row, err) < 0)
		return -1;
	return take_first(row, ret);
}

int query_count(struct store_connection *c, enum query_name query, const void *takes, int64_t *ret,
                struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct rows rows = {.arena = &arena, .size = sizeof(struct row_count)};
	struct row_count tally = {0};

	if (query_find(c, query, takes, &rows, &tally, err) < 0)
		return -1;
	*ret = tally.count;
	return 0;
}

int store_read(struct store *s, const struct transaction *t, struct error *err)
{
	return s->driver->read(s, t, err);
}

int store_change(struct store *s, const struct transaction *t, struct error *err)
{
	uint64_t count = event_watchers_count(s->watchers);

	if (s->driver->change(s, t, err) < 0)
		return -1;
	/* Notifies when events were added since, its own or those of others. */
	if (event_watchers_count(s->watchers) != count)
		event_watchers_notify(s->watchers);
	return 0;
}

struct single {
	enum query_name query;
	const void *takes;
	struct rows *rows;
	int count;
};

static int run_single(struct store_connection *c, void *context, struct error *err)
{
	struct single *single = context;

	if (single->rows)
		single->rows->count = 0;
	single->count = query_run(c, single->query, single->takes, single->rows, err);
	return single->count < 0 ? -1 : 0;
}

int store_read_query(struct store *s, enum query_name query, const void *takes, struct rows *rows,
                     struct error *err)
{
	struct single single = {query, takes, rows, 0};

	if (store_read(s, &(struct transaction){.run = run_single, .context = &single}, err) < 0)
		return -1;
	return single.count;
}

int store_find_query(struct store *s, enum query_name query, const void *takes, struct rows *row,
                     void *ret, struct error *err)
{
	return store_read_query(s, query, takes, row, err) < 0 ? -1 : take_first(row, ret);
}

int store_change_query(struct store *s, enum query_name query, const void *takes, struct error *err)
{
	struct single single = {query, takes, NULL, 0};

	if (store_change(s, &(struct transaction){.run = run_single, .context = &single}, err) < 0)
		return -1;
	return single.count;
}
