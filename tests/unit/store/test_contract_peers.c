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

int main(void)
{
	const struct CMUnitTest tests[] = {
	        EACH(a_server_is_found_as_it_said_last),
	        EACH(one_that_takes_its_address_back_is_no_peer),
	        EACH(all_servers_are_listed_by_name),
	};

	return each_store_run(tests, COUNT_OF(tests));
}
