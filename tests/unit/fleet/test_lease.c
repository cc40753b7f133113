/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/fleet_hold.h"
#include "fleet/core/sandboxes.h"
#include "json/json.h"
#include "leases.h"
#include "provider/end.h"
#include "provider/entries.h"
#include "provider/snapshots.h"
#include "fleet/lease/lease.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/sandbox/fork.h"
#include "fleet/server/fleet.h"
#include "store/database.h"

#include <stdatomic.h>

static void the_first_makes_it_and_the_next_find_it_warm(void **state)
{
	struct harness *h = *state;
	struct fleet_leased first = acquire(h), second = acquire(h);

	assert_true(first.created);
	assert_false(second.created);
	assert_string_equal(first.sandbox.id, second.sandbox.id);
	assert_int_equal(first.lease.epoch, 1);
	assert_int_equal(second.lease.lock_version, first.lease.lock_version);
	assert_int_equal(h->fake.calls[CALL_CREATE], 1);
	assert_non_null(strstr(first.sandbox.labels_json, "\"atoll.lease\":\"" KEY "\""));
}

static void keys_and_projects_have_their_own(void **state)
{
	struct harness *h = *state;
	const struct fleet_lease other = ask("workspace:43");

	assert_string_not_equal(acquire(h).sandbox.id, acquire_as(h, &other).sandbox.id);
}

static void what_is_wrong_is_refused_before_anything_is_claimed(void **state)
{
	struct harness *h = *state;
	struct json_pair bad_env[] = {{"A=B", "c"}};
	const struct fleet_create no_template = {.template = "nothing"};
	const struct fleet_create bad = {.env = {bad_env, 1, true}};
	struct fleet_lease requests[] = {ask(".."), ask(KEY), ask(KEY)};
	struct error err = {0};
	struct fleet_leased leased;
	struct lease_record r;

	requests[1].make = &no_template;
	requests[2].make = &bad;
	assert_refused(fleet_lease_acquire(h->fleet, &h->arena, &requests[0], &leased, &err),
	               ERROR_INVALID);
	assert_refused(fleet_lease_acquire(h->fleet, &h->arena, &requests[1], &leased, &err),
	               ERROR_NOT_FOUND);
	assert_refused(fleet_lease_acquire(h->fleet, &h->arena, &requests[2], &leased, &err),
	               ERROR_INVALID);
	assert_refused(fleet_lease_find(h->fleet, &h->arena, REF, &r, &err), ERROR_NOT_FOUND);
}

static void a_create_that_fails_leaves_no_lease_and_no_sandbox(void **state)
{
	struct harness *h = *state;
	const struct fleet_lease request = ask(KEY);
	struct error err = {0};
	struct fleet_leased leased;
	struct lease_record r;

	fake_fail(&h->fake, CALL_CREATE, true);
	assert_refused(fleet_lease_acquire(h->fleet, &h->arena, &request, &leased, &err),
	               ERROR_SYSTEM);
	assert_refused(fleet_lease_find(h->fleet, &h->arena, REF, &r, &err), ERROR_NOT_FOUND);
	assert_int_equal(h->fake.sandboxes.count, 0);
	assert_int_equal(count_strays(h), 0);
	fake_fail(&h->fake, CALL_CREATE, false);
	assert_true(acquire(h).created);
}

static void a_create_that_fails_leaves_the_specification_as_it_was(void **state)
{
	struct harness *h = *state;
	struct json_pair pair = {"A", "b"};
	struct fleet_create make = {.internet = -1, .env = {&pair, 1, true}};
	struct fleet_lease request = ask(KEY);
	struct error err = {0};
	struct fleet_leased leased;

	request.make = &make;
	acquire_as(h, &request);
	pair.value = "other";
	request.terms = LEASE_TERMS_UPDATE;
	fake_fail(&h->fake, CALL_CREATE, true);
	assert_refused(fleet_lease_acquire(h->fleet, &h->arena, &request, &leased, &err),
	               ERROR_SYSTEM);
	fake_fail(&h->fake, CALL_CREATE, false);
	assert_string_equal(acquire(h).sandbox.env_json, "{\"A\":\"b\"}");
	leased = acquire_as(h, &request);
	assert_true(leased.created);
	assert_string_equal(leased.sandbox.env_json, "{\"A\":\"other\"}");
	request.terms = LEASE_TERMS_FIRST;
	pair.value = "third";
	assert_string_equal(acquire_as(h, &request).sandbox.id, leased.sandbox.id);
	request.terms = LEASE_TERMS_SAME;
	assert_refused(fleet_lease_acquire(h->fleet, &h->arena, &request, &leased, &err),
	               ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "env"));
	assert_null(strstr(err.text, "third"));
}

static int refuse_to_wait(void *context, struct error *err)
{
	*(bool *)context = true;
	return FAIL(err, ERROR_UNAVAILABLE, "not here");
}

static void one_that_wants_it_warm_does_not_make_it(void **state)
{
	struct harness *h = *state;
	struct fleet_lease request = ask(KEY);
	bool is_cold = false;
	struct error err = {0};
	struct fleet_leased leased;

	request.may_wait = refuse_to_wait;
	request.context = &is_cold;
	assert_refused(fleet_lease_acquire(h->fleet, &h->arena, &request, &leased, &err),
	               ERROR_UNAVAILABLE);
	assert_true(is_cold);
	assert_int_equal(h->fake.calls[CALL_CREATE], 0);
	acquire(h);
	is_cold = false;
	acquire_as(h, &request);
	assert_false(is_cold);
}

static void a_stopped_sandbox_is_started(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct fleet_leased leased = acquire(h);
	struct sandbox_record r;

	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, leased.sandbox.id},
	                       &r, &err));
	assert_string_equal(acquire(h).sandbox.id, leased.sandbox.id);
	assert_int_equal(h->fake.calls[CALL_START], 1);
}

static void a_deleted_or_failed_sandbox_is_replaced_under_a_new_epoch(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct fleet_leased first = acquire(h), second, third;

	assert_done(fleet_delete(h->fleet, &h->arena,
	                         &(struct fleet_ref){PROJECT, first.sandbox.id},
	                         SANDBOX_REASON_USER, &err));
	second = acquire(h);
	assert_true(second.created);
	assert_string_not_equal(second.sandbox.id, first.sandbox.id);
	assert_int_equal(second.lease.epoch, 2);
	fake_set(&h->fake, second.sandbox.id, NULL);
	fleet_on_ended(h->fleet, second.sandbox.id,
	               &(struct provider_end){SANDBOX_REASON_OOM, UINT64_MAX});
	fleet_tick(h->fleet);
	third = acquire(h);
	assert_string_not_equal(third.sandbox.id, second.sandbox.id);
	assert_int_equal(h->fake.sandboxes.count, 1);
	reconcile_strays(h);
	assert_gone(h, second.sandbox.id);
}

static void a_fresh_one_replaces_the_one_that_is_there(void **state)
{
	struct harness *h = *state;
	struct fleet_lease request = ask(KEY);
	struct fleet_leased first = acquire(h), second;

	request.is_fresh = true;
	second = acquire_as(h, &request);
	assert_true(second.created);
	assert_gone(h, first.sandbox.id);
	assert_int_equal(h->fake.sandboxes.count, 1);
	assert_string_equal(acquire(h).sandbox.id, second.sandbox.id);
}

static unsigned resets;
static bool resets_fail, resets_are_refused;

static int fake_restore(struct provider *p, const char *sandbox, const char *snapshot,
                        int64_t deadline, struct error *err)
{
	(void)p;
	(void)deadline;
	assert_true(id_is_valid(sandbox));
	assert_string_equal(snapshot, "");
	resets++;
	return resets_fail ? FAIL(err, ERROR_SYSTEM, "the disk is full") : 0;
}

static int fake_can_restore(struct provider *p, const char *sandbox, const char *snapshot,
                            int64_t deadline, struct error *err)
{
	(void)p;
	(void)deadline;
	assert_true(id_is_valid(sandbox));
	assert_string_equal(snapshot, "");
	return resets_are_refused ? FAIL(err, ERROR_UNSUPPORTED, "it has a disk of its own") : 0;
}

static int list_none(struct provider *p, struct arena *a, struct provider_list *ret,
                     struct error *err)
{
	(void)p;
	(void)a;
	(void)err;
	*ret = (struct provider_list){.count = 0};
	return 0;
}

static const struct snapshot_ops fake_snapshots = {
        .restore = fake_restore, .can_restore = fake_can_restore, .list = list_none};

static void give_snapshots(struct harness *h)
{
	h->fake.own.abilities |= PROVIDER_CAN_SNAPSHOT;
	h->fake.own.snapshots = &fake_snapshots;
	resets = 0;
	resets_fail = resets_are_refused = false;
}

static void where_it_can_be_the_one_that_is_there_is_reset(void **state)
{
	struct harness *h = *state;
	struct fleet_lease request = ask(KEY);
	struct fleet_leased first, second;

	give_snapshots(h);
	first = acquire(h);
	request.is_fresh = true;
	second = acquire_as(h, &request);
	assert_true(second.reset && !second.created);
	assert_string_equal(second.sandbox.id, first.sandbox.id);
	assert_int_equal(second.lease.epoch, first.lease.epoch + 1);
	assert_int_equal(resets, 1);
	assert_false(acquire(h).reset);
	reconcile_strays(h);
	assert_string_equal(look(h).sandbox_id, first.sandbox.id);
}

static void what_is_asked_for_otherwise_is_not_reset_but_made(void **state)
{
	struct harness *h = *state;
	struct fleet_create make = {.internet = -1};
	struct fleet_lease request = ask(KEY);
	struct json_pair pair = {"A", "b"};
	struct fleet_leased first, second;

	give_snapshots(h);
	first = acquire(h);
	request.is_fresh = true;
	request.make = &make;
	make.env = (struct json_map){&pair, 1, true};
	second = acquire_as(h, &request);
	assert_true(second.created && !second.reset);
	assert_string_not_equal(second.sandbox.id, first.sandbox.id);
	assert_true(acquire_as(h, &request).reset);
	make.resources.memory_mb = 64;
	assert_true(acquire_as(h, &request).created);
	make.persistent = true;
	assert_true(acquire_as(h, &request).created);
	assert_int_equal(resets, 1);
	assert_int_equal(h->fake.sandboxes.count, 1);
}

static void a_reset_that_is_refused_ends_nothing(void **state)
{
	struct harness *h = *state;
	struct fleet_ref ref = {.project_id = PROJECT};
	struct fleet_leased leased;
	struct sandbox_record r;
	struct error err = {0};

	give_snapshots(h);
	leased = acquire(h);
	ref.id_or_name = leased.sandbox.id;
	resets_are_refused = true;
	assert_refused(fleet_reset(h->fleet, &h->arena, &ref, &r, &err), ERROR_UNSUPPORTED);
	assert_int_equal(resets, 0);
	assert_done(fleet_find(h->fleet, &h->arena, &ref, &r, &err));
	assert_int_equal(r.version, leased.sandbox.version);
	resets_are_refused = false;
	assert_done(fleet_reset(h->fleet, &h->arena, &ref, &r, &err));
	assert_int_equal(resets, 1);
}

static void one_whose_reset_fails_is_replaced(void **state)
{
	struct harness *h = *state;
	struct fleet_lease request = ask(KEY);
	struct fleet_leased first, second;

	give_snapshots(h);
	first = acquire(h);
	resets_fail = true;
	request.is_fresh = true;
	second = acquire_as(h, &request);
	assert_true(second.created && !second.reset);
	assert_int_equal(resets, 1);
	assert_gone(h, first.sandbox.id);
	reconcile_strays(h);
}

/* The epoch says whose files are new: it grows when the reset is done, not when it begins. */
static void a_reset_that_was_cut_short_is_done_again(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct fleet_lease request = ask(KEY);
	struct lease_record claim;

	give_snapshots(h);
	(void)acquire(h);
	claim = look(h);
	claim.status = LEASE_CREATING;
	claim.creating_since = clock_unix_ms();
	assert_done(store_lease_replace(h->store, &claim, &err));
	harness_restart(h);
	assert_int_equal(look(h).status, LEASE_READY);
	request.is_fresh = true;
	assert_true(acquire_as(h, &request).reset);
	assert_int_equal(resets, 1);
}

/* ---- contention ---- */

static struct fleet_leased acquire_for(struct harness *h, const char *run)
{
	struct fleet_lease request = ask(KEY);

	request.run = run;
	return acquire_as(h, &request);
}

static void each_run_begins_with_files_of_its_own_and_keeps_them(void **state)
{
	struct harness *h = *state;
	struct fleet_leased first = acquire_for(h, "run-1"), again = acquire_for(h, "run-1");
	struct fleet_leased second = acquire_for(h, "run-2"), anybody = acquire(h);

	assert_string_equal(first.lease.run, "run-1");
	assert_string_equal(again.sandbox.id, first.sandbox.id);
	assert_int_equal(again.lease.epoch, first.lease.epoch);
	/* A provider without snapshots: another one is made. */
	assert_string_not_equal(second.sandbox.id, first.sandbox.id);
	assert_string_equal(second.lease.run, "run-2");
	assert_string_equal(anybody.sandbox.id, second.sandbox.id);
	assert_string_equal(look(h).run, "run-2");
	assert_int_equal(h->fake.calls[CALL_CREATE], 2);
}

static void what_nobody_ran_in_is_no_runs_either(void **state)
{
	struct harness *h = *state;
	struct fleet_leased warm = acquire(h), run;

	assert_string_equal(warm.lease.run, "");
	run = acquire_for(h, "run-1");
	assert_string_not_equal(run.sandbox.id, warm.sandbox.id);
}

static void of_many_at_once_one_makes_it_and_all_get_it(void **state)
{
	struct harness *h = *state;
	struct rival rivals[16];
	unsigned created = 0;

	fake_gate(&h->fake, true);
	for (size_t i = 0; i < COUNT_OF(rivals); i++) {
		rivals[i] = (struct rival){.h = h};
		assert_int_equal(pthread_create(&rivals[i].thread, NULL, compete, &rivals[i]), 0);
	}
	fake_wait_at_gate(&h->fake);
	fake_gate(&h->fake, false);
	for (size_t i = 0; i < COUNT_OF(rivals); i++) {
		pthread_join(rivals[i].thread, NULL);
		assert_string_equal(rivals[i].id, rivals[0].id);
		created += rivals[i].created;
	}
	assert_int_equal(created, 1);
	assert_int_equal(h->fake.calls[CALL_CREATE], 1);
}

/* ---- what nobody finished ---- */

/* ---- the other calls ---- */

static void a_release_ends_the_use_and_the_next_acquire_begins_it_again(void **state)
{
	struct harness *h = *state;
	struct fleet_leased leased = acquire(h);
	struct lease_record r = look(h);
	struct error err = {0};

	assert_true(r.active_since > 0);
	assert_done(fleet_lease_release(h->fleet, &h->arena, REF, &r, &err));
	assert_int_equal(r.active_since, 0);
	assert_string_equal(fake_has(&h->fake, leased.sandbox.id), "running");
	assert_done(fleet_lease_release(h->fleet, &h->arena, REF, &r, &err));
	leased = acquire(h);
	assert_false(leased.created);
	assert_true(leased.lease.active_since > 0);
}

static void what_its_sandbox_is_active_for_is_counted_used_or_not(void **state)
{
	struct harness *h = *state;
	int64_t now = clock_unix_ms(), used_ms;
	struct lease_record r;
	struct error err = {0};

	(void)acquire(h);
	r = look(h);
	used_ms = fleet_lease_usage_ms(h->fleet, &r, r.active_changed_at + 5000);
	assert_int_equal(used_ms, r.active_ms + 5000);
	assert_true(r.active_changed_at >= now);
	assert_done(fleet_lease_release(h->fleet, &h->arena, REF, &r, &err));
	assert_int_equal(fleet_lease_usage_ms(h->fleet, &r, r.active_changed_at + 5000), used_ms);
	/* Nobody's clock is to make it less. */
	assert_int_equal(fleet_lease_usage_ms(h->fleet, &r, r.active_changed_at - 5000),
	                 r.active_ms);
}

static void what_another_server_has_counts_as_far_as_that_one_metered_it(void **state)
{
	struct harness *h = *state;
	struct lease_record r = {.node = "theirs",
	                         .actual = SANDBOX_STARTED,
	                         .usage_ms = 1000,
	                         .active_changed_at = 50000,
	                         .active_ms = 200,
	                         .metered_ms = 30};

	assert_int_equal(fleet_lease_usage_ms(h->fleet, &r, 90000), 1200);
	r.metered_ms = 7200;
	assert_int_equal(fleet_lease_usage_ms(h->fleet, &r, 90000), 8200);
	r.node = "";
	assert_int_equal(fleet_lease_usage_ms(h->fleet, &r, 90000), 41200);
}

static void what_was_counted_outlives_the_sandbox(void **state)
{
	struct harness *h = *state;
	struct fleet_leased leased = acquire(h);
	struct lease_record r = look(h);
	struct error err = {0};
	int64_t begun_at = clock_unix_ms(), usage_ms;

	r.usage_ms = 5000; /* of one before */
	assert_done(store_lease_replace(h->store, &r, &err));
	while (clock_unix_ms() <= begun_at + 2)
		;
	assert_done(fleet_delete(h->fleet, &h->arena,
	                         &(struct fleet_ref){PROJECT, leased.sandbox.id},
	                         SANDBOX_REASON_USER, &err));
	fleet_tick(h->fleet);
	r = look(h);
	assert_int_equal(r.status, LEASE_EMPTY);
	assert_string_equal(r.sandbox_id, "");
	assert_true(r.usage_ms > 5000 && r.usage_ms < 60000);
	usage_ms = r.usage_ms;
	assert_int_equal(fleet_lease_usage_ms(h->fleet, &r, begun_at + 1000000), usage_ms);
	assert_int_equal(acquire(h).lease.usage_ms, usage_ms);
}

static void what_is_kept_is_not_idle(void **state)
{
	struct harness *h = *state;
	const struct fleet_create short_lived = {.internet = -1, .timeouts.idle_reap_ms = 1};
	struct fleet_lease request = ask(KEY);
	struct fleet_leased leased;
	struct error err = {0};
	struct lease_record r;

	request.make = &short_lived;
	leased = acquire_as(h, &request);
	assert_refused(fleet_lease_keep(h->fleet, &h->arena, REF, -1, &r, &err), ERROR_INVALID);
	assert_done(fleet_lease_keep(h->fleet, &h->arena, REF, 60000, &r, &err));
	assert_true(r.keep_until > clock_unix_ms() + 50000);
	assert_done(fleet_lease_keep(h->fleet, &h->arena, REF, 10, &r, &err));
	assert_true(r.keep_until > clock_unix_ms() + 50000);
	assert_done(store_tidy(h->store, &err));
	while (clock_unix_ms() <= r.sandbox_activity_at + 1)
		;
	fleet_tick(h->fleet);
	assert_string_equal(fake_has(&h->fake, leased.sandbox.id), "running");
	assert_done(fleet_lease_release(h->fleet, &h->arena, REF, &r, &err));
	fleet_tick(h->fleet);
	assert_gone(h, leased.sandbox.id);
}

static void a_paused_one_is_woken_by_the_next_acquire_and_not_counted(void **state)
{
	struct harness *h = *state;
	struct fleet_leased leased = acquire(h);
	struct lease_record r = look(h);
	struct fleet_lease warm = ask(KEY);
	bool is_cold = false;
	struct error err = {0};

	assert_true(r.active_since > 0);
	assert_done(fleet_lease_pause(h->fleet, &h->arena, REF, &r, &err));
	assert_int_equal(r.actual, SANDBOX_PAUSED);
	assert_int_equal(r.active_since, 0);
	assert_int_equal(fleet_lease_usage_ms(h->fleet, &r, r.active_changed_at + 1000000),
	                 r.active_ms);
	/* Waking takes longer than looking. */
	warm.may_wait = refuse_to_wait;
	warm.context = &is_cold;
	assert_refused(fleet_lease_acquire(h->fleet, &h->arena, &warm, &leased, &err),
	               ERROR_UNAVAILABLE);
	assert_true(is_cold);
	leased = acquire(h);
	assert_false(leased.created);
	assert_int_equal(find(h, leased.sandbox.id).actual, SANDBOX_STARTED);
	assert_int_equal(leased.lease.actual, SANDBOX_STARTED);
	/* What it answers does not count the pause either. */
	assert_true(leased.lease.active_changed_at >= r.active_changed_at);
	assert_true(fleet_lease_usage_ms(h->fleet, &leased.lease, leased.lease.active_changed_at) ==
	            r.active_ms);
}

static void calls_on_a_lease_without_a_sandbox_say_what_to_do(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct lease_record r;

	assert_refused(fleet_lease_keep(h->fleet, &h->arena, REF, 0, &r, &err), ERROR_NOT_FOUND);
	foreign_claim(h, 0);
	assert_refused(fleet_lease_release(h->fleet, &h->arena, REF, &r, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.hint, "acquire"));
}

static void a_delete_takes_the_sandbox_along(void **state)
{
	struct harness *h = *state;
	struct fleet_leased leased = acquire(h);
	struct error err = {0};

	assert_done(fleet_lease_delete(h->fleet, &h->arena, REF, &err));
	assert_gone(h, leased.sandbox.id);
	assert_int_equal(count_strays(h), 0);
	assert_refused(fleet_lease_delete(h->fleet, &h->arena, REF, &err), ERROR_NOT_FOUND);
}

static void all_of_a_prefix_go_and_no_others(void **state)
{
	struct harness *h = *state;
	static const char *const keys[] = {"ws:1:a", "ws:1:b", "ws:1:c", "ws:10:a"};
	struct error err = {0};
	uint64_t count = 0;

	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		const struct fleet_lease request = ask(keys[i]);

		acquire_as(h, &request);
	}
	assert_done(fleet_lease_delete_all(h->fleet, &(struct lease_ref){PROJECT, "ws:1:"}, &count,
	                                   &err));
	assert_int_equal(count, 3);
	assert_int_equal(h->fake.sandboxes.count, 1);
	assert_done(
	        fleet_lease_delete_all(h->fleet, &(struct lease_ref){PROJECT, ""}, &count, &err));
	assert_int_equal(count, 1);
	assert_int_equal(h->fake.sandboxes.count, 0);
}

/* ---- with ---- */

struct visit {
	struct harness *h;
	unsigned runs;
	bool takes_it_away; /* the first time */
	enum error_code fails;
	char ids[2][ID_SIZE + 1];
};

static int run_visit(void *context, const struct sandbox_record *r, struct fleet_hold *hold,
                     struct error *err)
{
	struct visit *v = context;

	assert_string_equal(hold->id, r->id);
	if (v->runs < COUNT_OF(v->ids))
		memcpy(v->ids[v->runs], r->id, ID_SIZE);
	if (v->runs++ == 0 && v->takes_it_away)
		fake_set(&v->h->fake, r->id, NULL);
	return v->fails && (v->runs == 1 || !v->takes_it_away || v->fails == ERROR_INVALID)
	               ? FAIL(err, v->fails, "on purpose")
	               : 0;
}

static int visit(struct visit *v, struct error *err)
{
	const struct fleet_lease request = ask(KEY);
	const struct fleet_lease_use use = {run_visit, v};

	return fleet_lease_with(v->h->fleet, &v->h->arena, &request, &use, err);
}

static void a_call_whose_sandbox_is_gone_is_made_once_more_in_the_next(void **state)
{
	struct visit v = {.h = *state, .takes_it_away = true, .fails = ERROR_UNAVAILABLE};
	struct error err = {0};

	assert_done(visit(&v, &err));
	assert_int_equal(v.runs, 2);
	assert_string_not_equal(v.ids[0], v.ids[1]);
	assert_gone(v.h, v.ids[0]);
}

static void other_failures_are_the_answer(void **state)
{
	struct visit lives = {.h = *state, .fails = ERROR_NOT_FOUND};
	struct visit own_fault = {.h = *state, .takes_it_away = true, .fails = ERROR_INVALID};
	struct error err = {0};

	assert_refused(visit(&lives, &err), ERROR_NOT_FOUND);
	assert_int_equal(lives.runs, 1);
	assert_refused(visit(&own_fault, &err), ERROR_INVALID);
	assert_int_equal(own_fault.runs, 1);
}

static int always_gone(void *context, const struct sandbox_record *r,
                       struct fleet_hold *hold UNUSED, struct error *err)
{
	struct visit *v = context;

	v->runs++;
	fake_set(&v->h->fake, r->id, NULL);
	return FAIL(err, ERROR_UNAVAILABLE, "on purpose");
}

static void it_is_made_once_more_and_not_twice(void **state)
{
	struct visit v = {.h = *state};
	const struct fleet_lease request = ask(KEY);
	const struct fleet_lease_use use = {always_gone, &v};
	struct error err = {0};

	assert_int_equal(fleet_lease_with(v.h->fleet, &v.h->arena, &request, &use, &err), -1);
	assert_int_equal(v.runs, 2);
}

int main(void)
{
	return RUN_EACH(
	        EACH(the_first_makes_it_and_the_next_find_it_warm),
	        EACH(keys_and_projects_have_their_own),
	        EACH(what_is_wrong_is_refused_before_anything_is_claimed),
	        EACH(a_create_that_fails_leaves_no_lease_and_no_sandbox),
	        EACH(a_create_that_fails_leaves_the_specification_as_it_was),
	        EACH(one_that_wants_it_warm_does_not_make_it), EACH(a_stopped_sandbox_is_started),
	        EACH(a_deleted_or_failed_sandbox_is_replaced_under_a_new_epoch),
	        EACH(a_fresh_one_replaces_the_one_that_is_there),
	        EACH(where_it_can_be_the_one_that_is_there_is_reset),
	        EACH(what_is_asked_for_otherwise_is_not_reset_but_made),
	        EACH(one_whose_reset_fails_is_replaced), EACH(a_reset_that_is_refused_ends_nothing),
	        EACH(a_reset_that_was_cut_short_is_done_again),
	        EACH(each_run_begins_with_files_of_its_own_and_keeps_them),
	        EACH(what_nobody_ran_in_is_no_runs_either),
	        EACH(of_many_at_once_one_makes_it_and_all_get_it),
	        EACH(a_release_ends_the_use_and_the_next_acquire_begins_it_again),
	        EACH(what_its_sandbox_is_active_for_is_counted_used_or_not),
	        EACH(what_another_server_has_counts_as_far_as_that_one_metered_it),
	        EACH(what_is_kept_is_not_idle), EACH(what_was_counted_outlives_the_sandbox),
	        EACH(what_is_kept_is_not_idle),
	        EACH(a_paused_one_is_woken_by_the_next_acquire_and_not_counted),
	        EACH(calls_on_a_lease_without_a_sandbox_say_what_to_do),
	        EACH(a_delete_takes_the_sandbox_along), EACH(all_of_a_prefix_go_and_no_others),
	        EACH(a_call_whose_sandbox_is_gone_is_made_once_more_in_the_next),
	        EACH(other_failures_are_the_answer), EACH(it_is_made_once_more_and_not_twice));
}
