/* stock add NAME COUNT | stock list: what is in stock, in an SQLite database. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add(sqlite3 *db, const char *name, const char *count)
{
	sqlite3_stmt *statement = NULL;
	char *end;
	long number;
	int result;

	errno = 0;
	number = strtol(count, &end, 10);
	if (errno || end == count || *end) {
		fprintf(stderr, "stock: '%s' is no count\n", count);
		return -1;
	}
	if (sqlite3_prepare_v2(db,
	                       "INSERT INTO stock VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET "
	                       "count = count + excluded.count",
	                       -1, &statement, NULL) != SQLITE_OK)
		return -1;
	sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 2, number);
	result = sqlite3_step(statement) == SQLITE_DONE ? 0 : -1;
	sqlite3_finalize(statement);
	return result;
}

static int list(sqlite3 *db)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(db, "SELECT name, count FROM stock ORDER BY name", -1, &statement,
	                       NULL) != SQLITE_OK)
		return -1;
	while (sqlite3_step(statement) == SQLITE_ROW)
		printf("%6lld %s\n", sqlite3_column_int64(statement, 1),
		       (const char *)sqlite3_column_text(statement, 0));
	return sqlite3_finalize(statement) == SQLITE_OK ? 0 : -1;
}

int main(int argc, char **argv)
{
	const char *path = getenv("STOCK_DB");
	sqlite3 *db = NULL;
	int result = -1;

	if (sqlite3_open(path ? path : "stock.db", &db) == SQLITE_OK &&
	    sqlite3_exec(db,
	                 "CREATE TABLE IF NOT EXISTS stock (name TEXT PRIMARY KEY, count INTEGER)",
	                 NULL, NULL, NULL) == SQLITE_OK) {
		if (argc == 4 && strcmp(argv[1], "add") == 0)
			result = add(db, argv[2], argv[3]);
		else if (argc == 2 && strcmp(argv[1], "list") == 0)
			result = list(db);
		else
			fprintf(stderr, "usage: stock add NAME COUNT | stock list\n");
	}
	if (sqlite3_errcode(db) != SQLITE_OK && sqlite3_errcode(db) != SQLITE_DONE)
		fprintf(stderr, "stock: %s\n", sqlite3_errmsg(db));
	sqlite3_close(db);
	return result < 0;
}
