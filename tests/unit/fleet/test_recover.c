/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/hold.h"
#include "harness.h"
#include "provider/provider.h"
#include "store/database.h"
#include "store/sandboxes.h"
#include "store/templates.h"
#include "fleet/lease/lease.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/server/fleet.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define NOTHING NULL
#define FILES fake_files
#define RUNNING fake_running

/* A row as a server may leave it that is killed, with what the provider has of it; and what
 * recovery makes of both. */
static const struct half {
	const char *what;
	enum sandbox_state actual, desired;
	bool persistent, was_started;
	char *provider_has;
	enum sandbox_state then; /* SANDBOX_DELETED: the row is gone, too */
	const char *provider_then;
	enum sandbox_reason reason;
	const char *node;
} halves[] = {
        {"pending, nothing made", SANDBOX_PENDING, SANDBOX_STARTED, false, false, NOTHING,
         SANDBOX_FAILED, "nothing", SANDBOX_REASON_ERROR},
        {"pending, to be deleted", SANDBOX_PENDING, SANDBOX_DELETED, false, false, NOTHING,
         SANDBOX_DELETED, "nothing", SANDBOX_REASON_NONE},
        {"creating, nothing made", SANDBOX_CREATING, SANDBOX_STARTED, false, false, NOTHING,
         SANDBOX_FAILED, "nothing", SANDBOX_REASON_ERROR},
        {"creating, half made", SANDBOX_CREATING, SANDBOX_STARTED, true, false, FILES,
         SANDBOX_FAILED, "nothing", SANDBOX_REASON_ERROR},
        {"creating, made", SANDBOX_CREATING, SANDBOX_STARTED, false, false, RUNNING, SANDBOX_FAILED,
         "nothing", SANDBOX_REASON_ERROR},
        {"creating, made, to be deleted", SANDBOX_CREATING, SANDBOX_DELETED, false, false, RUNNING,
         SANDBOX_DELETED, "nothing", SANDBOX_REASON_NONE},
        {"starting again, runs", SANDBOX_CREATING, SANDBOX_STARTED, true, true, RUNNING,
         SANDBOX_STOPPED, "files", SANDBOX_REASON_NONE},
        {"starting again, not yet", SANDBOX_CREATING, SANDBOX_STARTED, true, true, FILES,
         SANDBOX_STOPPED, "files", SANDBOX_REASON_NONE},
        {"started, runs", SANDBOX_STARTED, SANDBOX_STARTED, false, true, RUNNING, SANDBOX_STARTED,
         "running", SANDBOX_REASON_NONE},
        {"started, runs, to be deleted", SANDBOX_STARTED, SANDBOX_DELETED, false, true, RUNNING,
         SANDBOX_DELETED, "nothing", SANDBOX_REASON_NONE},
        {"started, files left", SANDBOX_STARTED, SANDBOX_STARTED, false, true, FILES,
         SANDBOX_STOPPED, "files", SANDBOX_REASON_HOST_LOST},
        {"started, lost, ephemeral", SANDBOX_STARTED, SANDBOX_STARTED, false, true, NOTHING,
         SANDBOX_DELETED, "nothing", SANDBOX_REASON_HOST_LOST},
        {"started, lost, persistent", SANDBOX_STARTED, SANDBOX_STARTED, true, true, NOTHING,
         SANDBOX_FAILED, "nothing", SANDBOX_REASON_HOST_LOST},
        {"stopping, runs", SANDBOX_STOPPING, SANDBOX_STOPPED, false, true, RUNNING, SANDBOX_STOPPED,
         "files", SANDBOX_REASON_NONE},
        {"stopping, stopped", SANDBOX_STOPPING, SANDBOX_STOPPED, false, true, FILES,
         SANDBOX_STOPPED, "files", SANDBOX_REASON_NONE},
        {"stopping, lost, persistent", SANDBOX_STOPPING, SANDBOX_STOPPED, true, true, NOTHING,
         SANDBOX_FAILED, "nothing", SANDBOX_REASON_HOST_LOST},
        {"stopped, files left", SANDBOX_STOPPED, SANDBOX_STOPPED, false, true, FILES,
         SANDBOX_STOPPED, "files", SANDBOX_REASON_NONE},
        {"stopped, runs all the same", SANDBOX_STOPPED, SANDBOX_STOPPED, false, true, RUNNING,
         SANDBOX_STOPPED, "files", SANDBOX_REASON_NONE},
        {"stopped, lost, ephemeral", SANDBOX_STOPPED, SANDBOX_STOPPED, false, true, NOTHING,
         SANDBOX_DELETED, "nothing", SANDBOX_REASON_HOST_LOST},
        {"deleting, runs", SANDBOX_DELETING, SANDBOX_DELETED, true, true, RUNNING, SANDBOX_DELETED,
         "nothing", SANDBOX_REASON_NONE},
        {"deleting, gone", SANDBOX_DELETING, SANDBOX_DELETED, true, true, NOTHING, SANDBOX_DELETED,
         "nothing", SANDBOX_REASON_NONE},
        {"failed, remains", SANDBOX_FAILED, SANDBOX_STARTED, false, false, FILES, SANDBOX_FAILED,
         "nothing", SANDBOX_REASON_NONE},
        {"failed, to be deleted", SANDBOX_FAILED, SANDBOX_DELETED, false, false, RUNNING,
         SANDBOX_DELETED, "nothing", SANDBOX_REASON_NONE},
};

static struct id insert_half(struct harness *h, const struct half *half)
{
	struct error err = {0};
	struct id id = id_new();
	struct template_record t;
	struct sandbox_record r = {
	        .id = id.text,
	        .project_id = PROJECT,
	        .name = id.text,
	        .template_name = "host",
	        .provider = "fake",
	        .desired = half->desired,
	        .actual = half->actual,
	        .resources = SANDBOX_BUILT_IN_RESOURCES,
	        .persistent = half->persistent,
	        .created_at = clock_unix_ms(),
	        .node = half->node,
	};

	assert_done(store_template_find(h->store, &h->arena, PROJECT, "host", &t, &err));
	r.template_id = t.id;
	r.started_at = half->was_started ? r.created_at : 0;
	assert_done(store_sandbox_insert(h->store, &r, 0, &err));
	fake_set(&h->fake, id.text, half->provider_has);
	return id;
}

static struct sandbox_record find_any(struct harness *h, const char *id, enum sandbox_state then)
{
	const struct sandbox_filter filter = {.state = (int)then, .limit = 1000};
	struct error err = {0};
	struct sandbox_list list;

	assert_done(store_sandbox_list(h->store, &h->arena, &filter, &list, &err));
	for (size_t i = 0; i < list.count; i++)
		if (strcmp(list.items[i].id, id) == 0)
			return list.items[i];
	return (struct sandbox_record){.id = NULL};
}

static void check_half(struct harness *h, const struct half *half, const char *id)
{
	struct sandbox_record r = find_any(h, id, half->then);

	if (!r.id)
		fail_msg("%s: not %s", half->what, sandbox_state_name(half->then));
	if (strcmp(fake_has(&h->fake, id), half->provider_then) != 0)
		fail_msg("%s: provider has %s", half->what, fake_has(&h->fake, id));
	if (r.reason != half->reason)
		fail_msg("%s: reason %s", half->what, sandbox_reason_name(r.reason));
}

static void every_half_done_state_is_settled(void **state)
{
	struct harness *h = *state;
	struct id ids[COUNT_OF(halves)];

	for (size_t i = 0; i < COUNT_OF(halves); i++)
		ids[i] = insert_half(h, &halves[i]);
	harness_restart(h);
	for (size_t i = 0; i < COUNT_OF(halves); i++)
		check_half(h, &halves[i], ids[i].text);
}

static void recovering_twice_is_like_recovering_once(void **state)
{
	struct harness *h = *state;
	struct id ids[COUNT_OF(halves)];

	for (size_t i = 0; i < COUNT_OF(halves); i++)
		ids[i] = insert_half(h, &halves[i]);
	harness_restart(h);
	harness_restart(h);
	for (size_t i = 0; i < COUNT_OF(halves); i++)
		check_half(h, &halves[i], ids[i].text);
}

static void what_runs_is_adopted_and_usable(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h), held;
	struct fleet_hold hold = {0};

	harness_restart(h);
	assert_done(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &held,
	                       &hold, &err));
	assert_int_equal(held.version, r.version);
	fleet_unhold(&hold);
	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
}

static void what_no_row_knows_is_destroyed(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h), deleted = create(h);
	struct id orphan = id_new();

	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, deleted.id},
	                         SANDBOX_REASON_USER, &err));
	fake_set(&h->fake, orphan.text, fake_running);
	fake_set(&h->fake, deleted.id, fake_files);
	harness_restart(h);
	assert_string_equal(fake_has(&h->fake, orphan.text), "nothing");
	assert_string_equal(fake_has(&h->fake, deleted.id), "nothing");
	assert_string_equal(fake_has(&h->fake, r.id), "running");
}

static void what_says_that_it_is_another_servers_is_left(void **state)
{
	struct harness *h = *state;

	fake_set(&h->fake, "zzzzzzzzzzzzzzzzzzzz", fake_running);
	fake_tag(&h->fake, "zzzzzzzzzzzzzzzzzzzz", "another", 0);
	harness_restart(h);
	assert_string_equal(fake_has(&h->fake, "zzzzzzzzzzzzzzzzzzzz"), "running");
	fake_tag(&h->fake, "zzzzzzzzzzzzzzzzzzzz", NULL, 0);
	harness_restart(h);
	assert_string_equal(fake_has(&h->fake, "zzzzzzzzzzzzzzzzzzzz"), "nothing");
}

static void rows_of_another_provider_are_left_alone(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h), held;
	struct fleet_hold hold = {0};

	h->fake.own.name = "another";
	harness_restart(h);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	assert_refused(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &held,
	                          &hold, &err),
	               ERROR_UNAVAILABLE);
	assert_refused(
	        fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err),
	        ERROR_UNAVAILABLE);
	h->fake.own.name = "fake";
	harness_restart(h);
	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
}

static void recovery_without_the_provider_fails_and_changes_nothing(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);

	fake_fail(&h->fake, CALL_LIST, true);
	harness_stop(h);
	harness_start(h);
	assert_refused(fleet_recover(h->fleet, &err), ERROR_SYSTEM);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	fake_fail(&h->fake, CALL_LIST, false);
	assert_done(fleet_recover(h->fleet, &err));
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
}

static void what_cannot_be_settled_now_is_settled_by_a_later_tick(void **state)
{
	struct harness *h = *state;
	const struct half *const deleting = &(const struct half){
	        .actual = SANDBOX_DELETING, .desired = SANDBOX_DELETED, .provider_has = RUNNING};
	const struct half *const stopping = &(const struct half){.actual = SANDBOX_STOPPING,
	                                                         .desired = SANDBOX_STOPPED,
	                                                         .was_started = true,
	                                                         .provider_has = RUNNING};
	struct id one = insert_half(h, deleting), two = insert_half(h, stopping);

	fake_fail(&h->fake, CALL_DESTROY, true);
	fake_fail(&h->fake, CALL_STOP, true);
	harness_restart(h);
	assert_int_equal(find(h, one.text).actual, SANDBOX_FAILED);
	assert_int_equal(find(h, two.text).actual, SANDBOX_STOPPING);
	fake_fail(&h->fake, CALL_DESTROY, false);
	fake_fail(&h->fake, CALL_STOP, false);
	fleet_tick(h->fleet);
	assert_gone(h, one.text);
	assert_int_equal(find(h, two.text).actual, SANDBOX_STOPPED);
}

/* Whatever state it is in, and whatever our provider has under its id. */
static void rows_of_another_node_are_left_alone(void **state)
{
	struct harness *h = *state;

	for (size_t i = 0; i < COUNT_OF(halves); i++) {
		struct half there = halves[i];
		struct id id;
		struct sandbox_record r;

		there.node = "elsewhere";
		id = insert_half(h, &there);
		harness_restart(h);
		fleet_tick(h->fleet);
		r = find_any(h, id.text, there.actual);
		if (!r.id || r.version != 1 || r.desired != there.desired)
			fail_msg("%s: its row was changed", there.what);
		if (strcmp(fake_has(&h->fake, id.text),
		           there.provider_has ? there.provider_has : "nothing") != 0)
			fail_msg("%s: provider has %s", there.what, fake_has(&h->fake, id.text));
	}
}

static void calls_for_a_sandbox_of_another_node_name_it(void **state)
{
	struct harness *h = *state;
	const struct half there = {.actual = SANDBOX_STARTED,
	                           .desired = SANDBOX_STARTED,
	                           .provider_has = NOTHING,
	                           .node = "elsewhere"};
	struct id id = insert_half(h, &there);
	const struct fleet_ref ref = {PROJECT, id.text};
	struct error err = {0};
	struct fleet_hold hold;
	struct provider_stats stats;
	struct sandbox_record r;

	assert_refused(fleet_hold(h->fleet, &h->arena, &ref, &r, &hold, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "elsewhere"));
	assert_refused(fleet_start(h->fleet, &h->arena, &ref, &r, &err), ERROR_CONFLICT);
	assert_refused(fleet_stop(h->fleet, &h->arena, &ref, &r, &err), ERROR_CONFLICT);
	assert_refused(fleet_delete(h->fleet, &h->arena, &ref, SANDBOX_REASON_USER, &err),
	               ERROR_CONFLICT);
	error_clear(&err);
	assert_done(fleet_find(h->fleet, &h->arena, &ref, &r, &err));
	assert_refused(fleet_stats(h->fleet, &r, &stats, &err), ERROR_CONFLICT);
	assert_int_equal(r.version, 1);
}

/* ---- the machine went down: its database is from a little earlier than its files ---- */

struct older {
	char folder[64], now[96], earlier[96];
};

static const char *dsn_of(struct harness *h, const char *path)
{
	return arena_format(&h->arena, "sqlite:%s", path);
}

static void older_begin(struct harness *h, struct older *o)
{
	unit_folder(o->folder, sizeof(o->folder), "older");
	snprintf(o->now, sizeof(o->now), "%s/now.db", o->folder);
	snprintf(o->earlier, sizeof(o->earlier), "%s/earlier.db", o->folder);
	harness_store(h, dsn_of(h, o->now));
}

static void copy_file(struct harness *h, const char *from, const char *to, const char *end)
{
	AUTO_CLOSE int in = open(arena_format(&h->arena, "%s%s", from, end), O_RDONLY);
	AUTO_CLOSE int out =
	        open(arena_format(&h->arena, "%s%s", to, end), O_WRONLY | O_CREAT, 0600);
	ssize_t size;

	assert_true(in >= 0 && out >= 0);
	while ((size = sendfile(out, in, NULL, 1 << 20)) > 0)
		;
	assert_int_equal(size, 0);
}

/* What would be on the disk if the machine stopped here: file and log, nobody writes. */
static void older_keep(struct harness *h, const struct older *o)
{
	copy_file(h, o->now, o->earlier, "");
	copy_file(h, o->now, o->earlier, "-wal");
}

static void older_come_back(struct harness *h, const struct older *o)
{
	struct error err = {0};

	harness_stop(h);
	store_close(h->store);
	assert_done(store_open(dsn_of(h, o->earlier), &h->store, &err));
	harness_start(h);
	assert_done(fleet_recover(h->fleet, &err));
}

static void older_end(struct harness *h, const struct older *o)
{
	harness_store(h, "sqlite::memory:");
	assert_int_equal(unlink(o->now), 0);
	assert_int_equal(unlink(o->earlier), 0);
	assert_int_equal(rmdir(o->folder), 0);
}

static void rows_that_never_came_to_the_disk_leave_nothing(void **state)
{
	struct harness *h = *state;
	const struct fleet_create like_any = {.internet = -1};
	const struct fleet_lease want = {.project_id = PROJECT, .key = "k", .make = &like_any};
	struct fleet_leased lost, again;
	struct sandbox_record kept, orphan;
	struct error err = {0};
	struct older older;

	older_begin(h, &older);
	kept = create(h);
	older_keep(h, &older);
	orphan = create_with(h, (struct fleet_create){.name = "orphan"});
	assert_done(fleet_lease_acquire(h->fleet, &h->arena, &want, &lost, &err));
	/* Nothing runs; the files of all three are there. */
	fake_set(&h->fake, kept.id, FILES);
	fake_set(&h->fake, orphan.id, FILES);
	fake_set(&h->fake, lost.sandbox.id, FILES);
	older_come_back(h, &older);
	assert_gone(h, orphan.id);
	assert_gone(h, lost.sandbox.id);
	assert_int_equal(find(h, kept.id).actual, SANDBOX_STOPPED);
	assert_int_equal(find(h, kept.id).reason, SANDBOX_REASON_HOST_LOST);
	assert_string_equal(fake_has(&h->fake, kept.id), "files");
	/* Name and key are free, and the project's places are right. */
	h->config.sandboxes_max = 3;
	assert_string_equal(create_with(h, (struct fleet_create){.name = "orphan"}).name, "orphan");
	assert_done(fleet_lease_acquire(h->fleet, &h->arena, &want, &again, &err));
	assert_true(again.created);
	assert_refused(fleet_create(h->fleet, &h->arena,
	                            &(struct fleet_create){
	                                    .project_id = PROJECT, .internet = -1, .wait = true},
	                            &orphan, &err),
	               ERROR_LIMIT);
	older_end(h, &older);
}

static void rows_whose_sandbox_has_gone_since_go_too(void **state)
{
	struct harness *h = *state;
	struct sandbox_record ephemeral, persistent;
	struct error err = {0};
	struct older older;

	older_begin(h, &older);
	ephemeral = create(h);
	persistent = create_with(h, (struct fleet_create){.persistent = true});
	older_keep(h, &older);
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, ephemeral.id},
	                         SANDBOX_REASON_USER, &err));
	fake_set(&h->fake, persistent.id, FILES);
	older_come_back(h, &older);
	assert_gone(h, ephemeral.id);
	assert_int_equal(find(h, persistent.id).actual, SANDBOX_STOPPED);
	older_end(h, &older);
}

int main(void)
{
	return RUN_EACH(EACH(every_half_done_state_is_settled),
	                EACH(recovering_twice_is_like_recovering_once),
	                EACH(what_runs_is_adopted_and_usable), EACH(what_no_row_knows_is_destroyed),
	                EACH(what_says_that_it_is_another_servers_is_left),
	                EACH(rows_of_another_provider_are_left_alone),
	                EACH(rows_of_another_node_are_left_alone),
	                EACH(calls_for_a_sandbox_of_another_node_name_it),
	                EACH(recovery_without_the_provider_fails_and_changes_nothing),
	                EACH(what_cannot_be_settled_now_is_settled_by_a_later_tick),
	                EACH(rows_that_never_came_to_the_disk_leave_nothing),
	                EACH(rows_whose_sandbox_has_gone_since_go_too));
}
