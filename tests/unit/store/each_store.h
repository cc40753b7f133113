/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/store/each_store.h — what every store does: a suite is run over each address. */
#pragma once

#include "postgres_server.h"
#include "samples.h"

static struct folder each_folder;
static struct postgres_server each_server;
static char each_schema[256];
static const char *each_dsn;

/* A test's *state is a new store. */
static inline int each_set_up(void **state)
{
	if (each_dsn == each_folder.dsn)
		folder_make(&each_folder);
	if (each_dsn == each_schema)
		postgres_new_schema(&each_server, each_schema, sizeof(each_schema));
	*state = store_with_project(each_dsn);
	return 0;
}

static inline int each_tear_down(void **state)
{
	store_close(*state);
	if (each_dsn == each_folder.dsn)
		folder_remove(&each_folder);
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
		if (each_dsn == each_schema && each_server.missing)
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
	        {"sqlite in memory", "sqlite::memory:"},
	        {"sqlite in a file", each_folder.dsn},
	        {"postgresql", each_schema},
	};
	int failures = 0;

	postgres_open(&each_server);
	for (size_t i = 0; i < COUNT_OF(stores); i++) {
		each_dsn = stores[i].dsn;
		failures += each_group(stores[i].name, tests, count);
	}
	postgres_close(&each_server);
	return failures;
}
