/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/sandboxes.h"
#include "harness.h"
#include "json/json.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"
#include "store/sandboxes.h"
#include "store/templates.h"
#include "fleet/core/defaults.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/server/fleet.h"

#include <sched.h>
#include <stdatomic.h>

static void a_stopped_sandbox_keeps_its_files_and_starts_again(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);

	assert_done(
	        fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.name}, &r, &err));
	assert_int_equal(r.actual, SANDBOX_STOPPED);
	assert_int_equal(r.desired, SANDBOX_STOPPED);
	assert_int_equal(r.reason, SANDBOX_REASON_USER);
	assert_string_equal(fake_has(&h->fake, r.id), "files");
	assert_done(fleet_start(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
	assert_int_equal(r.actual, SANDBOX_STARTED);
	assert_int_equal(r.desired, SANDBOX_STARTED);
	assert_int_equal(r.reason, SANDBOX_REASON_NONE);
	assert_string_equal(fake_has(&h->fake, r.id), "running");
}

static void stopping_the_stopped_and_starting_the_started_change_nothing(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);
	int64_t version = r.version;

	assert_done(fleet_start(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
	assert_int_equal(r.version, version);
	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
	version = r.version;
	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
	assert_int_equal(r.version, version);
	assert_int_equal(h->fake.calls[CALL_STOP], 1);
}

static void a_stop_that_fails_leaves_it_started(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h), found;

	fake_fail(&h->fake, CALL_STOP, true);
	assert_refused(
	        fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err),
	        ERROR_SYSTEM);
	found = find(h, r.id);
	assert_int_equal(found.actual, SANDBOX_STARTED);
	assert_int_equal(found.desired, SANDBOX_STARTED);
	assert_non_null(strstr(found.last_event, "on purpose"));
}

static void a_start_that_fails_leaves_it_stopped_with_its_files(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h), found;

	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
	fake_fail(&h->fake, CALL_START, true);
	assert_refused(
	        fleet_start(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err),
	        ERROR_SYSTEM);
	found = find(h, r.id);
	assert_int_equal(found.actual, SANDBOX_STOPPED);
	assert_non_null(strstr(found.last_event, "start failed"));
	assert_string_equal(fake_has(&h->fake, r.id), "files");
	fake_fail(&h->fake, CALL_START, false);
	assert_done(fleet_start(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
}

static void a_provider_that_cannot_stop_says_so(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);

	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_STOP;
	assert_refused(
	        fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err),
	        ERROR_UNSUPPORTED);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
}

static void a_timeout_that_has_passed_is_dropped_by_a_start(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);

	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
	assert_done(store_sandbox_set_timeout(h->store, &h->arena, r.id, 1, &r, &err));
	assert_done(fleet_start(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
	assert_int_equal(find(h, r.id).timeout_at, 0);
}

static void a_deleted_sandbox_is_gone_from_everywhere(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);

	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.name},
	                         SANDBOX_REASON_USER, &err));
	assert_gone(h, r.id);
	assert_refused(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.name},
	                            SANDBOX_REASON_USER, &err),
	               ERROR_NOT_FOUND);
}

static void nobody_reaches_a_sandbox_of_another_project(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);
	struct fleet_hold hold = {0};

	assert_refused(
	        fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){"other", r.id}, &r, &err),
	        ERROR_NOT_FOUND);
	assert_refused(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){"other", r.id},
	                            SANDBOX_REASON_USER, &err),
	               ERROR_NOT_FOUND);
	assert_refused(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){"other", r.id}, &r,
	                          &hold, &err),
	               ERROR_NOT_FOUND);
	assert_refused(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){"other", r.name}, &r,
	                          &hold, &err),
	               ERROR_NOT_FOUND);
}

static void a_delete_that_fails_is_told_and_carried_out_later(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);

	fake_fail(&h->fake, CALL_DESTROY, true);
	assert_refused(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id},
	                            SANDBOX_REASON_USER, &err),
	               ERROR_SYSTEM);
	r = find(h, r.id);
	assert_int_equal(r.actual, SANDBOX_FAILED);
	assert_int_equal(r.desired, SANDBOX_DELETED);
	fake_fail(&h->fake, CALL_DESTROY, false);
	fleet_tick(h->fleet);
	assert_gone(h, r.id);
}

/* ---- races ---- */

struct racer {
	struct harness *harness;
	const char *id;
	int result;
	struct error err;
};

static void *delete_it(void *argument)
{
	struct racer *r = argument;
	AUTO(arena_done) struct arena arena = {0};

	r->result = fleet_delete(r->harness->fleet, &arena, &(struct fleet_ref){PROJECT, r->id},
	                         SANDBOX_REASON_USER, &r->err);
	return NULL;
}

static void of_many_deleters_one_acts_and_none_fails(void **state)
{
	enum { RACERS = 8 };
	struct harness *h = *state;

	for (unsigned round = 0; round < 20; round++) {
		struct sandbox_record r = create(h);
		struct racer racers[RACERS];
		pthread_t threads[RACERS];
		unsigned before = h->fake.calls[CALL_DESTROY];

		for (unsigned i = 0; i < RACERS; i++) {
			racers[i] = (struct racer){h, r.id, 1, {0}};
			assert_int_equal(pthread_create(&threads[i], NULL, delete_it, &racers[i]),
			                 0);
		}
		for (unsigned i = 0; i < RACERS; i++) {
			pthread_join(threads[i], NULL);
			/* One that came when all was over finds nothing. */
			if (racers[i].result < 0)
				assert_int_equal(racers[i].err.code, ERROR_NOT_FOUND);
		}
		assert_int_equal(h->fake.calls[CALL_DESTROY], before + 1);
		assert_gone(h, r.id);
	}
}

static void *create_box(void *argument)
{
	struct racer *r = argument;
	AUTO(arena_done) struct arena arena = {0};
	const struct fleet_create request = {.project_id = PROJECT, .name = "box", .wait = true};
	struct sandbox_record made;

	r->result = fleet_create(r->harness->fleet, &arena, &request, &made, &r->err);
	return NULL;
}

static void wait_for_wish(struct harness *h, const char *id)
{
	while (find(h, id).desired != SANDBOX_DELETED)
		sched_yield();
}

static void a_delete_during_create_is_carried_out_by_the_creator(void **state)
{
	struct harness *h = *state;
	struct racer creator = {.harness = h}, deleter = {.harness = h, .id = "box"};
	pthread_t creating, deleting;
	struct sandbox_record r;

	fake_gate(&h->fake, true);
	assert_int_equal(pthread_create(&creating, NULL, create_box, &creator), 0);
	fake_wait_at_gate(&h->fake);
	r = find(h, "box");
	assert_int_equal(pthread_create(&deleting, NULL, delete_it, &deleter), 0);
	wait_for_wish(h, r.id);
	fake_gate(&h->fake, false);
	pthread_join(creating, NULL);
	pthread_join(deleting, NULL);
	assert_int_equal(creator.result, -1);
	assert_int_equal(creator.err.code, ERROR_CONFLICT);
	assert_int_equal(deleter.result, 0);
	assert_int_equal(h->fake.calls[CALL_DESTROY], 1);
	assert_gone(h, r.id);
}

static void a_delete_during_a_create_that_fails_leaves_nothing(void **state)
{
	struct harness *h = *state;
	struct racer creator = {.harness = h}, deleter = {.harness = h, .id = "box"};
	pthread_t creating, deleting;
	struct sandbox_record r;

	fake_gate(&h->fake, true);
	fake_fail(&h->fake, CALL_CREATE, true);
	h->fake.leaves_remains = true;
	assert_int_equal(pthread_create(&creating, NULL, create_box, &creator), 0);
	fake_wait_at_gate(&h->fake);
	r = find(h, "box");
	assert_int_equal(pthread_create(&deleting, NULL, delete_it, &deleter), 0);
	wait_for_wish(h, r.id);
	fake_gate(&h->fake, false);
	pthread_join(creating, NULL);
	pthread_join(deleting, NULL);
	assert_int_equal(creator.err.code, ERROR_SYSTEM);
	assert_int_equal(deleter.result, 0);
	assert_gone(h, r.id);
}

static void a_pending_sandbox_can_be_deleted_and_its_worker_finds_nothing_to_do(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record blocking[2], r;
	const struct fleet_create request = {.project_id = PROJECT};

	/* Half of the four workers may do slow work: two are held at the gate. */
	fake_gate(&h->fake, true);
	for (unsigned i = 0; i < 2; i++)
		assert_done(fleet_create(h->fleet, &h->arena, &request, &blocking[i], &err));
	assert_done(fleet_create(h->fleet, &h->arena, &request, &r, &err));
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id},
	                         SANDBOX_REASON_USER, &err));
	assert_gone(h, r.id);
	fake_gate(&h->fake, false);
	harness_drain(h);
	assert_gone(h, r.id);
	assert_int_equal(h->fake.calls[CALL_CREATE], 2);
}

/* ---- holds ---- */

static void a_held_sandbox_is_found_by_id_and_name_without_the_store(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h), held;
	struct fleet_hold by_id = {0}, by_name = {0};

	assert_done(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &held,
	                       &by_id, &err));
	assert_string_equal(held.name, r.name);
	assert_string_equal(held.env_json, "{}");
	assert_done(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.name}, &held,
	                       &by_name, &err));
	assert_string_equal(by_name.id, r.id);
	assert_ptr_equal(by_id.provider, &h->fake);
	assert_int_equal(fleet_counts_get(h->fleet).held, 2);
	fleet_unhold(&by_id);
	fleet_unhold(&by_id);
	fleet_unhold(&by_name);
	fleet_unhold(NULL);
	assert_int_equal(fleet_counts_get(h->fleet).held, 0);
	assert_int_equal(fleet_counts_get(h->fleet).execs, 2);
}

static void a_hold_after_a_restart_reads_the_store_once(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h), held;
	struct fleet_hold hold = {0};

	harness_restart(h);
	assert_done(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.name}, &held,
	                       &hold, &err));
	assert_string_equal(held.id, r.id);
	fleet_unhold(&hold);
}

static void what_is_not_started_is_refused_with_what_to_do(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h), held;
	struct fleet_hold hold = {0};

	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
	assert_refused(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &held,
	                          &hold, &err),
	               ERROR_CONFLICT);
	assert_non_null(strstr(err.hint, "start it"));
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id},
	                         SANDBOX_REASON_USER, &err));
	assert_refused(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &held,
	                          &hold, &err),
	               ERROR_NOT_FOUND);
	assert_refused(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, "nothing"},
	                          &held, &hold, &err),
	               ERROR_NOT_FOUND);
	assert_int_equal(fleet_counts_get(h->fleet).held, 0);
}

static void a_hold_is_no_obstacle_to_a_delete_by_its_owner(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h), held;
	struct fleet_hold hold = {0}, late = {0};

	assert_done(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &held,
	                       &hold, &err));
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id},
	                         SANDBOX_REASON_USER, &err));
	assert_refused(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &held,
	                          &late, &err),
	               ERROR_NOT_FOUND);
	fleet_unhold(&hold);
	assert_gone(h, r.id);
}

struct user {
	struct harness *harness;
	const char *id;
	atomic_bool *is_over;
	unsigned held;
};

static void *use_it(void *argument)
{
	struct user *u = argument;

	while (!atomic_load(u->is_over)) {
		AUTO(arena_done) struct arena arena = {0};
		struct error err = {0};
		struct sandbox_record r;
		struct fleet_hold hold = {0};
		struct fleet_defaults defaults;

		if (fleet_hold(u->harness->fleet, &arena, &(struct fleet_ref){PROJECT, u->id}, &r,
		               &hold, &err) < 0)
			continue;
		if (fleet_defaults(u->harness->fleet, &arena, &r, NULL, &defaults, &err) == 0)
			u->held++;
		fleet_unhold(&hold);
	}
	return NULL;
}

static void users_and_movers_get_along(void **state)
{
	enum { USERS = 4 };
	struct harness *h = *state;
	struct sandbox_record r = create(h);
	atomic_bool is_over = false;
	struct user users[USERS];
	pthread_t threads[USERS];

	for (unsigned i = 0; i < USERS; i++) {
		users[i] = (struct user){h, i % 2 ? r.id : r.name, &is_over, 0};
		assert_int_equal(pthread_create(&threads[i], NULL, use_it, &users[i]), 0);
	}
	for (unsigned i = 0; i < 30; i++) {
		struct error err = {0};

		assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r,
		                       &err));
		assert_done(fleet_start(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r,
		                        &err));
	}
	atomic_store(&is_over, true);
	for (unsigned i = 0; i < USERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(fleet_counts_get(h->fleet).held, 0);
}

/* ---- defaults ---- */

static const char *value_of(const struct fleet_defaults *d, const char *key)
{
	size_t size = strlen(key);
	const char *found = NULL;

	for (const char **item = d->env; *item; item++) {
		if (strncmp(*item, key, size) == 0 && (*item)[size] == '=') {
			assert_null(found); /* each key once */
			found = *item + size + 1;
		}
	}
	return found;
}

static void the_environment_is_the_rows_over_the_templates_and_the_calls_over_both(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct json_pair row[] = {{"B", "row"}, {"C", "row"}},
	                 call[] = {{"C", "call"}, {"D", "call"}};
	const struct template_record t = {.id = "t1",
	                                  .project_id = "",
	                                  .name = "mine",
	                                  .folder = "mine",
	                                  .env_json = "{\"A\":\"t\",\"B\":\"t\",\"C\":\"t\"}",
	                                  .user = "me",
	                                  .workdir = "/work",
	                                  .state = TEMPLATE_READY};
	const struct json_map extra = {call, 2, true};
	struct fleet_defaults d;
	struct sandbox_record r;

	assert_done(store_template_insert(h->store, &t, &err));
	r = create_with(h, (struct fleet_create){.template = "mine", .env = {row, 2, true}});
	for (unsigned i = 0; i < 2; i++) { /* worked out, then remembered */
		assert_done(fleet_defaults(h->fleet, &h->arena, &r, &extra, &d, &err));
		assert_string_equal(d.user, "me");
		assert_string_equal(d.workdir, "/work");
		assert_string_equal(value_of(&d, "ATOLL_PROJECT_DIR"), "/work");
		assert_string_equal(value_of(&d, "A"), "t");
		assert_string_equal(value_of(&d, "B"), "row");
		assert_string_equal(value_of(&d, "C"), "call");
		assert_string_equal(value_of(&d, "D"), "call");
		assert_done(fleet_defaults(h->fleet, &h->arena, &r, NULL, &d, &err));
		assert_string_equal(value_of(&d, "C"), "row");
		assert_null(value_of(&d, "D"));
	}
}

static void a_sandbox_without_isolation_has_no_folder_or_user_of_the_template(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	const struct template_record t = {.id = "t1",
	                                  .project_id = "",
	                                  .name = "mine",
	                                  .folder = "mine",
	                                  .env_json = "{\"A\":\"t\"}",
	                                  .user = "me",
	                                  .workdir = "/work",
	                                  .state = TEMPLATE_READY};
	struct fleet_defaults d;
	struct sandbox_record r;

	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_ISOLATE;
	assert_done(store_template_insert(h->store, &t, &err));
	r = create_with(h, (struct fleet_create){.template = "mine"});
	assert_done(fleet_defaults(h->fleet, &h->arena, &r, NULL, &d, &err));
	assert_string_equal(d.user, "");
	assert_string_equal(d.workdir, "");
	assert_null(value_of(&d, "ATOLL_PROJECT_DIR"));
	assert_string_equal(value_of(&d, "A"), "t");
}

static void bad_variables_of_a_call_are_refused(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);
	struct json_pair bad[] = {{"1A", "x"}};
	const struct json_map extra = {bad, 1, true};
	struct fleet_defaults d;

	assert_refused(fleet_defaults(h->fleet, &h->arena, &r, &extra, &d, &err), ERROR_INVALID);
}

static void stats_are_the_providers(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);
	struct provider_stats stats;

	assert_done(fleet_stats(h->fleet, &r, &stats, &err));
	assert_int_equal(stats.pids, 3);
	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_STATS;
	assert_refused(fleet_stats(h->fleet, &r, &stats, &err), ERROR_UNSUPPORTED);
}

int main(void)
{
	return RUN_EACH(
	        EACH(a_stopped_sandbox_keeps_its_files_and_starts_again),
	        EACH(stopping_the_stopped_and_starting_the_started_change_nothing),
	        EACH(a_stop_that_fails_leaves_it_started),
	        EACH(a_start_that_fails_leaves_it_stopped_with_its_files),
	        EACH(a_provider_that_cannot_stop_says_so),
	        EACH(a_timeout_that_has_passed_is_dropped_by_a_start),
	        EACH(a_deleted_sandbox_is_gone_from_everywhere),
	        EACH(nobody_reaches_a_sandbox_of_another_project),
	        EACH(a_delete_that_fails_is_told_and_carried_out_later),
	        EACH(of_many_deleters_one_acts_and_none_fails),
	        EACH(a_delete_during_create_is_carried_out_by_the_creator),
	        EACH(a_delete_during_a_create_that_fails_leaves_nothing),
	        EACH(a_pending_sandbox_can_be_deleted_and_its_worker_finds_nothing_to_do),
	        EACH(a_held_sandbox_is_found_by_id_and_name_without_the_store),
	        EACH(a_hold_after_a_restart_reads_the_store_once),
	        EACH(what_is_not_started_is_refused_with_what_to_do),
	        EACH(a_hold_is_no_obstacle_to_a_delete_by_its_owner),
	        EACH(users_and_movers_get_along),
	        EACH(the_environment_is_the_rows_over_the_templates_and_the_calls_over_both),
	        EACH(a_sandbox_without_isolation_has_no_folder_or_user_of_the_template),
	        EACH(bad_variables_of_a_call_are_refused), EACH(stats_are_the_providers));
}
