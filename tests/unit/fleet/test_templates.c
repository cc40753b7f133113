/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/sandboxes.h"
#include "fleet/template/templates.h"
#include "harness.h"
#include "store/sandbox_record.h"
#include "store/templates.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/template/import.h"
#include "fleet/template/recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct template_record find_template(struct harness *h, const char *name)
{
	struct error err = {0};
	struct template_record t = {0};

	assert_done(store_template_find(h->store, &h->arena, PROJECT, name, &t, &err));
	return t;
}

static void default_templates_are_seeded_once(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct template_list list;
	unsigned added = 99;

	assert_done(fleet_templates_seed(h->fleet, &added, &err));
	assert_int_equal(added, 0);
	assert_done(store_template_list(h->store, &h->arena, PROJECT, &list, &err));
	assert_true(list.count >= 2);
	assert_int_equal(find_template(h, "host").state, TEMPLATE_READY);
	assert_int_equal(find_template(h, "base").state, TEMPLATE_PENDING);
	assert_int_equal(find_template(h, "base").ports_json[0], '[');
}

static void a_seed_that_was_removed_comes_back(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	unsigned added = 0;

	assert_done(fleet_template_remove(h->fleet, "", "base", &err));
	assert_done(fleet_templates_seed(h->fleet, &added, &err));
	assert_int_equal(added, 1);
}

static void base_is_built_by_the_first_who_wants_it(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_with(h, (struct fleet_create){.template = "base"});

	assert_int_equal(r.actual, SANDBOX_STARTED);
	assert_true(r.privileges);
	assert_int_equal(find_template(h, "base").state, TEMPLATE_READY);
	assert_int_equal(find_template(h, "minimal").state, TEMPLATE_READY);
	create_with(h, (struct fleet_create){.template = "base"});
	assert_int_equal(h->fake.calls[CALL_TEMPLATE], 2); /* minimal, then base */
}

static void *create_from_base(void *argument)
{
	struct harness *h = argument;
	AUTO(arena_done) struct arena arena = {0};
	const struct fleet_create request = {
	        .project_id = PROJECT, .template = "base", .wait = true};
	struct sandbox_record r;
	struct error err = {0};

	return fleet_create(h->fleet, &arena, &request, &r, &err) < 0 ? argument : NULL;
}

static void many_who_want_it_wait_for_one_build(void **state)
{
	enum { THREADS = 6 };
	struct harness *h = *state;
	pthread_t threads[THREADS];

	fake_gate(&h->fake, true);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, create_from_base, h), 0);
	fake_wait_at_gate(&h->fake);
	fake_gate(&h->fake, false);
	for (unsigned i = 0; i < THREADS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(h->fake.calls[CALL_TEMPLATE], 2); /* minimal, then base */
	assert_int_equal(h->fake.calls[CALL_CREATE], THREADS);
}

static void one_who_waits_for_a_build_can_be_deleted(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	const struct fleet_create request = {.project_id = PROJECT, .template = "base"};
	struct sandbox_record r;

	fake_gate(&h->fake, true);
	assert_done(fleet_create(h->fleet, &h->arena, &request, &r, &err));
	fake_wait_at_gate(&h->fake);
	assert_non_null(strstr(find(h, r.id).last_event, "template"));
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id},
	                         SANDBOX_REASON_USER, &err));
	fake_gate(&h->fake, false);
	harness_drain(h);
	assert_gone(h, r.id);
	assert_int_equal(h->fake.calls[CALL_CREATE], 0);
}

static void a_build_that_fails_is_told_and_not_repeated_at_once(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	const struct fleet_create request = {
	        .project_id = PROJECT, .template = "base", .name = "box", .wait = true};
	struct sandbox_record r;
	struct template_record t;

	fake_fail(&h->fake, CALL_TEMPLATE, true);
	assert_refused(fleet_create(h->fleet, &h->arena, &request, &r, &err), ERROR_SYSTEM);
	t = find_template(h, "base");
	assert_int_equal(t.state, TEMPLATE_FAILED);
	assert_non_null(strstr(t.state_text, "on purpose"));
	/* Who waited has made no row: the name is free. */
	assert_refused(
	        fleet_find(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, "box"}, &r, &err),
	        ERROR_NOT_FOUND);
	assert_refused(fleet_create(h->fleet, &h->arena, &request, &r, &err), ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "on purpose"));
	assert_int_equal(h->fake.calls[CALL_TEMPLATE], 1);
}

static void a_build_that_runs_is_waited_for_no_longer_than_asked(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct template_record t = find_template(h, "base");
	const struct template_move building = {.id = t.id,
	                                       .from = TEMPLATE_PENDING,
	                                       .to = TEMPLATE_BUILDING,
	                                       .state_text = "40 %"};

	assert_done(store_template_move(h->store, &building, &err));
	assert_refused(fleet_template_ready(h->fleet, &h->arena, &t, deadline_after(1), &err),
	               ERROR_TIMEOUT);
	assert_non_null(strstr(err.text, "40 %"));
}

static void a_build_that_a_dead_server_left_begins_again(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct template_record t = find_template(h, "base");
	const struct template_move building = {.id = t.id,
	                                       .from = TEMPLATE_PENDING,
	                                       .to = TEMPLATE_BUILDING,
	                                       .state_text = "40 %"};

	assert_done(store_template_move(h->store, &building, &err));
	harness_restart(h);
	assert_int_equal(find_template(h, "base").state, TEMPLATE_PENDING);
	create_with(h, (struct fleet_create){.template = "base"});
}

/* ---- imports ---- */

static const struct fleet_import an_import = {.project_id = PROJECT,
                                              .name = "mine",
                                              .description = "a test",
                                              .format = IMAGE_REGISTRY,
                                              .reference = "docker.io/library/alpine:3"};

static void an_import_becomes_a_template_of_its_project(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct template_record t;
	struct sandbox_record r;

	assert_done(fleet_template_import(h->fleet, &h->arena, &an_import, &t, &err));
	assert_int_equal(t.state, TEMPLATE_READY);
	assert_string_equal(t.base_image, "docker.io/library/alpine:3");
	assert_string_equal(t.folder, t.id);
	r = create_with(h, (struct fleet_create){.template = "mine"});
	assert_string_equal(r.template_id, t.id);
	assert_refused(fleet_template_import(h->fleet, &h->arena, &an_import, &t, &err),
	               ERROR_CONFLICT);
}

static void an_import_that_fails_leaves_no_template(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct template_record t;

	fake_fail(&h->fake, CALL_TEMPLATE, true);
	assert_refused(fleet_template_import(h->fleet, &h->arena, &an_import, &t, &err),
	               ERROR_SYSTEM);
	assert_non_null(strstr(err.text, "import template 'mine'"));
	assert_refused(store_template_find(h->store, &h->arena, PROJECT, "mine", &t, &err),
	               ERROR_NOT_FOUND);
	fake_fail(&h->fake, CALL_TEMPLATE, false);
	assert_done(fleet_template_import(h->fleet, &h->arena, &an_import, &t, &err));
}

static void *import_it(void *argument)
{
	struct harness *h = argument;
	AUTO(arena_done) struct arena arena = {0};
	struct template_record t;
	struct error err = {0};

	return fleet_template_import(h->fleet, &arena, &an_import, &t, &err) < 0 ? h : NULL;
}

/* What an image's folder is known by. */
static void make_folder(struct harness *h, const char *folder)
{
	const char *templates = arena_format(&h->arena, "%s/templates", h->data_dir);
	FILE *config;

	assert_int_equal(mkdir(templates, 0700), 0);
	assert_int_equal(mkdir(arena_format(&h->arena, "%s/%s", templates, folder), 0700), 0);
	config = fopen(arena_format(&h->arena, "%s/.%s.json", templates, folder), "we");
	assert_non_null(config);
	assert_true(fputs("{}", config) >= 0);
	assert_int_equal(fclose(config), 0);
}

static void remove_folder(struct harness *h, const char *folder)
{
	const char *templates = arena_format(&h->arena, "%s/templates", h->data_dir);

	assert_int_equal(unlink(arena_format(&h->arena, "%s/.%s.json", templates, folder)), 0);
	assert_int_equal(rmdir(arena_format(&h->arena, "%s/%s", templates, folder)), 0);
	assert_int_equal(rmdir(templates), 0);
	assert_int_equal(rmdir(h->data_dir), 0);
}

/* Its row goes while the folder is being made: nobody knows of that any more. */
static void an_import_that_cannot_be_recorded_leaves_no_folder(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct template_record t;
	pthread_t thread;
	void *failed;

	snprintf(h->data_dir, sizeof(h->data_dir), "/tmp/atoll-unit-XXXXXX");
	assert_non_null(mkdtemp(h->data_dir));
	fake_gate(&h->fake, true);
	assert_int_equal(pthread_create(&thread, NULL, import_it, h), 0);
	fake_wait_at_gate(&h->fake);
	t = find_template(h, "mine");
	make_folder(h, t.folder);
	assert_done(store_template_remove(h->store, PROJECT, t.id, &err));
	fake_gate(&h->fake, false);
	pthread_join(thread, &failed);
	assert_non_null(failed);
	assert_int_equal(h->fake.calls[CALL_TEMPLATE], 2);
	assert_int_equal(h->fake.template_verb, PROVIDER_TEMPLATE_REMOVE);
	remove_folder(h, t.folder);
}

/* ---- images that builds name ---- */

#define BUILDERS 4

static void *want_image(void *state)
{
	struct harness *h = state;
	AUTO(arena_done) struct arena arena = {0};
	struct template_record t = {.name = NULL};
	struct error err = {0};
	int status = fleet_template_of_image(h->fleet, &arena, &an_import, deadline_after(30000),
	                                     &t, &err);

	return (void *)(intptr_t)(status == 0 && t.state == TEMPLATE_READY);
}

static void many_who_want_an_image_at_once_import_it_once(void **state)
{
	struct harness *h = *state;
	pthread_t threads[BUILDERS];
	void *is_fine;

	for (unsigned round = 0; round < 20; round++) {
		struct error err = {0};

		for (unsigned i = 0; i < BUILDERS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, want_image, h), 0);
		for (unsigned i = 0; i < BUILDERS; i++) {
			assert_int_equal(pthread_join(threads[i], &is_fine), 0);
			assert_non_null(is_fine);
		}
		assert_int_equal(h->fake.calls[CALL_TEMPLATE], 2 * round + 1);
		assert_done(fleet_template_remove(h->fleet, PROJECT, "mine", &err));
	}
}

/* It is not there, and not in anybody's way. */
static void an_image_whose_import_fails_is_imported_by_the_next(void **state)
{
	struct harness *h = *state;
	struct template_record t;
	struct error err = {0};

	fake_fail(&h->fake, CALL_TEMPLATE, true);
	assert_refused(fleet_template_of_image(h->fleet, &h->arena, &an_import,
	                                       deadline_after(30000), &t, &err),
	               ERROR_SYSTEM);
	fake_fail(&h->fake, CALL_TEMPLATE, false);
	assert_non_null(want_image(h));
}

static void the_template_of_another_image_is_not_taken(void **state)
{
	struct harness *h = *state;
	struct fleet_import other = an_import;
	struct template_record t;
	struct error err = {0};

	assert_non_null(want_image(h));
	other.reference = "alpine:3";
	assert_done(fleet_template_of_image(h->fleet, &h->arena, &other, deadline_after(30000), &t,
	                                    &err));
	other.reference = "alpine:4";
	assert_refused(fleet_template_of_image(h->fleet, &h->arena, &other, deadline_after(30000),
	                                       &t, &err),
	               ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "of 'docker.io/library/alpine:3'"));
	/* A file, or the template itself, was named so by somebody who knows it. */
	t.base_image = "oci";
	error_clear(&err);
	assert_done(fleet_template_check_image(&t, "alpine:4", &err));
	t.base_image = "base";
	assert_done(fleet_template_check_image(&t, "mine", &err));
	assert_refused(fleet_template_check_image(&t, "mi/ne", &err), ERROR_CONFLICT);
}

static void an_import_of_nonsense_is_refused(void **state)
{
	struct harness *h = *state;
	struct fleet_import imports[3] = {an_import, an_import, an_import};

	imports[0].name = "../mine";
	imports[1].reference = "--option";
	imports[2].format = IMAGE_TAR;
	imports[2].source_fd = -1;
	for (size_t i = 0; i < COUNT_OF(imports); i++) {
		struct error err = {0};
		struct template_record t;

		assert_refused(fleet_template_import(h->fleet, &h->arena, &imports[i], &t, &err),
		               ERROR_INVALID);
	}
	assert_int_equal(h->fake.calls[CALL_TEMPLATE], 0);
}

static void a_template_is_removed_when_nobody_uses_it(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct template_record t;
	struct sandbox_record r;

	assert_done(fleet_template_import(h->fleet, &h->arena, &an_import, &t, &err));
	r = create_with(h, (struct fleet_create){.template = "mine"});
	assert_refused(fleet_template_remove(h->fleet, PROJECT, "mine", &err), ERROR_CONFLICT);
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id},
	                         SANDBOX_REASON_USER, &err));
	assert_done(fleet_template_remove(h->fleet, PROJECT, "mine", &err));
	assert_refused(fleet_create(h->fleet, &h->arena,
	                            &(struct fleet_create){.project_id = PROJECT,
	                                                   .template = "mine",
	                                                   .wait = true},
	                            &r, &err),
	               ERROR_NOT_FOUND);
}

static void everybodys_templates_are_not_a_projects_to_remove(void **state)
{
	struct harness *h = *state;
	struct error err = {0};

	assert_refused(fleet_template_remove(h->fleet, PROJECT, "host", &err), ERROR_FORBIDDEN);
	assert_refused(fleet_template_remove(h->fleet, PROJECT, "none", &err), ERROR_NOT_FOUND);
}

static const char *const server_words[] = {"/bin/server", "--port \"1\"", NULL};
static const int64_t server_ports[] = {3000, 65535};
static struct json_pair server_env[] = {{"MODE", "test"}};
static const struct sandbox_resources server_resources = {.cpu = 0.25, .memory_mb = 128};
static const struct fleet_recipe server_recipe = {
        .description = "serves",
        .user = "1000",
        .workdir = "/srv",
        .env = {server_env, 1, true},
        .entrypoint = server_words,
        .ports = server_ports,
        .port_count = 2,
        .resources = &server_resources,
};

static struct template_record derive(struct harness *h, const char *name, const char *from)
{
	const struct fleet_derive request = {PROJECT, name, from, &server_recipe};
	struct error err = {0};
	struct template_record t = {0};

	assert_done(fleet_template_derive(h->fleet, &h->arena, &request, &t, &err));
	return t;
}

static void a_recipe_goes_to_its_sandboxes(void **state)
{
	struct harness *h = *state;
	struct template_record t = derive(h, "server", "host");
	struct sandbox_record r;

	assert_string_equal(t.folder, "host");
	t = find_template(h, "server");
	assert_string_equal(t.base_image, "host");
	assert_string_equal(t.env_json, "{\"MODE\":\"test\"}");
	assert_string_equal(t.entrypoint_json, "[\"/bin/server\",\"--port \\\"1\\\"\"]");
	assert_string_equal(t.ports_json, "[3000,65535]");
	r = create_with(h, (struct fleet_create){.template = "server"});
	assert_int_equal(r.resources.memory_mb, 128);
	assert_false(r.privileges);
}

static void a_change_leaves_what_it_does_not_name(void **state)
{
	struct harness *h = *state;
	const struct fleet_recipe change = {.workdir = "/var", .ports = server_ports};
	const struct fleet_ref server = {PROJECT, "server"}, host = {PROJECT, "host"};
	struct error err = {0};
	struct template_record t;

	derive(h, "server", "host");
	create_with(h, (struct fleet_create){.template = "server"}); /* now it is cached */
	assert_done(fleet_template_change(h->fleet, &h->arena, &server, &change, &t, &err));
	t = find_template(h, "server");
	assert_string_equal(t.workdir, "/var");
	assert_string_equal(t.ports_json, "[]");
	assert_string_equal(t.user, "1000");
	assert_int_equal(t.resources.memory_mb, 128);
	assert_refused(fleet_template_change(h->fleet, &h->arena, &host, &change, &t, &err),
	               ERROR_FORBIDDEN);
}

static void bad_recipes_are_refused(void **state)
{
	struct harness *h = *state;
	static const char *const nameless[] = {"", NULL};
	static const int64_t bad_port[] = {65536};
	static struct json_pair bad_pair[] = {{"A=B", "c"}};
	static const struct sandbox_resources bad_resources = {.cpu = -1};
	const struct fleet_recipe bad[] = {
	        {.user = "two words"},        {.workdir = "relative"},
	        {.workdir = "/srv/../etc"},   {.runtime = "new\nline"},
	        {.entrypoint = nameless},     {.ports = bad_port, .port_count = 1},
	        {.env = {bad_pair, 1, true}}, {.resources = &bad_resources},
	};
	const struct fleet_recipe no_such_isolation = {.isolation = "magic"};
	struct error err;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_refused(fleet_recipe_check(h->fleet, &bad[i], &err), ERROR_INVALID);
	assert_refused(fleet_recipe_check(h->fleet, &no_such_isolation, &err), ERROR_INVALID);
}

static void a_shared_folder_goes_with_the_last_who_uses_it(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct template_record t;
	unsigned before;

	assert_done(fleet_template_import(h->fleet, &h->arena, &an_import, &t, &err));
	derive(h, "second", "mine");
	before = h->fake.calls[CALL_TEMPLATE];
	assert_done(fleet_template_remove(h->fleet, PROJECT, "mine", &err));
	assert_int_equal(h->fake.calls[CALL_TEMPLATE], before);
	create_with(h, (struct fleet_create){.template = "second"});
	derive(h, "third", "second");
	assert_refused(fleet_template_remove(h->fleet, PROJECT, "second", &err), ERROR_CONFLICT);
	assert_done(fleet_template_remove(h->fleet, PROJECT, "third", &err));
	assert_int_equal(h->fake.calls[CALL_TEMPLATE], before);
}

int main(void)
{
	return RUN_EACH(EACH(default_templates_are_seeded_once),
	                EACH(a_seed_that_was_removed_comes_back),
	                EACH(base_is_built_by_the_first_who_wants_it),
	                EACH(many_who_want_it_wait_for_one_build),
	                EACH(one_who_waits_for_a_build_can_be_deleted),
	                EACH(a_build_that_fails_is_told_and_not_repeated_at_once),
	                EACH(a_build_that_runs_is_waited_for_no_longer_than_asked),
	                EACH(a_build_that_a_dead_server_left_begins_again),
	                EACH(an_import_becomes_a_template_of_its_project),
	                EACH(an_import_that_fails_leaves_no_template),
	                EACH(an_import_that_cannot_be_recorded_leaves_no_folder),
	                EACH(many_who_want_an_image_at_once_import_it_once),
	                EACH(an_image_whose_import_fails_is_imported_by_the_next),
	                EACH(the_template_of_another_image_is_not_taken),
	                EACH(an_import_of_nonsense_is_refused),
	                EACH(a_template_is_removed_when_nobody_uses_it),
	                EACH(everybodys_templates_are_not_a_projects_to_remove),
	                EACH(a_recipe_goes_to_its_sandboxes),
	                EACH(a_change_leaves_what_it_does_not_name), EACH(bad_recipes_are_refused),
	                EACH(a_shared_folder_goes_with_the_last_who_uses_it));
}
