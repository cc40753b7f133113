/* SPDX-License-Identifier: Apache-2.0 */
/* What the PostgreSQL driver does beyond the contract: migrations, a server that goes away and
 * comes back, several stores on one database. */
#include "postgres_server.h"
#include "samples.h"

#include <pthread.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "store/driver.h"
#include "store/leases.h"

static struct postgres_server server;
static char dsn[256];

static int set_up(void **state)
{
	(void)state;
	postgres_new_schema(&server, dsn, sizeof(dsn));
	return 0;
}

static struct store *open_store(void)
{
	struct error err = {0};
	struct store *s = NULL;

	assert_done(store_open(dsn, &s, &err));
	return s;
}

static int64_t ask_number(const char *sql)
{
	PGconn *c = postgres_raw(dsn);
	char *text = postgres_value(c, sql);
	int64_t number = strtoll(text, NULL, 10);

	free(text);
	PQfinish(c);
	return number;
}

static void execute(const char *sql)
{
	PGconn *c = postgres_raw(dsn);

	postgres_do(c, sql);
	PQfinish(c);
}

static int64_t last_migration(void)
{
	int64_t last = 0;

	for (const struct migration *m = store_migrations; m->number > 0; m++)
		last = m->number;
	return last;
}

/* ---- tables ---- */

/* "TABLE.COLUMN,…" of all that both have; the version is kept in another way by each. */
static char *columns_of_postgres(void)
{
	PGconn *c = postgres_raw(dsn);
	char *text = postgres_value(
	        c, "SELECT string_agg(table_name || '.' || column_name || ':' || is_nullable, ',' "
	           "ORDER BY table_name COLLATE \"C\", ordinal_position) "
	           "FROM information_schema.columns "
	           "WHERE table_schema = current_schema AND table_name <> 'store_version'");

	PQfinish(c);
	return text;
}

static char *columns_of_sqlite(void)
{
	static const char sql[] =
	        "SELECT group_concat(line, ',') FROM (SELECT t.name || '.' || c.name || ':' || "
	        "iif(c.\"notnull\" OR c.pk, 'NO', 'YES') AS line FROM sqlite_schema AS t, "
	        "pragma_table_info(t.name) AS c WHERE t.type = 'table' "
	        "AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid)";
	struct folder folder;
	sqlite3 *db = NULL;
	sqlite3_stmt *statement;
	char *text;

	folder_make(&folder);
	store_close(store_with_project(folder.dsn));
	assert_int_equal(sqlite3_open(folder.file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	text = strdup((const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	sqlite3_close(db);
	folder_remove(&folder);
	return text;
}

TEST(both_databases_have_the_same_tables_and_columns)
{
	char *here, *there;

	store_close(open_store());
	here = columns_of_postgres();
	there = columns_of_sqlite();
	assert_string_equal(here, there);
	assert_non_null(strstr(here, "sandboxes.env_json:NO"));
	free(here);
	free(there);
}

static const char old_rows[] =
        "INSERT INTO projects VALUES ('" PROJECT "', 'old', 1, 2, 3, 4, 5, 6);"
        "INSERT INTO templates VALUES ('template-id', '', 'base', 'base', '', '', '', '', 0, 0, 0,"
        " 0, '{}', '[]', '[]', '', '', 'ready', '', 0, 0, 0);"
        "INSERT INTO sandboxes VALUES ('aaaaaaaaaaaaaaaaaaaa', '" PROJECT "', 'lives',"
        " 'template-id', 'base', 'null', '', '{}', '{}', 'started', 'started', 'none', 1, 1, 1, 1,"
        " 0, 0, 0, 'blocked', 0, 0, 0, 1, 1, 0, 0, 0, '', 1);";

static void make_old(int64_t version)
{
	PGconn *c = postgres_raw(dsn);

	postgres_do(c, "CREATE TABLE store_version (number BIGINT NOT NULL);"
	               "INSERT INTO store_version VALUES (0)");
	postgres_do(c, store_migrations[0].postgres);
	postgres_do(c, old_rows);
	for (int64_t i = 1; i < version; i++)
		postgres_do(c, store_migrations[i].postgres);
	PQfinish(c);
}

/* Sanitizers see the same code whatever the version, and the server's half of the work is not
 * theirs. */
#if UNIT_WITH_ASAN || defined(__SANITIZE_THREAD__)
#define VERSION_STEP 6
#else
#define VERSION_STEP 1
#endif

TEST(a_database_of_every_older_version_is_brought_up_to_date_with_its_rows)
{
	for (int64_t version = 1; version < last_migration(); version += VERSION_STEP) {
		AUTO(arena_done) struct arena a = {0};
		struct error err = {0};
		struct project_record project;
		struct sandbox_record r;
		struct store *s;

		postgres_new_schema(&server, dsn, sizeof(dsn));
		make_old(version);
		assert_int_equal(ask_number("SELECT number FROM store_version"), version);
		s = open_store();
		assert_done(store_project_find(s, &a, PROJECT, &project, &err));
		assert_string_equal(project.name, "old");
		assert_done(store_sandbox_find(s, &a, PROJECT, "lives", &r, &err));
		assert_int_equal(r.actual, SANDBOX_STARTED);
		assert_int_equal(ask_number("SELECT sandboxes_living FROM projects"), 1);
		store_close(s);
		assert_int_equal(ask_number("SELECT number FROM store_version"), last_migration());
	}
}

TEST(a_database_of_a_newer_version_is_refused_and_left_alone)
{
	struct error err = {0};
	struct store *s = NULL;

	store_close(open_store());
	execute("UPDATE store_version SET number = 9999");
	assert_refused(store_open(dsn, &s, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "9999"));
	assert_null(s);
	assert_int_equal(ask_number("SELECT number FROM store_version"), 9999);
}

TEST(a_migration_that_fails_leaves_nothing_of_itself)
{
	struct error err = {0};
	struct store *s = NULL;

	execute("CREATE TABLE templates (mine BIGINT)");
	assert_refused(store_open(dsn, &s, &err), ERROR_SYSTEM);
	assert_non_null(strstr(err.text, "migration 1"));
	execute("CREATE TABLE projects (none_was_left BIGINT)");
}

#define OPENERS 4

static void *open_on_thread(void *argument)
{
	struct store **s = argument;
	struct error err = {0};

	if (store_open(dsn, s, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	return NULL;
}

TEST(of_servers_that_start_at_once_one_migrates)
{
	struct store *stores[OPENERS] = {NULL};
	pthread_t threads[OPENERS];

	for (unsigned i = 0; i < OPENERS; i++)
		pthread_create(&threads[i], NULL, open_on_thread, &stores[i]);
	for (unsigned i = 0; i < OPENERS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < OPENERS; i++) {
		assert_non_null(stores[i]);
		store_close(stores[i]);
	}
	assert_int_equal(ask_number("SELECT count(*) FROM store_version"), 1);
}

/* ---- addresses ---- */

TEST(an_address_that_is_none_is_refused_without_its_password)
{
	static const char *const addresses[] = {"postgresql:host=/tmp hunter2",
	                                        "postgresql://me:hunter2@[::1/name",
	                                        "postgres:password=hunter2 nonsense=1"};

	for (size_t i = 0; i < COUNT_OF(addresses); i++) {
		struct error err = {0};
		struct store *s = NULL;

		assert_refused(store_open(addresses[i], &s, &err), ERROR_INVALID);
		assert_null(strstr(err.text, "hunter2"));
		assert_non_null(strstr(err.hint, "postgresql://"));
	}
}

TEST(a_server_that_is_not_there_is_named_without_the_password)
{
	struct error err = {0};
	struct store *s = NULL;

	assert_refused(store_open("postgresql://me:hunter2@127.0.0.1:1/name", &s, &err),
	               ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "127.0.0.1"));
	assert_null(strstr(err.text, "hunter2"));
}

TEST(a_uri_finds_the_same_database_as_a_conninfo)
{
	char uri[256];
	struct error err = {0};
	struct store *s = NULL;

	snprintf(uri, sizeof(uri),
	         "postgres://postgres@/postgres?host=%s&options=-csearch_path%%3D%s", server.folder,
	         strrchr(dsn, '=') + 1);
	store_close(store_with_project(dsn));
	assert_done(store_open(uri, &s, &err));
	assert_done(store_ping(s, &err));
	store_close(s);
	assert_int_equal(ask_number("SELECT count(*) FROM projects"), 1);
}

/* ---- a server that goes away ---- */

static int insert(struct store *s, const char *name, struct error *err)
{
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, name);

	return store_sandbox_insert(s, &r, 0, err);
}

TEST(while_the_server_is_away_calls_say_so_and_after_that_they_work)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct store *s = store_with_project(dsn);
	struct sandbox_record r;

	assert_done(insert(s, "before", &err));
	postgres_end_server(&server, SIGINT);
	assert_refused(insert(s, "meanwhile", &err), ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "reached"));
	assert_refused(store_ping(s, &err), ERROR_UNAVAILABLE);
	assert_refused(store_sync_wait(s, store_sync_begin(s), &err), ERROR_UNAVAILABLE);
	postgres_run_server(&server);
	assert_done(insert(s, "after", &err));
	assert_done(store_sync_wait(s, store_sync_begin(s), &err));
	assert_done(store_sandbox_find(s, &a, PROJECT, "before", &r, &err));
	assert_done(store_sandbox_find(s, &a, PROJECT, "after", &r, &err));
	assert_refused(store_sandbox_find(s, &a, PROJECT, "meanwhile", &r, &err), ERROR_NOT_FOUND);
	store_close(s);
}

TEST(a_restart_between_two_calls_is_not_noticed)
{
	struct error err = {0};
	struct store *s = store_with_project(dsn);

	assert_done(insert(s, "before", &err));
	postgres_end_server(&server, SIGINT);
	postgres_run_server(&server);
	assert_done(insert(s, "after", &err));
	assert_done(store_ping(s, &err));
	store_close(s);
}

TEST(a_mark_from_before_a_crash_fails_and_one_from_after_it_does_not)
{
	struct error err = {0};
	struct store *s = store_with_project(dsn);

	assert_done(store_sync_wait(s, store_sync_begin(s), &err));
	postgres_end_server(&server, SIGQUIT);
	assert_refused(store_sync_wait(s, store_sync_begin(s), &err), ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.hint, "lost"));
	postgres_run_server(&server);
	assert_done(store_sync_wait(s, store_sync_begin(s), &err));
	store_close(s);
}

TEST(what_was_waited_for_is_there_after_a_crash)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct store *s = store_with_project(dsn);
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "lazy"), found;

	r.actual = SANDBOX_CREATING; /* a lazy insert */
	for (unsigned i = 0; i < 5; i++) {
		id = id_new();
		r.name = id.text;
		assert_done(store_sandbox_insert(s, &r, 0, &err));
		assert_done(store_sync_wait(s, store_sync_begin(s), &err));
		postgres_end_server(&server, SIGQUIT);
		postgres_run_server(&server);
		assert_done(store_sandbox_find(s, &a, PROJECT, id.text, &found, &err));
	}
	store_close(s);
}

/* ---- several stores on one database ---- */

#define WRITERS 8
#define ROUNDS 30

struct writer {
	struct store *store;
	unsigned failures, number;
};

static int add_twice(struct store_connection *c, void *context, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	const struct record_lookup lookup = {.id = PROJECT};
	struct project_record project;

	(void)context;
	/* Reads, then writes what follows from it: lost updates would show. */
	if (query_find(c, QUERY_PROJECT_FIND, &lookup, INTO(&a, &project), err) < 0)
		return -1;
	project.defaults.pids++;
	return query_run(c, QUERY_PROJECT_UPDATE, &project, NULL, err) < 0 ? -1 : 0;
}

static void *write_much(void *argument)
{
	struct writer *w = argument;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct error err = {0};
		const struct transaction t = {.run = add_twice, .is_lazy = i % 2};

		if (store_transact(w->store, &t, &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			w->failures++;
		}
	}
	return NULL;
}

TEST(changes_of_one_row_by_several_servers_are_all_kept)
{
	struct store *stores[2] = {store_with_project(dsn), open_store()};
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];

	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){.store = stores[i % 2], .number = i};
		pthread_create(&threads[i], NULL, write_much, &writers[i]);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < WRITERS; i++)
		assert_int_equal(writers[i].failures, 0);
	assert_int_equal(ask_number("SELECT pids FROM projects"), WRITERS * ROUNDS);
	store_close(stores[0]);
	store_close(stores[1]);
}

TEST(a_text_that_is_cut_inside_a_character_is_kept)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct store *s = store_with_project(dsn);
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "cut");
	struct sandbox_record found;

	r.last_event = "na\xc3\xafve, then cut: \xc3";
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	assert_done(store_sandbox_find(s, &a, PROJECT, "cut", &found, &err));
	assert_string_equal(found.last_event, "na??ve, then cut: ?");
	store_close(s);
}

static int pass_over(struct store_connection *c, UNUSED void *context, UNUSED struct error *err)
{
	struct project_record project = sample_project();
	struct lease_record lease = {.project_id = "nobody", .key = "k", .sandbox_id = "x"};
	struct error ignored = {0};

	project.id = project.name = "second";
	if (query_run(c, QUERY_PROJECT_INSERT, &project, NULL, &ignored) != 1)
		return -1;
	(void)!query_run(c, QUERY_LEASE_INSERT, &lease, NULL, &ignored);
	return 0;
}

TEST(a_statement_that_fails_and_is_passed_over_fails_the_commit)
{
	struct error err = {0};
	struct store *s = store_with_project(dsn);

	assert_refused(store_change(s, pass_over, NULL, &err), ERROR_SYSTEM);
	assert_int_equal(ask_number("SELECT count(*) FROM projects"), 1);
	assert_done(store_ping(s, &err));
	store_close(s);
}

#define AT(name) cmocka_unit_test_setup(name, set_up)

static int start_server(void **state)
{
	(void)state;
	postgres_open(&server);
	return 0;
}

static int end_server(void **state)
{
	(void)state;
	postgres_close(&server);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        AT(both_databases_have_the_same_tables_and_columns),
	        AT(a_database_of_every_older_version_is_brought_up_to_date_with_its_rows),
	        AT(a_database_of_a_newer_version_is_refused_and_left_alone),
	        AT(a_migration_that_fails_leaves_nothing_of_itself),
	        AT(of_servers_that_start_at_once_one_migrates),
	        AT(an_address_that_is_none_is_refused_without_its_password),
	        AT(a_server_that_is_not_there_is_named_without_the_password),
	        AT(a_uri_finds_the_same_database_as_a_conninfo),
	        AT(while_the_server_is_away_calls_say_so_and_after_that_they_work),
	        AT(a_restart_between_two_calls_is_not_noticed),
	        AT(a_mark_from_before_a_crash_fails_and_one_from_after_it_does_not),
	        AT(what_was_waited_for_is_there_after_a_crash),
	        AT(changes_of_one_row_by_several_servers_are_all_kept),
	        AT(a_text_that_is_cut_inside_a_character_is_kept),
	        AT(a_statement_that_fails_and_is_passed_over_fails_the_commit),
	};
	struct postgres_server found = {0};

	found.missing = postgres_find(&found);
	if (found.missing) {
		print_message("skipped: %s\n", found.missing);
		return 77; /* meson's code for a skip */
	}
	return cmocka_run_group_tests_name("postgresql", tests, start_server, end_server);
}
