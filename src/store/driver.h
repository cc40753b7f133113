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

/* One named query of queries/. */
struct store_query {
	const char *name;
	const struct column *takes, *gives; /* NULL: none */
	const char *sqlite, *postgres;
	const char *const *parameters; /* names of postgres's $1, $2, …; NULL-terminated */
};
extern const struct store_query store_queries[QUERY_COUNT];
/* Of a shape of the query; a name that is not there is a mistake of ours and aborts. */
const struct column *query_column(const struct store_query *query, const struct column *shape,
                                  const char *name);

/* One file of migrations/, numbered from 1; the array ends with number 0. */
struct migration {
	int64_t number;
	const char *name, *sqlite, *postgres;
};
extern const struct migration store_migrations[];

/* Where result rows go: an array of `size`-byte structs in the arena. */
struct rows {
	struct arena *arena;
	size_t size;
	void *items;
	size_t count, capacity;
};

/* A driver's own; first member is the store it belongs to. Used by one thread at a time. */
struct store_connection {
	struct store *store;
};

/* What is done as a whole or not at all: `run` calls query_run; when it fails, nothing of it is
 * kept. It may be run on another thread while the caller waits, and more than once. */
struct transaction {
	int (*run)(struct store_connection *c, void *context, struct error *err);
	void *context;
	/* A crash of the machine (not of the process) may lose it, and recovery copes with that.
	 * It is spared the wait for the disk. */
	bool is_lazy;
};

struct store_driver {
	bool is_shared; /* other servers change the same database */
	/* `place` is the DSN without its scheme. */
	int (*open)(const char *place, struct store **ret, struct error *err);
	void (*close)(struct store *s);
	int (*read)(struct store *s, const struct transaction *t, struct error *err);
	int (*change)(struct store *s, const struct transaction *t, struct error *err);
	/* Returns the number of rows that came (into `rows`) or, when the query gives none, were
	 * changed; -1 on failure. */
	int (*run)(struct store_connection *c, enum query_name query, const void *takes,
	           struct rows *rows, struct error *err);
	/* For store_sync_begin and store_sync_wait. */
	uint64_t (*sync_begin)(struct store *s);
	int (*sync_wait)(struct store *s, uint64_t sync, struct error *err);
	/* Called now and then, off the hot path. */
	int (*tidy)(struct store *s, struct error *err);
};
extern const struct store_driver sqlite_driver, postgres_driver;

struct seal;
struct touches;
struct event_watchers;
/* A driver's own; these come first. */
struct store {
	const struct store_driver *driver;
	struct touches *touches;
	struct event_watchers *watchers;
	struct seal *seal; /* NULL: secrets rest in plain */
};

/* ---- secrets.c: for drivers, on columns of the kind COLUMN_SECRET ---- */

/* What is to be written. */
const char *secret_close(const struct store *s, struct arena *a, const struct column *column,
                         const void *record);
/* After all of the record has been read. */
void secret_open(const struct store *s, struct arena *a, const struct column *column, void *record);

/* A new zeroed item at the end. */
void *rows_add(struct rows *rows);

/* `takes` and `rows` are NULL when the query has none. */
MUST_CHECK int query_run(struct store_connection *c, enum query_name query, const void *takes,
                         struct rows *rows, struct error *err);
/* One row: 1 and *ret filled (in the arena's memory), 0 when there is none. */
MUST_CHECK int query_find(struct store_connection *c, enum query_name query, const void *takes,
                          struct rows *row, void *ret, struct error *err);
/* The `count` of a query that gives a tally. */
MUST_CHECK int query_count(struct store_connection *c, enum query_name query, const void *takes,
                           int64_t *ret, struct error *err);
/* projects.c: nobody else changes what belongs to the project until the transaction ends. */
MUST_CHECK int project_lock(struct store_connection *c, const char *project_id, struct error *err);

MUST_CHECK int store_read(struct store *s, const struct transaction *t, struct error *err);
MUST_CHECK int store_change(struct store *s, const struct transaction *t, struct error *err);
/* A transaction of one query; returns what query_run returns. */
MUST_CHECK int store_read_query(struct store *s, enum query_name query, const void *takes,
                                struct rows *rows, struct error *err);
MUST_CHECK int store_change_query(struct store *s, enum query_name query, const void *takes,
                                  struct error *err);

/* ---- pages.c: lists that are answered in pages ---- */

/* 1 to 1000. */
unsigned list_limit(int64_t wanted);
/* A page's address is where the one before it ended, newest first: "CREATED_AT-ID". */
const char *page_format(struct arena *a, int64_t at, const char *id);
/* NULL = the first page. */
MUST_CHECK int page_parse(const char *text, int64_t *ret_at, const char **ret_id,
                          struct error *err);

/* ---- events.c ---- */

/* Within a transaction; whoever watches is told once it is committed. */
MUST_CHECK int event_add(struct store_connection *c, const struct event_record *event,
                         struct error *err);
/* Of now, and without a reason. */
struct event_subject {
	const char *project_id, *sandbox_id; /* sandbox NULL = of none */
	const char *name;                    /* what it has happened to */
};
MUST_CHECK int event_tell(struct store_connection *c, enum event_kind kind,
                          const struct event_subject *subject, struct error *err);
struct event_watchers *event_watchers_new(void);
void event_watchers_free(struct event_watchers *w);
/* How many events transactions have added so far, committed or not. */
uint64_t event_watchers_count(struct event_watchers *w);
void event_watchers_tell(struct event_watchers *w);

/* ---- parts of other transactions ---- */

/* In usage.c: into the log, the balance and the budgets. */
struct usage_record;
MUST_CHECK int usage_rows_add(struct store_connection *c, const struct usage_record *rows,
                              size_t count, struct error *err);
/* In volumes.c: attaches. */
MUST_CHECK int mounts_run(struct store_connection *c, const struct mount_list *mounts,
                          struct error *err);
/* In place of those that the sandbox has. */
MUST_CHECK int mounts_run_anew(struct store_connection *c, const char *sandbox_id,
                               const struct mount_list *mounts, struct error *err);
/* In snapshots.c: what the files of a sandbox begin with. */
MUST_CHECK int snapshot_run_origin(struct store_connection *c, const char *sandbox_id,
                                   const char *snapshot_id, struct error *err);
/* In leases.c: inserts a row, when lock_version is 0, or replaces it. */
struct lease_record;
MUST_CHECK int lease_run_claim(struct store_connection *c, const struct lease_record *r,
                               bool *ret_lost, struct error *err);
/* One that is lost is no failure. */
MUST_CHECK int lease_run_finish(struct store_connection *c, const struct lease_record *r,
                                bool *ret_lost, struct error *err);

/* ---- touches.c: last-used times wait here, so that a call costs no commit ---- */

enum touched { TOUCHED_SANDBOX, TOUCHED_KEY, TOUCHED_COUNT };
struct touches *touches_new(void);
void touches_free(struct touches *t);
void touches_add(struct touches *t, enum touched kind, const char *id, int64_t now);
/* The later of what was read and what waits. */
int64_t touches_latest(struct touches *t, enum touched kind, const char *id, int64_t read);
/* Writes all that wait, in one lazy transaction; what could not be written waits on. */
MUST_CHECK int touches_write(struct store *s, struct error *err);
