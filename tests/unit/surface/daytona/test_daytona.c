/* SPDX-License-Identifier: Apache-2.0 */
/* The Daytona surface: minutes, failures, and its calls with a provider that always succeeds. */
#include <string.h>

#include "base/clock.h"
#include "edge/api.h"
#include "http/server/failure.h"
#include "http/server/http.h"
#include "surface/daytona/intervals.h"
#include "surface/daytona/pending.h"
#include "unit.h"
#include "unit/api/harness.h"
#include "fleet/lifecycle/create.h"
#include "fleet/sandbox/settings.h"

static struct harness harness;

#define A "/daytona/api/sandbox"
#define MINUTE INT64_C(60000)

TEST(minutes_are_rounded_up_and_never_has_daytonas_value)
{
	assert_int_equal(daytona_minutes(0), 0);
	assert_int_equal(daytona_minutes(1), 1);
	assert_int_equal(daytona_minutes(15 * MINUTE), 15);
	assert_int_equal(daytona_minutes(15 * MINUTE + 1), 16);
	assert_int_equal(daytona_delete_minutes(0), -1);
	assert_int_equal(daytona_delete_minutes(1), 0);
	assert_int_equal(daytona_delete_minutes(MINUTE), 1);
}

TEST(intervals_that_are_not_given_get_daytonas_defaults)
{
	struct daytona_intervals wish = {.given = 0};
	struct fleet_create create = {.project_id = "p"};
	struct error err = {0};

	assert_int_equal(daytona_intervals_apply(&wish, &create, &err), 0);
	assert_int_equal(create.timeouts.idle_stop_ms, 15 * MINUTE);
	assert_int_equal(create.timeouts.idle_pause_ms, -1);
	assert_int_equal(create.timeouts.delete_after_ms, 0);
	assert_int_equal(create.timeouts.archive_after_ms, 0); /* this server cannot archive */
	assert_int_equal(create.timeout_ms, 0);
	assert_true(create.persistent);
	wish.can_archive = true;
	assert_int_equal(daytona_intervals_apply(&wish, &create, &err), 0);
	assert_int_equal(create.timeouts.archive_after_ms, 7 * 24 * 60 * MINUTE);
}

TEST(a_sandbox_with_a_ttl_ends_by_its_ttl_only)
{
	struct daytona_intervals wish = {.minutes = {[DAYTONA_TTL] = 5}, .given = 1 << DAYTONA_TTL};
	struct fleet_create create = {.project_id = "p"};
	struct daytona_change change = {DAYTONA_TTL, 7, 1000};
	struct fleet_settings settings;
	struct error err = {0};

	assert_int_equal(daytona_intervals_apply(&wish, &create, &err), 0);
	assert_int_equal(create.timeout_ms, 5 * MINUTE);
	assert_false(create.persistent);
	assert_true(create.timeouts.lifetime_max_ms > 3000 * 24 * 60 * MINUTE);
	assert_int_equal(daytona_interval_set(&change, &settings, &err), 0);
	assert_int_equal(settings.timeout_at, 1000 + 7 * MINUTE);
	assert_int_equal(settings.persistent, 0);
	change.minutes = 0;
	assert_int_equal(daytona_interval_set(&change, &settings, &err), 0);
	assert_int_equal(settings.timeout_at, 0);
	assert_int_equal(settings.persistent, 1);
}

TEST(intervals_outside_their_bounds_are_refused)
{
	struct daytona_change change = {DAYTONA_AUTO_STOP, -1, 0};
	struct fleet_settings settings;
	struct error err = {0};

	assert_int_equal(daytona_interval_set(&change, &settings, &err), -1);
	change = (struct daytona_change){DAYTONA_AUTO_DELETE, DAYTONA_INTERVAL_MAX + 1, 0};
	assert_int_equal(daytona_interval_set(&change, &settings, &err), -1);
	change = (struct daytona_change){DAYTONA_AUTO_DELETE, -1, 0};
	assert_int_equal(daytona_interval_set(&change, &settings, &err), 0);
	assert_int_equal(settings.timeouts.delete_after_ms, 0);
}

TEST(calls_answer_in_daytonas_form)
{
	static const struct {
		const char *method, *path, *body;
		int status;
		const char *has;
	} rows[] = {
	        {"POST", A, "{\"name\":\"box\",\"labels\":{\"a\":\"b\"},\"cpu\":1}", 200,
	         "\"state\":\"started\""},
	        {"POST", A, "{\"name\":\"box\"}", 409,
	         "\"error\":\"Conflict\",\"code\":\"CONFLICT\""},
	        {"POST", A, "{\"gpu\":1}", 501, "gpu"},
	        {"POST", A, "{\"secrets\":[{\"A\":\"b\"}]}", 404, "no secret 'b'"},
	        {"POST", A, "{\"secrets\":[],\"buildInfo\":null,\"name\":\"b2\"}", 200, "b2"},
	        {"POST", A, "{\"volumes\":[{\"volumeId\":\"v\"}]}", 400, "mountPath"},
	        {"GET", A "/box", NULL, 200, "/daytona/toolbox\""},
	        {"GET", A "/nosuch", NULL, 404,
	         "\"source\":\"DAYTONA_API\",\"path\":\"" A "/nosuch\""},
	        {"GET", A "?labels=%7B%22a%22%3A%22b%22%7D", NULL, 200, "\"name\":\"box\""},
	        {"GET", A "?labels=%7B", NULL, 400, "labels"},
	        {"GET", A "?states=stopped", NULL, 200, "{\"items\":[],\"nextCursor\":null}"},
	        {"PUT", A "/box/labels", "{\"labels\":{\"c\":\"d\"}}", 200, "{\"c\":\"d\"}"},
	        {"PUT", A "/box/labels", "{}", 400, "labels: required"},
	        {"POST", A "/box/autostop/5", NULL, 200, "\"autoStopInterval\":5"},
	        {"POST", A "/box/autodelete/-1", NULL, 200, "\"autoDeleteInterval\":-1"},
	        {"POST", A "/box/autostop/-1", NULL, 400, "autoStopInterval"},
	        {"POST", A "/box/last-activity", NULL, 201, NULL},
	        {"POST", "/daytona/toolbox/box/process/execute",
	         "{\"command\":\"x\",\"timeout\":-1}", 400, "\"source\":\"DAYTONA_DAEMON\""},
	        {"POST", "/daytona/toolbox/nosuch/process/execute", "{\"command\":\"x\"}", 404,
	         "\"source\":\"DAYTONA_API\""},
	        {"POST", A "/box/stop", NULL, 200, "\"state\":\"stopped\""},
	        {"DELETE", A "/box", NULL, 200, "\"state\":\"destroyed\""},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct call call = {
		        .method = rows[i].method,
		        .path = rows[i].path,
		        .key = harness.admin,
		        .body = span_of(rows[i].body),
		};
		AUTO(answer_done) struct answer a = harness_call(&harness, &call);

		if (a.status != rows[i].status || (rows[i].has && !strstr(a.body, rows[i].has)))
			fail_msg("%s %s: %d, no '%s' in: %.800s", rows[i].method, rows[i].path,
			         a.status, rows[i].has ? rows[i].has : "", a.body);
	}
}

static struct daytona_pending_sandbox wait_of(const char *id, int64_t made_at)
{
	return (struct daytona_pending_sandbox){.id = id,
	                                        .project_id = "project",
	                                        .key_id = "",
	                                        .build_id = "build",
	                                        .template = "template",
	                                        .body = SPAN("{}"),
	                                        .made_at = made_at};
}

TEST(a_pending_sandbox_is_made_by_one_of_the_requests)
{
	AUTO(arena_done) struct arena a = {0};
	struct daytona_pending *p = daytona_pending_new();
	struct daytona_pending_sandbox wait = wait_of("one", clock_unix_ms()), found;

	daytona_pending_put(p, &wait);
	assert_false(daytona_pending_find(p, &a, "other", "one", &found));
	assert_false(daytona_pending_find(p, &a, "project", "two", &found));
	assert_true(daytona_pending_find(p, &a, "project", "one", &found));
	assert_string_equal(found.build_id, "build");
	assert_true(span_equals_text(found.body, "{}"));
	assert_true(daytona_pending_claim(p, "one"));
	assert_false(daytona_pending_claim(p, "one"));
	assert_false(daytona_pending_claim(p, "two"));
	daytona_pending_put_back(p, "one");
	daytona_pending_put_back(p, "two");
	assert_true(daytona_pending_claim(p, "one"));
	daytona_pending_drop(p, "one");
	daytona_pending_drop(p, "one");
	assert_false(daytona_pending_find(p, &a, "project", "one", &found));
	daytona_pending_free(p);
	daytona_pending_free(NULL);
}

TEST(a_full_table_loses_its_oldest_pending_sandbox_and_old_ones_expire)
{
	AUTO(arena_done) struct arena a = {0};
	struct daytona_pending *p = daytona_pending_new();
	int64_t now = clock_unix_ms();
	struct daytona_pending_sandbox found, old = wait_of("old", now - DAYTONA_PENDING_KEPT_MS);

	daytona_pending_put(p, &old);
	assert_false(daytona_pending_find(p, &a, "project", "old", &found));
	for (int64_t i = 0; i < DAYTONA_PENDING_MAX + 1; i++) {
		struct daytona_pending_sandbox wait =
		        wait_of(arena_format(&a, "w%d", (int)i), now + i);

		wait.project_id =
		        arena_format(&a, "project%d", (int)i / DAYTONA_PENDING_OF_PROJECT);
		daytona_pending_put(p, &wait);
	}
	assert_false(daytona_pending_find(p, &a, "project0", "w0", &found));
	assert_true(daytona_pending_find(p, &a, "project0", "w1", &found));
	assert_true(daytona_pending_find(
	        p, &a,
	        arena_format(&a, "project%d", DAYTONA_PENDING_MAX / DAYTONA_PENDING_OF_PROJECT),
	        arena_format(&a, "w%d", DAYTONA_PENDING_MAX), &found));
	daytona_pending_free(p);
}

TEST(a_project_with_many_pending_sandboxes_takes_no_entry_of_others)
{
	AUTO(arena_done) struct arena a = {0};
	struct daytona_pending *p = daytona_pending_new();
	int64_t now = clock_unix_ms();
	struct daytona_pending_sandbox found, theirs = wait_of("theirs", now);

	theirs.project_id = "other";
	daytona_pending_put(p, &theirs);
	for (int64_t i = 0; i <= DAYTONA_PENDING_MAX; i++) {
		struct daytona_pending_sandbox wait =
		        wait_of(arena_format(&a, "w%d", (int)i), now + 1 + i);

		daytona_pending_put(p, &wait);
	}
	assert_true(daytona_pending_find(p, &a, "other", "theirs", &found));
	assert_true(daytona_pending_find(
	        p, &a, "project",
	        arena_format(&a, "w%d", DAYTONA_PENDING_MAX - DAYTONA_PENDING_OF_PROJECT + 1),
	        &found));
	assert_false(daytona_pending_find(
	        p, &a, "project",
	        arena_format(&a, "w%d", DAYTONA_PENDING_MAX - DAYTONA_PENDING_OF_PROJECT), &found));
	daytona_pending_free(p);
}

int main(void)
{
	int result;

	harness_open(&harness);
	result = RUN(CASE(minutes_are_rounded_up_and_never_has_daytonas_value),
	             CASE(intervals_that_are_not_given_get_daytonas_defaults),
	             CASE(a_sandbox_with_a_ttl_ends_by_its_ttl_only),
	             CASE(intervals_outside_their_bounds_are_refused),
	             CASE(calls_answer_in_daytonas_form),
	             CASE(a_pending_sandbox_is_made_by_one_of_the_requests),
	             CASE(a_full_table_loses_its_oldest_pending_sandbox_and_old_ones_expire),
	             CASE(a_project_with_many_pending_sandboxes_takes_no_entry_of_others));
	harness_close(&harness);
	return result;
}
