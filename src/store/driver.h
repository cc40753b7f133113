/* SPDX-License-Identifier: Apache-2.0 */
/* store/driver.h — between the words of the domain and a database.
 *
 * A noun's file knows records and rules and no database; a driver knows connections, transactions
 * and faults and no record. In between are the named queries, and column.h.
 *
 *   store_sandbox_move ──> store_change(store, &transaction) ──> driver->change
 *     transaction.run(connection) ──> query_run(connection, QUERY_…) ──> driver->run
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "store/column.h"
#include "store/query.h"

/* A named query of queries/. */
struct store_query {
	const char *name;
	const struct column *takes, *gives; /* NULL: no parameters, no result */
	const char *sqlite, *postgres;
	const char *const *parameters; /* names of postgres's $1, $2, …; NULL-terminated */
};
extern const struct store_query store_queries[QUERY_COUNT];
/* Finds a column of the query's shape; an unknown name aborts. */
const struct column *query_column(const struct store_query *query, const struct column *shape,
                                  const char *name);

/* A file of migrations/, numbered from 1; the array ends with number 0. */
struct migration {
	int64_t number;
	const char *name, *sqlite, *postgres;
};
extern const struct migration store_migrations[];
/* Calls `apply` for each migration above `version`. Fails when `version` is newer than the last. */
MUST_CHECK int migrations_apply(int64_t version,
                                int (*apply)(void *context, const struct migration *m,
                                             struct error *err),
                                void *context, struct error *err);

struct store_changes;
/* A driver embeds it at the start of its connection. Used by a single thread at a time. */
struct store_connection {
	struct store *store;
	struct store_changes *changes; /* of the running transaction; NULL = not collected */
};

MUST_CHECK int transaction_run(const struct transaction *t, struct store_connection *c,
                               struct error *err);

struct store_driver {
	bool is_shared; /* other servers use the same database */
	/* `place` is the DSN without its scheme. */
	int (*open)(const char *place, struct store **ret, struct error *err);
	void (*close)(struct store *s);
	int (*read)(struct store *s, const struct transaction *t, struct error *err);
	int (*change)(struct store *s, const struct transaction *t, struct error *err);
	/* As query_run. */
	int (*run)(struct store_connection *c, enum query_name query, const void *takes,
	           struct rows *rows, struct error *err);
	/* For store_sync_begin and store_sync_wait. */
	uint64_t (*sync_begin)(struct store *s);
	int (*sync_wait)(struct store *s, uint64_t sync, struct error *err);
	/* Called periodically, off the hot path. */
	int (*tidy)(struct store *s, struct error *err);
	/* As store_copy; NULL: this database has programs of its own for that. */
	int (*copy)(const char *place, const char *path, struct error *err);
};
extern const struct store_driver sqlite_driver, postgres_driver;

struct event_watchers;
struct seal;
struct touches;
/* A driver embeds it at the start of its own struct. */
struct store {
	const struct store_driver *driver;
	struct touches *touches;
	struct event_watchers *watchers;
	struct seal *seal; /* NULL: secrets are stored unencrypted */
};

/* secrets.c: for drivers, on columns of the kind COLUMN_SECRET */

/* Returns the encrypted value to write. */
const char *secret_close(const struct store *s, struct arena *a, const struct column *column,
                         const void *record);
/* Decrypts a value, after the whole record was read. */
void secret_open(const struct store *s, struct arena *a, const struct column *column, void *record);
