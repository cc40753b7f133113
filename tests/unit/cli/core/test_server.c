/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "cli/core/server.h"

static struct arena arena;
static struct error err;

static int free_arena(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

TEST(a_server_is_named_by_url_or_socket)
{
	struct http_client_options server;

	assert_int_equal(server_parse(&arena, "http://127.0.0.1:7777//", "key", &server, &err), 0);
	assert_string_equal(server.base_url, "http://127.0.0.1:7777");
	assert_string_equal(server.bearer, "key");
	assert_null(server.unix_socket);
	assert_int_equal(server_parse(&arena, "unix:/run/a.sock", NULL, &server, &err), 0);
	assert_string_equal(server.unix_socket, "/run/a.sock");
	assert_int_equal(server_parse(&arena, "https://atoll.test/x", NULL, &server, &err), 0);
}

TEST(other_addresses_are_refused)
{
	static const char *const bad[] = {"", "127.0.0.1:7777", "unix:a.sock", "ftp://x",
	                                  "file:///x"};
	struct http_client_options server;

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(server_parse(&arena, bad[i], NULL, &server, &err), -1);
		assert_true(err.hint[0]);
	}
}

TEST(names_cannot_leave_their_part_of_the_path)
{
	assert_string_equal(instance_path(&arena, "abc", "/stop"), INSTANCES "/abc/stop");
	assert_null(strstr(instance_path(&arena, "../keys?x=1#", "") + strlen(INSTANCES "/"), "/"));
	assert_null(strchr(instance_path(&arena, "a?b", ""), '?'));
}

TEST(lists_come_bare_or_as_items)
{
	const struct json_value *bare, *wrapped;

	assert_int_equal(json_load(&arena, SPAN("[1,2]"), &bare, &err), 0);
	assert_int_equal(json_load(&arena, SPAN("{\"items\":[1,2,3]}"), &wrapped, &err), 0);
	assert_int_equal(json_count(answer_items(bare)), 2);
	assert_int_equal(json_count(answer_items(wrapped)), 3);
	assert_int_equal(json_count(answer_items(NULL)), 0);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
	        CASE(a_server_is_named_by_url_or_socket),
	        CASE(other_addresses_are_refused),
	        CASE(names_cannot_leave_their_part_of_the_path),
	        CASE(lists_come_bare_or_as_items),
	};

	return cmocka_run_group_tests(cases, NULL, free_arena);
}
