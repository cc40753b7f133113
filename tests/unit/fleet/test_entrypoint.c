/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/server/fleet.h"
#include "fleet/template/recipe.h"
#include "harness.h"
#include "json/json.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"
#include "store/templates.h"

#define SERVER ((struct fleet_ref){PROJECT, "server"})
#define BOX ((struct fleet_ref){PROJECT, "box"})

static const char *const words[] = {"/bin/server", "--port \"1\"", NULL};
static struct json_pair server_env[] = {{"MODE", "template"}, {"KEPT", "yes"}};
static struct json_pair box_env[] = {{"MODE", "sandbox"}};

static void derive(struct harness *h, const char *const *entrypoint)
{
	const struct fleet_recipe recipe = {
	        .user = "1000",
	        .workdir = "/srv",
	        .env = {server_env, 2, true},
	        .entrypoint = entrypoint,
	};
	const struct fleet_derive request = {PROJECT, "server", "host", &recipe};
	struct error err = {0};
	struct template_record t;

	assert_done(fleet_template_derive(h->fleet, &h->arena, &request, &t, &err));
}

static struct sandbox_record create_box(struct harness *h)
{
	return create_with(h, (struct fleet_create){.name = "box",
	                                            .template = "server",
	                                            .env = {box_env, 1, true},
	                                            .persistent = true});
}

static bool has(const char *const *list, const char *wanted)
{
	for (; *list; list++)
		if (strcmp(*list, wanted) == 0)
			return true;
	return false;
}

static void a_sandbox_of_a_template_with_none_is_sent_nothing(void **state)
{
	struct harness *h = *state;

	create(h);
	assert_int_equal(h->fake.execs, 0);
}

static void an_empty_list_of_words_is_none(void **state)
{
	struct harness *h = *state;
	static const char *const no_words[] = {NULL};

	derive(h, no_words);
	create_box(h);
	assert_int_equal(h->fake.execs, 0);
}

static void it_is_started_with_the_sandboxs_user_folder_and_environment(void **state)
{
	struct harness *h = *state;
	const struct agent_exec *exec = &h->fake.exec;

	derive(h, words);
	assert_int_equal(create_box(h).actual, SANDBOX_STARTED);
	assert_int_equal(h->fake.execs, 1);
	assert_string_equal(exec->args[0], "/bin/server");
	assert_string_equal(exec->args[1], "--port \"1\"");
	assert_null(exec->args[2]);
	assert_string_equal(exec->user, "1000");
	assert_string_equal(exec->cwd, "/srv");
	assert_string_equal(exec->label, "entrypoint");
	assert_true(has(exec->env, "MODE=sandbox") && has(exec->env, "KEPT=yes"));
	assert_false(has(exec->env, "MODE=template"));
	assert_int_equal(exec->flags, AGENT_EXEC_DETACH | AGENT_EXEC_RESIDENT);
	assert_int_equal(exec->timeout_ms, 0);
}

static void without_isolation_user_and_folder_are_the_agents(void **state)
{
	struct harness *h = *state;

	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_ISOLATE;
	derive(h, words);
	create_box(h);
	assert_string_equal(h->fake.exec.user, "");
	assert_string_equal(h->fake.exec.cwd, "");
}

static void every_start_starts_it_and_a_restart_of_the_server_does_not(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	derive(h, words);
	create_box(h);
	assert_done(fleet_stop(h->fleet, &h->arena, &BOX, &r, &err));
	assert_int_equal(h->fake.execs, 1);
	assert_done(fleet_start(h->fleet, &h->arena, &BOX, &r, &err));
	assert_int_equal(h->fake.execs, 2);
	assert_done(fleet_start(h->fleet, &h->arena, &BOX, &r, &err)); /* it is started */
	harness_restart(h);
	fleet_tick(h->fleet);
	assert_int_equal(find(h, "box").actual, SANDBOX_STARTED);
	assert_int_equal(h->fake.execs, 2);
}

static void without_waiting_it_is_started_too(void **state)
{
	struct harness *h = *state;
	const struct fleet_create later = {.project_id = PROJECT, .template = "server"};
	struct error err = {0};
	struct sandbox_record r;

	derive(h, words);
	assert_done(fleet_create(h->fleet, &h->arena, &later, &r, &err));
	harness_drain(h);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	assert_int_equal(h->fake.execs, 1);
}

/* The sandbox is there, its program is not: the caller's request and key are fine. */
static void one_that_cannot_be_started_fails_the_create_by_name(void **state)
{
	struct harness *h = *state;
	const struct fleet_create request = {
	        .project_id = PROJECT, .name = "box", .template = "server", .wait = true};
	const enum error_code answers[] = {ERROR_NOT_FOUND, ERROR_FORBIDDEN, ERROR_INVALID};

	derive(h, words);
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		struct error err = {0};
		struct sandbox_record r;

		h->fake.exec_fails = answers[i];
		assert_refused(fleet_create(h->fleet, &h->arena, &request, &r, &err),
		               ERROR_CONFLICT);
		assert_non_null(strstr(err.text, "entrypoint '/bin/server'"));
		assert_non_null(strstr(err.text, "on purpose"));
		assert_non_null(strstr(err.hint, "'server'"));
		r = find(h, "box");
		assert_int_equal(r.actual, SANDBOX_FAILED);
		assert_non_null(strstr(r.last_event, "entrypoint '/bin/server'"));
		assert_string_equal(fake_has(&h->fake, r.id), "nothing");
		assert_int_equal(fleet_counts_get(h->fleet).create_failed, i + 1);
		assert_done(fleet_delete(h->fleet, &h->arena, &BOX, SANDBOX_REASON_USER, &err));
	}
}

static void a_fault_of_the_agent_stays_one(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	derive(h, words);
	h->fake.exec_fails = ERROR_LIMIT;
	assert_refused(fleet_create(h->fleet, &h->arena,
	                            &(struct fleet_create){.project_id = PROJECT,
	                                                   .template = "server",
	                                                   .wait = true},
	                            &r, &err),
	               ERROR_LIMIT);
}

static void one_that_cannot_be_started_again_leaves_the_sandbox_stopped(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	derive(h, words);
	create_box(h);
	assert_done(fleet_stop(h->fleet, &h->arena, &BOX, &r, &err));
	h->fake.exec_fails = ERROR_NOT_FOUND;
	assert_refused(fleet_start(h->fleet, &h->arena, &BOX, &r, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "entrypoint '/bin/server'"));
	r = find(h, "box");
	assert_int_equal(r.actual, SANDBOX_STOPPED);
	assert_int_equal(r.desired, SANDBOX_STOPPED);
	assert_non_null(strstr(r.last_event, "entrypoint '/bin/server'"));
	assert_string_equal(fake_has(&h->fake, r.id), "files");
	h->fake.exec_fails = ERROR_NONE;
	err = (struct error){0};
	assert_done(fleet_start(h->fleet, &h->arena, &BOX, &r, &err));
	assert_int_equal(r.actual, SANDBOX_STARTED);
}

static void a_provider_that_runs_no_commands_cannot_start_it(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;

	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_EXEC;
	derive(h, words);
	assert_refused(fleet_create(h->fleet, &h->arena,
	                            &(struct fleet_create){.project_id = PROJECT,
	                                                   .name = "box",
	                                                   .template = "server",
	                                                   .wait = true},
	                            &r, &err),
	               ERROR_UNSUPPORTED);
	assert_string_equal(fake_has(&h->fake, find(h, "box").id), "nothing");
}

static void a_change_is_for_the_next_start(void **state)
{
	struct harness *h = *state;
	static const char *const others[] = {"/bin/other", NULL};
	const struct fleet_recipe change = {.entrypoint = others};
	struct error err = {0};
	struct template_record t;
	struct sandbox_record r;

	derive(h, words);
	create_box(h);
	assert_done(fleet_template_change(h->fleet, &h->arena, &SERVER, &change, &t, &err));
	assert_int_equal(h->fake.execs, 1);
	assert_done(fleet_stop(h->fleet, &h->arena, &BOX, &r, &err));
	assert_done(fleet_start(h->fleet, &h->arena, &BOX, &r, &err));
	assert_string_equal(h->fake.exec.args[0], "/bin/other");
}

int main(void)
{
	return RUN_EACH(EACH(a_sandbox_of_a_template_with_none_is_sent_nothing),
	                EACH(an_empty_list_of_words_is_none),
	                EACH(it_is_started_with_the_sandboxs_user_folder_and_environment),
	                EACH(without_isolation_user_and_folder_are_the_agents),
	                EACH(every_start_starts_it_and_a_restart_of_the_server_does_not),
	                EACH(without_waiting_it_is_started_too),
	                EACH(one_that_cannot_be_started_fails_the_create_by_name),
	                EACH(a_fault_of_the_agent_stays_one),
	                EACH(one_that_cannot_be_started_again_leaves_the_sandbox_stopped),
	                EACH(a_provider_that_runs_no_commands_cannot_start_it),
	                EACH(a_change_is_for_the_next_start));
}
