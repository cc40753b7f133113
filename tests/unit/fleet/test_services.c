/* SPDX-License-Identifier: Apache-2.0 */
/* What a service is to be is a row; when its agent is told of it, again and no more. How the agent
 * keeps one running is agent/test_services. */
#include "harness.h"
#include "json/json.h"
#include "store/sandbox_record.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/sandbox/services.h"
#include "fleet/server/fleet.h"

#define BOX ((struct fleet_ref){PROJECT, "box"})

static struct sandbox_record create_box(struct harness *h)
{
	return create_with(h, (struct fleet_create){.name = "box", .persistent = true});
}

static struct fleet_service_view put_command(struct harness *h, const char *name,
                                             const char *command)
{
	const struct fleet_service service = {.name = name, .command = command};
	struct fleet_service_view view;
	struct error err = {0};

	assert_done(fleet_service_put(h->fleet, &h->arena, &BOX, &service, &view, &err));
	return view;
}

static int act_on(struct harness *h, const char *name, enum fleet_service_verb verb,
                  struct error *err)
{
	const struct fleet_service_ref ref = {PROJECT, "box", name};
	struct fleet_service_view view;

	*err = (struct error){0};
	return fleet_service_do(h->fleet, &h->arena, &ref, verb, &view, err);
}

static const char *state_of(struct harness *h, const char *name)
{
	const struct fleet_service_ref ref = {PROJECT, "box", name};
	struct fleet_service_view view;
	struct error err = {0};

	assert_done(fleet_service_find(h->fleet, &h->arena, &ref, &view, &err));
	return view.state;
}

static void stop_box(struct harness *h)
{
	struct error err = {0};
	struct sandbox_record r;

	assert_done(fleet_stop(h->fleet, &h->arena, &BOX, &r, &err));
}

static void start_box(struct harness *h)
{
	struct error err = {0};
	struct sandbox_record r;

	assert_done(fleet_start(h->fleet, &h->arena, &BOX, &r, &err));
	assert_int_equal(r.actual, SANDBOX_STARTED);
}

static bool has(const char *const *list, const char *wanted)
{
	for (; *list; list++)
		if (strcmp(*list, wanted) == 0)
			return true;
	return false;
}

static void it_is_told_with_its_words_environment_and_rules(void **state)
{
	static const char *const words[] = {"/bin/server", "two words", NULL};
	static struct json_pair pairs[] = {{"KEY", "value"}};
	const struct json_map env = {pairs, 1, true};
	const struct fleet_service service = {.name = "web",
	                                      .args = words,
	                                      .cwd = "app",
	                                      .user = "1000",
	                                      .env = &env,
	                                      .restart = SERVICE_RESTART_ON_FAILURE,
	                                      .failures_max = 3};
	struct harness *h = *state;
	const struct agent_service *told = &h->fake.services[0];
	struct fleet_service_view view;
	struct error err = {0};

	create_box(h);
	assert_done(fleet_service_put(h->fleet, &h->arena, &BOX, &service, &view, &err));
	assert_string_equal(view.state, "running");
	assert_true(view.record.is_told);
	assert_int_equal(h->fake.services_told, 1);
	assert_string_equal(told->name, "web");
	assert_string_equal(told->args[0], "/bin/server");
	assert_string_equal(told->args[1], "two words");
	assert_null(told->args[2]);
	assert_string_equal(told->user, "1000");
	assert_string_equal(told->cwd + strlen(told->cwd) - 4, "/app");
	assert_true(has(told->env, "KEY=value"));
	assert_int_equal(told->wish, AGENT_SERVICE_RUN);
	assert_int_equal(told->restart, AGENT_SERVICE_ON_FAILURE);
	assert_int_equal(told->failures_max, 3);
	assert_int_equal(told->delay_ms, FLEET_SERVICE_DELAY_MS);
	assert_int_equal(told->stop_ms, FLEET_SERVICE_STOP_MS);
}

static void what_is_said_again_is_not_told_and_a_change_is(void **state)
{
	struct harness *h = *state;
	int64_t first;

	create_box(h);
	first = put_command(h, "web", "serve").record.generation;
	assert_int_equal(put_command(h, "web", "serve").record.generation, first);
	assert_int_equal(h->fake.services_told, 1);
	assert_true(put_command(h, "web", "serve --more").record.generation > first);
	assert_int_equal(h->fake.services_told, 2);
	assert_int_equal(h->fake.service_count, 1);
	harness_restart(h);
	fleet_tick(h->fleet);
	assert_int_equal(h->fake.services_told, 2);
	assert_string_equal(state_of(h, "web"), "running");
}

static void every_start_starts_those_that_are_to_run(void **state)
{
	struct harness *h = *state;
	struct error err;

	create_box(h);
	put_command(h, "web", "serve");
	put_command(h, "idle", "rest");
	assert_done(act_on(h, "idle", FLEET_SERVICE_STOP, &err));
	assert_string_equal(state_of(h, "idle"), "stopped");
	stop_box(h);
	assert_string_equal(state_of(h, "web"), "down");
	h->fake.services_told = 0;
	start_box(h);
	assert_int_equal(h->fake.services_told, 1);
	assert_int_equal(h->fake.service_count, 1);
	assert_string_equal(h->fake.services[0].name, "web");
	assert_string_equal(state_of(h, "web"), "running");
	assert_string_equal(state_of(h, "idle"), "stopped");
}

/* Nothing of a service ends with a pause, so nothing has to be started after it. */
static void a_resume_finds_them_running_and_tells_nothing(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	create_box(h);
	put_command(h, "web", "serve");
	assert_done(fleet_pause(h->fleet, &h->arena, &BOX, &r, &err));
	assert_string_equal(state_of(h, "web"), "paused");
	assert_done(fleet_resume(h->fleet, &h->arena, &BOX, &r, &err));
	assert_string_equal(state_of(h, "web"), "running");
	assert_int_equal(h->fake.services_told, 1);
}

static void one_that_is_paused_is_woken_for_a_new_one(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	create_box(h);
	assert_done(fleet_pause(h->fleet, &h->arena, &BOX, &r, &err));
	assert_string_equal(put_command(h, "web", "serve").state, "running");
	assert_int_equal(find(h, "box").actual, SANDBOX_STARTED);
}

/* Its host went down while it was paused or ran: what it had in memory is lost, its services are
 * not. */
static void a_sandbox_whose_memory_was_lost_has_them_again_when_it_is_started(void **state)
{
	char *const before[] = {fake_running, fake_paused};
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create_box(h);

	put_command(h, "web", "serve");
	for (size_t i = 0; i < COUNT_OF(before); i++) {
		if (before[i] == fake_paused)
			assert_done(fleet_pause(h->fleet, &h->arena, &BOX, &r, &err));
		fake_set(&h->fake, r.id, fake_files);
		harness_restart(h);
		assert_int_equal(find(h, "box").actual, SANDBOX_STOPPED);
		assert_int_equal(h->fake.service_count, 0);
		start_box(h);
		assert_int_equal(h->fake.service_count, 1);
		assert_string_equal(state_of(h, "web"), "running");
	}
}

static void one_that_the_agent_did_not_hear_of_is_told_by_the_tick(void **state)
{
	const struct fleet_service service = {.name = "web", .command = "serve"};
	struct harness *h = *state;
	struct fleet_service_view view;
	struct error err = {0};

	create_box(h);
	h->fake.services_fail = ERROR_UNAVAILABLE;
	assert_refused(fleet_service_put(h->fleet, &h->arena, &BOX, &service, &view, &err),
	               ERROR_UNAVAILABLE);
	assert_string_equal(state_of(h, "web"), "starting");
	fleet_tick(h->fleet);
	assert_int_equal(h->fake.service_count, 0);
	h->fake.services_fail = ERROR_NONE;
	harness_restart(h);
	fleet_tick(h->fleet);
	assert_string_equal(state_of(h, "web"), "running");
	assert_int_equal(h->fake.service_count, 1);
}

static void one_that_the_agent_refuses_for_good_is_not_kept(void **state)
{
	static const enum error_code codes[] = {ERROR_LIMIT, ERROR_INVALID, ERROR_UNSUPPORTED};
	const struct fleet_service service = {.name = "web", .command = "serve"};
	struct harness *h = *state;
	struct fleet_service_views views;
	struct fleet_service_view view;
	struct error err = {0};

	create_box(h);
	for (size_t i = 0; i < COUNT_OF(codes); i++) {
		h->fake.services_fail = codes[i];
		assert_refused(fleet_service_put(h->fleet, &h->arena, &BOX, &service, &view, &err),
		               codes[i]);
		assert_done(fleet_services(h->fleet, &h->arena, &BOX, &views, &err));
		assert_int_equal(views.count, 0);
	}
}

static void what_is_removed_is_gone_once_the_agent_has_heard_it(void **state)
{
	struct harness *h = *state;
	struct fleet_service_views views;
	struct error err;

	create_box(h);
	put_command(h, "web", "serve");
	h->fake.services_fail = ERROR_UNAVAILABLE;
	assert_refused(act_on(h, "web", FLEET_SERVICE_REMOVE, &err), ERROR_UNAVAILABLE);
	err = (struct error){0};
	assert_done(fleet_services(h->fleet, &h->arena, &BOX, &views, &err));
	assert_int_equal(views.count, 0); /* nobody sees it any more, but it runs */
	assert_int_equal(h->fake.service_count, 1);
	h->fake.services_fail = ERROR_NONE;
	fleet_tick(h->fleet);
	assert_int_equal(h->fake.service_count, 0);
	stop_box(h);
	start_box(h);
	assert_int_equal(h->fake.service_count, 0);
}

static void nonsense_and_too_many_are_refused_before_anybody_is_told(void **state)
{
	const struct fleet_service bad[] = {
	        {.name = "-x", .command = "a"},
	        {.name = "web"},
	        {.name = "web", .command = "", .args = (const char *const[]){NULL}},
	        {.name = "web", .command = "a", .args = (const char *const[]){"b", NULL}},
	        {.name = "web", .command = "a", .delay_ms = FLEET_SERVICE_DELAY_MAX_MS + 1},
	        {.name = "web", .command = "a", .stop_ms = -1},
	        {.name = "web", .command = "a", .failures_max = FLEET_SERVICE_FAILURES_MAX + 1},
	};
	const struct fleet_service more = {.name = "more", .command = "a"};
	struct harness *h = *state;
	struct fleet_service_view view;
	struct error err;

	create_box(h);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_refused(fleet_service_put(h->fleet, &h->arena, &BOX, &bad[i], &view, &err),
		               ERROR_INVALID);
	assert_refused(act_on(h, "web", FLEET_SERVICE_STOP, &err), ERROR_NOT_FOUND);
	assert_int_equal(h->fake.services_told, 0);
	for (int i = 0; i < FLEET_SERVICES_MAX; i++)
		put_command(h, arena_format(&h->arena, "s%d", i), "a");
	assert_refused(fleet_service_put(h->fleet, &h->arena, &BOX, &more, &view, &err),
	               ERROR_LIMIT);
}

int main(void)
{
	return RUN_EACH(EACH(it_is_told_with_its_words_environment_and_rules),
	                EACH(what_is_said_again_is_not_told_and_a_change_is),
	                EACH(every_start_starts_those_that_are_to_run),
	                EACH(a_resume_finds_them_running_and_tells_nothing),
	                EACH(one_that_is_paused_is_woken_for_a_new_one),
	                EACH(a_sandbox_whose_memory_was_lost_has_them_again_when_it_is_started),
	                EACH(one_that_the_agent_did_not_hear_of_is_told_by_the_tick),
	                EACH(one_that_the_agent_refuses_for_good_is_not_kept),
	                EACH(what_is_removed_is_gone_once_the_agent_has_heard_it),
	                EACH(nonsense_and_too_many_are_refused_before_anybody_is_told));
}
