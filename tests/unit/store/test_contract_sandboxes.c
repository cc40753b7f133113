/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"
#include "store/snapshots.h"
#include "store/keys.h"

/* ---- sandboxes ---- */

static void a_sandbox_comes_back_as_it_went_in(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record made = sample_sandbox(id.text, "box"), found;

	made.persistent = made.privileges = true;
	made.timeout_at = NOW + 60;
	made.timeouts.idle_pause_ms = 7;
	made.timeouts.idle_stop_ms = 8;
	made.timeouts.delete_after_ms = 9;
	made.awake_until = NOW + 70;
	assert_done(store_sandbox_insert(*state, &made, 0, &err));
	assert_done(store_sandbox_find(*state, &a, PROJECT, id.text, &found, &err));
	assert_string_equal(found.name, "box");
	assert_string_equal(found.labels_json, made.labels_json);
	assert_string_equal(found.env_json, made.env_json);
	assert_int_equal(found.desired, SANDBOX_STARTED);
	assert_int_equal(found.actual, SANDBOX_PENDING);
	assert_int_equal(found.reason, SANDBOX_REASON_NONE);
	assert_true(found.resources.cpu == 0.5);
	assert_int_equal(found.resources.pids, 512);
	assert_int_equal(found.network, SANDBOX_NETWORK_INTERNET);
	assert_true(found.persistent && found.privileges && !found.disk_is_advisory);
	assert_int_equal(found.timeout_at, NOW + 60);
	assert_int_equal(found.timeouts.idle_pause_ms, 7);
	assert_int_equal(found.timeouts.idle_stop_ms, 8);
	assert_int_equal(found.timeouts.delete_after_ms, 9);
	assert_int_equal(found.awake_until, NOW + 70);
	assert_int_equal(found.version, 1);
	assert_string_equal(found.last_event, "asked for");
}

static void owners_of_many_are_found_at_once_of_a_project_or_of_any(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id first = id_new(), second = id_new(), third = id_new();
	struct sandbox_record one = sample_sandbox(first.text, "one");
	struct sandbox_record two = sample_sandbox(second.text, "two");
	struct sandbox_record three = sample_sandbox(third.text, "three");
	const char *ids =
	        arena_format(&a, "{\"%s\":0,\"%s\":0,\"unknown\":0}", first.text, second.text);
	struct sandbox_owner_list list;

	assert_done(store_sandbox_insert(*state, &one, 0, &err));
	assert_done(store_sandbox_insert(*state, &two, 0, &err));
	assert_done(store_sandbox_insert(*state, &three, 0, &err));
	assert_done(store_sandbox_owners(*state, &a, NULL, ids, &list, &err));
	assert_int_equal(list.count, 2);
	assert_done(store_sandbox_owners(*state, &a, PROJECT, ids, &list, &err));
	assert_int_equal(list.count, 2);
	for (size_t i = 0; i < list.count; i++)
		assert_string_equal(list.items[i].name,
		                    strcmp(list.items[i].id, first.text) == 0 ? "one" : "two");
	assert_string_equal(list.items[0].project_id, PROJECT);
	assert_done(store_sandbox_owners(*state, &a, "another", ids, &list, &err));
	assert_int_equal(list.count, 0);
	assert_done(store_sandbox_owners(*state, &a, NULL, "{}", &list, &err));
	assert_int_equal(list.count, 0);
}

static void a_sandbox_is_found_by_name_in_its_project_alone(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record made = sample_sandbox(id.text, "box"), found;

	assert_done(store_sandbox_insert(*state, &made, 0, &err));
	assert_done(store_sandbox_find(*state, &a, PROJECT, "box", &found, &err));
	assert_string_equal(found.id, id.text);
	assert_refused(store_sandbox_find(*state, &a, "other", "box", &found, &err),
	               ERROR_NOT_FOUND);
	assert_refused(store_sandbox_find(*state, &a, "other", id.text, &found, &err),
	               ERROR_NOT_FOUND);
	assert_refused(store_sandbox_find(*state, &a, NULL, "box", &found, &err), ERROR_NOT_FOUND);
	assert_done(store_sandbox_find(*state, &a, NULL, id.text, &found, &err));
}

static void a_name_is_found_in_any_project_that_alone_has_it(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	const struct project_record other = {.id = "p2", .name = "second", .created_at = NOW};
	struct id first = id_new(), again = id_new(), theirs = id_new();
	struct sandbox_record made = sample_sandbox(first.text, "box"), found;

	assert_refused(store_sandbox_find_anywhere(*state, &a, "box", &found, &err),
	               ERROR_NOT_FOUND);
	made.actual = SANDBOX_FAILED;
	assert_done(store_sandbox_insert(*state, &made, 0, &err));
	made = sample_sandbox(again.text, "box");
	assert_done(store_sandbox_insert(*state, &made, 0, &err));
	assert_done(store_sandbox_find_anywhere(*state, &a, "box", &found, &err));
	assert_string_equal(found.id, again.text); /* the living one */
	assert_done(store_project_insert(*state, &other, &err));
	made = sample_sandbox(theirs.text, "box");
	made.project_id = "p2";
	assert_done(store_sandbox_insert(*state, &made, 0, &err));
	assert_refused(store_sandbox_find_anywhere(*state, &a, "box", &found, &err),
	               ERROR_CONFLICT);
	assert_non_null(strstr(err.hint, "(p2, " PROJECT ")"));
}

static void odd_names_are_data_and_never_sql(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct sandbox_record found;
	static const char *const odd[] = {"' OR 1=1 --", "\";DROP TABLE sandboxes;", "%", "",
	                                  "\xff"};

	for (size_t i = 0; i < COUNT_OF(odd); i++)
		assert_refused(store_sandbox_find(*state, &a, PROJECT, odd[i], &found, &err),
		               ERROR_NOT_FOUND);
}

static void a_name_is_unique_among_the_living_and_free_again_when_one_goes(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id first = id_new(), second = id_new(), third = id_new();
	struct sandbox_record one = sample_sandbox(first.text, "box"), found;
	struct sandbox_record two = sample_sandbox(second.text, "box");
	struct sandbox_record three = sample_sandbox(third.text, "box");
	struct sandbox_move fails = sample_move(first.text, SANDBOX_PENDING, SANDBOX_FAILED);
	struct sandbox_move goes = sample_move(second.text, SANDBOX_PENDING, SANDBOX_DELETING);

	assert_done(store_sandbox_insert(*state, &one, 0, &err));
	assert_refused(store_sandbox_insert(*state, &two, 0, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "box"));
	assert_done(store_sandbox_move(*state, &fails, &err));
	assert_done(store_sandbox_insert(*state, &two, 0, &err));
	assert_done(store_sandbox_find(*state, &a, PROJECT, "box", &found, &err));
	assert_string_equal(found.id, second.text);
	assert_done(store_sandbox_move(*state, &goes, &err));
	assert_done(store_sandbox_insert(*state, &three, 0, &err));
	assert_done(store_sandbox_find(*state, &a, PROJECT, "box", &found, &err));
	assert_string_equal(found.id, third.text);
}

static void a_project_has_at_most_so_many_living_sandboxes(void **state)
{
	struct error err = {0};
	struct id ids[3] = {id_new(), id_new(), id_new()};
	struct sandbox_move goes = sample_move(ids[0].text, SANDBOX_PENDING, SANDBOX_DELETING);
	struct sandbox_record r = sample_sandbox(ids[0].text, "a");

	assert_done(store_sandbox_insert(*state, &r, 2, &err));
	r = sample_sandbox(ids[1].text, "b");
	assert_done(store_sandbox_insert(*state, &r, 2, &err));
	r = sample_sandbox(ids[2].text, "c");
	assert_refused(store_sandbox_insert(*state, &r, 2, &err), ERROR_LIMIT);
	assert_done(store_sandbox_move(*state, &goes, &err));
	assert_done(store_sandbox_insert(*state, &r, 2, &err));
}

static void a_sandbox_of_a_project_that_is_not_there_is_refused(void **state)
{
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");

	r.project_id = "nobody";
	assert_refused(store_sandbox_insert(*state, &r, 0, &err), ERROR_NOT_FOUND);
}

static void a_sandbox_of_a_template_that_is_gone_is_refused(void **state)
{
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");

	r.template_id = "gone";
	assert_refused(store_sandbox_insert(*state, &r, 0, &err), ERROR_NOT_FOUND);
	assert_non_null(strstr(err.text, "template"));
}

static void sandboxes_are_counted_by_state(void **state)
{
	struct error err = {0};
	uint64_t counts[SANDBOX_STATE_COUNT];
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");

	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	id = id_new();
	r.name = "other";
	r.actual = SANDBOX_STARTED;
	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_done(store_sandbox_count(*state, counts, &err));
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++)
		assert_int_equal(counts[i], i == SANDBOX_PENDING || i == SANDBOX_STARTED);
}

static void a_move_is_a_compare_and_set_that_tells_what_it_met(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");
	struct sandbox_move move = sample_move(id.text, SANDBOX_PENDING, SANDBOX_CREATING);

	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_done(store_sandbox_move(*state, &move, &err));
	assert_refused(store_sandbox_move(*state, &move, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "creating, not pending"));
	move.id = "aaaaaaaaaaaaaaaaaaaa";
	assert_refused(store_sandbox_move(*state, &move, &err), ERROR_NOT_FOUND);
	move = sample_move(id.text, SANDBOX_CREATING, SANDBOX_STARTED);
	move.effective =
	        &(struct sandbox_resources){.cpu = 1, .memory_mb = 2, .disk_mb = 3, .pids = 4};
	move.disk_is_advisory = true;
	assert_done(store_sandbox_move_read(*state, &a, &move, &r, &err));
	assert_int_equal(r.actual, SANDBOX_STARTED);
	assert_int_equal(r.version, 3);
	assert_int_equal(r.started_at, NOW + 1);
	assert_int_equal(r.last_activity_at, NOW + 1);
	assert_int_equal(r.resources.memory_mb, 2);
	assert_true(r.disk_is_advisory);
	assert_string_equal(r.last_event, "started");
}

static void a_reason_stays_until_another_one_or_a_new_start(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");
	struct sandbox_move move = sample_move(id.text, SANDBOX_STARTED, SANDBOX_STOPPED);

	r.actual = SANDBOX_STARTED;
	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	move.reason = SANDBOX_REASON_OOM;
	move.desired = SANDBOX_STOPPED;
	assert_done(store_sandbox_move_read(*state, &a, &move, &r, &err));
	assert_int_equal(r.desired, SANDBOX_STOPPED);
	assert_int_equal(r.stopped_at, NOW + 1);
	move = sample_move(id.text, SANDBOX_STOPPED, SANDBOX_CREATING);
	assert_done(store_sandbox_move_read(*state, &a, &move, &r, &err));
	assert_int_equal(r.reason, SANDBOX_REASON_OOM);
	move = sample_move(id.text, SANDBOX_CREATING, SANDBOX_STARTED);
	assert_done(store_sandbox_move_read(*state, &a, &move, &r, &err));
	assert_int_equal(r.reason, SANDBOX_REASON_NONE);
}

static void a_resume_is_no_new_start(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");
	struct sandbox_move move = sample_move(id.text, SANDBOX_CREATING, SANDBOX_STARTED);
	struct id other_id = id_new();
	struct sandbox_record other;

	r.actual = SANDBOX_CREATING;
	assert_done(store_sandbox_insert(*state, &r, 1, &err));
	assert_done(store_sandbox_move(*state, &move, &err));
	move = sample_move(id.text, SANDBOX_STARTED, SANDBOX_PAUSED);
	move.reason = SANDBOX_REASON_IDLE;
	assert_done(store_sandbox_move_read(*state, &a, &move, &r, &err));
	assert_int_equal(r.reason, SANDBOX_REASON_IDLE);
	/* It keeps its place in the project. */
	other = sample_sandbox(other_id.text, "other");
	assert_refused(store_sandbox_insert(*state, &other, 1, &err), ERROR_LIMIT);
	move = sample_move(id.text, SANDBOX_PAUSED, SANDBOX_STARTED);
	move.now = NOW + 5000;
	assert_done(store_sandbox_move_read(*state, &a, &move, &r, &err));
	assert_int_equal(r.reason, SANDBOX_REASON_NONE);
	assert_int_equal(r.started_at, NOW + 1);
	assert_int_equal(r.last_activity_at, NOW + 5000);
}

static void keeping_moves_a_timeout_that_would_be_earlier(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box"), kept;
	struct sandbox_keep keep = {.id = id.text, .until = NOW + 50};

	r.timeout_at = NOW + 60;
	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_done(store_sandbox_keep(*state, &a, &keep, &kept, &err));
	assert_int_equal(kept.awake_until, NOW + 50);
	assert_int_equal(kept.timeout_at, NOW + 60);
	assert_int_equal(kept.version, 2);
	keep.until = NOW + 90;
	assert_done(store_sandbox_keep(*state, &a, &keep, &kept, &err));
	assert_int_equal(kept.timeout_at, NOW + 90);
	keep.until = 0;
	assert_done(store_sandbox_keep(*state, &a, &keep, &kept, &err));
	assert_int_equal(kept.awake_until, 0);
	assert_int_equal(kept.timeout_at, NOW + 90);
	keep.id = "aaaaaaaaaaaaaaaaaaaa";
	assert_refused(store_sandbox_keep(*state, &a, &keep, &kept, &err), ERROR_NOT_FOUND);
}

static void what_may_be_seen_of_a_sandbox_is_kept(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box"), found;
	struct sandbox_preview preview = {.id = id.text, .off = true, .generation = 7};

	r.preview_public = true;
	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_done(store_sandbox_find(*state, &a, NULL, id.text, &found, &err));
	assert_false(found.preview_off);
	assert_true(found.preview_public);
	assert_done(store_sandbox_set_preview(*state, &a, &preview, &found, &err));
	assert_true(found.preview_off);
	assert_int_equal(found.version, 2);
	assert_done(store_sandbox_find(*state, &a, NULL, id.text, &found, &err));
	assert_true(found.preview_off);
	assert_false(found.preview_public);
	assert_int_equal(found.preview_generation, 7);
	preview.id = "aaaaaaaaaaaaaaaaaaaa";
	assert_refused(store_sandbox_set_preview(*state, &a, &preview, &found, &err),
	               ERROR_NOT_FOUND);
}

static void whom_a_sandbox_may_reach_is_kept_and_replaced(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new(), plain_id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box"), found;
	struct sandbox_record plain = sample_sandbox(plain_id.text, "plain");
	struct sandbox_egress_change change = {.id = id.text, .egress = ""};

	r.egress = "+1.1.1.1 -0.0.0.0/0";
	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_done(store_sandbox_insert(*state, &plain, 0, &err));
	assert_done(store_sandbox_find(*state, &a, NULL, id.text, &found, &err));
	assert_string_equal(found.egress, r.egress);
	assert_done(store_sandbox_find(*state, &a, NULL, plain_id.text, &found, &err));
	assert_string_equal(found.egress, "");
	assert_done(store_sandbox_set_egress(*state, &a, &change, &found, &err));
	assert_string_equal(found.egress, "");
	assert_int_equal(found.version, 2);
	change.id = "aaaaaaaaaaaaaaaaaaaa";
	assert_refused(store_sandbox_set_egress(*state, &a, &change, &found, &err),
	               ERROR_NOT_FOUND);
}

static void settings_replace_all_of_their_kind_and_nothing_else(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box"), found;
	struct sandbox_settings settings = {
	        .id = id.text,
	        .labels_json = "{\"a\":\"b\"}",
	        .persistent = !r.persistent,
	        .timeout_at = NOW + 1,
	        .timeouts.idle_reap_ms = 2,
	        .timeouts.lifetime_max_ms = 3,
	        .timeouts.idle_pause_ms = 4,
	        .timeouts.idle_stop_ms = 5,
	        .timeouts.archive_after_ms = 6,
	        .timeouts.delete_after_ms = 7,
	};

	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_done(store_sandbox_set(*state, &a, &settings, &found, &err));
	assert_int_equal(found.version, 2);
	assert_done(store_sandbox_find(*state, &a, NULL, id.text, &found, &err));
	assert_string_equal(found.labels_json, "{\"a\":\"b\"}");
	assert_int_equal(found.persistent, !r.persistent);
	assert_int_equal(found.timeout_at, NOW + 1);
	assert_int_equal(found.timeouts.idle_reap_ms, 2);
	assert_int_equal(found.timeouts.lifetime_max_ms, 3);
	assert_int_equal(found.timeouts.idle_pause_ms, 4);
	assert_int_equal(found.timeouts.idle_stop_ms, 5);
	assert_int_equal(found.timeouts.archive_after_ms, 6);
	assert_int_equal(found.timeouts.delete_after_ms, 7);
	assert_string_equal(found.name, "box");
	assert_string_equal(found.env_json, r.env_json);
	settings.id = "aaaaaaaaaaaaaaaaaaaa";
	assert_refused(store_sandbox_set(*state, &a, &settings, &found, &err), ERROR_NOT_FOUND);
}

static void limits_and_environment_change_by_themselves(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box"), found;
	struct sandbox_revision revision = {
	        .id = id.text,
	        .env_json = "{\"A\":\"new\"}",
	        .resources = {.cpu = 3.5, .memory_mb = 333, .disk_mb = 7, .pids = 44},
	};

	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_done(store_sandbox_set_resources(*state, &a, &revision, &found, &err));
	assert_int_equal(found.version, 2);
	assert_true(found.resources.cpu == 3.5);
	assert_int_equal(found.resources.memory_mb, 333);
	assert_int_equal(found.resources.pids, 44);
	assert_int_equal(found.resources.disk_mb, 7);
	assert_string_equal(found.env_json, r.env_json);
	assert_done(store_sandbox_set_env(*state, &a, &revision, &found, &err));
	assert_done(store_sandbox_find(*state, &a, NULL, id.text, &found, &err));
	assert_string_equal(found.env_json, "{\"A\":\"new\"}");
	assert_true(found.resources.cpu == 3.5);
	assert_int_equal(found.version, 3);
	revision.id = "aaaaaaaaaaaaaaaaaaaa";
	assert_refused(store_sandbox_set_resources(*state, &a, &revision, &found, &err),
	               ERROR_NOT_FOUND);
	assert_refused(store_sandbox_set_env(*state, &a, &revision, &found, &err), ERROR_NOT_FOUND);
}

static void a_wish_is_left_to_the_one_at_work(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");

	r.actual = SANDBOX_CREATING;
	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_done(store_sandbox_set_desired(*state, id.text, SANDBOX_CREATING, SANDBOX_DELETED,
	                                      &err));
	assert_done(store_sandbox_find(*state, &a, PROJECT, id.text, &r, &err));
	assert_int_equal(r.desired, SANDBOX_DELETED);
	assert_int_equal(r.actual, SANDBOX_CREATING);
	assert_int_equal(r.version, 2);
	assert_refused(
	        store_sandbox_set_desired(*state, id.text, SANDBOX_STARTED, SANDBOX_DELETED, &err),
	        ERROR_CONFLICT);
}

static void a_touch_shows_at_once_and_never_goes_back(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");

	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	store_sandbox_touch(*state, id.text, NOW + 50);
	assert_done(store_sandbox_find(*state, &a, PROJECT, id.text, &r, &err));
	assert_int_equal(r.last_activity_at, NOW + 50);
	assert_int_equal(r.version, 1);
	assert_done(store_tidy(*state, &err));
	store_sandbox_touch(*state, id.text, NOW + 40);
	assert_done(store_tidy(*state, &err));
	assert_done(store_sandbox_find(*state, &a, PROJECT, id.text, &r, &err));
	assert_int_equal(r.last_activity_at, NOW + 50);
}

static void a_touch_of_what_is_gone_is_no_failure(void **state)
{
	struct error err = {0};

	store_sandbox_touch(*state, "gone", NOW);
	store_key_touch(*state, "gone", NOW);
	assert_done(store_tidy(*state, &err));
}

static void a_timeout_can_be_set_and_taken_away(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");

	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_done(store_sandbox_set_timeout(*state, &a, id.text, NOW + 7, &r, &err));
	assert_int_equal(r.timeout_at, NOW + 7);
	assert_done(store_sandbox_find(*state, &a, PROJECT, id.text, &r, &err));
	assert_int_equal(r.timeout_at, NOW + 7);
	assert_int_equal(r.version, 2);
	assert_refused(store_sandbox_set_timeout(*state, &a, "gone", NOW, &r, &err),
	               ERROR_NOT_FOUND);
}

static void insert_numbered(struct store *s, unsigned count)
{
	struct error err = {0};

	for (unsigned i = 0; i < count; i++) {
		struct id id = id_new();
		char name[16];
		struct sandbox_record r = sample_sandbox(id.text, name);

		snprintf(name, sizeof(name), "box-%02u", i);
		r.created_at = NOW + i / 4; /* several of one moment */
		assert_done(store_sandbox_insert(s, &r, 0, &err));
	}
}

static void pages_show_every_sandbox_once_newest_first(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct sandbox_filter filter = {.project_id = PROJECT, .state = -1, .limit = 3};
	struct sandbox_list list;
	bool seen[17] = {false};
	int64_t before = INT64_MAX;
	unsigned pages = 0, count = 0;

	insert_numbered(*state, 17);
	do {
		assert_done(store_sandbox_list(*state, &a, &filter, &list, &err));
		for (size_t i = 0; i < list.count; i++) {
			unsigned number = (unsigned)strtoul(list.items[i].name + 4, NULL, 10);

			assert_false(seen[number]);
			seen[number] = true;
			assert_true(list.items[i].created_at <= before);
			before = list.items[i].created_at;
			count++;
		}
		filter.page = list.next_page;
		pages++;
	} while (filter.page);
	assert_int_equal(count, 17);
	assert_int_equal(pages, 6);
}

static void pages_go_from_the_oldest_as_well(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct sandbox_filter filter = {
	        .project_id = PROJECT, .state = -1, .limit = 3, .ascending = true};
	struct sandbox_list list;
	int64_t before = 0;
	unsigned count = 0;

	insert_numbered(*state, 10);
	do {
		assert_done(store_sandbox_list(*state, &a, &filter, &list, &err));
		for (size_t i = 0; i < list.count; i++, count++) {
			assert_true(list.items[i].created_at >= before);
			before = list.items[i].created_at;
		}
		filter.page = list.next_page;
	} while (filter.page);
	assert_int_equal(count, 10);
}

static void a_page_that_ends_exactly_is_the_last(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct sandbox_filter filter = {.state = -1, .limit = 4};
	struct sandbox_list list;

	insert_numbered(*state, 4);
	assert_done(store_sandbox_list(*state, &a, &filter, &list, &err));
	assert_int_equal(list.count, 4);
	assert_null(list.next_page);
}

static void a_page_that_no_list_has_answered_is_refused(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	static const char *const pages[] = {"",
	                                    "-",
	                                    "5",
	                                    "x-aaaaaaaaaaaaaaaaaaaa",
	                                    "5-../../etc/passwd00000",
	                                    "99999999999999999999-aaaaaaaaaaaaaaaaaaaa"};

	for (size_t i = 0; i < COUNT_OF(pages); i++) {
		struct error err = {0};
		struct sandbox_filter filter = {.state = -1, .limit = 1, .page = pages[i]};
		struct sandbox_list list;

		assert_refused(store_sandbox_list(*state, &a, &filter, &list, &err), ERROR_INVALID);
	}
}

static size_t count_of(struct store *s, struct sandbox_filter filter)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct sandbox_list list;

	filter.limit = 100;
	assert_done(store_sandbox_list(s, &a, &filter, &list, &err));
	return list.count;
}

static void lists_are_filtered_by_state_name_template_and_label(void **state)
{
	struct store *s = *state;
	struct error err = {0};
	struct id ids[3] = {id_new(), id_new(), id_new()};
	struct sandbox_record r = sample_sandbox(ids[0].text, "a");
	struct sandbox_move goes = sample_move(ids[2].text, SANDBOX_DELETING, SANDBOX_DELETED);

	assert_done(store_sandbox_insert(s, &r, 0, &err));
	r = sample_sandbox(ids[1].text, "b");
	r.actual = SANDBOX_STARTED;
	r.labels_json = "{\"team\":\"blue\"}";
	r.template_name = "host";
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	r = sample_sandbox(ids[2].text, "c");
	r.actual = SANDBOX_DELETING;
	r.labels_json = NULL;
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	assert_done(store_sandbox_move(s, &goes, &err));

#define COUNT(...) count_of(s, (struct sandbox_filter){.state = -1, __VA_ARGS__})
	assert_int_equal(COUNT(), 2);
	assert_int_equal(COUNT(.project_id = PROJECT), 2);
	assert_int_equal(COUNT(.project_id = "other"), 0);
	assert_int_equal(COUNT(.name = "a"), 1);
	assert_int_equal(COUNT(.template = "host"), 1);
	assert_int_equal(COUNT(.template = "template-id"), 2);
	assert_int_equal(COUNT(.label_key = "team"), 2);
	assert_int_equal(COUNT(.label_key = "team", .label_value = "red"), 1);
	assert_int_equal(COUNT(.label_key = "app.example/x", .label_value = "1"), 1);
	assert_int_equal(COUNT(.label_key = "$.team"), 0);
	assert_int_equal(COUNT(.label_key = "\""), 0);
#undef COUNT
	assert_int_equal(count_of(s, (struct sandbox_filter){.state = SANDBOX_STARTED}), 1);
	assert_int_equal(count_of(s, (struct sandbox_filter){.state = SANDBOX_DELETED}), 1);
}

static void lists_leave_sandboxes_of_builds_out_unless_asked(void **state)
{
	struct store *s = *state;
	struct error err = {0};
	struct id ids[2] = {id_new(), id_new()};
	struct sandbox_record r = sample_sandbox(ids[0].text, "a");

	assert_done(store_sandbox_insert(s, &r, 0, &err));
	r = sample_sandbox(ids[1].text, "b");
	r.traits = SANDBOX_IN_BACKGROUND | SANDBOX_SLEEPS_SOUND;
	r.labels_json = "{\"" SANDBOX_BUILD_LABEL "\":\"build\"}";
	assert_done(store_sandbox_insert(s, &r, 0, &err));
#define COUNT(...) count_of(s, (struct sandbox_filter){.state = -1, __VA_ARGS__})
	assert_int_equal(COUNT(), 1);
	assert_int_equal(COUNT(.project_id = PROJECT), 1);
	assert_int_equal(COUNT(.project_id = PROJECT, .ascending = true), 1);
	assert_int_equal(COUNT(.with_builds = true), 2);
	assert_int_equal(COUNT(.project_id = PROJECT, .with_builds = true), 2);
	assert_int_equal(COUNT(.label_key = SANDBOX_BUILD_LABEL), 1);
#undef COUNT
}

static void a_deleted_sandbox_is_only_in_lists_until_it_is_purged(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "box");
	struct sandbox_move move = sample_move(id.text, SANDBOX_DELETING, SANDBOX_DELETED);

	r.actual = SANDBOX_DELETING;
	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	assert_done(store_sandbox_move(*state, &move, &err));
	assert_refused(store_sandbox_find(*state, &a, PROJECT, id.text, &r, &err), ERROR_NOT_FOUND);
	assert_refused(store_sandbox_find(*state, &a, PROJECT, "box", &r, &err), ERROR_NOT_FOUND);
	assert_done(store_sandbox_purge(*state, NOW + 1, &err));
	assert_int_equal(count_of(*state, (struct sandbox_filter){.state = SANDBOX_DELETED}), 1);
	assert_done(store_sandbox_purge(*state, NOW + 2, &err));
	assert_int_equal(count_of(*state, (struct sandbox_filter){.state = SANDBOX_DELETED}), 0);
}

static size_t count_of_node(struct store *s, const char *node)
{
	const struct sandbox_filter filter = {.state = -1, .node = node, .limit = 10};
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct sandbox_list list;

	assert_done(store_sandbox_list(s, &a, &filter, &list, &err));
	return list.count;
}

static void rows_without_a_node_are_adopted_and_lists_are_filtered_by_node(void **state)
{
	struct store *s = *state;
	struct error err = {0};
	struct id old = id_new(), new = id_new();
	struct sandbox_record r = sample_sandbox(old.text, "old");

	assert_done(store_sandbox_insert(s, &r, 0, &err));
	r = sample_sandbox(new.text, "new");
	r.node = "there";
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	assert_int_equal(count_of_node(s, "here"), 0);
	assert_done(store_sandbox_adopt(s, "here", &err));
	assert_int_equal(count_of_node(s, "here"), 1);
	assert_int_equal(count_of_node(s, "there"), 1);
	assert_int_equal(count_of_node(s, NULL), 2);
}

static const struct CMUnitTest tests[] = {
        EACH(a_sandbox_comes_back_as_it_went_in),
        EACH(a_sandbox_is_found_by_name_in_its_project_alone),
        EACH(a_name_is_found_in_any_project_that_alone_has_it),
        EACH(odd_names_are_data_and_never_sql),
        EACH(a_name_is_unique_among_the_living_and_free_again_when_one_goes),
        EACH(a_project_has_at_most_so_many_living_sandboxes),
        EACH(a_sandbox_of_a_project_that_is_not_there_is_refused),
        EACH(a_sandbox_of_a_template_that_is_gone_is_refused),
        EACH(sandboxes_are_counted_by_state),
        EACH(a_move_is_a_compare_and_set_that_tells_what_it_met),
        EACH(a_reason_stays_until_another_one_or_a_new_start),
        EACH(a_resume_is_no_new_start),
        EACH(keeping_moves_a_timeout_that_would_be_earlier),
        EACH(what_may_be_seen_of_a_sandbox_is_kept),
        EACH(whom_a_sandbox_may_reach_is_kept_and_replaced),
        EACH(settings_replace_all_of_their_kind_and_nothing_else),
        EACH(limits_and_environment_change_by_themselves),
        EACH(a_wish_is_left_to_the_one_at_work),
        EACH(a_touch_shows_at_once_and_never_goes_back),
        EACH(a_touch_of_what_is_gone_is_no_failure),
        EACH(a_timeout_can_be_set_and_taken_away),
        EACH(pages_show_every_sandbox_once_newest_first),
        EACH(pages_go_from_the_oldest_as_well),
        EACH(a_page_that_ends_exactly_is_the_last),
        EACH(a_page_that_no_list_has_answered_is_refused),
        EACH(owners_of_many_are_found_at_once_of_a_project_or_of_any),
        EACH(lists_are_filtered_by_state_name_template_and_label),
        EACH(lists_leave_sandboxes_of_builds_out_unless_asked),
        EACH(a_deleted_sandbox_is_only_in_lists_until_it_is_purged),
        EACH(rows_without_a_node_are_adopted_and_lists_are_filtered_by_node),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
