/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "unit.h"

#include "http/message/head.h"

static struct http_head parsed;
static char copy[4096];

static enum http_fault parse(const char *text)
{
	size_t size = strlen(text), scanned = 0, end = 0;
	enum http_fault fault = head_find_end(span_of(text), &scanned, &end);

	if (fault)
		return fault;
	assert_int_equal(end, size);
	memcpy(copy, text, size);
	return head_parse_answer(copy, size, &parsed);
}

TEST(an_answer_is_taken_apart)
{
	assert_int_equal(parse("HTTP/1.1 206 Partial \xc3\xa9\r\nContent-Length: 7\r\n"
	                       "Content-Type: text/html\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n"),
	                 FAULT_NONE);
	assert_int_equal(parsed.status, 206);
	assert_int_equal(parsed.content_length, 7);
	assert_true(parsed.keep_alive);
	assert_int_equal(parsed.field_count, 4);
	assert_string_equal(parsed.known[HEAD_CONTENT_TYPE], "text/html");
}

TEST(a_reason_may_be_left_out)
{
	assert_int_equal(parse("HTTP/1.1 200\r\n\r\n"), FAULT_NONE);
	assert_int_equal(parse("HTTP/1.0 200 \r\n\r\n"), FAULT_NONE);
	assert_false(parsed.keep_alive);
	assert_int_equal(parsed.content_length, -1);
}

TEST(what_two_readers_could_read_in_two_ways_is_refused)
{
	static const char *const texts[] = {
	        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
	        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
	        "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
	        "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n",
	        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
	        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
	        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
	        "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
	        "HTTP/1.1 200 OK\r\n: b\r\n\r\n",
	        "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
	        "HTTP/1.1 200 OK\nA: b\n\n",
	        "HTTP/1.1 200 O\rK\r\n\r\n",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		assert_int_not_equal(parse(texts[i]), FAULT_NONE);
}

TEST(a_status_is_three_digits_that_mean_something)
{
	static const char *const texts[] = {
	        "HTTP/1.1 20 OK\r\n\r\n",
	        "HTTP/1.1 2000 OK\r\n\r\n",
	        "HTTP/1.1 099 OK\r\n\r\n",
	        "HTTP/1.1 600 OK\r\n\r\n",
	        "HTTP/1.1  200 OK\r\n\r\n",
	        "HTTP/2 200 OK\r\n\r\n",
	        "HTTP/1.1 2a0 OK\r\n\r\n",
	        "ICY 200 OK\r\n\r\n",
	        "HTTP/1.1\r\n\r\n",
	        "http/1.1 200 OK\r\n\r\n",
	        "\r\n\r\n",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		assert_int_not_equal(parse(texts[i]), FAULT_NONE);
}

int main(void)
{
	return RUN(CASE(an_answer_is_taken_apart), CASE(a_reason_may_be_left_out),
	           CASE(what_two_readers_could_read_in_two_ways_is_refused),
	           CASE(a_status_is_three_digits_that_mean_something));
}
