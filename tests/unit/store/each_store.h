/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/store/each_store.h — what every store does: a suite is run over each address. */
#pragma once

#include "postgres_server.h"
#include "samples.h"
#include "store/database.h"

#define EACH_MIGRATED "migrated"
#define EACH_COPY "copy"

static struct folder each_folder, each_migrated; /* where the test is; what is copied there */
static struct postgres_server each_server;
static char each_database[256];
static const char *each_dsn;

/* A store of one test is a copy of one that was migrated once: migrations have tests of their own,
 * and took most of the time. */
static inline void each_migrate(const char *dsn)
{
	struct error err = {0};
	struct store *s = NULL;

	assert_done(store_open(dsn, &s, &err));
	store_close(s);
}

static inline void postgres_do_once(const struct postgres_server *s, const char *sql)
{
	char dsn[160];
	PGconn *c;

	postgres_dsn(s, dsn, sizeof(dsn));
	c = postgres_raw(dsn);
	postgres_do(c, sql);
	PQfinish(c);
}

static inline void postgres_database_dsn(const struct postgres_server *s, const char *name,
                                         char *out, size_t size)
{
	snprintf(out, size, "postgresql:host=%s user=postgres dbname=%s", s->folder, name);
}

static inline void each_open(void)
{
	char dsn[256];

	folder_make(&each_migrated);
	each_migrate(each_migrated.dsn);
	postgres_open(&each_server);
	if (each_server.missing)
		return;
	postgres_do_once(&each_server, "CREATE DATABASE " EACH_MIGRATED);
	postgres_database_dsn(&each_server, EACH_MIGRATED, dsn, sizeof(dsn));
	each_migrate(dsn);
	postgres_database_dsn(&each_server, EACH_COPY, each_database, sizeof(each_database));
}

static inline void each_close(void)
{
	postgres_close(&each_server);
	folder_remove(&each_migrated);
}

/* A test's *state is a new store. */
static inline int each_set_up(void **state)
{
	if (each_dsn == each_folder.dsn) {
		folder_make(&each_folder);
		unit_copy_file(each_migrated.file, each_folder.file);
	}
	if (each_dsn == each_database)
		postgres_do_once(&each_server, "CREATE DATABASE " EACH_COPY
		                               " TEMPLATE " EACH_MIGRATED " STRATEGY FILE_COPY");
	*state = store_with_project(each_dsn);
	return 0;
}

static inline int each_tear_down(void **state)
{
	store_close(*state);
	if (each_dsn == each_folder.dsn)
		folder_remove(&each_folder);
	if (each_dsn == each_database)
		postgres_do_once(&each_server, "DROP DATABASE " EACH_COPY " WITH (FORCE)");
	return 0;
}

#define EACH(name) cmocka_unit_test_setup_teardown(name, each_set_up, each_tear_down)

static inline void each_skip(UNUSED void **state)
{
	print_message("skipped: %s\n", each_server.missing);
	skip();
}

static inline int each_group(const char *name, const struct CMUnitTest *tests, size_t count)
{
	struct CMUnitTest *own = calloc(count, sizeof(*own));
	int failures;

	for (size_t i = 0; i < count; i++) {
		own[i] = tests[i];
		if (each_dsn == each_database && each_server.missing)
			own[i] = (struct CMUnitTest){.name = tests[i].name, .test_func = each_skip};
	}
	failures = _cmocka_run_group_tests(name, own, count, NULL, NULL);
	free(own);
	return failures;
}

static inline int each_store_run(const struct CMUnitTest *tests, size_t count)
{
	static const struct {
		const char *name, *dsn;
	} stores[] = {
#if !UNIT_WITH_ASAN
		/* It runs the code of a file's, and every test migrates it anew. */
		{"sqlite in memory", "sqlite::memory:"},
#endif
		{"sqlite in a file", each_folder.dsn},
		{"postgresql", each_database},
	};
	int failures = 0;

	each_open();
	for (size_t i = 0; i < COUNT_OF(stores); i++) {
		each_dsn = stores[i].dsn;
		failures += each_group(stores[i].name, tests, count);
	}
	each_close();
	return failures;
}
