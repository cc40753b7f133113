/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <sqlite3.h>

#include "store/sqlite/log_file.h"

/* Below the log's file system is one of ours, which counts what comes to the log. */
static sqlite3_vfs counting_vfs;
static sqlite3_vfs *real_vfs;
static sqlite3_io_methods counting_methods;
static const sqlite3_io_methods *real_methods;
static struct {
	unsigned writes, syncs;
	int fails; /* what the next write answers */
} seen;

static int count_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 at)
{
	int result = seen.fails;

	seen.writes++;
	seen.fails = SQLITE_OK;
	return result == SQLITE_OK ? real_methods->xWrite(file, data, size, at) : result;
}

static int count_sync(sqlite3_file *file, int flags)
{
	seen.syncs++;
	return real_methods->xSync(file, flags);
}

static int count_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
	int result = real_vfs->xOpen(real_vfs, name, file, flags, out);

	(void)vfs;
	if (result != SQLITE_OK || !(flags & SQLITE_OPEN_WAL))
		return result;
	real_methods = file->pMethods;
	counting_methods = *real_methods;
	counting_methods.xWrite = count_write;
	counting_methods.xSync = count_sync;
	file->pMethods = &counting_methods;
	return result;
}

struct database {
	struct folder folder;
	sqlite3 *writer, *reader;
};

static void run(sqlite3 *handle, const char *sql)
{
	char *text = NULL;

	if (sqlite3_exec(handle, sql, NULL, NULL, &text) != SQLITE_OK)
		fail_msg("%s: %s", sql, text);
}

static int64_t ask(sqlite3 *handle, const char *sql)
{
	sqlite3_stmt *statement;
	int64_t value;

	assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

static int set_up(void **state)
{
	struct database *d = calloc(1, sizeof(*d));
	const char *system = NULL;
	struct error err = {0};

	real_vfs = sqlite3_vfs_find("unix");
	counting_vfs = *real_vfs;
	counting_vfs.zName = "counting";
	counting_vfs.xOpen = count_open;
	assert_int_equal(sqlite3_vfs_register(&counting_vfs, 1), SQLITE_OK);
	folder_make(&d->folder);
	assert_done(log_file_system(&system, &err));
	assert_int_equal(sqlite3_open_v2(d->folder.file, &d->writer,
	                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, system),
	                 SQLITE_OK);
	run(d->writer, "PRAGMA journal_mode = WAL;" LOG_FILE_PRAGMAS);
	run(d->writer, "CREATE TABLE t (i INTEGER PRIMARY KEY, x BLOB)");
	assert_int_equal(sqlite3_open_v2(d->folder.file, &d->reader, SQLITE_OPEN_READWRITE, "unix"),
	                 SQLITE_OK);
	seen.writes = seen.syncs = 0;
	seen.fails = SQLITE_OK;
	*state = d;
	return 0;
}

static int tear_down(void **state)
{
	struct database *d = *state;

	sqlite3_close(d->reader);
	sqlite3_close(d->writer);
	folder_remove(&d->folder);
	free(d);
	return sqlite3_vfs_unregister(&counting_vfs);
}

static void a_commit_is_one_write_and_no_sync(void **state)
{
	struct database *d = *state;

	run(d->writer, "BEGIN; INSERT INTO t (x) VALUES (randomblob(3000)), (randomblob(3000)),"
	               "(randomblob(3000)), (randomblob(3000)), (randomblob(3000)); COMMIT");
	assert_int_equal(seen.writes, 1);
	assert_int_equal(seen.syncs, 0);
	/* Nobody has to wait for more: others read it at once. */
	assert_int_equal(ask(d->reader, "SELECT count(*) FROM t"), 5);
}

static void a_checkpoint_and_a_new_head_are_synced(void **state)
{
	struct database *d = *state;

	run(d->writer, "INSERT INTO t (x) VALUES (1)");
	assert_int_equal(seen.syncs, 0);
	run(d->writer, "PRAGMA wal_checkpoint(RESTART)");
	assert_int_equal(seen.syncs, 1);
	run(d->writer, "INSERT INTO t (x) VALUES (2)");
	assert_int_equal(seen.syncs, 2);
	assert_int_equal(ask(d->reader, "SELECT count(*) FROM t"), 2);
}

#define MANY "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) "

static void a_commit_that_is_larger_than_the_buffer_is_whole(void **state)
{
	struct database *d = *state;

	run(d->writer, MANY "INSERT INTO t (x) SELECT zeroblob(3000 + i) FROM n");
	assert_true(seen.writes > 10 && seen.writes < 40);
	assert_int_equal(ask(d->reader, "SELECT sum(length(x)) FROM t"),
	                 500 * 3000 + 500 * 501 / 2);
	assert_int_equal(ask(d->reader, "SELECT count(*) FROM pragma_integrity_check "
	                                "WHERE integrity_check = 'ok'"),
	                 1);
}

/* A cache of a few pages: the log is written to, and read from, before the commit. */
static void what_is_taken_back_half_way_leaves_no_trace(void **state)
{
	struct database *d = *state;

	run(d->writer, "PRAGMA cache_size = 5; INSERT INTO t (x) VALUES ('kept')");
	run(d->writer, "BEGIN");
	run(d->writer, MANY "INSERT INTO t (x) SELECT zeroblob(2000) FROM n");
	assert_int_equal(ask(d->writer, "SELECT sum(length(x)) FROM t"), 500 * 2000 + 4);
	run(d->writer, "UPDATE t SET x = 'other' WHERE i % 7 = 0");
	assert_int_equal(ask(d->reader, "SELECT count(*) FROM t"), 1);
	run(d->writer, "ROLLBACK");
	run(d->writer, "INSERT INTO t (x) VALUES ('next')");
	assert_int_equal(ask(d->reader, "SELECT sum(length(x)) FROM t"), 8);
	run(d->writer, "BEGIN");
	run(d->writer, MANY "INSERT INTO t (x) SELECT zeroblob(2000) FROM n");
	run(d->writer, "UPDATE t SET x = 'other' WHERE i % 7 = 0; COMMIT");
	assert_int_equal(ask(d->reader, "SELECT count(*) FROM t"), 502);
	run(d->writer, "PRAGMA wal_checkpoint(TRUNCATE)");
	assert_int_equal(ask(d->reader, "SELECT count(*) FROM t"), 502);
	assert_int_equal(ask(d->reader, "SELECT count(*) FROM pragma_integrity_check "
	                                "WHERE integrity_check = 'ok'"),
	                 1);
}

static void a_write_that_fails_fails_its_commit_and_no_other(void **state)
{
	struct database *d = *state;

	run(d->writer, "INSERT INTO t (x) VALUES (1)");
	seen.fails = SQLITE_FULL;
	assert_int_equal(sqlite3_exec(d->writer, "INSERT INTO t (x) VALUES (2)", NULL, NULL, NULL),
	                 SQLITE_FULL);
	assert_int_equal(ask(d->reader, "SELECT count(*) FROM t"), 1);
	run(d->writer, "INSERT INTO t (x) VALUES (3)");
	assert_int_equal(ask(d->reader, "SELECT sum(x) FROM t"), 4);
}

#define EACH(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest cases[] = {
	        EACH(a_commit_is_one_write_and_no_sync),
	        EACH(a_checkpoint_and_a_new_head_are_synced),
	        EACH(a_commit_that_is_larger_than_the_buffer_is_whole),
	        EACH(what_is_taken_back_half_way_leaves_no_trace),
	        EACH(a_write_that_fails_fails_its_commit_and_no_other),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
