/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "egress/look.h"

struct found {
	struct host_name looked;
	struct body body;
	size_t size;
};

static enum host_name_result look_at(const char *text, struct found *ret)
{
	return request_look(span_of(text), &ret->looked, &ret->size, &ret->body);
}

static void refused(const char *text, const char *why)
{
	struct found f = {.size = 0};

	assert_int_equal(look_at(text, &f), LOOK_REFUSED);
	assert_string_equal(f.looked.refusal, why);
}

TEST(the_host_is_found_when_the_head_is_whole)
{
	static const char text[] =
	        "GET /a?b HTTP/1.1\r\nhost:  Example.com:80 \r\nX: y\r\n\r\nrest";
	struct found f = {.size = 0};

	for (size_t size = 0; size < sizeof(text) - sizeof("rest"); size++)
		assert_int_equal(
		        request_look((struct span){text, size}, &f.looked, &f.size, &f.body),
		        LOOK_MORE);
	assert_int_equal(look_at(text, &f), LOOK_FOUND);
	assert_string_equal(f.looked.name, "Example.com");
	assert_string_equal(text + f.size, "rest");
	assert_int_equal(f.body.state, BODY_DONE);
	assert_int_equal(look_at("OPTIONS * HTTP/1.1\r\nHost: a.b\r\n\r\n", &f), LOOK_FOUND);
	assert_int_equal(look_at("GET / HTTP/1.0\r\nHost: a.b\r\n\r\n", &f), LOOK_FOUND);
}

#define GET "GET / HTTP/1.1\r\n"
#define HOST "Host: a.b\r\n"
TEST(what_two_readers_could_understand_in_two_ways_is_refused)
{
	refused(GET HOST "Host: c.d\r\n\r\n", "it has more than one Host");
	refused(GET HOST HOST "\r\n", "it has more than one Host");
	refused(GET "\r\n", "it has no Host");
	refused(GET "Host: \r\n\r\n", "its Host is no host's name");
	refused(GET "Host: a.b:8080\r\n\r\n", "its Host is no host's name");
	refused(GET "Host: a.b, c.d\r\n\r\n", "its Host is no host's name");
	refused(GET "Host: 1.2.3.4\r\n\r\n", "its Host is no host's name");
	refused(GET "Host: a.b.\r\n\r\n", "its Host is no host's name");
	refused(GET "Host : c.d\r\n" HOST "\r\n", "a header field is malformed");
	refused(GET "X: y\r\n Host: c.d\r\n" HOST "\r\n", "a header field is malformed");
	refused(GET "X: y\nHost: c.d\r\n" HOST "\r\n", "a header field is malformed");
	refused(GET "X: y\rHost: c.d\r\n" HOST "\r\n", "a header field is malformed");
	refused(GET "X\r\n" HOST "\r\n", "a header field is malformed");
	refused(GET "X: \x01\r\n" HOST "\r\n", "a header field is malformed");
	refused("GET http://c.d/ HTTP/1.1\r\n" HOST "\r\n", "its target is not a path");
	refused("CONNECT c.d:443 HTTP/1.1\r\n" HOST "\r\n",
	        "CONNECT is for proxies, and this is none");
	refused("GET / HTTP/2.0\r\n" HOST "\r\n", "it is not HTTP/1");
	refused("GET /  HTTP/1.1\r\n" HOST "\r\n", "it is not HTTP/1");
	refused("GET /\r\n" HOST "\r\n", "it is not HTTP/1");
	refused("\x16\x03\x01", "it is not HTTP/1");
	refused("\r\n" GET HOST "\r\n", "it is not HTTP/1");
}

TEST(a_body_whose_end_is_not_clear_is_refused)
{
	static const char twice[] = "it says twice how long its body is";

	refused(GET HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", twice);
	refused(GET HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", twice);
	refused(GET HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", twice);
	refused(GET HOST "Transfer-Encoding: gzip, chunked\r\n\r\n",
	        "its transfer encoding is not \"chunked\"");
	refused("GET / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n",
	        "its transfer encoding is not \"chunked\"");
	refused(GET HOST "Content-Length: -1\r\n\r\n", "its content length is malformed");
	refused(GET HOST "Content-Length: 1,1\r\n\r\n", "its content length is malformed");
	refused(GET HOST "Content-Length: 9999999999999999\r\n\r\n",
	        "its content length is malformed");
}

TEST(a_head_has_its_limits)
{
	AUTO(buf_done) struct buf text = BUF(4 * LOOK_BYTES_MAX);

	buf_add_text(&text, GET HOST);
	for (unsigned i = 0; i < 200; i++)
		buf_add_text(&text, "X: y\r\n");
	buf_add_text(&text, "\r\n");
	refused(buf_text(&text), "it has too many header fields");
	buf_reset(&text);
	buf_add_text(&text, GET HOST "X: ");
	while (text.size < LOOK_BYTES_MAX)
		buf_add_byte(&text, 'x');
	refused(buf_text(&text), "its head is too large");
}

TEST(what_is_sent_on_ends_the_connection_and_stays_http)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	request_pass(SPAN(GET HOST "Connection: keep-alive, x\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\n"
	                           "HTTP2-Settings: a\r\nAccept: */*\r\n\r\n"),
	             &out);
	assert_string_equal(buf_text(&out), GET HOST "Accept: */*\r\nConnection: close\r\n\r\n");
}

/* How much of it is the body, when it comes in pieces of this size. */
static ssize_t take_in(struct body body, const char *text, size_t piece, bool *ret_is_done)
{
	struct span rest = span_of(text);
	ssize_t sum = 0;

	while (rest.size > 0) {
		size_t size = rest.size < piece ? rest.size : piece;
		ssize_t taken = body_take(&body, (struct span){rest.data, size});

		if (taken < 0)
			return -1;
		sum += taken;
		rest = (struct span){rest.data + size, rest.size - size};
	}
	*ret_is_done = body.state == BODY_DONE;
	return sum;
}

TEST(a_body_ends_where_it_said_and_nothing_behind_it_is_taken)
{
	static const char chunks[] = "3\r\nabc\r\n00a\r\n0123456789\r\n0\r\n\r\n",
	                  behind[] = "GET /";
	AUTO(buf_done) struct buf text = BUF(256);
	bool is_done;

	buf_addf(&text, "%s%s", chunks, behind);
	for (size_t piece = 1; piece < 64; piece++) {
		const struct body sized = {.state = BODY_BYTES, .left = 5};

		assert_int_equal(take_in((struct body){.state = BODY_CHUNK_SIZE}, buf_text(&text),
		                         piece, &is_done),
		                 sizeof(chunks) - 1);
		assert_true(is_done);
		assert_int_equal(take_in(sized, "abcdeGET /", piece, &is_done), 5);
		assert_true(is_done);
		assert_int_equal(take_in(sized, "abc", piece, &is_done), 3);
		assert_false(is_done);
	}
	assert_int_equal(take_in((struct body){.state = BODY_DONE}, "GET /", 64, &is_done), 0);
}

TEST(chunks_that_are_framed_oddly_are_refused)
{
	static const char *const bad[] = {"\r\n",
	                                  "x\r\n",
	                                  "3;a=b\r\nabc\r\n",
	                                  "3\nabc",
	                                  "3\r\nabcd",
	                                  "3\r\nabc\n",
	                                  "0\r\nX: y\r\n\r\n",
	                                  "0\r\n\n",
	                                  "-3\r\n",
	                                  "000000003\r\n",
	                                  " 3\r\n",
	                                  "3 \r\n"};
	bool is_done;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(
		        take_in((struct body){.state = BODY_CHUNK_SIZE}, bad[i], 64, &is_done), -1);
}

int main(void)
{
	return RUN(CASE(the_host_is_found_when_the_head_is_whole),
	           CASE(what_two_readers_could_understand_in_two_ways_is_refused),
	           CASE(a_body_whose_end_is_not_clear_is_refused), CASE(a_head_has_its_limits),
	           CASE(what_is_sent_on_ends_the_connection_and_stays_http),
	           CASE(a_body_ends_where_it_said_and_nothing_behind_it_is_taken),
	           CASE(chunks_that_are_framed_oddly_are_refused));
}
