/* SPDX-License-Identifier: Apache-2.0 */
/* store/sqlite/sqlite.h — the SQLite driver's own parts.
 *
 * connection.c: one sqlite3 handle and its prepared statements. copy.c: a copy of a file in use.
 * migrate.c: brings a file up to this program's tables. sqlite.c: which thread uses which
 * connection. log_file.h: how the log is written. log_sync.h: when it is on the disk.
 */
#pragma once

#include <sqlite3.h>

#include "store/driver.h"

#define STATEMENT_PARAMETERS_MAX 48
#define STATEMENT_COLUMNS_MAX 56

/* A prepared query; which shape row each parameter and column is has been looked up already. */
struct statement {
	sqlite3_stmt *handle; /* NULL until it is first used */
	const struct column *parameters[STATEMENT_PARAMETERS_MAX];
	const struct column *columns[STATEMENT_COLUMNS_MAX];
};

/* What is not a query of the domain. */
enum sqlite_command {
	CONTROL_BEGIN,
	CONTROL_COMMIT,
	CONTROL_ROLLBACK,
	CONTROL_SAVE,
	CONTROL_RELEASE,
	CONTROL_UNDO,
	CONTROL_COUNT
};

struct sqlite_connection {
	struct store_connection base;
	struct sqlite_connection *next; /* among the idle readers */
	sqlite3 *handle;
	struct statement statements[QUERY_COUNT];
	sqlite3_stmt *controls[CONTROL_COUNT];
};

struct sqlite_place {
	const char *path;
	bool in_memory;
};

enum sqlite_use { SQLITE_WRITER, SQLITE_READER };
MUST_CHECK int sqlite_connect(struct store *s, const struct sqlite_place *place,
                              enum sqlite_use use, struct sqlite_connection **ret,
                              struct error *err);
void sqlite_disconnect(struct sqlite_connection *c);
/* Prepares every query, so that a mistake in one shows at once. */
MUST_CHECK int sqlite_prepare_all(struct sqlite_connection *c, struct error *err);
/* struct store_driver's run. */
int sqlite_run(struct store_connection *c, enum query_name query, const void *takes,
               struct rows *rows, struct error *err);
MUST_CHECK int sqlite_control(struct sqlite_connection *c, enum sqlite_command control,
                              struct error *err);
/* Statements that a program knows only as a text: pragmas and migrations. */
MUST_CHECK int sqlite_execute(struct sqlite_connection *c, const char *sql, struct error *err);
/* The handle's last failure as an error. Always -1. */
int sqlite_fail(sqlite3 *handle, const char *what, struct error *err);

/* struct store_driver's copy. */
MUST_CHECK int sqlite_copy(const char *place, const char *path, struct error *err);
MUST_CHECK int sqlite_migrate(struct sqlite_connection *c, struct error *err);
