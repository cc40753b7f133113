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
struct store_connection;

/* A transaction: `run` calls query_run; when it fails, everything is rolled back. It may run on
 * another thread while the caller waits, and more than once. */
struct transaction {
	int (*run)(struct store_connection *c, void *context, struct error *err);
	void *context;
	/* Lazy: does not wait for the disk. A crash of the machine (not of the process) may lose
	 * it; recovery handles that. */
	bool is_lazy;
};
MUST_CHECK int store_read(struct store *s, const struct transaction *t, struct error *err);
MUST_CHECK int store_change(struct store *s, const struct transaction *t, struct error *err);

/* Receives result rows: an array of `size`-byte structs in the arena. */
struct rows {
	struct arena *arena;
	size_t size;
	void *items;
	size_t count, capacity;
};
/* Appends a zeroed item. */
void *rows_add(struct rows *rows);

/* ---- inside a transaction ---- */

/* Returns the number of rows read (into `rows`) or, for a query without result, of changed rows; -1
 * on failure. `takes` and `rows` are NULL when the query has none. */
MUST_CHECK int query_run(struct store_connection *c, enum query_name query, const void *takes,
                         struct rows *rows, struct error *err);
/* Reads a single row: 1 and *ret filled (in the arena's memory), or 0 without a row. */
MUST_CHECK int query_find(struct store_connection *c, enum query_name query, const void *takes,
                          struct rows *row, void *ret, struct error *err);
/* Reads the `count` of a query that returns a row_count. */
MUST_CHECK int query_count(struct store_connection *c, enum query_name query, const void *takes,
                           int64_t *ret, struct error *err);

/* ---- a transaction of one query: returns what query_run returns ---- */

MUST_CHECK int store_read_query(struct store *s, enum query_name query, const void *takes,
                                struct rows *rows, struct error *err);
/* Reads a single row, as query_find. */
MUST_CHECK int store_find_query(struct store *s, enum query_name query, const void *takes,
                                struct rows *row, void *ret, struct error *err);
MUST_CHECK int store_change_query(struct store *s, enum query_name query, const void *takes,
                                  struct error *err);

/* ---- parameters and results of many queries ---- */

struct record_lookup {
	const char *project_id; /* NULL = any, where the query allows it */
	const char *id;
	int64_t now;
};
struct row_count {
	int64_t count;
};
