/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/activity/activity_test.h — a log on a store in memory, and its rows. */
#pragma once

#include <string.h>

#include "activity/activity.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/activity.h"
#include "store/database.h"
#include "store/events.h"
#include "unit.h"

struct activity_test {
	struct store *store;
	struct activity_log *log;
	struct arena arena;
};
static struct activity_test t;

static inline void open_log(const struct activity_log_options *options)
{
	struct activity_log_options o = *options;
	struct error err = {0};

	o.store = t.store;
	if (!o.sandbox_rows_max)
		o.sandbox_rows_max = 1000;
	assert_int_equal(activity_log_open(&o, &t.log, &err), 0);
}

/* Writes what waits. */
static inline void close_log(void)
{
	activity_log_close(t.log);
	t.log = NULL;
}

static inline struct activity_note *begin_in(const char *sandbox)
{
	return activity_begin(t.log, &(struct activity_start){.kind = ACTIVITY_COMMAND,
	                                                      .operation = "exec",
	                                                      .project_id = "default",
	                                                      .sandbox_id = sandbox,
	                                                      .key_id = "key"});
}

static inline struct activity_list rows_of(const char *sandbox)
{
	const struct activity_page page = {.filter = {.sandbox_id = sandbox}, .limit = 1000};
	struct activity_list list;
	struct error err = {0};

	assert_int_equal(store_activity_list(t.store, &t.arena, &page, &list, &err), 0);
	return list;
}

static inline struct activity_record only_row(void)
{
	struct activity_list list = rows_of(NULL);

	assert_int_equal(list.count, 1);
	return list.items[0];
}

static inline int set_up(void **state)
{
	struct error err = {0};

	(void)state;
	log_open("test", LOG_ERROR);
	t = (struct activity_test){.log = NULL};
	assert_int_equal(store_open("sqlite::memory:", &t.store, &err), 0);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	activity_log_close(t.log);
	store_close(t.store);
	arena_done(&t.arena);
	return 0;
}
#define ON_LOG(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
