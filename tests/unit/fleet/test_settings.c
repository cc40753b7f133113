/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include "fleet/settings.h"

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
	assert_int_equal(r.idle_stop_ms, made.idle_stop_ms);
	assert_int_equal(r.lifetime_max_ms, made.lifetime_max_ms);
	assert_int_equal(r.persistent, made.persistent);
	change.idle_stop_ms = 5000;
	assert_done(set(h, &made, &change, &r, &err));
	assert_int_equal(r.idle_stop_ms, 5000);
	assert_int_equal(r.idle_pause_ms, made.idle_pause_ms);
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
	change.delete_after_ms = -1;
	assert_refused(set(h, &made, &change, &r, &err), ERROR_INVALID);
	change = FLEET_SETTINGS_LEAVE;
	change.timeout_at = -1;
	assert_refused(set(h, &made, &change, &r, &err), ERROR_INVALID);
	/* Nothing stores them. */
	change = FLEET_SETTINGS_LEAVE;
	change.archive_after_ms = 1000;
	assert_refused(set(h, &made, &change, &r, &err), ERROR_UNSUPPORTED);
	made.id = "nosuch";
	change = FLEET_SETTINGS_LEAVE;
	assert_refused(set(h, &made, &change, &r, &err), ERROR_NOT_FOUND);
}

int main(void)
{
	return RUN_EACH(EACH(what_is_left_out_stays_as_it_was),
	                EACH(the_next_use_sees_what_was_set), EACH(a_time_that_was_set_ends_it),
	                EACH(what_a_create_refuses_is_refused));
}
