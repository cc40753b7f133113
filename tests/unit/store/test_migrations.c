/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include "store/driver.h"
#include "store/events.h"
#include "store/leases.h"

static sqlite3 *open_raw(const struct folder *f)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(f->file, &db), SQLITE_OK);
	return db;
}

static void execute(sqlite3 *db, const char *sql)
{
	char *text = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK)
		fail_msg("%s", text);
}

static int64_t version_of(const struct folder *f)
{
	sqlite3 *db = open_raw(f);
	sqlite3_stmt *statement;
	int64_t version;

	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &statement, NULL),
	                 SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	version = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return version;
}

static int64_t last_migration(void)
{
	int64_t last = 0;

	for (const struct migration *m = store_migrations; m->number > 0; m++)
		last = m->number;
	return last;
}

TEST(migrations_are_numbered_from_one_without_a_gap)
{
	int64_t expected = 1;

	for (const struct migration *m = store_migrations; m->number > 0; m++)
		assert_int_equal(m->number, expected++);
	assert_true(expected > 1);
}

TEST(an_empty_folder_gets_a_database_that_only_its_owner_reads)
{
	struct error err = {0};
	struct folder folder;
	struct store *s = NULL;
	struct stat st;

	folder_make(&folder);
	assert_done(store_open(folder.dsn, &s, &err));
	assert_int_equal(stat(folder.file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	store_close(s);
	assert_int_equal(version_of(&folder), last_migration());
	folder_remove(&folder);
}

TEST(opening_again_changes_nothing_and_keeps_the_rows)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct folder folder;
	struct project_record found;
	struct store *s;

	folder_make(&folder);
	store_close(store_with_project(folder.dsn));
	assert_done(store_open(folder.dsn, &s, &err));
	assert_done(store_project_find(s, &a, PROJECT, &found, &err));
	store_close(s);
	folder_remove(&folder);
}

static const char old_sandboxes[] =
        "INSERT INTO templates VALUES ('template-id', '', 'base', 'base', '', '', '', '', 0, 0, 0,"
        " 0, '{}', '[]', '[]', '', '', 'ready', '', 0, 0, 0);"
        "INSERT INTO sandboxes VALUES ('aaaaaaaaaaaaaaaaaaaa', '" PROJECT "', 'lives',"
        " 'template-id', 'base', 'null', '', '{}', '{}', 'started', 'started', 'none', 1, 1, 1, 1,"
        " 0, 0, 0, 'blocked', 0, 0, 0, 1, 1, 0, 0, 0, '', 1);"
        "INSERT INTO sandboxes VALUES ('bbbbbbbbbbbbbbbbbbbb', '" PROJECT "', 'gone',"
        " 'template-id', 'base', 'null', '', '{}', '{}', 'deleted', 'deleted', 'none', 1, 1, 1, 1,"
        " 0, 0, 0, 'blocked', 0, 0, 0, 1, 1, 0, 0, 0, '', 1);"
        "INSERT INTO events (sandbox_id, at, kind, text) VALUES"
        " ('aaaaaaaaaaaaaaaaaaaa', 7, 'pending', 'asked for'),"
        " ('aaaaaaaaaaaaaaaaaaaa', 8, 'started', 'in 4 ms');";

static const char old_session[] =
        "INSERT INTO sessions VALUES ('" PROJECT "', 'a/b', 'c%', 'aaaaaaaaaaaaaaaaaaaa', 5, 6)";

/* The rows of the program that wrote the file are there, and the program of today adds others. */
static void assert_brought_up_to_date(struct folder *folder, int64_t version)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct project_record found;
	struct lease_record lease;
	struct lease_ref session = {PROJECT, "session:a%2Fb/c%25"};
	struct event_list events;
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "new");
	struct store *s = NULL;

	assert_done(store_open(folder->dsn, &s, &err));
	assert_done(store_project_find(s, &a, PROJECT, &found, &err));
	assert_string_equal(found.name, "old");
	assert_int_equal(found.sandboxes_max, 5);
	if (version >= 2) {
		assert_done(store_lease_find(s, &a, &session, &lease, &err));
		assert_string_equal(lease.sandbox_id, "aaaaaaaaaaaaaaaaaaaa");
		assert_int_equal(lease.status, LEASE_READY);
		assert_int_equal(lease.created_at, 5);
		assert_int_equal(lease.last_activity_at, 6);
	}
	assert_done(store_event_list(s, &a, &(struct event_page){.project_id = PROJECT, .limit = 9},
	                             &events, &err));
	assert_int_equal(events.count, 2);
	assert_string_equal(events.items[0].kind, "sandbox.created");
	assert_string_equal(events.items[1].kind, "sandbox.started");
	assert_int_equal(events.items[1].sequence, 2);
	/* The one that lives has been counted, the one that is gone has not. */
	assert_refused(store_sandbox_insert(s, &r, 1, &err), ERROR_LIMIT);
	assert_done(store_sandbox_insert(s, &r, 2, &err));
	store_close(s);
	assert_int_equal(version_of(folder), last_migration());
}

/* One file grows by a migration at a time, as old programs left it; a copy of each is opened. */
TEST(a_database_of_every_older_version_is_brought_up_to_date_with_its_rows)
{
	struct folder growing, folder;
	sqlite3 *db;

	folder_make(&growing);
	db = open_raw(&growing);
	execute(db, store_migrations[0].sqlite);
	execute(db, "INSERT INTO projects VALUES ('" PROJECT "', 'old', 1, 2, 3, 4, 5, 6)");
	execute(db, old_sandboxes);
	for (int64_t version = 1; version < last_migration(); version++) {
		if (version > 1)
			execute(db, store_migrations[version - 1].sqlite);
		if (version == 2)
			execute(db, old_session);
		folder_make(&folder);
		unit_copy_file(growing.file, folder.file);
		assert_int_equal(version_of(&folder), version);
		assert_brought_up_to_date(&folder, version);
		folder_remove(&folder);
	}
	sqlite3_close(db);
	folder_remove(&growing);
}

TEST(a_database_of_a_newer_version_is_refused_and_left_alone)
{
	struct error err = {0};
	struct folder folder;
	struct store *s = NULL;
	sqlite3 *db;

	folder_make(&folder);
	store_close(store_with_project(folder.dsn));
	db = open_raw(&folder);
	execute(db, "PRAGMA user_version = 9999");
	sqlite3_close(db);
	assert_refused(store_open(folder.dsn, &s, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "9999"));
	assert_non_null(strstr(err.hint, "newer"));
	assert_null(s);
	assert_int_equal(version_of(&folder), 9999);
	folder_remove(&folder);
}

TEST(a_migration_that_fails_leaves_the_version_before_it)
{
	struct error err = {0};
	struct folder folder;
	struct store *s = NULL;
	sqlite3 *db;

	folder_make(&folder);
	db = open_raw(&folder);
	execute(db, "CREATE TABLE templates (mine)");
	sqlite3_close(db);
	assert_refused(store_open(folder.dsn, &s, &err), ERROR_SYSTEM);
	assert_non_null(strstr(err.text, "migration 1"));
	assert_int_equal(version_of(&folder), 0);
	db = open_raw(&folder);
	execute(db, "CREATE TABLE projects (none_was_left)");
	sqlite3_close(db);
	folder_remove(&folder);
}

int main(void)
{
	return RUN(CASE(migrations_are_numbered_from_one_without_a_gap),
	           CASE(an_empty_folder_gets_a_database_that_only_its_owner_reads),
	           CASE(opening_again_changes_nothing_and_keeps_the_rows),
	           CASE(a_database_of_every_older_version_is_brought_up_to_date_with_its_rows),
	           CASE(a_database_of_a_newer_version_is_refused_and_left_alone),
	           CASE(a_migration_that_fails_leaves_the_version_before_it));
}
