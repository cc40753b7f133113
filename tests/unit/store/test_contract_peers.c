/* SPDX-License-Identifier: Apache-2.0 */
#include "store/peers.h"

#include "each_store.h"

static void a_server_is_found_as_it_said_last(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct peer_record r = {.node = "one", .url = "http://10.0.0.2:7777", .seen_at = NOW};
	struct peer_record found;
	struct error err = {0};

	assert_refused(store_peer_find(*state, &a, "one", &found, &err), ERROR_NOT_FOUND);
	assert_done(store_peer_put(*state, &r, &err));
	r.url = "https://atoll-2:443";
	r.seen_at = NOW + 5000;
	assert_done(store_peer_put(*state, &r, &err));
	assert_done(store_peer_find(*state, &a, "one", &found, &err));
	assert_string_equal(found.node, "one");
	assert_string_equal(found.url, "https://atoll-2:443");
	assert_int_equal(found.seen_at, NOW + 5000);
	assert_refused(store_peer_find(*state, &a, "two", &found, &err), ERROR_NOT_FOUND);
}

static void one_that_takes_its_address_back_is_no_peer(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct peer_record one = {.node = "one", .url = "http://a", .seen_at = NOW},
	                         two = {.node = "two", .url = "http://b", .seen_at = NOW};
	struct peer_record found;
	struct error err = {0};

	assert_done(store_peer_remove(*state, "one", &err));
	assert_done(store_peer_put(*state, &one, &err));
	assert_done(store_peer_put(*state, &two, &err));
	assert_done(store_peer_remove(*state, "one", &err));
	assert_refused(store_peer_find(*state, &a, "one", &found, &err), ERROR_NOT_FOUND);
	assert_done(store_peer_find(*state, &a, "two", &found, &err));
}

static void all_servers_are_listed_by_name(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct peer_record two = {.node = "two", .url = "http://b", .seen_at = 0},
	                         one = {.node = "one", .url = "http://a", .seen_at = NOW};
	struct peer_list found;
	struct error err = {0};

	assert_done(store_peer_list(*state, &a, &found, &err));
	assert_int_equal(found.count, 0);
	assert_done(store_peer_put(*state, &two, &err));
	assert_done(store_peer_put(*state, &one, &err));
	assert_done(store_peer_list(*state, &a, &found, &err));
	assert_int_equal(found.count, 2);
	assert_string_equal(found.items[0].node, "one");
	assert_int_equal(found.items[0].seen_at, NOW);
	assert_string_equal(found.items[1].url, "http://b");
	assert_int_equal(found.items[1].seen_at, 0);
}

static void a_server_is_ended_only_as_it_was_seen(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct peer_record r = {.node = "one", .url = "http://a", .seen_at = NOW}, found;
	struct error err = {0};

	assert_done(store_peer_put(*state, &r, &err));
	r.seen_at = NOW - 1;
	assert_int_equal(store_peer_end(*state, &r, &err), 0);
	r.seen_at = NOW;
	assert_int_equal(store_peer_end(*state, &r, &err), 1);
	assert_done(store_peer_find(*state, &a, "one", &found, &err));
	assert_int_equal(found.seen_at, 0);
	assert_string_equal(found.url, "http://a");
	r.seen_at = 0;
	assert_int_equal(store_peer_end(*state, &r, &err), 0);
}

static void servers_that_have_nothing_are_forgotten(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct peer_record ended = {.node = "ended", .url = "http://a", .seen_at = 0},
	                         busy = {.node = "busy", .url = "http://b", .seen_at = 0},
	                         lives = {.node = "lives", .url = "http://c", .seen_at = NOW};
	struct sandbox_record box = sample_sandbox("box-of-a-server", "box");
	struct peer_record found;
	struct error err = {0};

	box.node = "busy";
	assert_done(store_sandbox_insert(*state, &box, 0, &err));
	assert_done(store_peer_put(*state, &ended, &err));
	assert_done(store_peer_put(*state, &busy, &err));
	assert_done(store_peer_put(*state, &lives, &err));
	assert_done(store_peer_purge(*state, NOW, &err));
	assert_refused(store_peer_find(*state, &a, "ended", &found, &err), ERROR_NOT_FOUND);
	assert_done(store_peer_find(*state, &a, "busy", &found, &err));
	assert_done(store_peer_find(*state, &a, "lives", &found, &err));
}

static void put_sandbox(void *store, const char *id, enum sandbox_state actual,
                        const char *provider)
{
	struct sandbox_record box = sample_sandbox(id, id);
	struct error err = {0};

	box.node = "gone";
	box.actual = actual;
	box.provider = provider;
	assert_done(store_sandbox_insert(store, &box, 0, &err));
}

static void assert_node(void *store, const char *id, const char *node, int64_t version)
{
	AUTO(arena_done) struct arena a = {0};
	struct sandbox_record box;
	struct error err = {0};

	assert_done(store_sandbox_find(store, &a, PROJECT, id, &box, &err));
	assert_string_equal(box.node, node);
	assert_int_equal(box.version, version);
}

static void sandboxes_are_taken_over_by_provider_and_state(void **state)
{
	struct sandbox_takeover takeover = {
	        .node = "next", .from = "gone", .providers = "{\"pods\":\"\",\"more\":\"\"}"};
	struct error err = {0};

	put_sandbox(*state, "started", SANDBOX_STARTED, "pods");
	put_sandbox(*state, "paused", SANDBOX_PAUSED, "more");
	put_sandbox(*state, "creating", SANDBOX_CREATING, "pods");
	put_sandbox(*state, "native", SANDBOX_STARTED, "native");
	assert_int_equal(store_sandbox_take_over(*state, &takeover, &err), 2);
	assert_node(*state, "started", "next", 2);
	assert_node(*state, "paused", "next", 2);
	assert_node(*state, "creating", "gone", 1);
	assert_node(*state, "native", "gone", 1);
	takeover.with_unfinished = true;
	assert_int_equal(store_sandbox_take_over(*state, &takeover, &err), 1);
	assert_node(*state, "creating", "next", 2);
	takeover.providers = "{}";
	assert_int_equal(store_sandbox_take_over(*state, &takeover, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        EACH(a_server_is_found_as_it_said_last),
	        EACH(one_that_takes_its_address_back_is_no_peer),
	        EACH(all_servers_are_listed_by_name),
	        EACH(a_server_is_ended_only_as_it_was_seen),
	        EACH(servers_that_have_nothing_are_forgotten),
	        EACH(sandboxes_are_taken_over_by_provider_and_state),
	};

	return each_store_run(tests, COUNT_OF(tests));
}
