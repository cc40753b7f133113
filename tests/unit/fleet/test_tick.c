/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

/* So that a time of one millisecond is over for sure. */
static void let_a_moment_pass(void)
{
	int64_t until = clock_unix_ms() + 3;

	while (clock_unix_ms() < until)
		;
}

static struct sandbox_record create_idle(struct harness *h, bool persistent)
{
	struct sandbox_record r =
	        create_with(h, (struct fleet_create){.idle_reap_ms = 1, .persistent = persistent});

	let_a_moment_pass();
	return r;
}

static void an_idle_ephemeral_sandbox_is_deleted(void **state)
{
	struct harness *h = *state;
	struct sandbox_record idle = create_idle(h, false), fresh = create(h);

	fleet_tick(h->fleet);
	assert_gone(h, idle.id);
	assert_int_equal(find(h, fresh.id).actual, SANDBOX_STARTED);
}

static void an_idle_persistent_sandbox_stays(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_idle(h, true);

	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
}

static void a_held_sandbox_is_not_idle_and_its_time_begins_when_it_is_let_go(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create_idle(h, false), held;
	struct fleet_hold hold = {0};

	assert_done(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &held,
	                       &hold, &err));
	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	fleet_unhold(&hold);
	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_gone(h, r.id);
}

static void a_sandbox_whose_commands_run_on_is_not_idle(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_idle(h, false), found;

	h->fake.processes = 1;
	fleet_tick(h->fleet);
	found = find(h, r.id);
	assert_int_equal(found.actual, SANDBOX_STARTED);
	assert_true(found.last_activity_at > r.last_activity_at);
	h->fake.processes = 0;
	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_gone(h, r.id);
}

static void a_timeout_ends_an_ephemeral_one_and_stops_a_persistent_one_busy_or_not(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record ephemeral = create_with(h, (struct fleet_create){.timeout_ms = 1});
	struct sandbox_record persistent =
	        create_with(h, (struct fleet_create){.timeout_ms = 1, .persistent = true});
	struct sandbox_record held;
	struct fleet_hold hold = {0};

	assert_done(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, ephemeral.id},
	                       &held, &hold, &err));
	let_a_moment_pass();
	fleet_tick(h->fleet);
	fleet_unhold(&hold);
	assert_gone(h, ephemeral.id);
	persistent = find(h, persistent.id);
	assert_int_equal(persistent.actual, SANDBOX_STOPPED);
	assert_int_equal(persistent.reason, SANDBOX_REASON_LIFETIME);
	fleet_tick(h->fleet);
	assert_int_equal(find(h, persistent.id).version, persistent.version);
}

static void the_lifetime_ends_a_stopped_and_a_failed_ephemeral_one_too(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record stopped = create_with(h, (struct fleet_create){.lifetime_max_ms = 1});
	struct sandbox_record failed;

	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, stopped.id},
	                       &stopped, &err));
	fake_fail(&h->fake, CALL_CREATE, true);
	assert_refused(fleet_create(h->fleet, &h->arena,
	                            &(struct fleet_create){.project_id = PROJECT,
	                                                   .name = "box",
	                                                   .lifetime_max_ms = 1,
	                                                   .wait = true},
	                            &failed, &err),
	               ERROR_SYSTEM);
	failed = find(h, "box");
	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_gone(h, stopped.id);
	assert_gone(h, failed.id);
}

static void an_expiry_that_fails_is_tried_again(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_idle(h, false);

	fake_fail(&h->fake, CALL_DESTROY, true);
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).desired, SANDBOX_DELETED);
	fake_fail(&h->fake, CALL_DESTROY, false);
	fleet_tick(h->fleet);
	assert_gone(h, r.id);
}

/* ---- ends that nobody asked for ---- */

static void one_that_ends_by_itself_is_stopped_with_its_reason(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h), held;
	struct fleet_hold hold = {0};

	fake_set(&h->fake, r.id, fake_files);
	fleet_on_ended(h->fleet, r.id, SANDBOX_REASON_OOM);
	harness_drain(h);
	r = find(h, r.id);
	assert_int_equal(r.actual, SANDBOX_STOPPED);
	assert_int_equal(r.reason, SANDBOX_REASON_OOM);
	assert_non_null(strstr(r.last_event, "memory"));
	assert_refused(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &held,
	                          &hold, &err),
	               ERROR_CONFLICT);
	assert_done(fleet_start(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
}

static void one_that_ends_without_files_has_failed(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create(h);

	fake_set(&h->fake, r.id, NULL);
	fleet_on_ended(h->fleet, r.id, SANDBOX_REASON_EXIT);
	harness_drain(h);
	r = find(h, r.id);
	assert_int_equal(r.actual, SANDBOX_FAILED);
	assert_int_equal(r.reason, SANDBOX_REASON_EXIT);
}

static void news_of_an_end_that_came_late_or_of_nobody_changes_nothing(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record started = create(h), stopped = create(h);
	struct id unknown = id_new();

	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, stopped.id},
	                       &stopped, &err));
	fleet_on_ended(h->fleet, started.id, SANDBOX_REASON_EXIT);
	fleet_on_ended(h->fleet, stopped.id, SANDBOX_REASON_EXIT);
	fleet_on_ended(h->fleet, unknown.text, SANDBOX_REASON_EXIT);
	harness_drain(h);
	assert_int_equal(find(h, started.id).actual, SANDBOX_STARTED);
	assert_int_equal(find(h, stopped.id).reason, SANDBOX_REASON_USER);
}

static void an_end_that_no_worker_has_time_for_is_left_to_the_tick(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create(h);
	struct fleet_create later = {.project_id = PROJECT};
	struct sandbox_record ignored;
	struct error err = {0};

	fake_gate(&h->fake, true);
	while (fleet_create(h->fleet, &h->arena, &later, &ignored, &err) == 0)
		;
	assert_int_equal(err.code, ERROR_LIMIT);
	fake_set(&h->fake, r.id, fake_files);
	fleet_on_ended(h->fleet, r.id, SANDBOX_REASON_EXIT);
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STOPPED);
	fake_gate(&h->fake, false);
}

static void the_sweep_finds_what_ended_without_a_word_and_what_nobody_wants(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create(h);
	struct id orphan = id_new();

	fake_set(&h->fake, r.id, fake_files);
	fake_set(&h->fake, orphan.text, fake_running);
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).reason, SANDBOX_REASON_HOST_LOST);
	assert_string_equal(fake_has(&h->fake, orphan.text), "nothing");
}

static void a_tick_leaves_alone_what_is_being_made(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct fleet_create later = {.project_id = PROJECT};
	struct sandbox_record r[4];

	fake_gate(&h->fake, true);
	for (unsigned i = 0; i < COUNT_OF(r); i++)
		assert_done(fleet_create(h->fleet, &h->arena, &later, &r[i], &err));
	fake_wait_at_gate(&h->fake);
	fleet_tick(h->fleet);
	fake_gate(&h->fake, false);
	harness_drain(h);
	for (unsigned i = 0; i < COUNT_OF(r); i++)
		assert_int_equal(find(h, r[i].id).actual, SANDBOX_STARTED);
}

int main(void)
{
	return RUN_EACH(
	        EACH(an_idle_ephemeral_sandbox_is_deleted), EACH(an_idle_persistent_sandbox_stays),
	        EACH(a_held_sandbox_is_not_idle_and_its_time_begins_when_it_is_let_go),
	        EACH(a_sandbox_whose_commands_run_on_is_not_idle),
	        EACH(a_timeout_ends_an_ephemeral_one_and_stops_a_persistent_one_busy_or_not),
	        EACH(the_lifetime_ends_a_stopped_and_a_failed_ephemeral_one_too),
	        EACH(an_expiry_that_fails_is_tried_again),
	        EACH(one_that_ends_by_itself_is_stopped_with_its_reason),
	        EACH(one_that_ends_without_files_has_failed),
	        EACH(news_of_an_end_that_came_late_or_of_nobody_changes_nothing),
	        EACH(an_end_that_no_worker_has_time_for_is_left_to_the_tick),
	        EACH(the_sweep_finds_what_ended_without_a_word_and_what_nobody_wants),
	        EACH(a_tick_leaves_alone_what_is_being_made));
}
