/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/server/projects.h"
#include "harness.h"
#include "store/projects.h"
#include "store/sandbox_record.h"

#define DOOMED "dddddddddddddddddddd"

static int with_project(void **state)
{
	const struct project_record doomed = {.id = DOOMED, .name = "doomed", .created_at = 1};
	struct error err = {0};
	struct harness *h;

	if (harness_open(state) < 0)
		return -1;
	h = *state;
	return store_project_insert(h->store, &doomed, &err);
}
#define DOOM(name) cmocka_unit_test_setup_teardown(name, with_project, harness_close)

static struct sandbox_record create_doomed(struct harness *h, const char *name)
{
	const struct fleet_create request = {
	        .project_id = DOOMED, .name = name, .internet = -1, .wait = true};
	struct error err = {0};
	struct sandbox_record r = {0};

	assert_done(fleet_create(h->fleet, &h->arena, &request, &r, &err));
	return r;
}

static void assert_project_gone(struct harness *h)
{
	struct error err = {0};
	struct project_record project;

	assert_refused(store_project_find(h->store, &h->arena, DOOMED, &project, &err),
	               ERROR_NOT_FOUND);
}

static void a_project_goes_with_its_sandboxes_and_leaves_others_alone(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record other = create(h);
	struct sandbox_record a = create_doomed(h, "a"), b = create_doomed(h, "b");

	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){DOOMED, "b"}, &b, &err));
	assert_refused(fleet_project_remove(h->fleet, DOOMED, false, &err), ERROR_CONFLICT);
	assert_string_equal(fake_has(&h->fake, a.id), "running");
	assert_done(fleet_project_remove(h->fleet, DOOMED, true, &err));
	assert_project_gone(h);
	assert_string_equal(fake_has(&h->fake, a.id), "nothing");
	assert_string_equal(fake_has(&h->fake, b.id), "nothing");
	assert_string_equal(fake_has(&h->fake, other.id), "running");
	assert_refused(fleet_project_remove(h->fleet, DOOMED, true, &err), ERROR_NOT_FOUND);
}

static void a_delete_that_failed_half_way_is_finished_after_a_restart(void **state)
{
	struct harness *h = *state;
	const struct fleet_create late = {.project_id = DOOMED, .internet = -1, .wait = true};
	struct error err = {0};
	struct sandbox_record a = create_doomed(h, "a"), r;

	fake_fail(&h->fake, CALL_DESTROY, true);
	assert_int_equal(fleet_project_remove(h->fleet, DOOMED, true, &err), -1);
	/* It is closed from then on. */
	assert_refused(fleet_create(h->fleet, &h->arena, &late, &r, &err), ERROR_CONFLICT);
	fake_fail(&h->fake, CALL_DESTROY, false);
	harness_restart(h);
	assert_project_gone(h);
	assert_string_equal(fake_has(&h->fake, a.id), "nothing");
}

static void what_the_project_says_comes_before_the_platform(void **state)
{
	struct harness *h = *state;
	const struct project_record frugal = {.id = "frugal",
	                                      .name = "frugal",
	                                      .maximums = {.memory_mb = 99},
	                                      .timeouts = {.idle_reap_ms = 5, .lifetime_max_ms = 6},
	                                      .created_at = 1};
	struct fleet_create request = {.project_id = "frugal",
	                               .internet = -1,
	                               .wait = true,
	                               .resources = {.memory_mb = 4096}};
	struct error err = {0};
	struct sandbox_record r;

	assert_done(store_project_insert(h->store, &frugal, &err));
	assert_done(fleet_create(h->fleet, &h->arena, &request, &r, &err));
	assert_int_equal(r.resources.memory_mb, 99);
	assert_int_equal(r.timeouts.idle_reap_ms, 5);
	assert_int_equal(r.timeouts.lifetime_max_ms, 6);
	request.timeouts.idle_reap_ms = 7;
	request.timeouts.lifetime_max_ms = 8;
	assert_done(fleet_create(h->fleet, &h->arena, &request, &r, &err));
	assert_int_equal(r.timeouts.idle_reap_ms, 7);
	assert_int_equal(r.timeouts.lifetime_max_ms, 8);
}

int main(void)
{
	return RUN_EACH(DOOM(a_project_goes_with_its_sandboxes_and_leaves_others_alone),
	                DOOM(a_delete_that_failed_half_way_is_finished_after_a_restart),
	                DOOM(what_the_project_says_comes_before_the_platform));
}
