/* SPDX-License-Identifier: Apache-2.0 */
/* store/driver.h — between the words of the domain and a database.
 *
 * The files beside this one know records and rules and no database; a driver knows connections,
 * transactions and faults and no record. In between are the named queries, and columns.h.
 *
 *   store_sandbox_move ──> store_change(store, &transaction) ──> driver->change
 *     transaction.run(connection) ──> query_run(connection, QUERY_…) ──> driver->run
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "sandbox/events.h"
#include "store/columns.h"
#include "store/events.h"
#include "store/queries.h"

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

/* Receives result rows: an array of `size`-byte structs in the arena. */
struct rows {
	struct arena *arena;
	size_t size;
	void *items;
	size_t count, capacity;
};

/* A driver embeds it at the start of its connection. Used by a single thread at a time. */
struct store_connection {
	struct store *store;
};

/* A transaction: `run` calls query_run; when it fails, everything is rolled back. It may run on
 * another thread while the caller waits, and more than once. */
struct transaction {
	int (*run)(struct store_connection *c, void *context, struct error *err);
	void *context;
	/* Lazy: does not wait for the disk. A crash of the machine (not of the process) may lose
	 * it; recovery handles that. */
	bool is_lazy;
};

struct store_driver {
	bool is_shared; /* other servers use the same database */
	/* `place` is the DSN without its scheme. */
	int (*open)(const char *place, struct store **ret, struct error *err);
	void (*close)(struct store *s);
	int (*read)(struct store *s, const struct transaction *t, struct error *err);
	int (*change)(struct store *s, const struct transaction *t, struct error *err);
	/* Returns the number of rows read (into `rows`) or, for a query without result, of changed
	 * rows; -1 on failure. */
	int (*run)(struct store_connection *c, enum query_name query, const void *takes,
	           struct rows *rows, struct error *err);
	/* For store_sync_begin and store_sync_wait. */
	uint64_t (*sync_begin)(struct store *s);
	int (*sync_wait)(struct store *s, uint64_t sync, struct error *err);
	/* Called periodically, off the hot path. */
	int (*tidy)(struct store *s, struct error *err);
};
extern const struct store_driver sqlite_driver, postgres_driver;

struct seal;
struct touches;
struct event_watchers;
/* A driver embeds it at the start of its own struct. */
struct store {
	const struct store_driver *driver;
	struct touches *touches;
	struct event_watchers *watchers;
	struct seal *seal; /* NULL: secrets are stored unencrypted */
};

/* ---- secrets.c: for drivers, on columns of the kind COLUMN_SECRET ---- */

/* Returns the encrypted value to write. */
const char *secret_close(const struct store *s, struct arena *a, const struct column *column,
                         const void *record);
/* Decrypts a value, after the whole record was read. */
void secret_open(const struct store *s, struct arena *a, const struct column *column, void *record);

/* Appends a zeroed item. */
void *rows_add(struct rows *rows);

/* `takes` and `rows` are NULL when the query has none. */
MUST_CHECK int query_run(struct store_connection *c, enum query_name query, const void *takes,
                         struct rows *rows, struct error *err);
/* Reads a single row: 1 and *ret filled (in the arena's memory), or 0 without a row. */
MUST_CHECK int query_find(struct store_connection *c, enum query_name query, const void *takes,
                          struct rows *row, void *ret, struct error *err);
/* Reads the `count` of a query that returns a row_count. */
MUST_CHECK int query_count(struct store_connection *c, enum query_name query, const void *takes,
                           int64_t *ret, struct error *err);
/* projects.c: locks the project's data against other transactions until this one ends. */
MUST_CHECK int project_lock(struct store_connection *c, const char *project_id, struct error *err);

MUST_CHECK int store_read(struct store *s, const struct transaction *t, struct error *err);
MUST_CHECK int store_change(struct store *s, const struct transaction *t, struct error *err);
/* A transaction of one query; returns what query_run returns. */
MUST_CHECK int store_read_query(struct store *s, enum query_name query, const void *takes,
                                struct rows *rows, struct error *err);
MUST_CHECK int store_change_query(struct store *s, enum query_name query, const void *takes,
                                  struct error *err);

/* ---- pages.c: paged lists ---- */

/* Limits `wanted` to 1..1000. */
unsigned list_limit(int64_t wanted);
/* A page token is the position after the previous page, newest first: "CREATED_AT-ID". */
const char *page_format(struct arena *a, int64_t at, const char *id);
/* NULL = the first page. */
MUST_CHECK int page_parse(const char *text, int64_t *ret_at, const char **ret_id,
                          struct error *err);

/* ---- events.c ---- */

/* Adds an event in a transaction; watchers are notified after the commit. */
MUST_CHECK int event_add(struct store_connection *c, const struct event_record *event,
                         struct error *err);
/* An event of the current time without a reason. */
struct event_subject {
	const char *project_id, *sandbox_id; /* sandbox_id NULL = no sandbox */
	const char *name;                    /* name of the changed object */
};
MUST_CHECK int event_add_about(struct store_connection *c, enum event_kind kind,
                               const struct event_subject *subject, struct error *err);
struct event_watchers *event_watchers_new(void);
void event_watchers_free(struct event_watchers *w);
/* Number of events added so far, committed or not. */
uint64_t event_watchers_count(struct event_watchers *w);
void event_watchers_notify(struct event_watchers *w);

/* ---- parts of other transactions ---- */

/* usage.c: adds to the log, the balance and the budgets. */
struct usage_record;
MUST_CHECK int usage_rows_add(struct store_connection *c, const struct usage_record *rows,
                              size_t count, struct error *err);
/* volumes.c: attaches volumes. */
MUST_CHECK int mounts_run(struct store_connection *c, const struct mount_list *mounts,
                          struct error *err);
/* Replaces the mounts of the sandbox. */
MUST_CHECK int mounts_run_anew(struct store_connection *c, const char *sandbox_id,
                               const struct mount_list *mounts, struct error *err);
/* snapshots.c: records the snapshot that a sandbox's files begin with. */
MUST_CHECK int snapshot_run_origin(struct store_connection *c, const char *sandbox_id,
                                   const char *snapshot_id, struct error *err);
/* leases.c: inserts a row when lock_version is 0, else replaces it. */
struct lease_record;
MUST_CHECK int lease_run_claim(struct store_connection *c, const struct lease_record *r,
                               bool *ret_lost, struct error *err);
/* A lost lease is not a failure: *ret_lost is set. */
MUST_CHECK int lease_run_finish(struct store_connection *c, const struct lease_record *r,
                                bool *ret_lost, struct error *err);

/* ---- touches.c: last-used times wait here, so that a call costs no commit ---- */

enum touched { TOUCHED_SANDBOX, TOUCHED_KEY, TOUCHED_COUNT };
struct touches *touches_new(void);
void touches_free(struct touches *t);
void touches_add(struct touches *t, enum touched kind, const char *id, int64_t now);
/* The later of the read time and the pending touch. */
int64_t touches_latest(struct touches *t, enum touched kind, const char *id, int64_t read);
/* Writes all pending touches in a lazy transaction; failed ones stay pending. */
MUST_CHECK int touches_write(struct store *s, struct error *err);
