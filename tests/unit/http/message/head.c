/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "unit.h"

#include "http/message/head.h"

#define GET "GET / HTTP/1.1\r\nHost: a\r\n"

static struct http_head parsed;
static char copy[65536];

/* As the server does it: find the end, then parse a copy. */
static enum http_fault parse(struct span text)
{
	size_t scanned = 0, size = 0;
	enum http_fault fault = head_find_end(text, &scanned, &size);

	if (fault)
		return fault;
	assert_int_equal(size, text.size);
	memcpy(copy, text.data, text.size);
	return head_parse(copy, text.size, &parsed);
}

static enum http_fault parse_text(const char *text)
{
	return parse(span_of(text));
}

TEST(a_plain_head_is_taken_apart)
{
	assert_int_equal(
	        parse_text("POST /a?b=1 HTTP/1.1\r\nHost: localhost:80\r\n"
	                   "X-Empty:\r\nX-Padded: \t v v \t\r\nContent-Length: 12\r\n\r\n"),
	        FAULT_NONE);
	assert_string_equal(parsed.method, "POST");
	assert_true(span_equals_text(parsed.target, "/a?b=1"));
	assert_int_equal(parsed.content_length, 12);
	assert_true(parsed.keep_alive);
	assert_int_equal(parsed.field_count, 4);
	assert_string_equal(head_find(&parsed, "HOST"), "localhost:80");
	assert_string_equal(head_find(&parsed, "x-empty"), "");
	assert_string_equal(head_find(&parsed, "x-padded"), "v v");
	assert_null(head_find(&parsed, "x-absent"));
}

TEST(methods_without_a_name_of_their_own_keep_their_text)
{
	assert_int_equal(parse_text("PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n"), FAULT_NONE);
	assert_string_equal(parsed.method, "PROPFIND");
}

TEST(the_connection_lives_on_or_ends_as_version_and_header_say)
{
	static const struct {
		const char *text;
		bool keep_alive;
	} cases[] = {
	        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true},
	        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false},
	        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: foo, CLOSE\r\n\r\n", false},
	        {"GET / HTTP/1.0\r\n\r\n", false},
	        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(parse_text(cases[i].text), FAULT_NONE);
		assert_int_equal(parsed.keep_alive, cases[i].keep_alive);
	}
}

TEST(an_absolute_target_must_name_the_host)
{
	assert_int_equal(parse_text("GET http://a/b HTTP/1.1\r\nHost: A\r\n\r\n"), FAULT_NONE);
	assert_true(span_equals_text(parsed.target, "/b"));
	assert_int_equal(parse_text("GET http://b/b HTTP/1.1\r\nHost: a\r\n\r\n"), FAULT_HOST);
	assert_int_equal(parse_text("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n"), FAULT_TARGET);
	assert_int_equal(parse_text("GET ftp://a/b HTTP/1.1\r\nHost: a\r\n\r\n"), FAULT_TARGET);
	assert_int_equal(parse_text("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), FAULT_NONE);
	assert_int_equal(parse_text("GET * HTTP/1.1\r\nHost: a\r\n\r\n"), FAULT_TARGET);
	assert_true(parse_text("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n") != FAULT_NONE);
}

/* What a proxy before us might read in another way, or not mind at all. */
static const char *const ambiguous_heads[] = {
        /* the length of the body */
        GET "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        GET "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
        GET "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
        GET "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        GET "Content-Length: 1, 1\r\n\r\n",
        GET "Content-Length: +1\r\n\r\n",
        GET "Content-Length: -1\r\n\r\n",
        GET "Content-Length: 0x1\r\n\r\n",
        GET "Content-Length: 1 1\r\n\r\n",
        GET "Content-Length: 1a\r\n\r\n",
        GET "Content-Length:\r\n\r\n",
        GET "Content-Length: 99999999999999999999\r\n\r\n",
        GET "Content-Length: 18446744073709551617\r\n\r\n",
        GET "Transfer-Encoding: gzip, chunked\r\n\r\n",
        GET "Transfer-Encoding: chunked, chunked\r\n\r\n",
        GET "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        GET "Transfer-Encoding: identity\r\n\r\n",
        GET "Transfer-Encoding: xchunked\r\n\r\n",
        GET "Transfer-Encoding: chunked;a=b\r\n\r\n",
        GET "Transfer-Encoding: \x0b"
            "chunked\r\n\r\n",
        GET "Transfer-Encoding:\r\n\r\n",
        GET "Transfer-Encoding : chunked\r\n\r\n",
        GET "Transfer-Encoding\t: chunked\r\n\r\n",
        GET " Transfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        /* the host */
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: :80\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: []:1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: [a::1]b\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a,,@\r\n\r\n",
        /* lines */
        GET "A: b\r\n c\r\n\r\n",
        GET "A: b\r\n\tc\r\n\r\n",
        GET "A: b\rc\r\n\r\n",
        GET "A: b\nC: d\r\n\r\n",
        GET "A: b\r\r\n\r\n",
        GET "A\r\n\r\n",
        GET ": b\r\n\r\n",
        GET "A b: c\r\n\r\n",
        GET "A(b): c\r\n\r\n",
        GET "A\x80: c\r\n\r\n",
        GET "A: b\x01\r\n\r\n",
        GET "A: b\x7f\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        /* the request line */
        "\r\n" GET "\r\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /  HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
        " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\x0b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/0.9\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.10\r\nHost: a\r\n\r\n",
        "GET / http/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1,1\r\nHost: a\r\n\r\n",
        "G@T / HTTP/1.1\r\nHost: a\r\n\r\n",
        "get / HTTP/1.1\r\nHost: a\r\n\r\n",
        "NOSUCH / HTTP/1.1\r\nHost: a\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\n",
        /* what may occur once */
        GET "Content-Type: a\r\nContent-Type: b\r\n\r\n",
        GET "Authorization: a\r\nAuthorization: b\r\n\r\n",
        GET "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n",
        GET "Expect: 200-ok\r\n\r\n",
};

TEST(heads_that_two_parsers_could_read_in_two_ways_are_refused)
{
	for (size_t i = 0; i < COUNT_OF(ambiguous_heads); i++)
		if (parse_text(ambiguous_heads[i]) == FAULT_NONE)
			fail_msg("accepted: %s", ambiguous_heads[i]);
}

TEST(a_refusal_says_what_is_wrong)
{
	static const struct {
		const char *text;
		enum http_fault fault;
	} rows[] = {
	        {GET "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", FAULT_LENGTH},
	        {GET "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", FAULT_LENGTH},
	        {GET "Content-Length: 0x1\r\n\r\n", FAULT_LENGTH},
	        {GET "Transfer-Encoding: xchunked\r\n\r\n", FAULT_LENGTH},
	        {GET "Transfer-Encoding: gzip, chunked\r\n\r\n", FAULT_CODING},
	        {GET "A: b\r\n c\r\n\r\n", FAULT_HEADER},
	        {GET "A: b\rc\r\n\r\n", FAULT_HEADER},
	        {"get / HTTP/1.1\r\nHost: a\r\n\r\n", FAULT_REQUEST_LINE},
	        {"\r\n" GET "\r\n", FAULT_REQUEST_LINE},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (parse_text(rows[i].text) != rows[i].fault)
			fail_msg("%s", rows[i].text);
}

TEST(a_nul_is_refused_wherever_it_stands)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\nB: c\r\n\r\n";

	for (size_t i = 0; i + 4 < sizeof(text) - 1; i++) {
		char changed[sizeof(text)];
		size_t scanned = 0, size = 0;
		enum http_fault fault;

		memcpy(changed, text, sizeof(text));
		changed[i] = '\0';
		fault = head_find_end((struct span){changed, sizeof(text) - 1}, &scanned, &size);
		if (!fault)
			fault = head_parse(changed, sizeof(text) - 1, &parsed);
		assert_int_not_equal(fault, FAULT_NONE);
	}
}

TEST(hosts_of_every_kind_are_accepted)
{
	static const char *const hosts[] = {"a",        "a.b-c_d", "127.0.0.1:65535", "[::1]",
	                                    "[::1]:80", "a:",      "EXAMPLE.com:8080"};

	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		char text[128];

		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i]);
		if (parse_text(text) != FAULT_NONE)
			fail_msg("refused: %s", hosts[i]);
	}
}

TEST(the_end_of_a_head_is_found_byte_by_byte)
{
	static const char text[] = GET "A: b\r\n\r\nrest";
	size_t scanned = 0, size = 0;

	for (size_t i = 1; i < sizeof(text) && !size; i++)
		assert_int_equal(head_find_end((struct span){text, i}, &scanned, &size),
		                 FAULT_NONE);
	assert_int_equal(size, sizeof(text) - 1 - strlen("rest"));
}

TEST(too_many_headers_are_refused)
{
	char text[8192] = GET;
	size_t size = strlen(text);

	for (int i = 0; i < HEAD_FIELDS_MAX - 1; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "X%d: y\r\n", i);
	memcpy(text + size, "\r\n", 3);
	assert_int_equal(parse_text(text), FAULT_NONE);
	memcpy(text + size, "Y: z\r\n\r\n", 9);
	assert_int_equal(parse_text(text), FAULT_HEADER_COUNT);
}

TEST(a_long_target_is_refused)
{
	static const char end[] = " HTTP/1.1\r\nHost: a\r\n\r\n";
	static char text[HEAD_TARGET_MAX + 128] = "GET /";
	size_t size = HEAD_TARGET_MAX + 4;

	memset(text + 5, 'a', HEAD_TARGET_MAX - 1);
	memcpy(text + size, end, sizeof(end));
	assert_int_equal(parse_text(text), FAULT_NONE);
	text[size] = 'a';
	memcpy(text + size + 1, end, sizeof(end));
	assert_int_equal(parse_text(text), FAULT_TARGET_SIZE);
}

int main(void)
{
	return RUN(CASE(a_plain_head_is_taken_apart),
	           CASE(methods_without_a_name_of_their_own_keep_their_text),
	           CASE(the_connection_lives_on_or_ends_as_version_and_header_say),
	           CASE(an_absolute_target_must_name_the_host),
	           CASE(heads_that_two_parsers_could_read_in_two_ways_are_refused),
	           CASE(a_refusal_says_what_is_wrong), CASE(a_nul_is_refused_wherever_it_stands),
	           CASE(hosts_of_every_kind_are_accepted),
	           CASE(the_end_of_a_head_is_found_byte_by_byte),
	           CASE(too_many_headers_are_refused), CASE(a_long_target_is_refused));
}
