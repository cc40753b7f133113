/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/store/samples.h — records to put into a store, and folders to put a store into. */
#pragma once

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "store/database.h"
#include "store/driver.h"
#include "store/projects.h"
#include "store/sandbox_record.h"
#include "store/sandboxes.h"
#include "store/templates.h"

#define NOW INT64_C(1790000000000)
#define PROJECT "pppppppppppppppppppp"

#define assert_done(call) assert_int_equal_or_text((call), 0, &err, #call)
#define assert_refused(call, code_)                                                                \
	do {                                                                                       \
		err = (struct error){0};                                                           \
		assert_int_equal((call), -1);                                                      \
		if (err.code != (code_))                                                           \
			fail_msg("%s: code %d, not %d: %s", #call, err.code, (code_), err.text);   \
	} while (0)

static inline void assert_int_equal_or_text(int result, int expected, const struct error *err,
                                            const char *call)
{
	if (result != expected)
		fail_msg("%s: %s", call, err->text);
}

/* A folder of its own, with the path of a database in it. */
struct folder {
	char path[64], file[96], dsn[128];
};

static inline void folder_make(struct folder *f)
{
	unit_folder(f->path, sizeof(f->path), "store");
	snprintf(f->file, sizeof(f->file), "%s/atoll.db", f->path);
	snprintf(f->dsn, sizeof(f->dsn), "sqlite:%s", f->file);
}

static inline void folder_remove(struct folder *f)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	char name[128];

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		snprintf(name, sizeof(name), "%s%s", f->file, ends[i]);
		unlink(name);
	}
	assert_int_equal(rmdir(f->path), 0);
}

static inline struct project_record sample_project(void)
{
	return (struct project_record){.id = PROJECT, .name = "default", .created_at = NOW};
}

static inline struct sandbox_record sample_sandbox(const char *id, const char *name)
{
	return (struct sandbox_record){
	        .id = id,
	        .project_id = PROJECT,
	        .name = name,
	        .template_id = "template-id",
	        .template_name = "base",
	        .provider = "null",
	        .region = "here",
	        .labels_json = "{\"team\":\"red\",\"app.example/x\":\"1\"}",
	        .env_json = "{\"A\":\"b\"}",
	        .desired = SANDBOX_STARTED,
	        .actual = SANDBOX_PENDING,
	        .resources = SANDBOX_BUILT_IN_RESOURCES,
	        .network = SANDBOX_NETWORK_INTERNET,
	        .timeouts.idle_reap_ms = 1000,
	        .created_at = NOW,
	        .last_event = "asked for",
	        .last_event_at = NOW,
	};
}

static inline struct sandbox_move sample_move(const char *id, enum sandbox_state from,
                                              enum sandbox_state to)
{
	return (struct sandbox_move){.id = id,
	                             .from = from,
	                             .to = to,
	                             .desired = -1,
	                             .event = sandbox_state_name(to),
	                             .now = NOW + 1};
}

static inline struct template_record sample_template(const char *id, const char *project_id,
                                                     const char *name)
{
	return (struct template_record){.id = id,
	                                .project_id = project_id,
	                                .name = name,
	                                .folder = name,
	                                .env_json = "{\"X\":\"1\"}",
	                                .user = "user",
	                                .state = TEMPLATE_PENDING,
	                                .created_at = NOW};
}

/* A new store with what a sandbox needs to refer to. */
static inline struct store *store_with_project(const char *dsn)
{
	struct error err = {0};
	struct store *s = NULL;
	struct project_record project = sample_project();
	struct template_record template = sample_template("template-id", "nobody", "sample");

	assert_done(store_open(dsn, &s, &err));
	assert_done(store_project_insert(s, &project, &err));
	/* By its query: a test finds no event that it has not made. */
	assert_int_equal(store_change_query(s, QUERY_TEMPLATE_INSERT, &template, &err), 1);
	return s;
}
