/* SPDX-License-Identifier: Apache-2.0 */
/* store/postgres/postgres.h — the PostgreSQL driver's own parts.
 *
 * connection.c: one libpq connection, its prepared statements, and what failures mean. values.c:
 * between members and libpq's texts. migrate.c: brings a database up to this program's tables.
 * pool.c: which call uses which connection. sync.c: when it is on the server's disk. postgres.c:
 * transactions. */
#pragma once

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

#include "store/driver.h"

#define PARAMETERS_MAX 48
#define COLUMNS_MAX 56

/* The same on every connection: worked out when the store is opened, only read after that. */
struct query_plan {
	int parameters, columns;
	const struct column *takes[PARAMETERS_MAX];
	const struct column *gives[COLUMNS_MAX];
	Oid types[PARAMETERS_MAX];
};

/* How to continue with a transaction whose statement has failed. */
enum trouble {
	TROUBLE_NONE,
	TROUBLE_CONTENDED, /* a conflict: the transaction may be run again */
	TROUBLE_LOST,      /* the connection is gone */
};

struct postgres_connection {
	struct store_connection base;
	struct postgres_connection *next; /* among the idle */
	PGconn *handle;
	enum trouble trouble;
	bool is_prepared[QUERY_COUNT];
};

struct postgres_pool;
struct postgres_sync;
struct postgres_store {
	struct store base;
	char *dsn; /* as libpq wants it; may hold a password */
	struct query_plan plans[QUERY_COUNT];
	struct postgres_pool *pool;
	struct postgres_sync *sync;
	pthread_mutex_t queue;  /* held while waiting for the lock of all servers */
	atomic_uint contending; /* how many hold or wait for it */
};

/* connection.c */

MUST_CHECK int postgres_connect(struct postgres_store *s, struct postgres_connection **ret,
                                struct error *err);
void postgres_disconnect(struct postgres_connection *c); /* NULL is fine */
/* Statements without parameters, for which nothing but their last success counts. */
MUST_CHECK int postgres_execute(struct postgres_connection *c, const char *sql, struct error *err);
/* The same, with the result of the last statement, for PQclear; NULL on failure. `wait_ms`: for an
 * answer. */
MUST_CHECK PGresult *postgres_ask(struct postgres_connection *c, const char *sql, int64_t wait_ms,
                                  struct error *err);
/* Looks up every query's shapes and prepares it, so that a mistake in one shows at once. */
MUST_CHECK int postgres_plan_all(struct postgres_store *s, struct postgres_connection *c,
                                 struct error *err);
/* struct store_driver's run. */
int postgres_run(struct store_connection *c, enum query_name query, const void *takes,
                 struct rows *rows, struct error *err);

/* values.c */

/* A row of parameters as libpq takes them. */
struct values {
	struct arena arena;
	const char *texts[PARAMETERS_MAX];
	int sizes[PARAMETERS_MAX], formats[PARAMETERS_MAX];
};
Oid value_type(const struct column *column);
void values_bind(const struct store *s, struct values *v, const struct query_plan *plan,
                 const void *takes);
struct row_reading {
	const struct store *store;
	const struct query_plan *plan;
	const PGresult *result;
};
MUST_CHECK int values_read(const struct row_reading *reading, int row, struct rows *rows,
                           struct error *err);

/* migrate.c */

MUST_CHECK int postgres_migrate(struct postgres_connection *c, struct error *err);

/* pool.c */

struct postgres_pool *pool_new(struct postgres_store *s);
void pool_free(struct postgres_pool *p); /* no connection may be in use; NULL is fine */
/* Takes an idle or a new connection; at the limit waits for a returned one, and fails with
 * ERROR_UNAVAILABLE if none is returned. *ret_is_new: the connection has not been used yet. */
MUST_CHECK int pool_take(struct postgres_pool *p, struct postgres_connection **ret,
                         bool *ret_is_new, struct error *err);
/* Closes the connection if it is in trouble. */
void pool_give(struct postgres_pool *p, struct postgres_connection *c);

/* sync.c */

MUST_CHECK int sync_open(struct postgres_store *s, struct postgres_sync **ret, struct error *err);
void sync_close(struct postgres_sync *sync); /* NULL is fine */
/* Stands for all that has been committed until now, and begins to have it flushed. */
uint64_t sync_begin(struct postgres_sync *sync);
MUST_CHECK int sync_wait(struct postgres_sync *sync, uint64_t mark, struct error *err);
/* Returns when it has a connection to the server as it runs now. The pool calls it for each new
 * connection: all commits after a restart of the server use such connections, and so are not taken
 * for commits that the restart may have lost. NULL is fine. */
void sync_renew(struct postgres_sync *sync);
