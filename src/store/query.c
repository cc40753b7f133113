/* SPDX-License-Identifier: Apache-2.0 */
#include "store/query.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "store/change_rows.h"
#include "store/column_rows.h"
#include "store/driver.h"
#include "store/event_rows.h"
#include "store/pages.h"
#include "trace/timing.h"

COLUMNS_OF(record_lookup);
COLUMNS_OF(row_count);

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
	rows->items =
	        arena_grow(rows->arena, rows->items, rows->count, &rows->capacity, rows->size);
	return (char *)rows->items + rows->count++ * rows->size;
}

int transaction_run(const struct transaction *t, struct store_connection *c, struct error *err)
{
	const struct trace_span *outer;
	int result;

	/* Perhaps not on the caller's thread. */
	outer = trace_swap(t->trace);
	if (t->changes)
		changes_rewind(t->changes); /* it may run again */
	c->changes = t->changes;
	result = t->run(c, (void *)(uintptr_t)t->context, err);
	c->changes = NULL;
	(void)trace_swap(outer);
	return result;
}

int query_run(struct store_connection *c, enum query_name query, const void *takes,
              struct rows *rows, struct error *err)
{
	struct trace_span span;
	int result;

	trace_begin(&span, TRACE_STORE, store_queries[query].name);
	if (c->changes && changes_wants(query))
		result = changes_run(c, query, takes, rows, err);
	else
		result = c->store->driver->run(c, query, takes, rows, err);
	trace_end(&span, &(struct trace_end){.err = result < 0 ? err : NULL});
	return result;
}

int query_find(struct store_connection *c, enum query_name query, const void *takes,
               const struct row_target *ret, struct error *err)
{
	struct rows rows = {.arena = ret->arena, .size = ret->size};

	if (query_run(c, query, takes, &rows, err) < 0)
		return -1;
	if (rows.count == 0)
		return 0;
	memcpy(ret->ret, rows.items, rows.size);
	return 1;
}

int query_list(struct store_connection *c, enum query_name query, const void *takes,
               const struct list_target *ret, struct error *err)
{
	struct rows rows = {.arena = ret->arena, .size = ret->item_size};
	const char *next;

	if (query_run(c, query, takes, &rows, err) < 0)
		return -1;
	next = ret->position ? page_end(ret->position, query, &rows) : NULL;
	memset(ret->list, 0, ret->list_size);
	memcpy(ret->items, &rows.items, sizeof(rows.items));
	*ret->count = rows.count;
	if (ret->position)
		*ret->next_page = next;
	return 0;
}

int query_count(struct store_connection *c, enum query_name query, const void *takes, int64_t *ret,
                struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct row_count tally = {0};

	if (query_find(c, query, takes, INTO(&arena, &tally), err) < 0)
		return -1;
	*ret = tally.count;
	return 0;
}

/* The store itself has failed: a row that is missing or taken is an ordinary result. */
static bool is_outage(int result, const struct error *err)
{
	return result < 0 && (err->code == ERROR_SYSTEM || err->code == ERROR_UNAVAILABLE ||
	                      err->code == ERROR_TIMEOUT || err->code == ERROR_NO_SPACE);
}

int store_read(struct store *s,
               int (*run)(struct store_connection *c, void *context, struct error *err),
               const void *context, struct error *err)
{
	struct timed_call timed;
	int result;

	timed_begin(&timed, TRACE_STORE, "read");
	result = s->driver->read(
	        s, &(struct transaction){.run = run, .context = context, .trace = &timed.span},
	        err);
	timed_end(&timed, is_outage(result, err) ? err : NULL);
	return result;
}

int store_transact(struct store *s, const struct transaction *t, struct error *err)
{
	uint64_t count = event_watchers_count(s->watchers);
	struct transaction collected = *t;
	struct timed_call timed;
	int result;

	timed_begin(&timed, TRACE_STORE, "change");
	collected.trace = &timed.span;
	collected.changes = changes_current();
	if (collected.changes)
		changes_begin(collected.changes);
	result = s->driver->change(s, &collected, err);
	timed_end(&timed, is_outage(result, err) ? err : NULL);
	if (result < 0) {
		if (collected.changes)
			changes_rewind(collected.changes);
		return -1;
	}
	/* Notifies when events were added since, its own or those of others. */
	if (event_watchers_count(s->watchers) != count)
		event_watchers_notify(s->watchers);
	return 0;
}

int store_change(struct store *s,
                 int (*run)(struct store_connection *c, void *context, struct error *err),
                 const void *context, struct error *err)
{
	return store_transact(s, &(struct transaction){.run = run, .context = context}, err);
}

int store_change_lazily(struct store *s,
                        int (*run)(struct store_connection *c, void *context, struct error *err),
                        const void *context, struct error *err)
{
	return store_transact(
	        s, &(struct transaction){.run = run, .context = context, .is_lazy = true}, err);
}

struct single {
	enum query_name query;
	const void *takes;
	const struct row_target *row;   /* NULL: not a single row */
	const struct list_target *list; /* NULL: no list */
	int count;
};

static int run_single(struct store_connection *c, void *context, struct error *err)
{
	struct single *single = context;

	if (single->row)
		single->count = query_find(c, single->query, single->takes, single->row, err);
	else if (single->list)
		single->count = query_list(c, single->query, single->takes, single->list, err);
	else
		single->count = query_run(c, single->query, single->takes, NULL, err);
	return single->count < 0 ? -1 : 0;
}

int store_find_query(struct store *s, enum query_name query, const void *takes,
                     const struct row_target *ret, struct error *err)
{
	struct single single = {.query = query, .takes = takes, .row = ret};

	return store_read(s, run_single, &single, err) < 0 ? -1 : single.count;
}

int store_count_query(struct store *s, enum query_name query, const void *takes, int64_t *ret,
                      struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct row_count tally = {0};

	if (store_find_query(s, query, takes, INTO(&arena, &tally), err) < 0)
		return -1;
	*ret = tally.count;
	return 0;
}

int store_list_query(struct store *s, enum query_name query, const void *takes,
                     const struct list_target *ret, struct error *err)
{
	struct single single = {.query = query, .takes = takes, .list = ret};

	return store_read(s, run_single, &single, err);
}

int store_change_query(struct store *s, enum query_name query, const void *takes, struct error *err)
{
	struct single single = {.query = query, .takes = takes};

	return store_change(s, run_single, &single, err) < 0 ? -1 : single.count;
}

int store_change_query_lazily(struct store *s, enum query_name query, const void *takes,
                              struct error *err)
{
	struct single single = {.query = query, .takes = takes};

	return store_change_lazily(s, run_single, &single, err) < 0 ? -1 : single.count;
}
