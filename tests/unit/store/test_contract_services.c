/* SPDX-License-Identifier: Apache-2.0 */
#include "store/services.h"

#include "each_store.h"

#define BOX "aaaaaaaaaaaaaaaaaaaa"
#define OTHER "baaaaaaaaaaaaaaaaaaa"
#define NODE "node"

static void add_sandbox(struct store *s, const char *id, const char *name)
{
	struct sandbox_record r = sample_sandbox(id, name);
	struct error err = {0};

	r.node = NODE;
	assert_done(store_sandbox_insert(s, &r, 0, &err));
}

static struct service_record sample(const char *id, const char *name)
{
	return (struct service_record){
	        .id = id,
	        .sandbox_id = BOX,
	        .name = name,
	        .command = "npm start",
	        .args_json = "[]",
	        .cwd = "app",
	        .run_as = "user",
	        .env_json = "{\"A\":\"b\"}",
	        .restart = SERVICE_RESTART_ON_FAILURE,
	        .failures_max = 3,
	        .delay_ms = 500,
	        .stop_ms = 5000,
	        .keeps_awake = true,
	        .created_at = NOW,
	        .updated_at = NOW,
	};
}

static struct service_record put(struct store *s, struct arena *a, const struct service_record *r)
{
	struct service_record is;
	struct error err = {0};

	assert_done(store_service_put(s, a, r, 16, &is, &err));
	return is;
}

static void a_service_is_kept_and_each_change_is_a_generation(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct service_record r = sample("s1", "web"), is;
	const struct service_ref ref = {BOX, "web"};
	struct error err = {0};

	add_sandbox(*state, BOX, "box");
	assert_int_equal(put(*state, &a, &r).generation, 1);
	assert_done(store_service_find(*state, &a, &ref, &is, &err));
	assert_string_equal(is.command, "npm start");
	assert_string_equal(is.env_json, r.env_json);
	assert_int_equal(is.restart, SERVICE_RESTART_ON_FAILURE);
	assert_int_equal(is.failures_max, 3);
	assert_true(is.keeps_awake && !is.is_told);
	/* The same again is no change, whatever its id. */
	assert_done(store_service_told(*state, &is, &err));
	r.id = "s2";
	is = put(*state, &a, &r);
	assert_string_equal(is.id, "s1");
	assert_int_equal(is.generation, 1);
	assert_true(is.is_told);
	r.env_json = "{}";
	is = put(*state, &a, &r);
	assert_int_equal(is.generation, 2);
	assert_string_equal(is.id, "s1");
	assert_false(is.is_told);
}

static void told_is_of_one_generation(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct service_record r = sample("s1", "web"), old, is;
	const struct service_change stop = {BOX, "web", SERVICE_STOPPED, NOW + 1};
	struct service_list list;
	struct error err = {0};

	add_sandbox(*state, BOX, "box");
	old = put(*state, &a, &r);
	assert_done(store_service_wish(*state, &a, &stop, &is, &err));
	assert_int_equal(is.generation, 2);
	assert_int_equal(is.wish, SERVICE_STOPPED);
	assert_done(store_service_told(*state, &old, &err));
	assert_done(store_service_remove(*state, &old, &err));
	assert_done(store_service_list(*state, &a, BOX, &list, &err));
	assert_int_equal(list.count, 1);
	assert_false(list.items[0].is_told);
	assert_done(store_service_told(*state, &is, &err));
	assert_done(store_service_list(*state, &a, BOX, &list, &err));
	assert_true(list.items[0].is_told);
}

static void what_is_being_removed_is_neither_changed_nor_made_again(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct service_record r = sample("s1", "web"), is;
	const struct service_change gone = {BOX, "web", SERVICE_REMOVED, NOW + 1};
	struct error err = {0};

	add_sandbox(*state, BOX, "box");
	(void)put(*state, &a, &r);
	assert_done(store_service_wish(*state, &a, &gone, &is, &err));
	assert_refused(store_service_wish(*state, &a, &gone, &is, &err), ERROR_NOT_FOUND);
	assert_refused(store_service_put(*state, &a, &r, 16, &is, &err), ERROR_CONFLICT);
	is.generation = 2;
	is.id = "s1";
	assert_done(store_service_remove(*state, &is, &err));
	r.id = "s2";
	assert_done(store_service_put(*state, &a, &r, 16, &is, &err));
	assert_string_equal(is.id, "s2");
}

static void only_started_ones_of_the_node_are_to_be_told(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct sandbox_move creating = sample_move(BOX, SANDBOX_PENDING, SANDBOX_CREATING);
	struct sandbox_move started = sample_move(BOX, SANDBOX_CREATING, SANDBOX_STARTED);
	struct service_record r = sample("s1", "web"), other = sample("s2", "web"), is;
	struct service_list list;
	struct error err = {0};

	add_sandbox(*state, BOX, "box");
	add_sandbox(*state, OTHER, "other");
	other.sandbox_id = OTHER;
	is = put(*state, &a, &r);
	(void)put(*state, &a, &other);
	assert_done(store_services_to_tell(*state, &a, NODE, &list, &err));
	assert_int_equal(list.count, 0);
	assert_done(store_sandbox_move(*state, &creating, &err));
	assert_done(store_sandbox_move(*state, &started, &err));
	assert_done(store_services_to_tell(*state, &a, NODE, &list, &err));
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].id, "s1");
	assert_done(store_services_to_tell(*state, &a, "another", &list, &err));
	assert_int_equal(list.count, 0);
	assert_done(store_service_told(*state, &is, &err));
	assert_done(store_services_to_tell(*state, &a, NODE, &list, &err));
	assert_int_equal(list.count, 0);
}

static void so_many_and_all_of_a_sandbox_at_once(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct service_record one = sample("s1", "one"), two = sample("s2", "two"), is;
	struct service_list list;
	struct error err = {0};

	add_sandbox(*state, BOX, "box");
	add_sandbox(*state, OTHER, "other");
	(void)put(*state, &a, &one);
	assert_refused(store_service_put(*state, &a, &two, 1, &is, &err), ERROR_LIMIT);
	/* One that is there may be changed still. */
	one.command = "other";
	assert_done(store_service_put(*state, &a, &one, 1, &is, &err));
	two.sandbox_id = OTHER;
	assert_done(store_service_put(*state, &a, &two, 1, &is, &err));
	assert_done(store_services_clear(*state, BOX, &err));
	assert_done(store_service_list(*state, &a, BOX, &list, &err));
	assert_int_equal(list.count, 0);
	assert_done(store_service_list(*state, &a, OTHER, &list, &err));
	assert_int_equal(list.count, 1);
}

static const struct CMUnitTest tests[] = {
        EACH(a_service_is_kept_and_each_change_is_a_generation),
        EACH(told_is_of_one_generation),
        EACH(what_is_being_removed_is_neither_changed_nor_made_again),
        EACH(only_started_ones_of_the_node_are_to_be_told),
        EACH(so_many_and_all_of_a_sandbox_at_once),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
