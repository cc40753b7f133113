/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/sandboxes.h"
#include "harness.h"
#include "json/json.h"
#include "provider/provider.h"
#include "store/events.h"
#include "store/usage.h"
#include "store/sandbox_record.h"
#include "store/sandboxes.h"
#include "fleet/core/defaults.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/sandbox/settings.h"
#include "fleet/server/fleet.h"

static int set(struct harness *h, const struct sandbox_record *of,
               const struct fleet_settings *change, struct sandbox_record *ret, struct error *err)
{
	const struct fleet_ref ref = {PROJECT, of->id};

	return fleet_set(h->fleet, &h->arena, &ref, change, ret, err);
}

static void what_is_left_out_stays_as_it_was(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r;
	struct fleet_settings change = FLEET_SETTINGS_LEAVE;
	struct error err = {0};

	assert_done(set(h, &made, &change, &r, &err));
	assert_string_equal(r.labels_json, made.labels_json);
	assert_int_equal(r.timeouts.idle_stop_ms, made.timeouts.idle_stop_ms);
	assert_int_equal(r.timeouts.lifetime_max_ms, made.timeouts.lifetime_max_ms);
	assert_int_equal(r.persistent, made.persistent);
	change.timeouts.idle_stop_ms = 5000;
	assert_done(set(h, &made, &change, &r, &err));
	assert_int_equal(r.timeouts.idle_stop_ms, 5000);
	assert_int_equal(r.timeouts.idle_pause_ms, made.timeouts.idle_pause_ms);
}

/* Those who hold it read the row from memory. */
static void the_next_use_sees_what_was_set(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r;
	const struct fleet_ref ref = {PROJECT, made.id};
	struct json_pair pair = {"a", "b"};
	const struct json_map labels = {&pair, 1, true};
	struct fleet_settings change = FLEET_SETTINGS_LEAVE;
	struct fleet_hold hold = {0};
	struct error err = {0};

	change.labels = &labels;
	assert_done(set(h, &made, &change, &r, &err));
	assert_done(fleet_hold(h->fleet, &h->arena, &ref, &r, &hold, &err));
	assert_string_equal(r.labels_json, "{\"a\":\"b\"}");
	fleet_unhold(&hold);
}

static void a_time_that_was_set_ends_it(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r;
	const struct fleet_ref ref = {PROJECT, made.id};
	struct fleet_settings change = FLEET_SETTINGS_LEAVE;
	struct error err = {0};

	change.timeout_at = clock_unix_ms();
	change.persistent = 0;
	assert_done(set(h, &made, &change, &r, &err));
	fleet_tick(h->fleet);
	assert_refused(fleet_find(h->fleet, &h->arena, &ref, &r, &err), ERROR_NOT_FOUND);
}

static void what_a_create_refuses_is_refused(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r;
	struct json_pair pair = {"", "b"};
	const struct json_map labels = {&pair, 1, true};
	struct fleet_settings change = FLEET_SETTINGS_LEAVE;
	struct error err = {0};

	change.labels = &labels;
	assert_refused(set(h, &made, &change, &r, &err), ERROR_INVALID);
	change = FLEET_SETTINGS_LEAVE;
	change.timeouts.delete_after_ms = -1;
	assert_refused(set(h, &made, &change, &r, &err), ERROR_INVALID);
	change = FLEET_SETTINGS_LEAVE;
	change.timeout_at = -1;
	assert_refused(set(h, &made, &change, &r, &err), ERROR_INVALID);
	/* Nothing stores them. */
	change = FLEET_SETTINGS_LEAVE;
	change.timeouts.archive_after_ms = 1000;
	assert_refused(set(h, &made, &change, &r, &err), ERROR_UNSUPPORTED);
	made.id = "nosuch";
	change = FLEET_SETTINGS_LEAVE;
	assert_refused(set(h, &made, &change, &r, &err), ERROR_NOT_FOUND);
}

static void limits_change_at_once_and_what_is_left_out_stays(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r;
	const struct fleet_ref ref = {PROJECT, made.id};
	struct sandbox_resources change = {.cpu = 2};
	struct error err = {0};

	assert_done(fleet_resize(h->fleet, &h->arena, &ref, &change, &r, &err));
	assert_true(r.resources.cpu == 2 && h->fake.limits.cpu == 2);
	assert_int_equal(r.resources.memory_mb, made.resources.memory_mb);
	assert_int_equal(h->fake.limits.memory_mb, made.resources.memory_mb);
	assert_int_equal(r.resources.disk_mb, made.resources.disk_mb);
	change = (struct sandbox_resources){.memory_mb = 300, .disk_mb = made.resources.disk_mb};
	h->fake.fails[CALL_LIMIT] = true;
	assert_int_equal(fleet_resize(h->fleet, &h->arena, &ref, &change, &r, &err), -1);
	h->fake.fails[CALL_LIMIT] = false;
	assert_done(fleet_find(h->fleet, &h->arena, &ref, &r, &err));
	assert_int_equal(r.resources.memory_mb, made.resources.memory_mb);
	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	assert_done(fleet_resize(h->fleet, &h->arena, &ref, &change, &r, &err));
	assert_int_equal(r.resources.memory_mb, 300);
	assert_true(r.resources.cpu == 2);
}

static struct harness *resized;
static struct sandbox_resources limits_told[4];
static unsigned limit_tellings;

/* The row is gone when it is to be written. */
static int limit_and_lose(UNUSED struct provider *p, const char *id,
                          const struct sandbox_resources *resources, UNUSED int64_t deadline,
                          UNUSED struct error *unused)
{
	struct sandbox_move m = {.id = id, .desired = -1, .event = "test", .now = clock_unix_ms()};
	struct error err = {0};

	limits_told[limit_tellings++ % COUNT_OF(limits_told)] = *resources;
	if (limit_tellings > 1)
		return 0;
	m.from = SANDBOX_STARTED;
	m.to = SANDBOX_DELETING;
	assert_done(store_sandbox_move(resized->store, &m, &err));
	m.from = SANDBOX_DELETING;
	m.to = SANDBOX_DELETED;
	assert_done(store_sandbox_move(resized->store, &m, &err));
	return 0;
}

static void limits_that_are_not_recorded_are_taken_back(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r;
	const struct fleet_ref ref = {PROJECT, made.id};
	struct error err = {0};

	resized = h;
	limit_tellings = 0;
	h->fake.own.limit = limit_and_lose;
	assert_refused(fleet_resize(h->fleet, &h->arena, &ref,
	                            &(struct sandbox_resources){.cpu = 2}, &r, &err),
	               ERROR_NOT_FOUND);
	assert_int_equal(limit_tellings, 2);
	assert_true(limits_told[0].cpu == 2);
	assert_true(limits_told[1].cpu == made.resources.cpu);
	assert_int_equal(limits_told[1].memory_mb, made.resources.memory_mb);
}

static size_t resizes_told(struct harness *h, const char *id)
{
	struct event_list events;
	struct error err = {0};

	assert_done(store_event_list(h->store, &h->arena,
	                             &(struct event_page){.project_id = PROJECT,
	                                                  .sandbox_id = id,
	                                                  .pattern = "sandbox.resized",
	                                                  .limit = 100},
	                             &events, &err));
	return events.count;
}

/* In the row before it is in force, which a start can mend; not the other way round. */
static void more_memory_that_is_refused_is_not_recorded(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r;
	const struct fleet_ref ref = {PROJECT, made.id};
	const struct sandbox_resources more = {.memory_mb = made.resources.memory_mb + 1};
	struct error err = {0};

	h->fake.fails[CALL_LIMIT] = true;
	assert_int_equal(fleet_resize(h->fleet, &h->arena, &ref, &more, &r, &err), -1);
	h->fake.fails[CALL_LIMIT] = false;
	assert_int_equal(find(h, made.id).resources.memory_mb, made.resources.memory_mb);
	assert_done(fleet_find(h->fleet, &h->arena, &ref, &r, &err));
	assert_int_equal(r.resources.memory_mb, made.resources.memory_mb);
	assert_int_equal(resizes_told(h, made.id), 0);
	error_clear(&err);
	assert_done(fleet_resize(h->fleet, &h->arena, &ref, &more, &r, &err));
	assert_int_equal(resizes_told(h, made.id), 1);
}

static void a_server_that_comes_back_gives_the_limits_of_the_row(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h);

	h->fake.limits = (struct sandbox_resources){.cpu = 0};
	harness_restart(h);
	assert_true(h->fake.limits.cpu == made.resources.cpu);
	assert_int_equal(h->fake.limits.memory_mb, made.resources.memory_mb);
}

static struct usage_sum used(struct harness *h)
{
	const struct usage_query query = {.project_id = PROJECT,
	                                  .to = INT64_MAX,
	                                  .group = USAGE_BY_NOTHING,
	                                  .after_day = -1,
	                                  .after_name = "",
	                                  .limit = 1};
	struct usage_sums sums;
	struct error err = {0};

	assert_done(store_usage_sum(h->store, &h->arena, &query, &sums, &err));
	return sums.count > 0 ? sums.items[0] : (struct usage_sum){0};
}

/* Nothing else has written it. */
static void what_was_used_before_a_change_costs_what_it_was(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r;
	const struct fleet_ref ref = {PROJECT, made.id};
	int64_t until = clock_unix_ms() + 30;
	struct usage_sum sum;
	struct error err = {0};

	while (clock_unix_ms() < until)
		;
	assert_int_equal(used(h).active_ms, 0);
	assert_done(fleet_resize(h->fleet, &h->arena, &ref,
	                         &(struct sandbox_resources){.memory_mb = 256}, &r, &err));
	sum = used(h);
	assert_true(sum.active_ms >= 30);
	assert_true(sum.memory_mib_ms == (double)sum.active_ms * (double)made.resources.memory_mb);
}

static void limits_that_nobody_may_have_are_refused(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r;
	struct fleet_ref ref = {PROJECT, made.id};
	const struct {
		struct sandbox_resources change;
		enum error_code code;
	} cases[] = {
	        {{.cpu = -1}, ERROR_INVALID},
	        {{.memory_mb = 1}, ERROR_INVALID},
	        {{.disk_mb = made.resources.disk_mb - 1}, ERROR_CONFLICT},
	        {{.disk_mb = made.resources.disk_mb + 1}, ERROR_CONFLICT}, /* it runs */
	};
	struct error err = {0};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_refused(fleet_resize(h->fleet, &h->arena, &ref, &cases[i].change, &r, &err),
		               cases[i].code);
	assert_int_equal(h->fake.calls[CALL_LIMIT], 0);
	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_LIMIT;
	assert_refused(fleet_resize(h->fleet, &h->arena, &ref,
	                            &(struct sandbox_resources){.cpu = 1}, &r, &err),
	               ERROR_UNSUPPORTED);
	ref.id_or_name = "nosuch";
	assert_refused(fleet_resize(h->fleet, &h->arena, &ref,
	                            &(struct sandbox_resources){.cpu = 1}, &r, &err),
	               ERROR_NOT_FOUND);
}

/* Which those who hold it have in memory. */
static void variables_change_for_what_is_started_next(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r;
	const struct fleet_ref ref = {PROJECT, made.id};
	struct json_pair pairs[] = {{"A", "1"}, {"B", "2"}}, bad = {"no name", "x"};
	struct json_map set = {pairs, 2, true};
	const char *unset[] = {"A", "NOSUCH", NULL};
	struct fleet_environment change = {.set = &set};
	struct fleet_defaults defaults;
	struct error err = {0};

	assert_done(fleet_defaults(h->fleet, &h->arena, &made, NULL, &defaults, &err));
	assert_done(fleet_set_environment(h->fleet, &h->arena, &ref, &change, &r, &err));
	assert_string_equal(r.env_json, "{\"A\":\"1\",\"B\":\"2\"}");
	assert_done(fleet_defaults(h->fleet, &h->arena, &r, NULL, &defaults, &err));
	assert_non_null(defaults.env[0]); /* the template's */
	assert_string_equal(defaults.env[1], "A=1");
	assert_string_equal(defaults.env[2], "B=2");
	pairs[0] = (struct json_pair){"B", "3"};
	set.count = 1;
	change.unset = unset;
	assert_done(fleet_set_environment(h->fleet, &h->arena, &ref, &change, &r, &err));
	assert_string_equal(r.env_json, "{\"B\":\"3\"}");
	set = (struct json_map){&bad, 1, true};
	assert_refused(fleet_set_environment(h->fleet, &h->arena, &ref, &change, &r, &err),
	               ERROR_INVALID);
	assert_done(fleet_find(h->fleet, &h->arena, &ref, &r, &err));
	assert_string_equal(r.env_json, "{\"B\":\"3\"}");
}

int main(void)
{
	return RUN_EACH(EACH(what_is_left_out_stays_as_it_was),
	                EACH(the_next_use_sees_what_was_set), EACH(a_time_that_was_set_ends_it),
	                EACH(what_a_create_refuses_is_refused),
	                EACH(limits_change_at_once_and_what_is_left_out_stays),
	                EACH(limits_that_are_not_recorded_are_taken_back),
	                EACH(more_memory_that_is_refused_is_not_recorded),
	                EACH(a_server_that_comes_back_gives_the_limits_of_the_row),
	                EACH(what_was_used_before_a_change_costs_what_it_was),
	                EACH(limits_that_nobody_may_have_are_refused),
	                EACH(variables_change_for_what_is_started_next));
}
