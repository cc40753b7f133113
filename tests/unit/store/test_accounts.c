
#include "store/members.h"
/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"
#include "store/configs.h"
#include "store/keys.h"

/* ---- projects ---- */

static void a_projects_limits_and_settings_come_back(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	const struct project_record made = {.id = "p2",
	                                    .name = "second",
	                                    .maximums = {.cpu = 1.5, .pids = 9},
	                                    .timeouts = {.idle_pause_ms = 3,
	                                                 .idle_stop_ms = -1,
	                                                 .idle_reap_ms = 1,
	                                                 .lifetime_max_ms = 2},
	                                    .terminal_ttl_ms = 3,
	                                    .record_terminals = true,
	                                    .created_at = NOW};
	struct project_record found;

	assert_done(store_project_insert(*state, &made, &err));
	assert_done(store_project_find(*state, &a, "p2", &found, &err));
	assert_true(found.maximums.cpu == 1.5);
	assert_int_equal(found.maximums.pids, 9);
	assert_int_equal(found.maximums.memory_mb, 0);
	assert_memory_equal(&found.timeouts, &made.timeouts, sizeof(made.timeouts));
	assert_int_equal(found.terminal_ttl_ms, 3);
	assert_true(found.record_terminals);
	assert_false(found.closing);
}

static void projects_are_listed_by_name_and_page(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	const struct project_record made = {.id = "p2", .name = "alpha", .created_at = NOW};
	struct project_list list;

	assert_done(store_project_insert(*state, &made, &err));
	assert_done(store_project_list(*state, &a, &(struct project_page){"", 1}, &list, &err));
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].name, "alpha");
	assert_done(
	        store_project_list(*state, &a, &(struct project_page){"alpha", 10}, &list, &err));
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].name, "default");
}

static int rename_it(struct project_record *r, const void *context, struct error *err)
{
	if (!context)
		return FAIL(err, ERROR_INVALID, "refused");
	r->name = context;
	r->maximums.disk_mb = 77;
	return 0;
}

static int leave_by(struct project_record *r, const void *context, UNUSED struct error *err)
{
	r->source_address = context;
	return 0;
}

static void no_two_projects_have_one_source_address(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	const struct project_record made = {
	        .id = "p2", .name = "alpha", .source_address = "203.0.113.9", .created_at = NOW};
	const struct project_record same = {
	        .id = "p3", .name = "beta", .source_address = "203.0.113.9", .created_at = NOW};
	struct project_edit edit = {PROJECT, leave_by, "203.0.113.9"};
	struct project_record found;
	struct project_list list;

	assert_done(store_project_insert(*state, &made, &err));
	assert_refused(store_project_insert(*state, &same, &err), ERROR_CONFLICT);
	assert_refused(store_project_edit(*state, &a, &edit, &found, &err), ERROR_CONFLICT);
	edit.context = "203.0.113.10";
	assert_done(store_project_edit(*state, &a, &edit, &found, &err));
	assert_string_equal(found.source_address, "203.0.113.10");
	assert_done(store_project_list_sources(*state, &a, &list, &err));
	assert_int_equal(list.count, 2);
	edit = (struct project_edit){"p2", leave_by, ""};
	assert_done(store_project_edit(*state, &a, &edit, &found, &err));
	assert_done(store_project_insert(*state, &same, &err));
}

static void source_addresses_have_a_limit(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	const struct project_edit edit = {PROJECT, leave_by, "203.0.114.1"};
	struct project_record found;

	for (int i = 0; i < PROJECT_SOURCES_MAX; i++) {
		char id[16], address[32];
		const struct project_record r = {
		        .id = id, .name = id, .source_address = address, .created_at = NOW};

		(void)snprintf(id, sizeof(id), "p%d", i + 10);
		(void)snprintf(address, sizeof(address), "203.0.113.%d", i);
		assert_done(store_project_insert(*state, &r, &err));
	}
	assert_refused(store_project_edit(*state, &a, &edit, &found, &err), ERROR_LIMIT);
}

static void an_edit_is_kept_as_a_whole_or_not_at_all(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	const struct project_record other = {.id = "p2", .name = "taken", .created_at = NOW};
	struct project_record found;

	assert_done(store_project_insert(*state, &other, &err));
	assert_done(store_project_edit(
	        *state, &a, &(struct project_edit){PROJECT, rename_it, "new"}, &found, &err));
	assert_string_equal(found.name, "new");
	assert_refused(store_project_edit(*state, &a,
	                                  &(struct project_edit){PROJECT, rename_it, "taken"},
	                                  &found, &err),
	               ERROR_CONFLICT);
	assert_refused(store_project_edit(*state, &a,
	                                  &(struct project_edit){PROJECT, rename_it, NULL}, &found,
	                                  &err),
	               ERROR_INVALID);
	assert_refused(store_project_edit(*state, &a,
	                                  &(struct project_edit){"nobody", rename_it, "x"}, &found,
	                                  &err),
	               ERROR_NOT_FOUND);
	assert_done(store_project_find(*state, &a, PROJECT, &found, &err));
	assert_string_equal(found.name, "new");
	assert_int_equal(found.maximums.disk_mb, 77);
}

static struct key_record sample_key(const char *id, unsigned char mark, const char *user)
{
	struct key_record key = {.id = id,
	                         .project_id = PROJECT,
	                         .user_id = user,
	                         .name = "ci",
	                         .prefix = "atoll_abcdef",
	                         .scopes = 3,
	                         .created_at = NOW};

	memset(key.hash, mark, sizeof(key.hash));
	return key;
}

static const struct project_closing gently = {PROJECT, false, NOW + 7};
static const struct project_closing forced = {PROJECT, true, NOW + 7};

static void a_project_with_sandboxes_closes_only_by_force(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new(), second = id_new();
	struct sandbox_record sandbox = sample_sandbox(id.text, "lives");
	struct key_record key = sample_key("k1", 1, ""), found;
	struct sandbox_move deleting = sample_move(id.text, SANDBOX_PENDING, SANDBOX_DELETING);
	struct sandbox_move deleted = sample_move(id.text, SANDBOX_DELETING, SANDBOX_DELETED);
	struct project_list list;

	assert_done(store_key_insert(*state, &key, &err));
	assert_done(store_sandbox_insert(*state, &sandbox, 0, &err));
	assert_refused(store_project_close(*state, &gently, &err), ERROR_CONFLICT);
	assert_done(store_key_find_by_hash(*state, &a, key.hash, &found, &err));
	assert_int_equal(found.revoked_at, 0);
	assert_refused(store_project_remove(*state, PROJECT, &err), ERROR_CONFLICT);
	assert_done(store_project_close(*state, &forced, &err));
	assert_done(store_project_close(*state, &forced, &err));
	assert_done(store_key_find_by_hash(*state, &a, key.hash, &found, &err));
	assert_int_equal(found.revoked_at, NOW + 7);
	/* Nothing new comes, and what is there keeps it. */
	sandbox = sample_sandbox(second.text, "late");
	assert_refused(store_sandbox_insert(*state, &sandbox, 0, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "being deleted"));
	assert_refused(store_project_remove(*state, PROJECT, &err), ERROR_CONFLICT);
	assert_done(store_sandbox_move(*state, &deleting, &err));
	assert_done(store_sandbox_move(*state, &deleted, &err));
	assert_done(store_project_list_closing(*state, &a, &list, &err));
	assert_int_equal(list.count, 1);
	assert_done(store_project_remove(*state, PROJECT, &err));
	assert_done(store_project_list_closing(*state, &a, &list, &err));
	assert_int_equal(list.count, 0);
}

static struct member_record sample_member(const char *user, const char *role)
{
	return (struct member_record){.project_id = PROJECT,
	                              .user_id = user,
	                              .role = role,
	                              .created_at = NOW,
	                              .updated_at = NOW};
}

static struct config_record sample_config(const char *id, const char *name)
{
	return (struct config_record){.id = id,
	                              .project_id = PROJECT,
	                              .name = name,
	                              .config_json = "{\"timeout\":5}",
	                              .env_json = "{\"A\":\"b\"}",
	                              .created_at = NOW,
	                              .updated_at = NOW};
}

static void a_project_goes_with_all_that_is_its_own(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct member_record ann = sample_member("ann", "admin"), member;
	struct key_record key = sample_key("k1", 1, "ann"), found;
	struct config_record config = sample_config("c1", "mine"), kept;
	const struct key_rotation rotation = {PROJECT, "k1", {9}, "atoll_new", NOW, NOW + 5};
	struct project_record project;

	assert_done(store_member_insert(*state, &ann, &err));
	assert_done(store_key_insert(*state, &key, &err));
	assert_done(store_key_rotate(*state, &a, &rotation, &found, &err));
	assert_done(store_config_insert(*state, &config, &err));
	assert_done(store_project_close(*state, &gently, &err));
	assert_done(store_project_remove(*state, PROJECT, &err));
	assert_refused(store_project_find(*state, &a, PROJECT, &project, &err), ERROR_NOT_FOUND);
	assert_refused(store_key_find_by_hash(*state, &a, key.hash, &found, &err), ERROR_NOT_FOUND);
	assert_refused(store_member_find(*state, &a, PROJECT, "ann", &member, &err),
	               ERROR_NOT_FOUND);
	assert_refused(store_config_find(*state, &a, PROJECT, "c1", &kept, &err), ERROR_NOT_FOUND);
	assert_refused(store_project_remove(*state, PROJECT, &err), ERROR_NOT_FOUND);
	assert_refused(store_project_close(*state, &gently, &err), ERROR_NOT_FOUND);
}

/* ---- members ---- */

static void a_project_with_members_always_has_an_admin(void **state)
{
	struct error err = {0};
	struct member_record ann = sample_member("ann", "admin");
	struct member_record bob = sample_member("bob", "viewer");

	assert_refused(store_member_insert(*state, &bob, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "first member"));
	assert_done(store_member_insert(*state, &ann, &err));
	assert_refused(store_member_insert(*state, &ann, &err), ERROR_CONFLICT);
	assert_done(store_member_insert(*state, &bob, &err));
	ann.role = "member";
	assert_refused(store_member_set_role(*state, &ann, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "last admin"));
	assert_refused(store_member_remove(*state, PROJECT, "ann", NOW, &err), ERROR_CONFLICT);
	bob.role = "admin";
	assert_done(store_member_set_role(*state, &bob, &err));
	assert_done(store_member_set_role(*state, &ann, &err));
	assert_refused(store_member_remove(*state, PROJECT, "bob", NOW, &err), ERROR_CONFLICT);
	assert_done(store_member_remove(*state, PROJECT, "ann", NOW, &err));
	assert_refused(store_member_remove(*state, PROJECT, "ann", NOW, &err), ERROR_NOT_FOUND);
	assert_refused(store_member_set_role(*state, &ann, &err), ERROR_NOT_FOUND);
	ann.project_id = "nobody";
	assert_refused(store_member_insert(*state, &ann, &err), ERROR_NOT_FOUND);
}

static void a_member_that_goes_takes_his_keys_along(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct member_record ann = sample_member("ann", "admin");
	struct member_record bob = sample_member("bob", "viewer");
	struct key_record his = sample_key("k1", 1, "bob"), hers = sample_key("k2", 2, "ann");
	struct key_record strangers = sample_key("k3", 3, "eve"), found;
	struct member_list list;

	assert_done(store_member_insert(*state, &ann, &err));
	assert_done(store_member_insert(*state, &bob, &err));
	assert_done(store_key_insert(*state, &his, &err));
	assert_done(store_key_insert(*state, &hers, &err));
	assert_refused(store_key_insert(*state, &strangers, &err), ERROR_NOT_FOUND);
	assert_done(store_key_find_by_hash(*state, &a, his.hash, &found, &err));
	assert_string_equal(found.user_id, "bob");
	assert_string_equal(found.role, "viewer");
	bob.role = "member";
	assert_done(store_member_set_role(*state, &bob, &err));
	assert_done(store_key_find_by_hash(*state, &a, his.hash, &found, &err));
	assert_string_equal(found.role, "member");
	assert_done(store_member_remove(*state, PROJECT, "bob", NOW + 3, &err));
	assert_done(store_key_find_by_hash(*state, &a, his.hash, &found, &err));
	assert_int_equal(found.revoked_at, NOW + 3);
	assert_string_equal(found.role, "");
	assert_done(store_key_find_by_hash(*state, &a, hers.hash, &found, &err));
	assert_int_equal(found.revoked_at, 0);
	assert_done(store_member_list(*state, &a, PROJECT, &list, &err));
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].user_id, "ann");
}

/* ---- keys ---- */

static struct key_rotation rotation_of(const char *id, unsigned char mark, int64_t now,
                                       int64_t until)
{
	struct key_rotation rotation = {.project_id = PROJECT, .id = id, .prefix = "atoll_new"};

	memset(rotation.hash, mark, sizeof(rotation.hash));
	rotation.now = now;
	rotation.until = until;
	return rotation;
}

static void a_rotated_key_has_two_secrets_for_a_while(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct key_record key = sample_key("k1", 1, ""), found;
	struct key_rotation first = rotation_of("k1", 2, NOW, NOW + 100);
	struct key_rotation second = rotation_of("k1", 3, NOW + 1, NOW + 1);

	assert_done(store_key_insert(*state, &key, &err));
	assert_done(store_key_rotate(*state, &a, &first, &found, &err));
	assert_string_equal(found.prefix, "atoll_new");
	assert_done(store_key_find_by_hash(*state, &a, key.hash, &found, &err));
	assert_string_equal(found.id, "k1");
	assert_memory_equal(found.hash, key.hash, KEY_HASH_SIZE);
	assert_int_equal(found.expires_at, NOW + 100);
	assert_done(store_key_find_by_hash(*state, &a, first.hash, &found, &err));
	assert_string_equal(found.id, "k1");
	assert_int_equal(found.expires_at, 0);
	/* Without grace all older ones end. */
	assert_done(store_key_rotate(*state, &a, &second, &found, &err));
	assert_refused(store_key_find_by_hash(*state, &a, key.hash, &found, &err), ERROR_NOT_FOUND);
	assert_done(store_key_find_by_hash(*state, &a, first.hash, &found, &err));
	assert_int_equal(found.expires_at, NOW + 1);
}

static void what_is_over_is_not_rotated_and_old_secrets_are_few(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct key_record gone = sample_key("k1", 1, ""), old = sample_key("k2", 2, "");
	struct key_record often = sample_key("k3", 3, ""), found;
	struct key_rotation rotation = rotation_of("k1", 9, NOW, NOW + 100);

	old.expires_at = NOW;
	assert_done(store_key_insert(*state, &gone, &err));
	assert_done(store_key_insert(*state, &old, &err));
	assert_done(store_key_insert(*state, &often, &err));
	assert_done(store_key_revoke(*state, PROJECT, "k1", NOW, &err));
	assert_refused(store_key_rotate(*state, &a, &rotation, &found, &err), ERROR_CONFLICT);
	rotation.id = "k2";
	assert_refused(store_key_rotate(*state, &a, &rotation, &found, &err), ERROR_CONFLICT);
	rotation.id = "nosuch";
	assert_refused(store_key_rotate(*state, &a, &rotation, &found, &err), ERROR_NOT_FOUND);
	for (unsigned i = 0; i < STORE_SECRETS_MAX; i++) {
		rotation = rotation_of("k3", (unsigned char)(10 + i), NOW, NOW + 100);
		assert_done(store_key_rotate(*state, &a, &rotation, &found, &err));
	}
	rotation = rotation_of("k3", 99, NOW, NOW + 100);
	assert_refused(store_key_rotate(*state, &a, &rotation, &found, &err), ERROR_LIMIT);
	rotation = rotation_of("k3", 99, NOW, NOW);
	assert_done(store_key_rotate(*state, &a, &rotation, &found, &err));
}

static void a_project_has_a_limit_of_keys_that_useless_ones_make_room_in(void **state)
{
	struct error err = {0};
	struct key_record key = sample_key("", 0, "");
	char id[16];

	for (int i = 0; i < STORE_KEYS_MAX; i++) {
		snprintf(id, sizeof(id), "k%d", i);
		key.id = id;
		memcpy(key.hash, &i, sizeof(i));
		assert_done(store_key_insert(*state, &key, &err));
	}
	key = sample_key("last", 200, "");
	assert_refused(store_key_insert(*state, &key, &err), ERROR_LIMIT);
	assert_done(store_key_revoke(*state, PROJECT, "k5", NOW, &err));
	assert_refused(store_key_insert(*state, &key, &err), ERROR_LIMIT);
	key.created_at = NOW + INT64_C(31) * 86400000;
	assert_done(store_key_insert(*state, &key, &err));
}

/* ---- configs ---- */

static void a_config_is_found_by_id_and_name_in_its_project(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct config_record made = sample_config("c1", "mine"), found;
	struct config_list list;

	assert_done(store_config_insert(*state, &made, &err));
	assert_refused(store_config_insert(*state, &made, &err), ERROR_CONFLICT);
	assert_done(store_config_find(*state, &a, PROJECT, "c1", &found, &err));
	assert_string_equal(found.config_json, "{\"timeout\":5}");
	assert_done(store_config_find(*state, &a, PROJECT, "mine", &found, &err));
	assert_string_equal(found.env_json, "{\"A\":\"b\"}");
	assert_refused(store_config_find(*state, &a, "other", "c1", &found, &err), ERROR_NOT_FOUND);
	assert_done(store_config_list(*state, &a, PROJECT, &list, &err));
	assert_int_equal(list.count, 1);
	assert_refused(store_config_remove(*state, "other", "c1", &err), ERROR_NOT_FOUND);
	assert_done(store_config_remove(*state, PROJECT, "c1", &err));
	assert_refused(store_config_remove(*state, PROJECT, "c1", &err), ERROR_NOT_FOUND);
}

static void of_two_changes_of_a_config_the_second_is_told(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct config_record made = sample_config("c1", "mine"), found;
	struct config_record other = sample_config("c2", "other");

	assert_done(store_config_insert(*state, &made, &err));
	assert_done(store_config_insert(*state, &other, &err));
	made.name = "renamed";
	made.updated_at = NOW + 1;
	assert_done(store_config_update(*state, &made, NOW, &err));
	assert_refused(store_config_update(*state, &made, NOW, &err), ERROR_CONFLICT);
	other.name = "renamed";
	assert_refused(store_config_update(*state, &other, NOW, &err), ERROR_CONFLICT);
	assert_done(store_config_find(*state, &a, PROJECT, "renamed", &found, &err));
	assert_string_equal(found.id, "c1");
}

static const struct CMUnitTest tests[] = {
        EACH(a_projects_limits_and_settings_come_back),
        EACH(projects_are_listed_by_name_and_page),
        EACH(no_two_projects_have_one_source_address),
        EACH(source_addresses_have_a_limit),
        EACH(an_edit_is_kept_as_a_whole_or_not_at_all),
        EACH(a_project_with_sandboxes_closes_only_by_force),
        EACH(a_project_goes_with_all_that_is_its_own),
        EACH(a_project_with_members_always_has_an_admin),
        EACH(a_member_that_goes_takes_his_keys_along),
        EACH(a_rotated_key_has_two_secrets_for_a_while),
        EACH(what_is_over_is_not_rotated_and_old_secrets_are_few),
        EACH(a_project_has_a_limit_of_keys_that_useless_ones_make_room_in),
        EACH(a_config_is_found_by_id_and_name_in_its_project),
        EACH(of_two_changes_of_a_config_the_second_is_told),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
