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
	int fails;          /* what the next write answers */
	sqlite3_int64 end;  /* of the last write */
	sqlite3_int64 room; /* where the disk is full; 0 = nowhere */
} seen;

static int count_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 at)
{
	int result = seen.fails;

	seen.writes++;
	seen.fails = SQLITE_OK;
	if (seen.room && at + size > seen.room)
		result = SQLITE_FULL;
	seen.end = at + size;
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

static bool is_whole(sqlite3 *handle)
{
	return ask(handle, "SELECT count(*) FROM pragma_integrity_check "
	                   "WHERE integrity_check = 'ok'") == 1;
}

static int commit(sqlite3 *handle)
{
	sqlite3_stmt *statement;
	int result;

	assert_int_equal(sqlite3_prepare_v2(handle, "COMMIT", -1, &statement, NULL), SQLITE_OK);
	result = log_file_commit(statement);
	sqlite3_finalize(statement);
	return result;
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
	seen.room = 0;
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
	               "(randomblob(3000)), (randomblob(3000)), (randomblob(3000))");
	assert_int_equal(seen.writes, 0);
	assert_int_equal(commit(d->writer), SQLITE_DONE);
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

	run(d->writer, "PRAGMA cache_size = 2000; BEGIN");
	run(d->writer, MANY "INSERT INTO t (x) SELECT zeroblob(3000 + i) FROM n");
	assert_int_equal(commit(d->writer), SQLITE_DONE);
	assert_true(seen.writes > 10 && seen.writes < 40);
	assert_int_equal(ask(d->reader, "SELECT sum(length(x)) FROM t"),
	                 500 * 3000 + 500 * 501 / 2);
	assert_true(is_whole(d->reader));
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
	run(d->writer, "UPDATE t SET x = 'other' WHERE i % 7 = 0");
	assert_int_equal(commit(d->writer), SQLITE_DONE);
	assert_int_equal(ask(d->reader, "SELECT count(*) FROM t"), 502);
	run(d->writer, "PRAGMA wal_checkpoint(TRUNCATE)");
	assert_int_equal(ask(d->reader, "SELECT count(*) FROM t"), 502);
	assert_true(is_whole(d->reader));
}

static void a_write_that_fails_fails_its_commit_and_no_other(void **state)
{
	struct database *d = *state;

	run(d->writer, "INSERT INTO t (x) VALUES (1)");
	run(d->writer, "BEGIN; INSERT INTO t (x) VALUES (2)");
	seen.fails = SQLITE_FULL;
	assert_int_equal(commit(d->writer), SQLITE_FULL);
	assert_true(sqlite3_get_autocommit(d->writer));
	assert_int_equal(ask(d->reader, "SELECT count(*) FROM t"), 1);
	run(d->writer, "INSERT INTO t (x) VALUES (3)");
	assert_int_equal(ask(d->reader, "SELECT sum(x) FROM t"), 4);
}

/* The second of a group finds the disk full before the commit, and is taken back alone where SQLite
 * allows that: what the first has written must not be missing from the others' commit. */
static void fill_the_disk(struct database *d)
{
	run(d->writer, "BEGIN IMMEDIATE; SAVEPOINT one;"
	               "UPDATE u SET y = 1 - y WHERE i > 50 * (SELECT count(*) FROM t);"
	               "RELEASE one; SAVEPOINT one");
	seen.room = seen.end;
	assert_int_equal(sqlite3_exec(d->writer, "UPDATE u SET x = x || '+'", NULL, NULL, NULL),
	                 SQLITE_FULL);
	seen.room = 0;
	if (sqlite3_get_autocommit(d->writer))
		return;
	run(d->writer, "ROLLBACK TO one; RELEASE one");
	assert_int_equal(commit(d->writer), SQLITE_DONE);
}

static void a_disk_that_fills_before_the_commit_leaves_no_hole(void **state)
{
	struct database *d = *state;

	run(d->writer, "PRAGMA cache_size = 10;"
	               "CREATE TABLE u (i INTEGER PRIMARY KEY, x TEXT UNIQUE, y INTEGER NOT NULL)");
	run(d->writer, MANY "INSERT INTO u SELECT i, substr(hex(zeroblob(400)) || (1000 + i * 7919 "
	                    "% 500), -800), 0 FROM n");
	for (unsigned i = 0; i < 10; i++) {
		fill_the_disk(d);
		run(d->writer, "INSERT INTO t (x) VALUES (1)");
		assert_true(is_whole(d->writer));
		run(d->writer, "PRAGMA wal_checkpoint(TRUNCATE)");
		assert_true(is_whole(d->reader));
		assert_int_equal(ask(d->reader, "SELECT sum(length(x)) FROM u"), 500 * 800);
	}
	run(d->writer, "BEGIN; UPDATE u SET x = x || '+'");
	assert_int_equal(commit(d->writer), SQLITE_DONE);
	assert_int_equal(ask(d->reader, "SELECT sum(length(x)) FROM u"), 500 * 801);
	assert_true(is_whole(d->reader));
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
	        EACH(a_disk_that_fills_before_the_commit_leaves_no_hole),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
