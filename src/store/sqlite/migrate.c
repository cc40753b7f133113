/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/sqlite.h"

/* A migration ends by setting the file's user_version to its number, within the transaction that
 * changes the tables: a file is always exactly at one number. */

static int read_version(struct sqlite_connection *c, int64_t *ret, struct error *err)
{
	sqlite3_stmt *statement;
	int result;

	if (sqlite3_prepare_v2(c->handle, "PRAGMA user_version", -1, &statement, NULL) != SQLITE_OK)
		return sqlite_fail(c->handle, "read the database's version", err);
	result = sqlite3_step(statement);
	if (result == SQLITE_ROW)
		*ret = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return result == SQLITE_ROW ? 0 : sqlite_fail(c->handle, "read the version", err);
}

static int apply_migration(void *context, const struct migration *m, struct error *err)
{
	return sqlite_execute(context, m->sqlite, err);
}

static int apply_missing(struct sqlite_connection *c, struct error *err)
{
	int64_t version = 0;

	if (read_version(c, &version, err) < 0)
		return -1;
	return migrations_apply(version, apply_migration, c, err);
}

/* One transaction from the version's reading to its last change: of two programs that start at
 * once, one migrates and the other finds it done. */
int sqlite_migrate(struct sqlite_connection *c, struct error *err)
{
	struct error ignored = {0};

	if (sqlite_control(c, CONTROL_BEGIN, err) < 0)
		return -1;
	if (apply_missing(c, err) == 0 && sqlite_control(c, CONTROL_COMMIT, err) == 0)
		return 0;
	if (!sqlite3_get_autocommit(c->handle))
		(void)!sqlite_control(c, CONTROL_ROLLBACK, &ignored);
	return -1;
}
