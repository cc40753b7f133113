/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id.h"
#include "harness.h"
#include "provider/end.h"
#include "store/backups.h"
#include "store/snapshots.h"
#include "store/sandbox_record.h"
#include "store/sandboxes.h"
#include "store/templates.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/server/fleet.h"

struct template_record;

/* So that a time of one millisecond is over for sure. */
static void let_a_moment_pass(void)
{
	int64_t until = clock_unix_ms() + 3;

	while (clock_unix_ms() < until)
		;
}

static struct sandbox_record create_idle(struct harness *h, bool persistent)
{
	struct sandbox_record r = create_with(
	        h, (struct fleet_create){.timeouts.idle_reap_ms = 1, .persistent = persistent});

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
	struct sandbox_record stopped =
	        create_with(h, (struct fleet_create){.timeouts.lifetime_max_ms = 1});
	struct sandbox_record failed;

	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, stopped.id},
	                       &stopped, &err));
	fake_fail(&h->fake, CALL_CREATE, true);
	assert_refused(fleet_create(h->fleet, &h->arena,
	                            &(struct fleet_create){.project_id = PROJECT,
	                                                   .name = "box",
	                                                   .timeouts.lifetime_max_ms = 1,
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
	fleet_on_ended(h->fleet, r.id, &(struct provider_end){SANDBOX_REASON_OOM, UINT64_MAX});
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
	fleet_on_ended(h->fleet, r.id, &(struct provider_end){SANDBOX_REASON_EXIT, UINT64_MAX});
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
	fleet_on_ended(h->fleet, started.id,
	               &(struct provider_end){SANDBOX_REASON_EXIT, UINT64_MAX});
	fleet_on_ended(h->fleet, stopped.id,
	               &(struct provider_end){SANDBOX_REASON_EXIT, UINT64_MAX});
	fleet_on_ended(h->fleet, unknown.text,
	               &(struct provider_end){SANDBOX_REASON_EXIT, UINT64_MAX});
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
	fleet_on_ended(h->fleet, r.id, &(struct provider_end){SANDBOX_REASON_EXIT, UINT64_MAX});
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

/* ---- what has failed ---- */

static struct sandbox_record create_failed(struct harness *h, const char *name, bool persistent)
{
	const struct fleet_create request = {
	        .project_id = PROJECT, .name = name, .persistent = persistent, .wait = true};
	struct sandbox_record r;
	struct error err = {0};

	fake_fail(&h->fake, CALL_CREATE, true);
	assert_refused(fleet_create(h->fleet, &h->arena, &request, &r, &err), ERROR_SYSTEM);
	fake_fail(&h->fake, CALL_CREATE, false);
	return find(h, name);
}

static void a_failed_sandbox_and_what_it_lay_on_are_forgotten_after_a_time(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record failed = create_failed(h, "box", true), r = create(h);
	struct snapshot_base base;

	assert_done(store_snapshot_set_base(h->store, failed.id, "ssssssssssssssssssss", &err));
	h->config.failed_keep_ms = 1;
	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_gone(h, failed.id);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	assert_done(store_sandbox_purge(h->store, clock_unix_ms() + 1000, &err));
	assert_done(store_snapshot_base(h->store, &h->arena, failed.id, &base, &err));
	assert_string_equal(base.snapshot_id, "");
}

static void a_failed_sandbox_stays_before_its_time_or_when_failures_are_kept(void **state)
{
	struct harness *h = *state;
	struct sandbox_record failed = create_failed(h, "box", false);

	h->config.failed_keep_ms = 60000;
	fleet_tick(h->fleet);
	assert_int_equal(find(h, failed.id).actual, SANDBOX_FAILED);
	harness_restart(h);
	h->config.failed_keep_ms = 0;
	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_int_equal(find(h, failed.id).actual, SANDBOX_FAILED);
}

static void a_failed_sandbox_with_files_stays(void **state)
{
	struct harness *h = *state;
	struct sandbox_record failed = create_failed(h, "box", true);

	fake_set(&h->fake, failed.id, fake_files);
	fake_fail(&h->fake, CALL_DESTROY, true);
	h->config.failed_keep_ms = 1;
	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_int_equal(find(h, failed.id).actual, SANDBOX_FAILED);
	assert_int_equal(find(h, failed.id).desired, failed.desired);
}

static void a_failed_sandbox_with_an_archive_stays(void **state)
{
	struct harness *h = *state;
	struct sandbox_record failed = create_failed(h, "box", true);
	struct backup_record archive = {.id = arena_text(&h->arena, id_new().text),
	                                .project_id = PROJECT,
	                                .name = "archive",
	                                .holder_id = failed.id,
	                                .snapshot_id = "",
	                                .snapshot_name = "",
	                                .template_id = "",
	                                .template_name = "",
	                                .template_digest = "",
	                                .node = "",
	                                .state = BACKUP_READY,
	                                .state_text = "",
	                                .sha256 = ""};
	struct error err = {0};

	assert_done(store_backup_insert(h->store, &archive, 10, &err));
	h->config.failed_keep_ms = 1;
	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_int_equal(find(h, failed.id).actual, SANDBOX_FAILED);
}

static void a_round_removes_a_bounded_number_of_failed_sandboxes(void **state)
{
	enum { EXTRA = 3 };
	struct harness *h = *state;
	struct sandbox_filter filter = {.state = SANDBOX_FAILED, .limit = 100};
	struct sandbox_list list;
	struct error err = {0};

	for (int i = 0; i < 32 + EXTRA; i++)
		(void)create_failed(h, arena_format(&h->arena, "box%d", i), false);
	h->config.failed_keep_ms = 1;
	let_a_moment_pass();
	fleet_tick(h->fleet);
	assert_done(store_sandbox_list(h->store, &h->arena, &filter, &list, &err));
	assert_int_equal(list.count, EXTRA);
}

static void insert_template(struct harness *h, const char *name, struct template_record t)
{
	struct error err = {0};

	t.id = arena_text(&h->arena, id_new().text);
	t.name = name;
	t.folder = t.id;
	t.base_image = t.runtime = t.isolation = t.description = t.user = t.workdir = "";
	t.snapshot_id = t.ready = "";
	t.state_text = "interrupted";
	if (!t.project_id)
		t.project_id = PROJECT;
	if (!t.node)
		t.node = "";
	assert_done(store_template_insert(h->store, &t, &err));
}

static bool has_template(struct harness *h, const char *name)
{
	struct template_record t;
	struct error err = {0};

	return store_template_find(h->store, &h->arena, NULL, name, &t, &err) == 0;
}

static void failed_templates_of_projects_are_removed_after_a_time(void **state)
{
	struct harness *h = *state;
	int64_t now = clock_unix_ms();
	struct template_record t = {.state = TEMPLATE_FAILED, .updated_at = 1};

	insert_template(h, "failed-long-ago", t);
	t.node = "elsewhere";
	insert_template(h, "of-another-server", t);
	t.node = t.project_id = "";
	insert_template(h, "everybodys", t);
	t = (struct template_record){.state = TEMPLATE_FAILED, .updated_at = now};
	insert_template(h, "failed-now", t);
	t = (struct template_record){.state = TEMPLATE_READY, .updated_at = 1};
	insert_template(h, "ready-long-ago", t);
	h->config.failed_keep_ms = 60000;
	fleet_tick(h->fleet);
	assert_false(has_template(h, "failed-long-ago"));
	assert_true(has_template(h, "of-another-server"));
	assert_true(has_template(h, "everybodys"));
	assert_true(has_template(h, "failed-now"));
	assert_true(has_template(h, "ready-long-ago"));
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
	        EACH(a_tick_leaves_alone_what_is_being_made),
	        EACH(a_failed_sandbox_and_what_it_lay_on_are_forgotten_after_a_time),
	        EACH(a_failed_sandbox_stays_before_its_time_or_when_failures_are_kept),
	        EACH(a_failed_sandbox_with_files_stays),
	        EACH(a_failed_sandbox_with_an_archive_stays),
	        EACH(a_round_removes_a_bounded_number_of_failed_sandboxes),
	        EACH(failed_templates_of_projects_are_removed_after_a_time));
}
