/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http/server/http.h"
#include "unit.h"

#include "http/message/head.h"
#include "http/server/router.h"
#include "json/json.h"

static int handler(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	(void)rq;
	(void)body;
	(void)reply;
	(void)err;
	return 0;
}

#define ROW(method_, path_)                                                                        \
	{                                                                                          \
		.method = (method_), .path = (path_), .handle = handler                            \
	}

static const struct route table[] = {
        ROW(HTTP_GET, "/"),
        ROW(HTTP_GET, "/a"),
        ROW(HTTP_POST, "/a"),
        ROW(HTTP_GET, "/a/:id"),
        ROW(HTTP_DELETE, "/a/:name"),
        ROW(HTTP_POST, "/a/special"),
        ROW(HTTP_GET, "/a/:id/files"),
        ROW(HTTP_ANY, "/p/:id/*rest"),
        ROW(HTTP_GET, "/p/:id/health"),
        {0},
};
static char room[HEAD_TARGET_MAX];
static struct request_target target;

static const char *find(enum http_method method, const char *text)
{
	const struct route *const tables[] = {table, NULL};
	struct router *router = router_new(tables);
	const struct route *route;

	assert_int_equal(target_parse(span_of(text), room, &target), FAULT_NONE);
	route = router_find(router, method, &target).route;
	router_free(router);
	return route ? route->path : "none";
}

TEST(a_method_is_found_by_its_name_in_capitals)
{
	assert_int_equal(router_method_of("POST"), HTTP_POST);
	assert_int_equal(router_method_of("OPTIONS"), HTTP_OPTIONS);
	assert_int_equal(router_method_of("post"), HTTP_ANY);
	assert_int_equal(router_method_of("PROPFIND"), HTTP_ANY);
	assert_int_equal(router_method_of(""), HTTP_ANY);
}

TEST(a_literal_goes_before_a_parameter_before_a_rest)
{
	assert_string_equal(find(HTTP_GET, "/"), "/");
	assert_string_equal(find(HTTP_GET, "/a?x=/b"), "/a");
	assert_string_equal(find(HTTP_HEAD, "/a"), "/a");
	assert_string_equal(find(HTTP_GET, "/a/b"), "/a/:id");
	assert_string_equal(find(HTTP_POST, "/a/special"), "/a/special");
	assert_string_equal(find(HTTP_GET, "/p/1/health"), "/p/:id/health");
	assert_string_equal(find(HTTP_GET, "/p/1/health/x"), "/p/:id/*rest");
	assert_string_equal(find(HTTP_ANY, "/p/1/"), "/p/:id/*rest");
}

TEST(where_the_better_match_lacks_the_method_the_next_is_taken)
{
	assert_string_equal(find(HTTP_GET, "/a/special"), "/a/:id");
	assert_string_equal(find(HTTP_PUT, "/p/1/health"), "/p/:id/*rest");
}

TEST(other_paths_have_no_route)
{
	static const char *const paths[] = {"/b",     "/a/",  "//a", "/a//files",
	                                    "/a/b/c", "/p/1", "/A"};

	for (size_t i = 0; i < COUNT_OF(paths); i++)
		assert_string_equal(find(HTTP_GET, paths[i]), "none");
}

TEST(a_wrong_method_learns_the_right_ones)
{
	const struct route *const tables[] = {table, NULL};
	struct router *router = router_new(tables);
	AUTO(buf_done) struct buf out = BUF(100);
	struct router_match match;

	assert_int_equal(target_parse(SPAN("/a"), room, &target), FAULT_NONE);
	match = router_find(router, HTTP_DELETE, &target);
	assert_null(match.route);
	router_write_methods(&out, match.methods);
	assert_string_equal(buf_text(&out), "GET, HEAD, POST, OPTIONS");
	router_free(router);
}

TEST(parameters_are_decoded_part_by_part)
{
	const struct route *const tables[] = {table, NULL};
	struct router *router = router_new(tables);
	AUTO(arena_done) struct arena a = {0};
	const struct route *route;

	assert_int_equal(target_parse(SPAN("/p/x%2fy%20z/b//c%41"), room, &target), FAULT_NONE);
	route = router_find(router, HTTP_GET, &target).route;
	assert_string_equal(router_param(route, &target, "id", &a), "x/y z");
	assert_string_equal(router_param(route, &target, "rest", &a), "b//cA");
	assert_null(router_param(route, &target, "other", &a));
	assert_string_equal(target.path, "/p/x/y z/b//cA");
	assert_true(span_equals_text(target.raw_path, "/p/x%2fy%20z/b//c%41"));
	router_free(router);
}

TEST(an_escaped_slash_does_not_change_the_route)
{
	assert_string_equal(find(HTTP_GET, "/a%2fb"), "none");
	assert_string_equal(find(HTTP_GET, "/a/b%2ffiles"), "/a/:id");
	assert_string_equal(find(HTTP_GET, "/%61"), "/a");
}

TEST(bad_paths_are_refused)
{
	static const char *const paths[] = {
	        "/%",      "/%4",       "/%zz",  "/%00",       "/%0a",       "/a/..", "/../a",
	        "/a/./b",  "/%2e%2e/a", "/.%2e", "/a%2f..%2f", "/%2e",       "/%7f",  "/%ff",
	        "/%c0%af", "/a/%2e./b", "/..",   "/a/b%2f.",   "/%ed%a0%80",
	};

	for (size_t i = 0; i < COUNT_OF(paths); i++)
		if (target_parse(span_of(paths[i]), room, &target) != FAULT_PATH)
			fail_msg("accepted: %s", paths[i]);
	assert_int_equal(target_parse(SPAN("/a/.../..b?%00/.."), room, &target), FAULT_NONE);
}

TEST(a_path_may_be_deeper_than_any_route)
{
	char text[400] = "/p/1";
	AUTO(arena_done) struct arena a = {0};

	for (int i = 0; i < 100; i++)
		memcpy(text + 4 + i * 2, "/x", 3);
	assert_string_equal(find(HTTP_GET, text), "/p/:id/*rest");
	assert_int_equal(strlen(router_param(&table[7], &target, "rest", &a)), 199);
}

static void build(const struct route *rows)
{
	const struct route *const tables[] = {rows, NULL};
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		close(STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		router_free(router_new(tables));
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(conflicting_and_malformed_rows_abort_at_start)
{
	build((const struct route[]){ROW(HTTP_GET, "/a/:x"), ROW(HTTP_GET, "/a/:y"), {0}});
	build((const struct route[]){ROW(HTTP_GET, "/*a"), ROW(HTTP_GET, "/*b"), {0}});
	build((const struct route[]){ROW(HTTP_GET, "/*a/b"), {0}});
	build((const struct route[]){ROW(HTTP_GET, "/a/:"), {0}});
	build((const struct route[]){ROW(HTTP_GET, "a"), {0}});
	build((const struct route[]){{.method = HTTP_GET, .path = "/a"}, {0}});
}

struct spelled {
	int64_t memory_mb, memory_again;
};

static const struct json_member spelled_shape_members[] = {
        JSON_WHOLE_MEMBER(spelled, memory_mb),
        JSON_WHOLE_MEMBER(spelled, memory_again, .name = "memoryMb"),
};
static JSON_SHAPE(spelled_shape, "Spelled", spelled, NULL);

TEST(a_member_with_two_rows_aborts_at_start)
{
	struct route rows[] = {ROW(HTTP_GET, "/a"), {0}};
	const struct route *const tables[] = {rows, NULL};
	struct json_shape once = spelled_shape;

	once.member_count = 1;
	rows[0].query = rows[0].body = rows[0].answer = &once;
	router_free(router_new(tables));
	rows[0].query = &spelled_shape;
	build(rows);
	rows[0].query = NULL;
	rows[0].body = &spelled_shape;
	build(rows);
	rows[0].body = NULL;
	rows[0].answer = &spelled_shape;
	build(rows);
}

int main(void)
{
	return RUN(CASE(a_method_is_found_by_its_name_in_capitals),
	           CASE(a_literal_goes_before_a_parameter_before_a_rest),
	           CASE(where_the_better_match_lacks_the_method_the_next_is_taken),
	           CASE(other_paths_have_no_route), CASE(a_wrong_method_learns_the_right_ones),
	           CASE(parameters_are_decoded_part_by_part),
	           CASE(an_escaped_slash_does_not_change_the_route), CASE(bad_paths_are_refused),
	           CASE(a_path_may_be_deeper_than_any_route),
	           CASE(conflicting_and_malformed_rows_abort_at_start),
	           CASE(a_member_with_two_rows_aborts_at_start));
}
