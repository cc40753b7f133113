/* SPDX-License-Identifier: Apache-2.0 */
/* store/query.h — named queries and transactions, as the nouns' files use them.
 *
 * The queries are in queries/; column.h describes their parameters and results. A noun's file
 * knows records and rules and no database; driver.h is the other side. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/queries.h"

struct arena;
struct store;
struct store_changes;
struct store_connection;
struct trace_span;

/* A transaction: `run` calls query_run; when it fails, everything is rolled back. It may run on
 * another thread while the caller waits, and more than once. */
struct transaction {
	int (*run)(struct store_connection *c, void *context, struct error *err);
	const void *context; /* `run` may change it when the caller's object is not const */
	/* Lazy: does not wait for the disk. A crash of the machine (not of the process) may lose
	 * it; recovery handles that. */
	bool is_lazy;
	struct store_changes *changes; /* set by store_transact: changes.h */
	struct trace_span *trace;      /* set by query.c: spans of queries are its children */
};
MUST_CHECK int store_transact(struct store *s, const struct transaction *t, struct error *err);
MUST_CHECK int store_change(struct store *s,
                            int (*run)(struct store_connection *c, void *context,
                                       struct error *err),
                            const void *context, struct error *err);
MUST_CHECK int store_change_lazily(struct store *s,
                                   int (*run)(struct store_connection *c, void *context,
                                              struct error *err),
                                   const void *context, struct error *err);
/* A transaction that only reads. */
MUST_CHECK int store_read(struct store *s,
                          int (*run)(struct store_connection *c, void *context, struct error *err),
                          const void *context, struct error *err);

/* Receives result rows: an array of `size`-byte structs in the arena. */
struct rows {
	struct arena *arena;
	size_t size;
	void *items;
	size_t count, capacity;
};
/* Appends a zeroed item. */
void *rows_add(struct rows *rows);

/* Where a single row is put: *ret, and its texts in the arena. */
struct row_target {
	struct arena *arena;
	void *ret;
	size_t size;
};
#define INTO(arena, ret) (&(const struct row_target){(arena), (ret), sizeof(*(ret))})

struct page_position;
/* Where rows are put: the members `items` and `count` of a list; its other members become zero. */
struct list_target {
	struct arena *arena;
	void *list;
	size_t list_size, item_size;
	void *items; /* the address of the member */
	size_t *count;
	/* For a list in pages, see pages.h. */
	const struct page_position *position;
	const char **next_page;
};
#define PAGE_INTO_(arena_, list_, position_, next_page_)                                           \
	(&(const struct list_target){.arena = (arena_),                                            \
	                             .list = (list_),                                              \
	                             .list_size = sizeof(*(list_)),                                \
	                             .item_size = sizeof(*(list_)->items),                         \
	                             .items = &(list_)->items,                                     \
	                             .count = &(list_)->count,                                     \
	                             .position = (position_),                                      \
	                             .next_page = (next_page_)})
#define LIST_INTO(arena, list) PAGE_INTO_(arena, list, NULL, NULL)
#define PAGE_INTO(arena, list, position) PAGE_INTO_(arena, list, position, &(list)->next_page)

/* What a query's count of rows means: 0 with a row, -1 after a failure; without a row it is
 * `otherwise`, a FAIL. */
#define ROW_OR(rows, otherwise)                                                                    \
	({                                                                                         \
		int rows_ = (rows);                                                                \
		rows_ == 0 ? (otherwise) : rows_ < 0 ? -1 : 0;                                     \
	})

/* Returns the number of rows read (into `rows`) or, for a query without result, of changed rows; -1
 * on failure. `takes` and `rows` are NULL when the query has none. */
MUST_CHECK int query_run(struct store_connection *c, enum query_name query, const void *takes,
                         struct rows *rows, struct error *err);
/* Reads the first row: 1, or 0 without a row. */
MUST_CHECK int query_find(struct store_connection *c, enum query_name query, const void *takes,
                          const struct row_target *ret, struct error *err);
MUST_CHECK int query_list(struct store_connection *c, enum query_name query, const void *takes,
                          const struct list_target *ret, struct error *err);
/* Reads the `count` of a query that returns a row_count. */
MUST_CHECK int query_count(struct store_connection *c, enum query_name query, const void *takes,
                           int64_t *ret, struct error *err);

/* Reads the first row: 1, or 0 without a row. */
MUST_CHECK int store_find_query(struct store *s, enum query_name query, const void *takes,
                                const struct row_target *ret, struct error *err);
MUST_CHECK int store_list_query(struct store *s, enum query_name query, const void *takes,
                                const struct list_target *ret, struct error *err);
/* Returns the number of changed rows. */
MUST_CHECK int store_change_query(struct store *s, enum query_name query, const void *takes,
                                  struct error *err);
MUST_CHECK int store_change_query_lazily(struct store *s, enum query_name query, const void *takes,
                                         struct error *err);

/* The number that the query's only row gives. */
MUST_CHECK int store_count_query(struct store *s, enum query_name query, const void *takes,
                                 int64_t *ret, struct error *err);

struct record_lookup {
	const char *project_id; /* NULL = any, where the query allows it */
	const char *id;
	int64_t now;
};
#define LOOKUP(...) (&(const struct record_lookup){__VA_ARGS__})
struct row_count {
	int64_t count;
};
