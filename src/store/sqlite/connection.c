/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "store/sqlite/log_file.h"
#include "store/sqlite/reach.h"
#include "store/sqlite/sqlite.h"

/* Wait for another process that holds the file. */
#define BUSY_TIMEOUT_MS 2000
/* Pages in the write-ahead log before a commit moves them into the file itself. Tidying does it
 * earlier, off the callers' path. */
#define CHECKPOINT_PAGES "4000"

static const char *const controls[] = {
        [CONTROL_BEGIN] = "BEGIN IMMEDIATE", [CONTROL_COMMIT] = "COMMIT",
        [CONTROL_ROLLBACK] = "ROLLBACK",     [CONTROL_SAVE] = "SAVEPOINT one",
        [CONTROL_RELEASE] = "RELEASE one",   [CONTROL_UNDO] = "ROLLBACK TO one",
};
_Static_assert(COUNT_OF(controls) == CONTROL_COUNT, "a text per control");

static const struct sqlite_fault {
	int result;
	enum error_code code;
	const char *hint;
} faults[] = {
        {SQLITE_FULL, ERROR_NO_SPACE, "the disk of the data folder is full: nothing was written"},
        {SQLITE_BUSY, ERROR_UNAVAILABLE, "another process holds the database"},
        {SQLITE_LOCKED, ERROR_UNAVAILABLE, "another process holds the database"},
        {SQLITE_READONLY, ERROR_FORBIDDEN, "the database or its folder cannot be written"},
        {SQLITE_PERM, ERROR_FORBIDDEN, "check the owner of the data folder"},
        {SQLITE_CANTOPEN, ERROR_SYSTEM, "check the path and the owner of the data folder"},
        {SQLITE_CORRUPT, ERROR_SYSTEM,
         "stop atolld, copy the file, then try the sqlite3 program's .recover"},
        {SQLITE_NOTADB, ERROR_SYSTEM, "the file is something else, or its first page is damaged"},
        {SQLITE_IOERR, ERROR_SYSTEM, "see the kernel's log for the disk"},
        {SQLITE_TOOBIG, ERROR_TOO_LARGE, ""},
};

static const struct sqlite_fault *find_fault(int result)
{
	for (size_t i = 0; i < COUNT_OF(faults); i++)
		if (faults[i].result == (result & 0xff))
			return &faults[i];
	return NULL;
}

int sqlite_fail(sqlite3 *handle, const char *what, struct error *err)
{
	int result = sqlite3_extended_errcode(handle);
	const struct sqlite_fault *fault = find_fault(result);
	bool is_ours = (result & 0xff) == SQLITE_FULL || (result & 0xff) == SQLITE_IOERR;

	if (result == SQLITE_CONSTRAINT_FOREIGNKEY)
		return FAIL(err, ERROR_NOT_FOUND, "%s: it refers to something that does not exist",
		            what);
	error_set(err, fault ? fault->code : ERROR_SYSTEM,
	          is_ours ? sqlite3_system_errno(handle) : 0, HERE, "%s: %s (SQLite %d)", what,
	          sqlite3_errmsg(handle), result);
	if (fault && *fault->hint)
		error_hint(err, "%s", fault->hint);
	return -1;
}

/* Creates the file, so that only its owner may read it; SQLite gives its -wal and -shm the same
 * mode. An existing file is not opened: closing it would release the locks of this process's other
 * connections, and then another process that opens the database could remove the log. */
static int make_file(const char *path, struct error *err)
{
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);

	if (fd < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "open database '%s'", path);
	return 0;
}

static int set_pragmas(struct sqlite_connection *c, enum sqlite_use use, struct error *err)
{
	static const char *const pragmas[] = {
	        [SQLITE_WRITER] =
	                "PRAGMA journal_mode = WAL;" LOG_FILE_PRAGMAS "PRAGMA foreign_keys = ON;"
	                "PRAGMA temp_store = MEMORY;"
	                "PRAGMA wal_autocheckpoint = " CHECKPOINT_PAGES,
	        [SQLITE_READER] = "PRAGMA query_only = ON;"
	                          "PRAGMA temp_store = MEMORY",
	};

	sqlite3_busy_timeout(c->handle, BUSY_TIMEOUT_MS);
	sqlite3_extended_result_codes(c->handle, 1);
	return sqlite_execute(c, pragmas[use], err);
}

int sqlite_connect(struct store *s, const struct sqlite_place *place, enum sqlite_use use,
                   struct sqlite_connection **ret, struct error *err)
{
	/* NOMUTEX: a connection is used by one thread at a time, which sqlite.c ensures. */
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
	struct sqlite_connection *c;
	const char *system = NULL;

	if (!place->in_memory && make_file(place->path, err) < 0)
		return -1;
	if (!place->in_memory && use == SQLITE_WRITER && log_file_system(&system, err) < 0)
		return -1;
	if (!place->in_memory && use == SQLITE_READER && reach_is_needed(place->path) &&
	    reach_file_system(&system, err) < 0)
		return -1;
	c = memory_new(sizeof(*c));
	c->base.store = s;
	if (sqlite3_open_v2(place->in_memory ? ":memory:" : place->path, &c->handle, flags,
	                    system) != SQLITE_OK) {
		sqlite_fail(c->handle, "open the database", err);
		sqlite_disconnect(c);
		return -1;
	}
	if (set_pragmas(c, use, err) < 0) {
		sqlite_disconnect(c);
		return -1;
	}
	*ret = c;
	return 0;
}

void sqlite_disconnect(struct sqlite_connection *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < QUERY_COUNT; i++)
		sqlite3_finalize(c->statements[i].handle);
	for (unsigned i = 0; i < CONTROL_COUNT; i++)
		sqlite3_finalize(c->controls[i]);
	sqlite3_close(c->handle);
	free(c);
}

int sqlite_execute(struct sqlite_connection *c, const char *sql, struct error *err)
{
	if (sqlite3_exec(c->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		return sqlite_fail(c->handle, "set up the database", err);
	return 0;
}

int sqlite_control(struct sqlite_connection *c, enum sqlite_command control, struct error *err)
{
	int result;

	if (!c->controls[control] &&
	    sqlite3_prepare_v3(c->handle, controls[control], -1, SQLITE_PREPARE_PERSISTENT,
	                       &c->controls[control], NULL) != SQLITE_OK)
		return sqlite_fail(c->handle, controls[control], err);
	result = control == CONTROL_COMMIT ? log_file_commit(c->controls[control])
	                                   : sqlite3_step(c->controls[control]);
	sqlite3_reset(c->controls[control]);
	return result == SQLITE_DONE ? 0 : sqlite_fail(c->handle, controls[control], err);
}

static int prepare_query(struct sqlite_connection *c, enum query_name name, struct error *err)
{
	const struct store_query *query = &store_queries[name];
	struct statement *statement = &c->statements[name];
	int parameters, columns;

	if (sqlite3_prepare_v3(c->handle, query->sqlite, -1, SQLITE_PREPARE_PERSISTENT,
	                       &statement->handle, NULL) != SQLITE_OK)
		return sqlite_fail(c->handle, query->name, err);
	parameters = sqlite3_bind_parameter_count(statement->handle);
	columns = sqlite3_column_count(statement->handle);
	assert(parameters <= STATEMENT_PARAMETERS_MAX && columns <= STATEMENT_COLUMNS_MAX);
	for (int i = 0; i < parameters; i++)
		statement->parameters[i] =
		        query_column(query, query->takes,
		                     sqlite3_bind_parameter_name(statement->handle, i + 1) + 1);
	for (int i = 0; i < columns; i++)
		statement->columns[i] = query_column(query, query->gives,
		                                     sqlite3_column_name(statement->handle, i));
	return 0;
}

int sqlite_prepare_all(struct sqlite_connection *c, struct error *err)
{
	for (unsigned i = 0; i < QUERY_COUNT; i++)
		if (prepare_query(c, (enum query_name)i, err) < 0)
			return -1;
	return 0;
}

static int bind_text(sqlite3_stmt *handle, int at, const char *text)
{
	return sqlite3_bind_text(handle, at, text, -1, SQLITE_STATIC);
}

/* The caller keeps bound values until the statement is reset. */
static int bind_column(sqlite3_stmt *handle, int at, const struct column *column, const void *takes)
{
	const void *member = (const char *)takes + column->offset;
	const char *const *text = member;

	switch (column->kind) {
	case COLUMN_TEXT:
		return bind_text(handle, at, *text ? *text : "");
	case COLUMN_FILTER:
		return *text ? bind_text(handle, at, *text) : sqlite3_bind_null(handle, at);
	case COLUMN_SECRET:
		break; /* bind_all */
	case COLUMN_WHOLE:
		return sqlite3_bind_int64(handle, at, *(const int64_t *)member);
	case COLUMN_NUMBER:
		return sqlite3_bind_double(handle, at, *(const double *)member);
	case COLUMN_BOOL:
		return sqlite3_bind_int(handle, at, *(const bool *)member);
	case COLUMN_CHOICE:
		return bind_text(handle, at, column->word(*(const unsigned *)member));
	case COLUMN_HASH:
		return sqlite3_bind_blob(handle, at, member, COLUMN_HASH_SIZE, SQLITE_STATIC);
	case COLUMN_END:
		break;
	}
	return SQLITE_MISUSE;
}

static struct span read_bytes(sqlite3_stmt *handle, int at)
{
	/* In this order: asking for the size first could convert. */
	const char *data = (const char *)sqlite3_column_text(handle, at);

	return (struct span){data, (size_t)sqlite3_column_bytes(handle, at)};
}

static int read_hash(sqlite3_stmt *handle, int at, void *member, struct error *err)
{
	if (sqlite3_column_bytes(handle, at) != COLUMN_HASH_SIZE)
		return FAIL(err, ERROR_SYSTEM, "the database holds a hash of a wrong size");
	memcpy(member, sqlite3_column_blob(handle, at), COLUMN_HASH_SIZE);
	return 0;
}

static int read_column(sqlite3_stmt *handle, int at, const struct column *column, struct rows *rows,
                       void *item, struct error *err)
{
	void *member = (char *)item + column->offset;

	switch (column->kind) {
	case COLUMN_TEXT:
	case COLUMN_SECRET:
	case COLUMN_FILTER:
		*(const char **)member = arena_copy(rows->arena, read_bytes(handle, at));
		return 0;
	case COLUMN_WHOLE:
		*(int64_t *)member = sqlite3_column_int64(handle, at);
		return 0;
	case COLUMN_NUMBER:
		*(double *)member = sqlite3_column_double(handle, at);
		return 0;
	case COLUMN_BOOL:
		*(bool *)member = sqlite3_column_int(handle, at) != 0;
		return 0;
	case COLUMN_CHOICE:
		return column_choose(column, read_bytes(handle, at), member, err);
	case COLUMN_HASH:
		return read_hash(handle, at, member, err);
	case COLUMN_END:
		break;
	}
	return FAIL(err, ERROR_SYSTEM, "column '%s' has no kind", column->name);
}

static int read_row(struct sqlite_connection *c, const struct statement *statement,
                    struct rows *rows, struct error *err)
{
	void *item = rows_add(rows);
	int count = sqlite3_column_count(statement->handle);

	for (int i = 0; i < count; i++)
		if (read_column(statement->handle, i, statement->columns[i], rows, item, err) < 0)
			return -1;
	for (int i = 0; i < count; i++)
		if (statement->columns[i]->kind == COLUMN_SECRET)
			secret_open(c->base.store, rows->arena, statement->columns[i], item);
	return 0;
}

static int step_rows(struct sqlite_connection *c, const struct store_query *query,
                     const struct statement *statement, struct rows *rows, struct error *err)
{
	int result, count = 0;

	while ((result = sqlite3_step(statement->handle)) == SQLITE_ROW) {
		if (read_row(c, statement, rows, err) < 0)
			return FAIL_CONTEXT(err, "%s", query->name);
		count++;
	}
	if (result != SQLITE_DONE)
		return sqlite_fail(c->handle, query->name, err);
	return query->gives ? count : sqlite3_changes(c->handle);
}

/* `scratch` holds bound values until the statement has run. */
static int bind_parameters(struct sqlite_connection *c, const struct statement *statement,
                           struct arena *scratch, const void *takes)
{
	int parameters = sqlite3_bind_parameter_count(statement->handle), result = SQLITE_OK;

	for (int i = 0; i < parameters && result == SQLITE_OK; i++) {
		const struct column *column = statement->parameters[i];

		if (column->kind == COLUMN_SECRET)
			result = bind_text(statement->handle, i + 1,
			                   secret_close(c->base.store, scratch, column, takes));
		else
			result = bind_column(statement->handle, i + 1, column, takes);
	}
	return result;
}

int sqlite_run(struct store_connection *base, enum query_name name, const void *takes,
               struct rows *rows, struct error *err)
{
	struct sqlite_connection *c = CONTAINER_OF(base, struct sqlite_connection, base);
	const struct store_query *query = &store_queries[name];
	struct statement *statement = &c->statements[name];
	AUTO(arena_done) struct arena scratch = {0};
	int count;

	if (!statement->handle && prepare_query(c, name, err) < 0)
		return -1;
	if (bind_parameters(c, statement, &scratch, takes) != SQLITE_OK)
		return sqlite_fail(c->handle, query->name, err);
	count = step_rows(c, query, statement, rows, err);
	sqlite3_reset(statement->handle);
	return count;
}
