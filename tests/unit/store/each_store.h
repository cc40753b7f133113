/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/store/each_store.h — what every store does: a suite is run over each address. */
#pragma once

#include "samples.h"

static struct folder each_folder;
static const char *each_dsn;

/* A test's *state is a new store. */
static inline int each_set_up(void **state)
{
	if (each_dsn == each_folder.dsn)
		folder_make(&each_folder);
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

static inline int each_store_run(const struct CMUnitTest *tests, size_t count)
{
	static const struct {
		const char *name, *dsn;
	} stores[] = {
	        {"sqlite in memory", "sqlite::memory:"},
	        {"sqlite in a file", each_folder.dsn},
	};
	int failures = 0;

	for (size_t i = 0; i < COUNT_OF(stores); i++) {
		each_dsn = stores[i].dsn;
		failures += _cmocka_run_group_tests(stores[i].name, tests, count, NULL, NULL);
	}
	return failures;
}
