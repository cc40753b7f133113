/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "unit.h"

#include "http/server/range.h"
#include "harness.h"

static void expect_range(const char *text, uint64_t offset, uint64_t size)
{
	uint64_t got_offset = 99, got_size = 99;

	assert_true(range_parse(text, &got_offset, &got_size));
	assert_int_equal(got_offset, offset);
	assert_int_equal(got_size, size);
}

TEST(one_range_from_an_offset_is_understood)
{
	expect_range("bytes=0-0", 0, 1);
	expect_range("bytes=5-9", 5, 5);
	expect_range("bytes=5-", 5, 0);
}

TEST(other_forms_are_ignored)
{
	static const char *const others[] = {
	        NULL,         "",           "bytes=",     "bytes=-5",
	        "bytes=9-5",  "items=0-5",  "bytes=a-",   "bytes=0-1,4-5",
	        "bytes=0 -1", "bytes=+1-2", "bytes=0-9x", "bytes=99999999999999999999-"};
	uint64_t offset, size;

	for (size_t i = 0; i < COUNT_OF(others); i++)
		assert_false(range_parse(others[i], &offset, &size));
}

static int refuse(struct request *rq, UNUSED const void *body, struct reply *reply,
                  struct error *err)
{
	/* It is of what is not answered. */
	reply_header(reply, "ETag", "\"other\"");
	return range_fail(rq, "file", 12345678901, err);
}

TEST(a_range_behind_the_end_is_told_how_much_there_is)
{
	static const struct route routes[] = {
	        {HTTP_GET, "/file", 0, ROUTE_PUBLIC, .handle = refuse, .summary = "refuse"},
	        {.path = NULL},
	};
	struct answer answer;
	struct fixture f;

	fixture_open(&f, routes, NULL);
	client_ask(&f, "GET /file HTTP/1.1\r\nHost: localhost\r\nRange: bytes=99999999999-\r\n\r\n",
	           &answer);
	assert_int_equal(answer.status, 416);
	assert_true(answer_has(&answer, "Content-Range: bytes */12345678901"));
	assert_false(answer_has(&answer, "ETag: \"other\""));
	assert_non_null(strstr(answer.body, "\"code\":\"range_not_satisfiable\""));
	assert_non_null(strstr(answer.body, "it has 12345678901 bytes"));
	fixture_close(&f);
}

static int refuse_as_another(UNUSED struct request *rq, UNUSED const void *body,
                             UNUSED struct reply *reply, struct error *err)
{
	return FAIL(err, ERROR_RANGE, "another server says so");
}

TEST(of_a_range_that_another_refused_no_size_is_told)
{
	static const struct route routes[] = {
	        {HTTP_GET, "/file", 0, ROUTE_PUBLIC, .handle = refuse_as_another,
	         .summary = "refuse"},
	        {.path = NULL},
	};
	struct answer answer;
	struct fixture f;

	fixture_open(&f, routes, NULL);
	client_ask(&f, "GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n", &answer);
	assert_int_equal(answer.status, 416);
	assert_null(strstr(answer.head, "Content-Range"));
	fixture_close(&f);
}

int main(void)
{
	return RUN(CASE(one_range_from_an_offset_is_understood), CASE(other_forms_are_ignored),
	           CASE(a_range_behind_the_end_is_told_how_much_there_is),
	           CASE(of_a_range_that_another_refused_no_size_is_told));
}
