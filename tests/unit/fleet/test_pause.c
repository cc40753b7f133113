/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "provider/end.h"
#include "provider/provider.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/sandbox/settings.h"
#include "fleet/server/fleet.h"

#include <stdatomic.h>

/* So that a time of one millisecond is over for sure. */
static void let_a_moment_pass(void)
{
	int64_t until = clock_unix_ms() + 3;

	while (clock_unix_ms() < until)
		;
}

static struct fleet_ref ref_of(const struct sandbox_record *r)
{
	return (struct fleet_ref){PROJECT, r->id};
}

static struct sandbox_record pause_it(struct harness *h, const struct sandbox_record *of)
{
	const struct fleet_ref ref = ref_of(of);
	struct error err = {0};
	struct sandbox_record r;

	assert_done(fleet_pause(h->fleet, &h->arena, &ref, &r, &err));
	return r;
}

static struct sandbox_record resume_it(struct harness *h, const struct sandbox_record *of)
{
	const struct fleet_ref ref = ref_of(of);
	struct error err = {0};
	struct sandbox_record r;

	assert_done(fleet_resume(h->fleet, &h->arena, &ref, &r, &err));
	return r;
}

/* The row as a hold gives it. */
static struct sandbox_record use(struct harness *h, const struct sandbox_record *of)
{
	const struct fleet_ref ref = ref_of(of);
	struct error err = {0};
	struct sandbox_record r;
	struct fleet_hold hold = {0};

	assert_done(fleet_hold(h->fleet, &h->arena, &ref, &r, &hold, &err));
	fleet_unhold(&hold);
	return r;
}

static void a_paused_sandbox_is_frozen_and_goes_on_as_it_was(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r = pause_it(h, &made);

	assert_int_equal(r.actual, SANDBOX_PAUSED);
	assert_int_equal(r.desired, SANDBOX_PAUSED);
	assert_int_equal(r.reason, SANDBOX_REASON_USER);
	assert_int_equal(r.started_at, made.started_at);
	assert_string_equal(fake_has(&h->fake, r.id), "paused");
	r = resume_it(h, &r);
	assert_int_equal(r.actual, SANDBOX_STARTED);
	assert_int_equal(r.desired, SANDBOX_STARTED);
	assert_int_equal(r.reason, SANDBOX_REASON_NONE);
	assert_int_equal(r.started_at, made.started_at);
	assert_string_equal(fake_has(&h->fake, r.id), "running");
}

static void pausing_the_paused_and_resuming_the_started_change_nothing(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r;

	r = resume_it(h, &made);
	assert_int_equal(r.version, made.version);
	r = pause_it(h, &made);
	assert_int_equal(pause_it(h, &made).version, r.version);
	assert_int_equal(h->fake.calls[CALL_PAUSE], 1);
	assert_int_equal(h->fake.calls[CALL_RESUME], 0);
}

static void a_stopped_one_is_neither_paused_nor_resumed(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);
	const struct fleet_ref ref = ref_of(&r);

	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	assert_refused(fleet_pause(h->fleet, &h->arena, &ref, &r, &err), ERROR_CONFLICT);
	assert_refused(fleet_resume(h->fleet, &h->arena, &ref, &r, &err), ERROR_CONFLICT);
	assert_int_equal(h->fake.calls[CALL_PAUSE], 0);
}

static void a_provider_that_cannot_pause_is_named(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);
	const struct fleet_ref ref = ref_of(&r);

	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_PAUSE;
	assert_refused(fleet_pause(h->fleet, &h->arena, &ref, &r, &err), ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "fake"));
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
}

static void a_pause_that_fails_leaves_it_started_and_running(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);
	const struct fleet_ref ref = ref_of(&r);

	fake_fail(&h->fake, CALL_PAUSE, true);
	assert_refused(fleet_pause(h->fleet, &h->arena, &ref, &r, &err), ERROR_SYSTEM);
	assert_int_equal(h->fake.calls[CALL_RESUME], 1);
	r = find(h, r.id);
	assert_int_equal(r.actual, SANDBOX_STARTED);
	assert_int_equal(use(h, &r).actual, SANDBOX_STARTED);
}

static void a_resume_that_fails_leaves_it_paused(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record made = create(h), r = pause_it(h, &made);
	const struct fleet_ref ref = ref_of(&r);

	fake_fail(&h->fake, CALL_RESUME, true);
	assert_refused(fleet_resume(h->fleet, &h->arena, &ref, &r, &err), ERROR_SYSTEM);
	assert_int_equal(find(h, made.id).actual, SANDBOX_PAUSED);
	fake_fail(&h->fake, CALL_RESUME, false);
	resume_it(h, &made);
}

static void the_next_use_of_a_paused_one_resumes_it(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r = pause_it(h, &made);

	r = use(h, &r);
	assert_int_equal(r.actual, SANDBOX_STARTED);
	assert_string_equal(fake_has(&h->fake, r.id), "running");
	assert_int_equal(use(h, &r).version, r.version);
	assert_int_equal(h->fake.calls[CALL_RESUME], 1);
}

static void one_that_is_asleep_is_never_held_without_waiting(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r;
	const struct fleet_ref ref = ref_of(&made);
	struct fleet_hold hold = {0};

	assert_true(fleet_hold_warm(h->fleet, &h->arena, &ref, &r, &hold));
	fleet_unhold(&hold);
	pause_it(h, &made);
	assert_false(fleet_hold_warm(h->fleet, &h->arena, &ref, &r, &hold));
	resume_it(h, &made);
	assert_true(fleet_hold_warm(h->fleet, &h->arena, &ref, &r, &hold));
	fleet_unhold(&hold);
}

struct many {
	struct harness *harness;
	const char *id;
	atomic_bool stop;
};

static void *hold_again_and_again(void *argument)
{
	struct many *many = argument;
	const struct fleet_ref ref = {PROJECT, many->id};

	while (!atomic_load(&many->stop)) {
		AUTO(arena_done) struct arena arena = {0};
		struct fleet_hold hold = {0};
		struct sandbox_record r;
		struct error err = {0};

		assert_done(fleet_hold(many->harness->fleet, &arena, &ref, &r, &hold, &err));
		assert_int_equal(r.actual, SANDBOX_STARTED);
		fleet_unhold(&hold);
	}
	return NULL;
}

static void calls_and_pauses_at_once_never_refuse_a_call(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h);
	struct many many = {.harness = h, .id = made.id};
	pthread_t threads[3];

	for (unsigned i = 0; i < COUNT_OF(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hold_again_and_again, &many), 0);
	for (unsigned i = 0; i < 200; i++)
		pause_it(h, &made);
	atomic_store(&many.stop, true);
	for (unsigned i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
	use(h, &made);
	assert_string_equal(fake_has(&h->fake, made.id), "running");
}

static void a_paused_one_is_stopped_started_and_deleted_like_any(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record made = create(h), r = pause_it(h, &made);
	const struct fleet_ref ref = ref_of(&made);

	assert_done(fleet_start(h->fleet, &h->arena, &ref, &r, &err));
	assert_int_equal(r.actual, SANDBOX_STARTED);
	assert_int_equal(h->fake.calls[CALL_START], 0);
	pause_it(h, &made);
	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	assert_int_equal(r.actual, SANDBOX_STOPPED);
	assert_string_equal(fake_has(&h->fake, made.id), "files");
	assert_done(fleet_start(h->fleet, &h->arena, &ref, &r, &err));
	pause_it(h, &made);
	assert_done(fleet_delete(h->fleet, &h->arena, &ref, SANDBOX_REASON_USER, &err));
	assert_gone(h, made.id);
}

static void only_the_paused_is_stopped_to_begin_anew(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);
	const struct fleet_ref ref = ref_of(&r);

	/* Somebody else has resumed it: it works. */
	assert_done(fleet_start_anew(h->fleet, &h->arena, &ref, &r, &err));
	assert_int_equal(h->fake.calls[CALL_STOP], 0);
	pause_it(h, &r);
	assert_done(fleet_start_anew(h->fleet, &h->arena, &ref, &r, &err));
	assert_int_equal(r.actual, SANDBOX_STARTED);
	assert_int_equal(h->fake.calls[CALL_STOP], 1);
	assert_int_equal(h->fake.calls[CALL_START], 1);
	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	assert_done(fleet_start_anew(h->fleet, &h->arena, &ref, &r, &err));
	assert_int_equal(h->fake.calls[CALL_STOP], 2);
	assert_int_equal(h->fake.calls[CALL_START], 2);
}

/* ---- idleness ---- */

static struct sandbox_record create_idle(struct harness *h, struct fleet_create request)
{
	struct sandbox_record r = create_with(h, request);

	let_a_moment_pass();
	return r;
}

/* Pauses it; `meanwhile`, and after that, are what bytes on an open stream do. */
static enum sandbox_state pause_with_bytes(struct harness *h, bool meanwhile, bool afterwards)
{
	struct sandbox_record r = create(h), ignored;
	const struct fleet_ref ref = {PROJECT, r.id, NULL};
	struct fleet_hold hold;
	struct operation op;
	struct error err = {0};

	assert_done(fleet_hold(h->fleet, &h->arena, &ref, &ignored, &hold, &err));
	assert_done(operation_begin(h->fleet, &h->arena, r.id, deadline_after(5000), &op, &err));
	if (meanwhile)
		fleet_wake(&hold);
	assert_done(lifecycle_pause(&op, SANDBOX_REASON_USER, &err));
	operation_end(&op);
	if (afterwards)
		fleet_wake(&hold);
	harness_drain(h);
	fleet_unhold(&hold);
	return find(h, r.id).actual;
}

static void bytes_that_come_while_it_is_paused_wake_it(void **state)
{
	assert_int_equal(pause_with_bytes(*state, false, true), SANDBOX_STARTED);
}

static void bytes_that_come_while_it_falls_asleep_wake_it_as_well(void **state)
{
	assert_int_equal(pause_with_bytes(*state, true, false), SANDBOX_STARTED);
}

static void without_bytes_it_sleeps_on(void **state)
{
	assert_int_equal(pause_with_bytes(*state, false, false), SANDBOX_PAUSED);
}

static void an_idle_one_is_paused_then_stopped_and_its_next_use_starts_it(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create_idle(
	                              h, (struct fleet_create){.timeouts.idle_pause_ms = 1}),
	                      r;

	fleet_tick(h->fleet);
	r = find(h, made.id);
	assert_int_equal(r.actual, SANDBOX_PAUSED);
	assert_int_equal(r.reason, SANDBOX_REASON_IDLE);
	fleet_tick(h->fleet);
	assert_int_equal(find(h, made.id).version, r.version);
	assert_int_equal(use(h, &made).actual, SANDBOX_STARTED);

	made = create_idle(
	        h, (struct fleet_create){.timeouts.idle_pause_ms = 1, .timeouts.idle_stop_ms = 2});
	fleet_tick(h->fleet);
	r = find(h, made.id);
	assert_int_equal(r.actual, SANDBOX_STOPPED);
	assert_int_equal(r.reason, SANDBOX_REASON_IDLE);
	r = use(h, &made);
	assert_int_equal(r.actual, SANDBOX_STARTED);
	assert_int_equal(h->fake.calls[CALL_START], 1);
}

static void one_that_works_or_is_to_stay_awake_is_not_paused(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r =
	        create_idle(h, (struct fleet_create){.timeouts.idle_pause_ms = 1});
	const struct fleet_ref ref = ref_of(&r);

	h->fake.processes = 1;
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	h->fake.processes = 0;
	assert_done(fleet_keep(h->fleet, &h->arena, &ref, 60000, &r, &err));
	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	assert_done(fleet_keep(h->fleet, &h->arena, &ref, 0, &r, &err));
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).actual, SANDBOX_PAUSED);
}

static void a_creator_may_say_never(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r;
	struct error err = {0};

	h->config.timeouts.idle_pause_ms = 1;
	h->config.timeouts.idle_stop_ms = 1;
	r = create_idle(h, (struct fleet_create){.timeouts.idle_pause_ms = -1,
	                                         .timeouts.idle_stop_ms = -1});
	assert_int_equal(r.timeouts.idle_pause_ms, 0);
	assert_int_equal(r.timeouts.idle_stop_ms, 0);
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	assert_refused(fleet_create(h->fleet, &h->arena,
	                            &(struct fleet_create){.project_id = PROJECT,
	                                                   .timeouts.idle_pause_ms = -2,
	                                                   .internet = -1,
	                                                   .wait = true},
	                            &r, &err),
	               ERROR_INVALID);
}

static void one_that_was_stopped_is_deleted_in_its_time(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create_with(
	        h, (struct fleet_create){.persistent = true, .timeouts.delete_after_ms = 1});
	const struct fleet_ref ref = ref_of(&r);

	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_gone(h, r.id);
}

static void one_that_its_user_stopped_is_not_woken(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);
	const struct fleet_ref ref = ref_of(&r);
	struct fleet_hold hold = {0};

	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	assert_refused(fleet_hold(h->fleet, &h->arena, &ref, &r, &hold, &err), ERROR_CONFLICT);
	assert_int_equal(h->fake.calls[CALL_START], 0);
}

static void keeping_prolongs_a_timeout_and_never_shortens(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create_with(h, (struct fleet_create){.timeout_ms = 60000});
	const struct fleet_ref ref = ref_of(&r);
	int64_t until;

	assert_done(fleet_keep(h->fleet, &h->arena, &ref, 3600000, &r, &err));
	until = r.awake_until;
	assert_true(until > clock_unix_ms() + 3500000);
	assert_int_equal(r.timeout_at, until);
	assert_done(fleet_keep(h->fleet, &h->arena, &ref, 1000, &r, &err));
	assert_int_equal(r.awake_until, until);
	assert_refused(fleet_keep(h->fleet, &h->arena, &ref, FLEET_KEEP_MAX_MS + 1, &r, &err),
	               ERROR_INVALID);
	assert_refused(fleet_keep(h->fleet, &h->arena, &ref, -1, &r, &err), ERROR_INVALID);
}

/* ---- hooks ---- */

static void hooks_are_run_before_a_stop_and_after_a_resume(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record made = create(h), r;
	const struct fleet_ref ref = ref_of(&made);

	h->fake.has_hooks = true;
	pause_it(h, &made);
	assert_int_equal(h->fake.hooks, 0);
	r = resume_it(h, &made);
	assert_int_equal(h->fake.hooks, 1);
	assert_string_equal(r.last_event, "resumed");
	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	assert_int_equal(h->fake.hooks, 2);
	assert_string_equal(r.last_event, "stopped");
}

static void a_hook_that_fails_is_told_and_stops_nothing(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record made = create(h), r;
	const struct fleet_ref ref = ref_of(&made);

	h->fake.has_hooks = true;
	h->fake.hook_exit = 3;
	pause_it(h, &made);
	r = resume_it(h, &made);
	assert_int_equal(r.actual, SANDBOX_STARTED);
	assert_string_equal(r.last_event, "resumed; hook after-resume exited with 3");
	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	assert_int_equal(r.actual, SANDBOX_STOPPED);
	assert_string_equal(r.last_event, "stopped; hook before-stop exited with 3");
}

static void no_hook_of_the_machine_itself_is_run(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h);

	h->fake.has_hooks = true;
	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_ISOLATE;
	pause_it(h, &made);
	resume_it(h, &made);
	assert_int_equal(h->fake.hooks, 0);
}

/* ---- a server that went away in between ---- */

static void the_row_stands_when_a_pause_or_resume_was_cut_off(void **state)
{
	struct harness *h = *state;
	struct sandbox_record frozen = create(h), thawed = create(h), paused = create(h);

	pause_it(h, &thawed);
	pause_it(h, &paused);
	fake_set(&h->fake, frozen.id, fake_paused);
	fake_set(&h->fake, thawed.id, fake_running);
	harness_restart(h);
	assert_int_equal(find(h, frozen.id).actual, SANDBOX_STARTED);
	assert_string_equal(fake_has(&h->fake, frozen.id), "running");
	assert_int_equal(find(h, thawed.id).actual, SANDBOX_PAUSED);
	assert_string_equal(fake_has(&h->fake, thawed.id), "paused");
	assert_int_equal(find(h, paused.id).actual, SANDBOX_PAUSED);
	use(h, &paused);
}

static void the_sweep_heals_without_a_restart_too(void **state)
{
	struct harness *h = *state;
	struct sandbox_record frozen = create(h), stopped = create(h);
	const struct fleet_ref ref = ref_of(&stopped);
	struct error err = {0};

	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &stopped, &err));
	fake_set(&h->fake, frozen.id, fake_paused);
	fake_set(&h->fake, stopped.id, fake_running);
	fleet_tick(h->fleet);
	assert_string_equal(fake_has(&h->fake, frozen.id), "running");
	assert_string_equal(fake_has(&h->fake, stopped.id), "files");
}

static void a_paused_one_that_went_down_with_the_host_is_stopped(void **state)
{
	struct harness *h = *state;
	struct sandbox_record files = create(h),
	                      lost = create_with(h, (struct fleet_create){.persistent = true});

	pause_it(h, &files);
	pause_it(h, &lost);
	fake_set(&h->fake, files.id, fake_files);
	fake_set(&h->fake, lost.id, NULL);
	harness_restart(h);
	files = find(h, files.id);
	assert_int_equal(files.actual, SANDBOX_STOPPED);
	assert_int_equal(files.reason, SANDBOX_REASON_HOST_LOST);
	assert_int_equal(find(h, lost.id).actual, SANDBOX_FAILED);
}

static void the_end_of_a_paused_one_is_noticed(void **state)
{
	struct harness *h = *state;
	struct sandbox_record made = create(h), r = pause_it(h, &made);

	fake_set(&h->fake, r.id, fake_files);
	fleet_on_ended(h->fleet, r.id, &(struct provider_end){SANDBOX_REASON_EXIT, UINT64_MAX});
	harness_drain(h);
	r = find(h, r.id);
	assert_int_equal(r.actual, SANDBOX_STOPPED);
	assert_int_equal(r.reason, SANDBOX_REASON_EXIT);
}

int main(void)
{
	return RUN_EACH(EACH(a_paused_sandbox_is_frozen_and_goes_on_as_it_was),
	                EACH(pausing_the_paused_and_resuming_the_started_change_nothing),
	                EACH(a_stopped_one_is_neither_paused_nor_resumed),
	                EACH(a_provider_that_cannot_pause_is_named),
	                EACH(a_pause_that_fails_leaves_it_started_and_running),
	                EACH(a_resume_that_fails_leaves_it_paused),
	                EACH(the_next_use_of_a_paused_one_resumes_it),
	                EACH(one_that_is_asleep_is_never_held_without_waiting),
	                EACH(calls_and_pauses_at_once_never_refuse_a_call),
	                EACH(a_paused_one_is_stopped_started_and_deleted_like_any),
	                EACH(only_the_paused_is_stopped_to_begin_anew),
	                EACH(bytes_that_come_while_it_is_paused_wake_it),
	                EACH(bytes_that_come_while_it_falls_asleep_wake_it_as_well),
	                EACH(without_bytes_it_sleeps_on),
	                EACH(an_idle_one_is_paused_then_stopped_and_its_next_use_starts_it),
	                EACH(one_that_works_or_is_to_stay_awake_is_not_paused),
	                EACH(a_creator_may_say_never),
	                EACH(one_that_was_stopped_is_deleted_in_its_time),
	                EACH(one_that_its_user_stopped_is_not_woken),
	                EACH(keeping_prolongs_a_timeout_and_never_shortens),
	                EACH(hooks_are_run_before_a_stop_and_after_a_resume),
	                EACH(a_hook_that_fails_is_told_and_stops_nothing),
	                EACH(no_hook_of_the_machine_itself_is_run),
	                EACH(the_row_stands_when_a_pause_or_resume_was_cut_off),
	                EACH(the_sweep_heals_without_a_restart_too),
	                EACH(a_paused_one_that_went_down_with_the_host_is_stopped),
	                EACH(the_end_of_a_paused_one_is_noticed));
}
