/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "store/postgres/postgres.h"

/* The server limits a statement to this time. The client waits a little longer, then gives the
 * connection up, because the server may hang. */
#define STATEMENT_TIMEOUT "10000"
#define ANSWER_TIMEOUT_MS 15000

static const struct postgres_fault {
	const char *state; /* SQLSTATE, or the beginning of it */
	enum error_code code;
	enum trouble trouble;
	const char *hint;
} faults[] = {
        {"23505", ERROR_CONFLICT, TROUBLE_NONE, ""},
        {"40001", ERROR_UNAVAILABLE, TROUBLE_CONTENDED, "many change the same: try again"},
        {"40P01", ERROR_UNAVAILABLE, TROUBLE_CONTENDED, "many change the same: try again"},
        {"57014", ERROR_TIMEOUT, TROUBLE_NONE, "the database is busy or another holds a lock"},
        {"57P", ERROR_UNAVAILABLE, TROUBLE_LOST, "the database server is being stopped or started"},
        {"08", ERROR_UNAVAILABLE, TROUBLE_LOST, "check that the database server runs"},
        {"53100", ERROR_NO_SPACE, TROUBLE_NONE, "the disk of the database server is full"},
        {"53", ERROR_UNAVAILABLE, TROUBLE_NONE, "the database server is short of resources"},
        {"25006", ERROR_UNAVAILABLE, TROUBLE_LOST,
         "the database server only answers questions: it is a standby, or set to read only"},
        {"25P03", ERROR_UNAVAILABLE, TROUBLE_LOST, "the transaction took too long"},
        {"42501", ERROR_FORBIDDEN, TROUBLE_NONE, "grant the user its database or schema"},
        {"54", ERROR_TOO_LARGE, TROUBLE_NONE, ""},
};

static const struct postgres_fault *find_fault(const char *state)
{
	for (size_t i = 0; i < COUNT_OF(faults); i++)
		if (strncmp(state, faults[i].state, strlen(faults[i].state)) == 0)
			return &faults[i];
	return NULL;
}

/* Keeps only the first line of libpq's message. */
static int fail_message(enum error_code code, const char *what, const char *message,
                        struct error *err)
{
	struct span text = span_of(message), line;

	(void)span_split(&text, '\n', &line);
	return FAIL(err, code, "%s: %.*s", what, (int)line.size, line.data ? line.data : "");
}

static int fail_lost(struct postgres_connection *c, const char *what, struct error *err)
{
	c->trouble = TROUBLE_LOST;
	(void)fail_message(ERROR_UNAVAILABLE, what, PQerrorMessage(c->handle), err);
	return FAIL_HINT(err, "check that the database server runs");
}

static int fail_result(struct postgres_connection *c, const PGresult *result, const char *what,
                       struct error *err)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const struct postgres_fault *fault = state ? find_fault(state) : NULL;

	if (!state || PQstatus(c->handle) == CONNECTION_BAD)
		return fail_lost(c, what, err);
	if (strcmp(state, "23503") == 0)
		return FAIL(err, ERROR_NOT_FOUND, "%s: it refers to something that does not exist",
		            what);
	if (fault && fault->trouble != TROUBLE_NONE)
		c->trouble = fault->trouble;
	(void)FAIL(err, fault ? fault->code : ERROR_SYSTEM, "%s: %s (PostgreSQL %s)", what,
	           message ? message : "failed", state);
	if (fault && *fault->hint)
		error_hint(err, "%s", fault->hint);
	return -1;
}

static int await_input(struct postgres_connection *c, int64_t deadline, const char *what,
                       struct error *err)
{
	while (PQisBusy(c->handle)) {
		int ready = fd_wait(PQsocket(c->handle), POLLIN, deadline, err);

		if (ready > 0 && PQconsumeInput(c->handle))
			continue;
		if (ready != 0)
			return fail_lost(c, what, err);
		c->trouble = TROUBLE_LOST;
		return FAIL(err, ERROR_UNAVAILABLE, "%s: the database server does not answer",
		            what);
	}
	return 0;
}

static bool is_good(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* Returns the last result, or the first failure. `is_sent`: the result of PQsend…. */
static PGresult *await_result(struct postgres_connection *c, int is_sent, int64_t wait_ms,
                              const char *what, struct error *err)
{
	int64_t deadline = deadline_after(wait_ms);
	PGresult *last = NULL, *next;

	if (!is_sent) {
		(void)fail_lost(c, what, err);
		return NULL;
	}
	for (;;) {
		if (await_input(c, deadline, what, err) < 0) {
			PQclear(last);
			return NULL;
		}
		next = PQgetResult(c->handle);
		if (!next)
			break;
		if (last && !is_good(last)) {
			PQclear(next);
			continue;
		}
		PQclear(last);
		last = next;
	}
	if (last && is_good(last))
		return last;
	if (last)
		(void)fail_result(c, last, what, err);
	else
		(void)fail_lost(c, what, err);
	PQclear(last);
	return NULL;
}

PGresult *postgres_ask(struct postgres_connection *c, const char *sql, int64_t wait_ms,
                       struct error *err)
{
	return await_result(c, PQsendQuery(c->handle, sql), wait_ms, "database", err);
}

int postgres_execute(struct postgres_connection *c, const char *sql, struct error *err)
{
	PGresult *result = postgres_ask(c, sql, ANSWER_TIMEOUT_MS, err);

	PQclear(result);
	return result ? 0 : -1;
}

static void ignore_notice(UNUSED void *context, UNUSED const PGresult *notice)
{
}

/* The DSN's settings follow these and override them. */
static PGconn *start_connection(const char *dsn)
{
	const char *const names[] = {
	        "application_name", "connect_timeout", "keepalives_idle", "tcp_user_timeout",
	        "gssencmode",       "dbname",          "client_encoding", NULL};
	const char *const values[] = {"atolld", "5", "30", "15000", "disable", dsn, "UTF8", NULL};
	enum { EXPAND_DSN = 1 };

	return PQconnectdbParams(names, values, EXPAND_DSN);
}

int postgres_connect(struct postgres_store *s, struct postgres_connection **ret, struct error *err)
{
	struct postgres_connection *c = memory_new(sizeof(*c));

	c->base.store = &s->base;
	c->handle = start_connection(s->dsn);
	if (PQstatus(c->handle) != CONNECTION_OK) {
		(void)fail_lost(c, "the database server cannot be reached", err);
		postgres_disconnect(c);
		return -1;
	}
	(void)PQsetNoticeReceiver(c->handle, ignore_notice, NULL);
	if (postgres_execute(c,
	                     "SET statement_timeout = " STATEMENT_TIMEOUT
	                     "; SET idle_in_transaction_session_timeout = 60000",
	                     err) < 0) {
		postgres_disconnect(c);
		return -1;
	}
	*ret = c;
	return 0;
}

void postgres_disconnect(struct postgres_connection *c)
{
	if (!c)
		return;
	PQfinish(c->handle);
	free(c);
}

static int prepare_query(struct postgres_connection *c, enum query_name name,
                         const struct query_plan *plan, struct error *err)
{
	const struct store_query *query = &store_queries[name];
	int is_sent = PQsendPrepare(c->handle, query->name, query->postgres, plan->parameters,
	                            plan->types);
	PGresult *result = await_result(c, is_sent, ANSWER_TIMEOUT_MS, query->name, err);

	PQclear(result);
	c->is_prepared[name] = result != NULL;
	return result ? 0 : -1;
}

static void plan_parameters(const struct store_query *query, struct query_plan *plan)
{
	for (int i = 0; query->parameters[i]; i++) {
		assert(i < PARAMETERS_MAX);
		plan->takes[i] = query_column(query, query->takes, query->parameters[i]);
		plan->types[i] = value_type(plan->takes[i]);
		plan->parameters = i + 1;
	}
}

static int plan_columns(struct postgres_connection *c, const struct store_query *query,
                        struct query_plan *plan, struct error *err)
{
	PGresult *result = await_result(c, PQsendDescribePrepared(c->handle, query->name),
	                                ANSWER_TIMEOUT_MS, query->name, err);

	if (!result)
		return -1;
	plan->columns = PQnfields(result);
	assert(plan->columns <= COLUMNS_MAX);
	for (int i = 0; i < plan->columns; i++)
		plan->gives[i] = query_column(query, query->gives, PQfname(result, i));
	PQclear(result);
	return 0;
}

int postgres_plan_all(struct postgres_store *s, struct postgres_connection *c, struct error *err)
{
	for (unsigned i = 0; i < QUERY_COUNT; i++) {
		const struct store_query *query = &store_queries[i];
		struct query_plan *plan = &s->plans[i];

		plan_parameters(query, plan);
		if (prepare_query(c, (enum query_name)i, plan, err) < 0 ||
		    plan_columns(c, query, plan, err) < 0)
			return -1;
	}
	return 0;
}

static void values_done(struct values *v)
{
	arena_done(&v->arena);
}

static int read_rows(const struct row_reading *reading, struct rows *rows, struct error *err)
{
	int count = PQntuples(reading->result);

	for (int i = 0; i < count; i++)
		if (values_read(reading, i, rows, err) < 0)
			return -1;
	return count;
}

int postgres_run(struct store_connection *base, enum query_name name, const void *takes,
                 struct rows *rows, struct error *err)
{
	struct postgres_connection *c = CONTAINER_OF(base, struct postgres_connection, base);
	struct postgres_store *s = CONTAINER_OF(base->store, struct postgres_store, base);
	const struct store_query *query = &store_queries[name];
	const struct query_plan *plan = &s->plans[name];
	AUTO(values_done) struct values values = {.arena = {0}};
	PGresult *result;
	int is_sent, count;

	if (!c->is_prepared[name] && prepare_query(c, name, plan, err) < 0)
		return -1;
	values_bind(&s->base, &values, plan, takes);
	is_sent = PQsendQueryPrepared(c->handle, query->name, plan->parameters, values.texts,
	                              values.sizes, values.formats, 0);
	result = await_result(c, is_sent, ANSWER_TIMEOUT_MS, query->name, err);
	if (!result)
		return -1;
	/* Rows that came, or were changed. */
	count = query->gives ? read_rows(&(struct row_reading){&s->base, plan, result}, rows, err)
	                     : (int)strtol(PQcmdTuples(result), NULL, 10);
	PQclear(result);
	return count < 0 ? FAIL_CONTEXT(err, "%s", query->name) : count;
}
