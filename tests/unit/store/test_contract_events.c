/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "store/backups.h"
#include "store/builds.h"
#include "store/driver.h"
#include "store/events.h"
#include "store/snapshots.h"
#include "store/templates.h"

struct event_page;
struct event_retention;

static struct event_list list_of(struct store *s, struct arena *a, struct event_page page)
{
	struct error err = {0};
	struct event_list list;

	if (page.limit == 0)
		page.limit = 100;
	assert_done(store_event_list(s, a, &page, &list, &err));
	return list;
}

static void add(struct store *s, int64_t at, const char *project, const char *kind)
{
	struct error err = {0};
	const struct event_record event = {
	        .at = at, .project_id = project, .kind = kind, .text = "added"};

	assert_done(store_event_add(s, &event, &err));
}

static void a_first_build_of_a_shared_template_is_told_to_every_project(void **state)
{
	static const char *const kinds[] = {"template.building", "template.ready"};
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct template_record made = sample_template("t1", "", "base");
	struct template_move move = {"t1", TEMPLATE_PENDING, TEMPLATE_BUILDING, "0 begins", 0, NOW};
	struct event_list list;

	assert_done(store_template_insert(*state, &made, &err));
	assert_done(store_template_move(*state, &move, &err));
	move.from = TEMPLATE_BUILDING;
	move.state_text = "50 half";
	assert_done(store_template_move(*state, &move, &err));
	move.to = TEMPLATE_READY;
	assert_done(store_template_move(*state, &move, &err));
	list = list_of(*state, &a,
	               (struct event_page){.project_id = "any", .pattern = "template.*"});
	assert_int_equal(list.count, COUNT_OF(kinds));
	for (size_t i = 0; i < list.count; i++) {
		assert_string_equal(list.items[i].kind, kinds[i]);
		assert_string_equal(list.items[i].text, "base");
		assert_string_equal(list.items[i].project_id, "");
	}
}

static void every_move_leaves_an_event_in_order(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");
	struct sandbox_move move = sample_move(id.text, SANDBOX_PENDING, SANDBOX_CREATING);
	struct event_list list;

	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_done(store_sandbox_move(*state, &move, &err));
	move = sample_move(id.text, SANDBOX_CREATING, SANDBOX_FAILED);
	move.event = "no more disk";
	move.reason = SANDBOX_REASON_ERROR;
	assert_done(store_sandbox_move(*state, &move, &err));
	list = list_of(*state, &a, (struct event_page){.sandbox_id = id.text});
	assert_int_equal(list.count, 3);
	assert_string_equal(list.items[0].kind, "sandbox.created");
	assert_string_equal(list.items[0].text, "asked for");
	assert_string_equal(list.items[0].reason, "");
	assert_string_equal(list.items[2].kind, "sandbox.failed");
	assert_string_equal(list.items[2].text, "no more disk");
	assert_string_equal(list.items[2].reason, "error");
	assert_string_equal(list.items[2].project_id, PROJECT);
	assert_int_equal(list.items[2].at, NOW + 1);
	list = list_of(*state, &a,
	               (struct event_page){
	                       .sandbox_id = id.text, .after = list.items[0].sequence, .limit = 1});
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].kind, "sandbox.starting");
}

static void a_move_that_fails_leaves_no_event(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");
	struct sandbox_move move = sample_move(id.text, SANDBOX_STARTED, SANDBOX_STOPPING);

	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_refused(store_sandbox_move(*state, &move, &err), ERROR_CONFLICT);
	assert_int_equal(list_of(*state, &a, (struct event_page){0}).count, 1);
}

static void events_are_filtered_by_project_sandbox_kind_and_number(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct event_list list;

	for (int i = 0; i < 10; i++)
		add(*state, NOW + i, i % 2 ? "odd" : "even", i < 5 ? "sandbox.started" : "lease.x");
	assert_int_equal(list_of(*state, &a, (struct event_page){0}).count, 10);
	assert_int_equal(list_of(*state, &a, (struct event_page){.project_id = "odd"}).count, 5);
	assert_int_equal(list_of(*state, &a, (struct event_page){.project_id = "none"}).count, 0);
	assert_int_equal(list_of(*state, &a, (struct event_page){.pattern = "lease.x"}).count, 5);
	assert_int_equal(list_of(*state, &a, (struct event_page){.pattern = "sandbox.*"}).count, 5);
	assert_int_equal(list_of(*state, &a, (struct event_page){.pattern = "lease.%"}).count, 0);
	assert_int_equal(list_of(*state, &a, (struct event_page){.pattern = "*"}).count, 10);
	assert_int_equal(list_of(*state, &a, (struct event_page){.sandbox_id = "gone"}).count, 0);
	list = list_of(*state, &a, (struct event_page){.after = 3, .before = 6});
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].sequence, 4);
	list = list_of(*state, &a, (struct event_page){.limit = 3, .newest = true});
	assert_int_equal(list.count, 3);
	assert_int_equal(list.items[0].sequence, 8);
	assert_int_equal(list.items[2].sequence, 10);
	assert_int_equal(list_of(*state, &a, (struct event_page){.limit = -5}).count, 1);
}

static void purge_until_done(struct store *s, const struct event_retention *keep)
{
	struct error err = {0};
	bool more = true;

	while (more)
		assert_done(store_event_purge(s, keep, &more, &err));
}

static void old_and_too_many_events_are_purged_and_the_newest_never(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct event_bounds bounds;

	assert_done(store_event_bounds(*state, &bounds, &err));
	assert_int_equal(bounds.newest, 0);
	purge_until_done(*state, &(struct event_retention){NOW, 10});
	for (int i = 0; i < 20; i++)
		add(*state, NOW + i, PROJECT, "sandbox.started");
	purge_until_done(*state, &(struct event_retention){NOW, 1000});
	assert_int_equal(list_of(*state, &a, (struct event_page){0}).count, 20);
	purge_until_done(*state, &(struct event_retention){NOW + 5, 1000});
	assert_int_equal(list_of(*state, &a, (struct event_page){0}).count, 15);
	purge_until_done(*state, &(struct event_retention){NOW, 4});
	assert_int_equal(list_of(*state, &a, (struct event_page){0}).count, 4);
	purge_until_done(*state, &(struct event_retention){INT64_MAX, 1});
	assert_done(store_event_bounds(*state, &bounds, &err));
	assert_int_equal(bounds.oldest, 20);
	assert_int_equal(bounds.newest, 20);
	assert_int_equal(bounds.oldest_at, NOW + 19);
	/* So that no number is given twice. */
	add(*state, NOW, PROJECT, "sandbox.started");
	assert_done(store_event_bounds(*state, &bounds, &err));
	assert_int_equal(bounds.newest, 21);
}

static void many_events_are_purged_a_few_thousand_at_a_time(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	bool more;

	for (int i = 0; i < 5100; i++)
		add(*state, NOW, PROJECT, "sandbox.started");
	assert_done(
	        store_event_purge(*state, &(struct event_retention){INT64_MAX, 1}, &more, &err));
	assert_true(more);
	assert_int_equal(list_of(*state, &a, (struct event_page){.limit = 1}).items[0].sequence,
	                 5001);
}

static void on_events(void *context)
{
	atomic_fetch_add((atomic_int *)context, 1);
}

static void whoever_watches_is_told_after_the_commit_and_of_nothing_else(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	atomic_int told = 0;
	struct event_watcher one = {.on_events = on_events, .context = &told}, two = one;
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");
	struct sandbox_move lost = sample_move(id.text, SANDBOX_STARTED, SANDBOX_STOPPING);

	store_event_watch(*state, &one);
	store_event_watch(*state, &two);
	add(*state, NOW, PROJECT, "sandbox.started");
	assert_int_equal(told, 2);
	store_event_unwatch(*state, &one);
	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_int_equal(told, 3);
	assert_refused(store_sandbox_move(*state, &lost, &err), ERROR_CONFLICT);
	assert_done(store_sandbox_set_timeout(*state, &a, id.text, NOW, &r, &err));
	assert_int_equal(told, 3);
	store_event_unwatch(*state, &two);
	store_event_unwatch(*state, &two);
	add(*state, NOW, PROJECT, "sandbox.started");
	assert_int_equal(told, 3);
}

static int add_and_fail(struct store_connection *c, void *context, struct error *err)
{
	if (query_run(c, QUERY_EVENT_INSERT, context, NULL, err) < 0)
		return -1;
	return FAIL(err, ERROR_CONFLICT, "on purpose");
}

/* PostgreSQL gives a number for good, also to a transaction that is still under way: nobody may
 * read past it until it has come or is too old to come. SQLite has no such numbers. */
static void readers_wait_for_a_number_that_may_still_come(void **state)
{
	struct store *s = *state;
	struct error err = {0};
	struct event_record lost = {.at = NOW, .project_id = PROJECT, .kind = "lease.x"};
	struct event_bounds bounds;
	int64_t now = clock_unix_ms();

	add(s, now, PROJECT, "sandbox.started");
	assert_int_equal(store_change(s, add_and_fail, &lost, &err), -1);
	add(s, now, PROJECT, "sandbox.started");
	assert_done(store_event_bounds(s, &bounds, &err));
	assert_int_equal(bounds.newest, s->driver->is_shared ? 1 : 2);
	assert_int_equal(bounds.oldest, 1);
}

static void a_number_that_is_missing_for_long_keeps_nobody(void **state)
{
	struct store *s = *state;
	struct error err = {0};
	struct event_record lost = {.at = NOW, .project_id = PROJECT, .kind = "lease.x"};
	struct event_bounds bounds;

	add(s, 1, PROJECT, "sandbox.started");
	assert_int_equal(store_change(s, add_and_fail, &lost, &err), -1);
	add(s, 2, PROJECT, "sandbox.started");
	assert_done(store_event_bounds(s, &bounds, &err));
	assert_int_equal(bounds.newest, s->driver->is_shared ? 3 : 2);
}

static void events_outlive_their_sandbox(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");
	struct sandbox_move move = sample_move(id.text, SANDBOX_DELETING, SANDBOX_DELETED);

	r.actual = SANDBOX_DELETING;
	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_done(store_sandbox_move(*state, &move, &err));
	assert_done(store_sandbox_purge(*state, NOW + 2, &err));
	assert_int_equal(list_of(*state, &a, (struct event_page){.sandbox_id = id.text}).count, 2);
}

/* All that is told so far, as "KIND TEXT" with commas between. */
static const char *told(struct store *s, struct arena *a)
{
	struct event_list list = list_of(s, a, (struct event_page){0});
	const char *text = "";

	for (size_t i = 0; i < list.count; i++) {
		assert_string_equal(list.items[i].project_id, PROJECT);
		text = arena_format(a, "%s%s%s %s", text, i ? ", " : "", list.items[i].kind,
		                    list.items[i].text);
	}
	return text;
}

static void put_backup(struct store *s, const char *id, const char *holder_id,
                       const enum backup_state states[2])
{
	struct error err = {0};
	struct backup_record r = {.id = id,
	                          .project_id = PROJECT,
	                          .name = id,
	                          .holder_id = holder_id,
	                          .snapshot_id = "",
	                          .snapshot_name = "",
	                          .template_id = "",
	                          .template_name = "",
	                          .template_digest = "",
	                          .node = "here",
	                          .state = BACKUP_MAKING,
	                          .state_text = "0 %",
	                          .sha256 = "",
	                          .created_at = NOW};

	assert_done(store_backup_insert(s, &r, 10, &err));
	r.state_text = "50 %";
	assert_done(store_backup_update(s, &r, true, &err));
	for (int i = 0; i < 2; i++) {
		r.state = states[i];
		assert_done(store_backup_update(s, &r, false, &err));
	}
}

static void a_backup_tells_its_end_once_and_that_it_is_gone(void **state)
{
	static const enum backup_state ready[] = {BACKUP_READY, BACKUP_READY},
	                               failed[] = {BACKUP_FAILED, BACKUP_FAILED},
	                               making[] = {BACKUP_MAKING, BACKUP_MAKING},
	                               removed[] = {BACKUP_MAKING, BACKUP_REMOVING};
	static const char *const ids[] = {"one", "two", "three", "four", "five", "none"};
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct backup_record late;

	put_backup(*state, "one", "", ready);
	put_backup(*state, "two", "", failed);
	put_backup(*state, "three", "", making);
	put_backup(*state, "four", "", removed);
	put_backup(*state, "five", "box", ready);
	assert_string_equal(told(*state, &a), "backup.ready one, backup.failed two");
	assert_done(store_backup_find(*state, &a, PROJECT, "four", &late, &err));
	late.state = BACKUP_READY;
	assert_refused(store_backup_update(*state, &late, false, &err), ERROR_NOT_FOUND);
	for (size_t i = 0; i < COUNT_OF(ids); i++)
		for (int twice = 0; twice < 2; twice++)
			assert_done(store_backup_remove(*state, ids[i], &err));
	assert_string_equal(told(*state, &a),
	                    "backup.ready one, backup.failed two, backup.deleted one, "
	                    "backup.deleted two, backup.deleted four");
}

static void put_build(struct store *s, const char *id, enum build_state end)
{
	struct error err = {0};
	struct build_record r = {.id = id,
	                         .project_id = PROJECT,
	                         .name = "app",
	                         .source = "host",
	                         .node = "here",
	                         .created_at = NOW};

	assert_done(store_build_insert(s, &r, &err));
	r.state = BUILD_BUILDING;
	assert_done(store_build_update(s, &r, &err));
	r.step = 1;
	assert_done(store_build_update(s, &r, &err));
	r.state = end;
	assert_done(store_build_update(s, &r, &err));
	r.state = BUILD_READY;
	assert_refused(store_build_update(s, &r, &err), ERROR_CONFLICT);
}

static void a_build_tells_its_beginning_and_its_end_and_which_it_is(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct event_list list;

	put_build(*state, "one", BUILD_READY);
	put_build(*state, "two", BUILD_ERROR);
	put_build(*state, "three", BUILD_CANCELLED);
	assert_string_equal(told(*state, &a), "build.started app, build.ready app, "
	                                      "build.started app, build.failed app, "
	                                      "build.started app, build.cancelled app");
	list = list_of(*state, &a, (struct event_page){.pattern = "build.failed"});
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].detail, "{\"build\":\"two\"}");
	assert_refused(store_build_update(*state, &(struct build_record){.id = "none"}, &err),
	               ERROR_CONFLICT);
}

static void put_template(struct store *s, const char *id, const char *project_id,
                         enum template_state end)
{
	struct error err = {0};
	struct template_record r = {.id = id,
	                            .project_id = project_id,
	                            .name = id,
	                            .folder = id,
	                            .state = TEMPLATE_BUILDING};
	struct template_move move = {
	        .id = id, .from = TEMPLATE_BUILDING, .to = TEMPLATE_BUILDING, .state_text = "50 %"};

	assert_done(store_template_insert(s, &r, &err));
	assert_done(store_template_move(s, &move, &err));
	move.to = end;
	assert_done(store_template_move(s, &move, &err));
	assert_refused(store_template_move(s, &move, &err), ERROR_CONFLICT);
}

static void a_projects_template_tells_what_became_of_it(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct template_record named = {
	        .id = "own", .project_id = PROJECT, .name = "shared", .folder = "own"};

	put_template(*state, "one", PROJECT, TEMPLATE_READY);
	put_template(*state, "two", PROJECT, TEMPLATE_FAILED);
	/* Everybody's is told to nobody, also when a project has its id for a name. */
	assert_done(store_template_insert(*state, &named, &err));
	put_template(*state, "shared", "", TEMPLATE_READY);
	assert_string_equal(told(*state, &a), "template.created one, template.ready one, "
	                                      "template.created two, template.failed two, "
	                                      "template.created shared");
}

static void a_lost_snapshot_is_told_once_and_a_lost_layer_to_nobody(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct snapshot_record r = {.id = "one",
	                            .project_id = PROJECT,
	                            .name = "kept",
	                            .sandbox_id = "box",
	                            .sandbox_name = "box",
	                            .template_id = "t",
	                            .template_name = "host",
	                            .provider = "native",
	                            .node = "here",
	                            .state = SNAPSHOT_MAKING,
	                            .created_at = NOW};

	for (int i = 0; i < 2; i++) {
		r.state = SNAPSHOT_MAKING;
		assert_done(store_snapshot_insert(*state, &r, 10, &err));
		r.state = SNAPSHOT_READY;
		assert_done(store_snapshot_update(*state, &r, false, &err));
		r.state = SNAPSHOT_LOST;
		assert_done(store_snapshot_update(*state, &r, false, &err));
		assert_done(store_snapshot_update(*state, &r, false, &err));
		r.id = r.name = "layer";
		r.kind = SNAPSHOT_LAYER;
	}
	r.id = "none";
	assert_refused(store_snapshot_update(*state, &r, false, &err), ERROR_NOT_FOUND);
	assert_string_equal(told(*state, &a), "snapshot.created kept, snapshot.lost kept");
	assert_int_equal(list_of(*state, &a, (struct event_page){.sandbox_id = "box"}).count, 2);
}

static const struct CMUnitTest tests[] = {
        EACH(a_first_build_of_a_shared_template_is_told_to_every_project),
        EACH(every_move_leaves_an_event_in_order),
        EACH(a_move_that_fails_leaves_no_event),
        EACH(events_are_filtered_by_project_sandbox_kind_and_number),
        EACH(old_and_too_many_events_are_purged_and_the_newest_never),
        EACH(many_events_are_purged_a_few_thousand_at_a_time),
        EACH(whoever_watches_is_told_after_the_commit_and_of_nothing_else),
        EACH(readers_wait_for_a_number_that_may_still_come),
        EACH(a_number_that_is_missing_for_long_keeps_nobody),
        EACH(events_outlive_their_sandbox),
        EACH(a_backup_tells_its_end_once_and_that_it_is_gone),
        EACH(a_build_tells_its_beginning_and_its_end_and_which_it_is),
        EACH(a_projects_template_tells_what_became_of_it),
        EACH(a_lost_snapshot_is_told_once_and_a_lost_layer_to_nobody),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
