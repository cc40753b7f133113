/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/postgres/postgres.h"

/* Long, because a table may be large, or another server may be migrating. */
#define MIGRATION_TIMEOUT_MS (10 * 60 * 1000)

/* Of servers that start at once, one migrates; the others wait for its lock and find it done: each
 * statement sees what was committed before it. The number is Atoll's own among advisory locks. */
static const char begin_text[] =
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0;SET LOCAL "
        "idle_in_transaction_session_timeout = 0;SELECT pg_advisory_xact_lock(470693412001);CREATE "
        "TABLE IF NOT EXISTS store_version (number BIGINT NOT NULL);INSERT INTO store_version "
        "SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM store_version);SELECT number FROM store_version";

static int execute_migration(struct postgres_connection *c, const char *sql, struct error *err)
{
	PGresult *result = postgres_ask(c, sql, MIGRATION_TIMEOUT_MS, err);

	PQclear(result);
	return result ? 0 : -1;
}

static int begin_migration(struct postgres_connection *c, int64_t *ret_version, struct error *err)
{
	PGresult *result = postgres_ask(c, begin_text, MIGRATION_TIMEOUT_MS, err);

	if (!result)
		return FAIL_CONTEXT(err, "read the database's version");
	*ret_version = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return 0;
}

static int apply_migration(void *context, const struct migration *m, struct error *err)
{
	return execute_migration(context, m->postgres, err);
}

static int apply_missing(struct postgres_connection *c, struct error *err)
{
	int64_t version;

	if (begin_migration(c, &version, err) < 0)
		return -1;
	return migrations_apply(version, apply_migration, c, err);
}

int postgres_migrate(struct postgres_connection *c, struct error *err)
{
	struct error ignored = {0};

	if (apply_missing(c, err) == 0 && execute_migration(c, "COMMIT", err) == 0)
		return 0;
	(void)!execute_migration(c, "ROLLBACK", &ignored);
	return -1;
}
