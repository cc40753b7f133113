/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "egress/upstream.h"
#include "sandbox/upstream.h"

#define OPEN "HTTP/1.1 200 OK\r\nVia: x\r\n\r\n"

TEST(a_proxy_is_asked_for_an_address)
{
	AUTO(buf_done) struct buf out = BUF(1024), login = BUF(1024);

	upstream_authorization(&login, SPAN("Aladdin:open sesame"));
	assert_string_equal(buf_text(&login), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
	upstream_ask(&out, 0xcb007107, 443, buf_text(&login));
	assert_string_equal(buf_text(&out),
	                    "CONNECT 203.0.113.7:443 HTTP/1.1\r\nHost: 203.0.113.7:443\r\n"
	                    "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n");
	buf_reset(&out);
	upstream_ask(&out, 0xcb007107, 80, "");
	assert_string_equal(buf_text(&out),
	                    "CONNECT 203.0.113.7:80 HTTP/1.1\r\nHost: 203.0.113.7:80\r\n\r\n");
}

TEST(an_answer_in_pieces_is_read_to_the_end_of_its_head)
{
	static const char text[] = OPEN "bytes of the host";
	size_t size = 0;
	int status = 0;

	for (size_t i = 0; i < sizeof(OPEN) - 1; i++)
		assert_int_equal(upstream_read((struct span){text, i}, &size, &status),
		                 UPSTREAM_MORE);
	assert_int_equal(upstream_read(SPAN(text), &size, &status), UPSTREAM_OPEN);
	assert_int_equal(size, sizeof(OPEN) - 1);
	assert_int_equal(status, 200);
	assert_int_equal(upstream_read(SPAN("HTTP/1.0 407 Proxy\r\n\r\n"), &size, &status),
	                 UPSTREAM_REFUSED);
	assert_int_equal(status, 407);
	assert_int_equal(upstream_read(SPAN("HTTP/1.1 299\r\n\r\n"), &size, &status),
	                 UPSTREAM_OPEN);
}

TEST(what_is_no_answer_is_malformed)
{
	static const char *const bad[] = {
	        "SSH-2.0",
	        "HTTP/2 200\r\n\r\n",
	        "HTTP/1.1\r\n\r\n",
	        "HTTP/1.1 \r\n\r\n",
	        "HTTP/1.1  200 OK\r\n\r\n",
	        "HTTP/1.1 2000 OK\r\n\r\n",
	        "HTTP/1.1 20 OK\r\n\r\n",
	        "HTTP/1.1 100 Continue\r\n\r\n",
	        "HTTP/1.1 600 OK\r\n\r\n",
	        "HTTP/1.x 200 OK\r\n\r\n",
	        "\r\n\r\n",
	};
	static char much[UPSTREAM_HEAD_MAX + 100];
	size_t size;
	int status;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(upstream_read(span_of(bad[i]), &size, &status),
		                 UPSTREAM_MALFORMED);
	memset(much, 'x', sizeof(much));
	memcpy(much, "HTTP/1.1 200 OK\r\n", 17);
	assert_int_equal(upstream_read((struct span){much, UPSTREAM_HEAD_MAX - 1}, &size, &status),
	                 UPSTREAM_MORE);
	memcpy(much + UPSTREAM_HEAD_MAX, "\r\n\r\n", 4);
	assert_int_equal(upstream_read((struct span){much, sizeof(much)}, &size, &status),
	                 UPSTREAM_MALFORMED);
}

TEST(the_url_of_a_proxy_has_a_host_and_a_port_alone)
{
	static const char *const bad[] = {
	        "proxy.test:3128",          "https://proxy.test:1",    "http://proxy.test",
	        "http://proxy.test:0",      "http://proxy.test:65536", "http://:3128",
	        "http://10.0.0.0/8:3128",   "http://0.0.0.0:3128",     "http://[::1]:3128",
	        "http://proxy.test:3128/x", "http://pro xy.test:3128",
	};
	struct upstream_proxy p;
	struct error err = {0};

	assert_int_equal(upstream_proxy_parse("", &p, &err), 0);
	assert_int_equal(p.port, 0);
	assert_int_equal(upstream_proxy_parse("http://10.1.2.3:3128/", &p, &err), 0);
	assert_int_equal(p.address, 0x0a010203);
	assert_int_equal(p.port, 3128);
	assert_string_equal(p.host, "");
	assert_int_equal(upstream_proxy_parse("http://proxy.test:8080", &p, &err), 0);
	assert_string_equal(p.host, "proxy.test");
	assert_int_equal(p.address, 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(upstream_proxy_parse(bad[i], &p, &err), -1);
	assert_int_equal(upstream_proxy_parse("http://user:hidden@proxy.test:1", &p, &err), -1);
	assert_null(strstr(err.text, "hidden"));
}

int main(void)
{
	return RUN(CASE(a_proxy_is_asked_for_an_address),
	           CASE(an_answer_in_pieces_is_read_to_the_end_of_its_head),
	           CASE(what_is_no_answer_is_malformed),
	           CASE(the_url_of_a_proxy_has_a_host_and_a_port_alone));
}
