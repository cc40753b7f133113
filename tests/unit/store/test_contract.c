/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"
#include "store/keys.h"
#include "store/templates.h"

/* ---- projects ---- */

static void a_project_comes_back_as_it_went_in(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	const struct project_record made = {.id = "p2",
	                                    .name = "second",
	                                    .defaults = {.cpu = 0.25, .memory_mb = 64},
	                                    .sandboxes_max = 7,
	                                    .storage_max_mb = 70,
	                                    .created_at = NOW};
	struct project_record found;

	assert_done(store_project_insert(*state, &made, &err));
	assert_done(store_project_find(*state, &a, "p2", &found, &err));
	assert_string_equal(found.name, "second");
	assert_true(found.defaults.cpu == 0.25);
	assert_int_equal(found.defaults.memory_mb, 64);
	assert_int_equal(found.defaults.disk_mb, 0);
	assert_int_equal(found.sandboxes_max, 7);
	assert_int_equal(found.storage_max_mb, 70);
	assert_int_equal(found.created_at, NOW);
}

static void an_unknown_project_is_not_found_and_a_known_one_is_taken(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct project_record project = sample_project();

	assert_refused(store_project_find(*state, &a, "nobody", &project, &err), ERROR_NOT_FOUND);
	project = sample_project();
	assert_refused(store_project_insert(*state, &project, &err), ERROR_CONFLICT);
	project.id = "another id, the same name";
	assert_refused(store_project_insert(*state, &project, &err), ERROR_CONFLICT);
}

static int double_the_limit(struct project_record *r, const void *context, struct error *err)
{
	(void)context;
	(void)err;
	r->sandboxes_max *= 2;
	return 0;
}

static void count_accepted(void *context)
{
	++*(unsigned *)context;
}

static void a_sandbox_is_refused_that_was_worked_out_from_an_older_project(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct project_edit edit = {.id = PROJECT, .edit = double_the_limit};
	struct sandbox_record r = sample_sandbox("s1", "one"), found;
	unsigned accepted = 0;
	struct sandbox_insertion insertion = {
	        .record = &r, .on_accepted = count_accepted, .context = &accepted};
	struct project_record before, project;
	struct error err = {0};

	assert_done(store_project_find(*state, &a, PROJECT, &before, &err));
	assert_done(store_project_edit(*state, &a, &edit, &project, &err));
	assert_done(store_project_find(*state, &a, PROJECT, &project, &err));
	assert_true(project.version > before.version);
	insertion.project_version = before.version;
	assert_refused(store_sandbox_insert_with(*state, &insertion, &err), ERROR_CONFLICT);
	assert_true(insertion.is_outdated);
	assert_int_equal(accepted, 0);
	assert_refused(store_sandbox_find(*state, &a, NULL, r.id, &found, &err), ERROR_NOT_FOUND);
	insertion.project_version = project.version;
	assert_done(store_sandbox_insert_with(*state, &insertion, &err));
	assert_false(insertion.is_outdated);
	assert_true(accepted > 0);
	assert_done(store_project_edit(*state, &a, &edit, &before, &err));
	assert_done(store_project_find(*state, &a, PROJECT, &before, &err));
	assert_true(before.version > project.version);
}

/* ---- keys ---- */

static struct key_record sample_key(const char *id, unsigned char mark)
{
	struct key_record key = {.id = id,
	                         .project_id = PROJECT,
	                         .name = "ci",
	                         .prefix = "atoll_abcdef",
	                         .scopes = 3,
	                         .created_at = NOW,
	                         .expires_at = NOW + 5};

	memset(key.hash, mark, sizeof(key.hash));
	return key;
}

static void a_key_is_found_by_its_hash_and_by_no_other(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct key_record key = sample_key("k1", 0), found;

	assert_done(store_key_insert(*state, &key, &err));
	assert_done(store_key_find_by_hash(*state, &a, key.hash, &found, &err));
	assert_string_equal(found.id, "k1");
	assert_string_equal(found.prefix, "atoll_abcdef");
	assert_int_equal(found.scopes, 3);
	assert_int_equal(found.expires_at, NOW + 5);
	assert_memory_equal(found.hash, key.hash, KEY_HASH_SIZE);
	key.hash[31] = 1;
	assert_refused(store_key_find_by_hash(*state, &a, key.hash, &found, &err), ERROR_NOT_FOUND);
}

static void a_key_of_a_project_that_is_not_there_is_refused(void **state)
{
	struct error err = {0};
	struct key_record key = sample_key("k1", 1);

	key.project_id = "nobody";
	assert_refused(store_key_insert(*state, &key, &err), ERROR_NOT_FOUND);
}

static void two_keys_cannot_share_a_hash_or_an_id(void **state)
{
	struct error err = {0};
	struct key_record key = sample_key("k1", 1), other = sample_key("k2", 1);

	assert_done(store_key_insert(*state, &key, &err));
	assert_refused(store_key_insert(*state, &other, &err), ERROR_CONFLICT);
	other = sample_key("k1", 2);
	assert_refused(store_key_insert(*state, &other, &err), ERROR_CONFLICT);
}

static void a_revoked_key_stays_revoked_at_its_first_time(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct key_record key = sample_key("k1", 1);
	struct key_list list;

	assert_done(store_key_insert(*state, &key, &err));
	assert_done(store_key_revoke(*state, PROJECT, "k1", NOW + 1, &err));
	assert_done(store_key_revoke(*state, PROJECT, "k1", NOW + 2, &err));
	assert_done(store_key_list(*state, &a, PROJECT, &list, &err));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].revoked_at, NOW + 1);
	assert_refused(store_key_revoke(*state, "other", "k1", NOW, &err), ERROR_NOT_FOUND);
}

static void a_key_that_was_used_says_so_before_and_after_it_is_written(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct key_record key = sample_key("k1", 1), found;

	assert_done(store_key_insert(*state, &key, &err));
	store_key_touch(*state, "k1", NOW + 9);
	assert_done(store_key_find_by_hash(*state, &a, key.hash, &found, &err));
	assert_int_equal(found.last_used_at, NOW + 9);
	assert_done(store_tidy(*state, &err));
	assert_done(store_key_find_by_hash(*state, &a, key.hash, &found, &err));
	assert_int_equal(found.last_used_at, NOW + 9);
}

/* ---- templates ---- */

static void a_template_is_found_by_name_and_id_the_projects_own_first(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct template_record shared = sample_template("t1", "", "base");
	struct template_record own = sample_template("t2", PROJECT, "base");
	struct template_record alien = sample_template("t3", "other", "secret");
	struct template_record found;

	assert_done(store_template_insert(*state, &shared, &err));
	assert_done(store_template_find(*state, &a, PROJECT, "base", &found, &err));
	assert_string_equal(found.id, "t1");
	assert_done(store_template_insert(*state, &own, &err));
	assert_done(store_template_insert(*state, &alien, &err));
	assert_done(store_template_find(*state, &a, PROJECT, "base", &found, &err));
	assert_string_equal(found.id, "t2");
	assert_done(store_template_find(*state, &a, PROJECT, "t1", &found, &err));
	assert_string_equal(found.id, "t1");
	assert_refused(store_template_find(*state, &a, PROJECT, "secret", &found, &err),
	               ERROR_NOT_FOUND);
	assert_refused(store_template_find(*state, &a, PROJECT, "t3", &found, &err),
	               ERROR_NOT_FOUND);
	assert_refused(store_template_insert(*state, &own, &err), ERROR_CONFLICT);
}

static void what_a_template_does_not_say_is_empty_not_null(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct template_record made = sample_template("t1", "", "base"), found;

	assert_done(store_template_insert(*state, &made, &err));
	assert_done(store_template_find(*state, &a, NULL, "base", &found, &err));
	assert_string_equal(found.env_json, "{\"X\":\"1\"}");
	assert_string_equal(found.entrypoint_json, "[]");
	assert_string_equal(found.ports_json, "[]");
	assert_string_equal(found.description, "");
	assert_string_equal(found.workdir, "");
}

static void a_template_moves_by_compare_and_set_with_progress(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct template_record made = sample_template("t1", "", "base"), found;
	struct template_move move = {"t1", TEMPLATE_PENDING, TEMPLATE_BUILDING, "0 begins", 0, NOW};

	assert_done(store_template_insert(*state, &made, &err));
	assert_done(store_template_move(*state, &move, &err));
	assert_refused(store_template_move(*state, &move, &err), ERROR_CONFLICT);
	move.id = "none";
	assert_refused(store_template_move(*state, &move, &err), ERROR_NOT_FOUND);
	move = (struct template_move){"t1", TEMPLATE_BUILDING, TEMPLATE_BUILDING, "50 half", 0,
	                              NOW};
	assert_done(store_template_move(*state, &move, &err));
	move = (struct template_move){"t1", TEMPLATE_BUILDING, TEMPLATE_READY, "", 77, NOW + 3};
	assert_done(store_template_move(*state, &move, &err));
	assert_done(store_template_find(*state, &a, "", "base", &found, &err));
	assert_int_equal(found.state, TEMPLATE_READY);
	assert_int_equal(found.size_bytes, 77);
	assert_int_equal(found.updated_at, NOW + 3);
}

static void an_import_fills_in_what_it_found(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct template_record made = sample_template("t1", PROJECT, "mine"), found;

	assert_done(store_template_insert(*state, &made, &err));
	made.ports_json = "[3000]";
	made.workdir = "/app";
	made.size_bytes = 5;
	made.pool_min = 1;
	made.pool_target = 2;
	made.pool_max = 3;
	made.timeouts = (struct sandbox_timeouts){
	        .idle_pause_ms = -1, .idle_stop_ms = 5, .idle_reap_ms = 6, .lifetime_max_ms = 7};
	assert_done(store_template_update(*state, &made, &err));
	assert_done(store_template_find(*state, &a, PROJECT, "mine", &found, &err));
	assert_string_equal(found.ports_json, "[3000]");
	assert_string_equal(found.workdir, "/app");
	assert_memory_equal(&found.timeouts, &made.timeouts, sizeof(made.timeouts));
	assert_true(found.pool_min == 1 && found.pool_target == 2 && found.pool_max == 3);
	assert_int_equal(found.state, TEMPLATE_PENDING);
	made.id = "none";
	assert_refused(store_template_update(*state, &made, &err), ERROR_NOT_FOUND);
}

static void a_template_in_use_stays_and_one_of_others_is_not_found(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct template_record made = sample_template("t1", PROJECT, "mine");
	struct id id = id_new();
	struct sandbox_record sandbox = sample_sandbox(id.text, "user-of-it");
	struct sandbox_move deleting = sample_move(id.text, SANDBOX_PENDING, SANDBOX_DELETING);
	struct sandbox_move deleted = sample_move(id.text, SANDBOX_DELETING, SANDBOX_DELETED);
	struct template_list list;

	sandbox.template_id = "t1";
	assert_done(store_template_insert(*state, &made, &err));
	assert_done(store_sandbox_insert(*state, &sandbox, 0, &err));
	assert_refused(store_template_remove(*state, PROJECT, "t1", &err), ERROR_CONFLICT);
	assert_refused(store_template_remove(*state, "", "t1", &err), ERROR_NOT_FOUND);
	assert_done(store_sandbox_move(*state, &deleting, &err));
	assert_done(store_sandbox_move(*state, &deleted, &err));
	assert_done(store_template_remove(*state, PROJECT, "t1", &err));
	assert_done(store_template_list(*state, &a, PROJECT, &list, &err));
	assert_int_equal(list.count, 0);
}

static void a_project_sees_its_own_templates_and_everybodys(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct template_record own = sample_template("t1", PROJECT, "zebra");
	struct template_record shared = sample_template("t2", "", "base");
	struct template_record alien = sample_template("t3", "other", "alien");
	struct template_list list;

	assert_done(store_template_insert(*state, &own, &err));
	assert_done(store_template_insert(*state, &shared, &err));
	assert_done(store_template_insert(*state, &alien, &err));
	assert_done(store_template_list(*state, &a, PROJECT, &list, &err));
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].name, "base");
	assert_string_equal(list.items[1].name, "zebra");
	assert_done(store_template_list(*state, &a, NULL, &list, &err));
	assert_int_equal(list.count, 4); /* the samples' own, too */
}

static void another_projects_template_is_found_by_its_id_while_it_is_public(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct template_record shown = sample_template("t1", "other", "shown"), found;

	assert_done(store_template_insert(*state, &shown, &err));
	assert_refused(store_template_find(*state, &a, PROJECT, "t1", &found, &err),
	               ERROR_NOT_FOUND);
	shown.is_public = true;
	assert_done(store_template_update(*state, &shown, &err));
	assert_done(store_template_find(*state, &a, PROJECT, "t1", &found, &err));
	assert_true(found.is_public);
	assert_refused(store_template_find(*state, &a, PROJECT, "shown", &found, &err),
	               ERROR_NOT_FOUND);
	shown.is_public = false;
	assert_done(store_template_update(*state, &shown, &err));
	assert_refused(store_template_find(*state, &a, PROJECT, "t1", &found, &err),
	               ERROR_NOT_FOUND);
}

static struct template_record sample_pulled(const char *id, const char *name, int64_t used_at)
{
	struct template_record t = sample_template(id, PROJECT, name);

	t.is_pulled = true;
	t.used_at = used_at;
	t.node = "here";
	return t;
}

static size_t count_unused(struct store *s, struct arena *a, const char *first)
{
	const struct pulled_filter filter = {"here", 10};
	struct error err = {0};
	struct template_list list;

	assert_done(store_template_pulled_list(s, a, &filter, &list, &err));
	if (first)
		assert_string_equal(list.items[0].id, first);
	return list.count;
}

static void unused_pulled_templates_are_listed_the_least_recently_used_first(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	const int64_t now = 100 * TEMPLATE_USED_WITHIN_MS;
	struct template_record old = sample_pulled("t1", "old", 5),
	                       young = sample_pulled("t2", "young", 9),
	                       own = sample_template("t3", PROJECT, "own"), found;
	struct id id = id_new();
	struct sandbox_record sandbox = sample_sandbox(id.text, "user-of-it");

	assert_done(store_template_insert(*state, &young, &err));
	assert_done(store_template_insert(*state, &old, &err));
	assert_done(store_template_insert(*state, &own, &err));
	assert_int_equal(count_unused(*state, &a, "t1"), 2);
	assert_done(store_template_touch(*state, "t1", now, &err));
	assert_int_equal(count_unused(*state, &a, "t2"), 2);
	/* A use within the time writes nothing. */
	assert_done(store_template_touch(*state, "t1", now + 1, &err));
	assert_done(store_template_find(*state, &a, PROJECT, "t1", &found, &err));
	assert_true(found.is_pulled && found.used_at == now);
	/* A sandbox uses its template as long as it is there. */
	sandbox.template_id = "t2";
	assert_done(store_sandbox_insert(*state, &sandbox, 0, &err));
	assert_int_equal(count_unused(*state, &a, "t1"), 1);
	assert_done(store_template_touch_pulled(*state, now, &err));
	assert_done(store_template_find(*state, &a, PROJECT, "t2", &found, &err));
	assert_int_equal(found.used_at, now);
	assert_done(store_template_find(*state, &a, PROJECT, "t3", &found, &err));
	assert_int_equal(found.used_at, 0);
	/* One that its project has changed is its own. */
	old.is_pulled = false;
	assert_done(store_template_update(*state, &old, &err));
	assert_int_equal(count_unused(*state, &a, NULL), 0);
}

static void a_failed_pull_is_seen_by_its_waiters_alone_and_does_not_stay(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct template_record made = sample_pulled("t1", "mine", 5), found;
	struct template_move move = {.id = "t1",
	                             .from = TEMPLATE_PENDING,
	                             .to = TEMPLATE_FAILED,
	                             .state_text = "pull",
	                             .failure = "not_found\nlook",
	                             .now = 7};
	struct id id = id_new();
	struct sandbox_record sandbox = sample_sandbox(id.text, "waits");
	struct sandbox_move failed = sample_move(id.text, SANDBOX_PENDING, SANDBOX_FAILED);
	struct template_list list;

	sandbox.template_id = "t1";
	assert_done(store_template_insert(*state, &made, &err));
	assert_done(store_sandbox_insert(*state, &sandbox, 0, &err));
	assert_done(store_template_move(*state, &move, &err));
	assert_done(store_template_find(*state, &a, PROJECT, "t1", &found, &err));
	assert_string_equal(found.failure, "not_found\nlook");
	assert_done(store_template_list(*state, &a, PROJECT, &list, &err));
	assert_int_equal(list.count, 0);
	assert_refused(store_template_remove(*state, PROJECT, "t1", &err), ERROR_CONFLICT);
	assert_int_equal(count_unused(*state, &a, NULL), 0);
	/* The sandbox that waited for it has failed, too. */
	assert_done(store_sandbox_move(*state, &failed, &err));
	assert_int_equal(count_unused(*state, &a, "t1"), 1);
	/* Another try forgets the failure. */
	move = (struct template_move){.id = "t1",
	                              .from = TEMPLATE_FAILED,
	                              .to = TEMPLATE_BUILDING,
	                              .state_text = "0 %",
	                              .now = 8};
	assert_done(store_template_move(*state, &move, &err));
	assert_done(store_template_find(*state, &a, PROJECT, "t1", &found, &err));
	assert_string_equal(found.failure, "");
	move = (struct template_move){.id = "t1",
	                              .from = TEMPLATE_BUILDING,
	                              .to = TEMPLATE_FAILED,
	                              .state_text = "pull",
	                              .now = 9};
	assert_done(store_template_move(*state, &move, &err));
	assert_done(store_template_remove(*state, PROJECT, "t1", &err));
}

static void a_ping_is_answered(void **state)
{
	struct error err = {0};

	assert_done(store_ping(*state, &err));
}

static const struct CMUnitTest tests[] = {
        EACH(a_project_comes_back_as_it_went_in),
        EACH(an_unknown_project_is_not_found_and_a_known_one_is_taken),
        EACH(a_sandbox_is_refused_that_was_worked_out_from_an_older_project),
        EACH(a_key_is_found_by_its_hash_and_by_no_other),
        EACH(a_key_of_a_project_that_is_not_there_is_refused),
        EACH(two_keys_cannot_share_a_hash_or_an_id),
        EACH(a_revoked_key_stays_revoked_at_its_first_time),
        EACH(a_key_that_was_used_says_so_before_and_after_it_is_written),
        EACH(a_template_is_found_by_name_and_id_the_projects_own_first),
        EACH(what_a_template_does_not_say_is_empty_not_null),
        EACH(a_template_moves_by_compare_and_set_with_progress),
        EACH(an_import_fills_in_what_it_found),
        EACH(a_template_in_use_stays_and_one_of_others_is_not_found),
        EACH(a_project_sees_its_own_templates_and_everybodys),
        EACH(another_projects_template_is_found_by_its_id_while_it_is_public),
        EACH(unused_pulled_templates_are_listed_the_least_recently_used_first),
        EACH(a_failed_pull_is_seen_by_its_waiters_alone_and_does_not_stay),
        EACH(a_ping_is_answered),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
