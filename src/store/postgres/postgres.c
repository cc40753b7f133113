/* SPDX-License-Identifier: Apache-2.0 */
/* A change is a SERIALIZABLE transaction: as with SQLite, whose writers run one after the other,
 * its reads still hold when it commits. The first attempt runs at once. After a conflict the change
 * runs again while it holds a lock that all servers of the database share, so that changes that
 * contend for a row succeed one after the other. */
#include "store/postgres/postgres.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* While holding the lock, only transactions without it can interfere. */
#define TURN_TRIES 20

static const char turn_text[] = "SELECT pg_advisory_lock(470693412002)";
static const char turn_over_text[] = "SELECT pg_advisory_unlock(470693412002)";
static const char begin_text[] = "BEGIN ISOLATION LEVEL SERIALIZABLE";
static const char begin_lazy_text[] =
        "BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL synchronous_commit TO off";

enum postgres_outcome { OUTCOME_DONE, OUTCOME_FAILED, OUTCOME_CONTENDED, OUTCOME_LOST };

typedef enum postgres_outcome attempt(struct postgres_connection *c, const struct transaction *t,
                                      struct error *err);

static enum postgres_outcome outcome_of(int result, const struct postgres_connection *c)
{
	if (result >= 0)
		return OUTCOME_DONE;
	return c->trouble == TROUBLE_LOST        ? OUTCOME_LOST
	       : c->trouble == TROUBLE_CONTENDED ? OUTCOME_CONTENDED
	                                         : OUTCOME_FAILED;
}

static int commit(struct postgres_connection *c, struct error *err)
{
	PGresult *result = postgres_ask(c, "COMMIT", INT64_C(15000), err);
	bool is_committed = result && strcmp(PQcmdStatus(result), "COMMIT") == 0;

	PQclear(result);
	if (is_committed)
		return 0;
	if (result)
		return FAIL(err, ERROR_SYSTEM,
		            "commit: a statement had failed and was passed over");
	if (c->trouble == TROUBLE_LOST)
		error_hint(err, "it may have been committed or not: see what is there");
	return -1;
}

static enum postgres_outcome run_once(struct postgres_connection *c, const struct transaction *t,
                                      bool is_lazy, struct error *err)
{
	struct error ignored = {0};
	enum postgres_outcome outcome;
	int result = postgres_execute(c, is_lazy ? begin_lazy_text : begin_text, err);

	if (result == 0)
		result = transaction_run(t, &c->base, err);
	outcome = outcome_of(result, c);
	if (outcome == OUTCOME_DONE) {
		outcome = outcome_of(commit(c, err), c);
		/* A repeated transaction might take effect twice. */
		if (outcome == OUTCOME_LOST)
			return OUTCOME_FAILED;
	}
	if (outcome == OUTCOME_DONE || outcome == OUTCOME_LOST)
		return outcome;
	c->trouble = TROUBLE_NONE;
	if (PQtransactionStatus(c->handle) != PQTRANS_IDLE)
		(void)!postgres_execute(c, "ROLLBACK", &ignored);
	return outcome;
}

static enum postgres_outcome change_at_once(struct postgres_connection *c,
                                            const struct transaction *t, struct error *err)
{
	return run_once(c, t, t->is_lazy, err);
}

/* Always lazy: a holder of the lock must not wait for the disk. */
static enum postgres_outcome change_in_turn(struct postgres_connection *c,
                                            const struct transaction *t, struct error *err)
{
	struct error ignored = {0};
	enum postgres_outcome outcome = outcome_of(postgres_execute(c, turn_text, err), c);

	if (outcome != OUTCOME_DONE)
		return outcome;
	for (unsigned i = 0; i < TURN_TRIES; i++) {
		outcome = run_once(c, t, true, err);
		if (outcome != OUTCOME_CONTENDED)
			break;
	}
	if (c->trouble != TROUBLE_LOST && postgres_execute(c, turn_over_text, &ignored) < 0)
		c->trouble = TROUBLE_LOST; /* closing the connection releases the lock */
	return outcome;
}

/* No transaction: each query of a read sees one state of the database by itself. */
static enum postgres_outcome read_once(struct postgres_connection *c, const struct transaction *t,
                                       struct error *err)
{
	enum postgres_outcome outcome = outcome_of(transaction_run(t, &c->base, err), c);

	if (outcome == OUTCOME_CONTENDED)
		c->trouble = TROUBLE_NONE;
	return outcome;
}

/* An idle connection may have been lost long ago, when the server was started again; if a
 * new connection is lost at once, the server is away. */
static enum postgres_outcome run_transaction(struct postgres_store *s, attempt *once,
                                             const struct transaction *t, struct error *err)
{
	for (;;) {
		struct postgres_connection *c;
		enum postgres_outcome outcome;
		bool is_new;

		if (pool_take(s->pool, &c, &is_new, err) < 0)
			return OUTCOME_FAILED;
		outcome = once(c, t, err);
		pool_give(s->pool, c);
		if (outcome != OUTCOME_LOST || is_new)
			return outcome;
		error_clear(err);
	}
}

static int postgres_read(struct store *base, const struct transaction *t, struct error *err)
{
	struct postgres_store *s = CONTAINER_OF(base, struct postgres_store, base);

	return run_transaction(s, read_once, t, err) == OUTCOME_DONE ? 0 : -1;
}

static int run_in_turn(struct postgres_store *s, const struct transaction *t, struct error *err)
{
	enum postgres_outcome outcome;

	error_clear(err);
	atomic_fetch_add(&s->contending, 1);
	pthread_mutex_lock(&s->queue);
	outcome = run_transaction(s, change_in_turn, t, err);
	pthread_mutex_unlock(&s->queue);
	atomic_fetch_sub(&s->contending, 1);
	if (outcome != OUTCOME_DONE)
		return -1;
	return t->is_lazy ? 0 : sync_wait(s->sync, sync_begin(s->sync), err);
}

static int postgres_change(struct store *base, const struct transaction *t, struct error *err)
{
	struct postgres_store *s = CONTAINER_OF(base, struct postgres_store, base);
	enum postgres_outcome outcome = OUTCOME_CONTENDED;

	if (atomic_load(&s->contending) == 0)
		outcome = run_transaction(s, change_at_once, t, err);
	if (outcome == OUTCOME_CONTENDED)
		return run_in_turn(s, t, err);
	return outcome == OUTCOME_DONE ? 0 : -1;
}

static uint64_t postgres_sync_begin(struct store *base)
{
	return sync_begin(CONTAINER_OF(base, struct postgres_store, base)->sync);
}

static int postgres_sync_wait(struct store *base, uint64_t mark, struct error *err)
{
	return sync_wait(CONTAINER_OF(base, struct postgres_store, base)->sync, mark, err);
}

/* PostgreSQL needs no maintenance from here. */
static int postgres_tidy(UNUSED struct store *base, UNUSED struct error *err)
{
	return 0;
}

static void postgres_close_store(struct store *base)
{
	struct postgres_store *s = CONTAINER_OF(base, struct postgres_store, base);

	sync_close(s->sync);
	pool_free(s->pool);
	pthread_mutex_destroy(&s->queue);
	free(s->dsn);
	free(s);
}

/* libpq wants a URI with its scheme, or a conninfo string. Its message about an invalid one may
 * repeat a password, so it is not shown. */
static int take_dsn(struct postgres_store *s, const char *place, struct error *err)
{
	bool is_uri = strncmp(place, "//", 2) == 0;
	PQconninfoOption *options;

	if (asprintf(&s->dsn, "%s%s", is_uri ? "postgresql:" : "", place) < 0)
		abort();
	options = PQconninfoParse(s->dsn, NULL);
	if (options) {
		PQconninfoFree(options);
		return 0;
	}
	(void)FAIL(err, ERROR_INVALID, "the store's address is none that PostgreSQL knows");
	return FAIL_HINT(
	        err, "postgresql://user@host/name or postgresql:host=/run/postgresql dbname=name");
}

static int set_up_store(struct postgres_store *s, const char *place, struct error *err)
{
	struct postgres_connection *c;
	int result;
	bool is_new;

	if (take_dsn(s, place, err) < 0 || pool_take(s->pool, &c, &is_new, err) < 0)
		return -1;
	result = postgres_migrate(c, err);
	if (result == 0)
		result = postgres_plan_all(s, c, err);
	pool_give(s->pool, c);
	return result < 0 ? -1 : sync_open(s, &s->sync, err);
}

static int postgres_open_store(const char *place, struct store **ret, struct error *err)
{
	struct postgres_store *s = memory_new(sizeof(*s));

	pthread_mutex_init(&s->queue, NULL);
	s->pool = pool_new(s);
	if (set_up_store(s, place, err) < 0) {
		postgres_close_store(&s->base);
		return -1;
	}
	*ret = &s->base;
	return 0;
}

const struct store_driver postgres_driver = {
        .is_shared = true,
        .open = postgres_open_store,
        .close = postgres_close_store,
        .read = postgres_read,
        .change = postgres_change,
        .run = postgres_run,
        .sync_begin = postgres_sync_begin,
        .sync_wait = postgres_sync_wait,
        .tidy = postgres_tidy,
};
