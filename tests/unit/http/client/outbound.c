/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/outbound.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "unit.h"
#include "unit/loopback.h"

TEST(urls_are_of_http_and_name_a_host_of_the_internet)
{
	static const struct {
		const char *url;
		enum error_code code; /* without and with private addresses let */
		enum error_code allowed;
	} rows[] = {
	        {"https://example.org", ERROR_NONE, ERROR_NONE},
	        {"http://example.org:8080/a/b?c=d%20e", ERROR_NONE, ERROR_NONE},
	        {"https://[2606:4700::1]/", ERROR_NONE, ERROR_NONE},
	        {"http://127.0.0.1/", ERROR_FORBIDDEN, ERROR_NONE},
	        {"http://127.1/", ERROR_FORBIDDEN, ERROR_NONE},
	        {"http://2130706433/", ERROR_FORBIDDEN, ERROR_NONE},
	        {"http://0177.0.0.1/", ERROR_FORBIDDEN, ERROR_NONE},
	        {"http://[::1]:99/", ERROR_FORBIDDEN, ERROR_NONE},
	        {"http://[fe80::1]/", ERROR_FORBIDDEN, ERROR_NONE},
	        {"http://LocalHost/", ERROR_FORBIDDEN, ERROR_NONE},
	        {"http://a.localhost./", ERROR_FORBIDDEN, ERROR_NONE},
	        {"http://notlocalhost/", ERROR_NONE, ERROR_NONE},
	        {"file:///etc/passwd", ERROR_INVALID, ERROR_INVALID},
	        {"gopher://example.org/", ERROR_INVALID, ERROR_INVALID},
	        {"example.org", ERROR_INVALID, ERROR_INVALID},
	        {"", ERROR_INVALID, ERROR_INVALID},
	        {"http://", ERROR_INVALID, ERROR_INVALID},
	        {"http://u:p@example.org/", ERROR_INVALID, ERROR_INVALID},
	        {"http://example.org@127.0.0.1/", ERROR_INVALID, ERROR_INVALID},
	        {"http://example.org/ x", ERROR_INVALID, ERROR_INVALID},
	        {"http://example.org/\r\nX: y", ERROR_INVALID, ERROR_INVALID},
	        {"http://example.org/#x", ERROR_INVALID, ERROR_INVALID},
	        {"http://exa\\mple.org/", ERROR_INVALID, ERROR_INVALID},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct error err = {0};
		int result = outbound_url_check(rows[i].url, false, &err);

		if ((result < 0 ? err.code : ERROR_NONE) != rows[i].code)
			fail_msg("%s: %s", rows[i].url, err.text);
		err = (struct error){0};
		result = outbound_url_check(rows[i].url, true, &err);
		if ((result < 0 ? err.code : ERROR_NONE) != rows[i].allowed)
			fail_msg("%s: %s", rows[i].url, err.text);
	}
}

TEST(a_url_has_a_length_that_it_may_not_exceed)
{
	char url[OUTBOUND_URL_MAX + 2] = "http://example.org/";
	struct error err;

	memset(url + strlen(url), 'a', sizeof(url) - 1 - strlen(url));
	assert_int_equal(outbound_url_check(url, true, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_int_equal(outbound_url_check("", true, &err), -1);
}

/* ---- requests ---- */

struct fake {
	int listener;
	uint16_t port;
	const char *answer; /* NULL: nothing comes */
	struct buf request;
	pthread_t thread;
};

static void *serve(void *context)
{
	struct fake *f = context;
	AUTO_CLOSE int fd = accept(f->listener, NULL, NULL);
	char room[4096];
	ssize_t got;

	while (!strstr(buf_text(&f->request), "\r\n\r\nbody") &&
	       (got = read(fd, room, sizeof(room))) > 0)
		buf_add(&f->request, room, (size_t)got);
	if (f->answer)
		(void)!write(fd, f->answer, strlen(f->answer));
	while (read(fd, room, sizeof(room)) > 0)
		continue;
	return NULL;
}

static void fake_open(struct fake *f, const char *answer)
{
	*f = (struct fake){.answer = answer, .request = BUF(65536)};
	f->listener = loopback_listen(&f->port);
	assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

static void fake_close(struct fake *f)
{
	(void)shutdown(f->listener, SHUT_RDWR);
	(void)pthread_join(f->thread, NULL);
	(void)close(f->listener);
	buf_done(&f->request);
}

static int post(const struct fake *f, struct outbound_post *options, int *ret_status,
                struct error *err)
{
	char url[64];

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/path?q=1", f->port);
	options->url = url;
	options->body = SPAN("body");
	if (options->timeout_ms == 0)
		options->timeout_ms = 5000;
	return outbound_post(options, ret_status, err);
}

TEST(a_post_sends_headers_and_body_past_any_proxy_and_tells_the_status)
{
	static const char *const headers[] = {"Content-Type: application/json", "Atoll-Delivery: 7",
	                                      NULL};
	struct outbound_post options = {.headers = headers, .allow_private = true};
	struct error err = {0};
	struct fake f;
	int status = 0;

	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	fake_open(&f, "HTTP/1.1 204 No Content\r\n\r\n");
	if (post(&f, &options, &status, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(status, 204);
	assert_non_null(strstr(buf_text(&f.request), "POST /path?q=1 HTTP/1.1\r\n"));
	assert_non_null(strstr(buf_text(&f.request), "Atoll-Delivery: 7\r\n"));
	assert_non_null(strstr(buf_text(&f.request), "Content-Type: application/json\r\n"));
	assert_null(strstr(buf_text(&f.request), "Expect:"));
	fake_close(&f);
}

TEST(an_answer_says_how_long_to_wait)
{
	static const struct {
		const char *answer;
		int64_t seconds;
	} rows[] = {
	        {"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n",
	         30},
	        {"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n", 0},
	        {"HTTP/1.1 429 Too Many Requests\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n",
	         0},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t seconds = -1;
		struct outbound_post options = {.allow_private = true,
		                                .ret_retry_after_s = &seconds};
		struct error err = {0};
		struct fake f;
		int status = 0;

		fake_open(&f, rows[i].answer);
		assert_int_equal(post(&f, &options, &status, &err), 0);
		assert_int_equal(status, 429);
		assert_int_equal(seconds, rows[i].seconds);
		fake_close(&f);
	}
}

TEST(a_redirect_is_an_answer_and_not_followed)
{
	struct outbound_post options = {.allow_private = true};
	struct error err = {0};
	struct fake f;
	int status = 0;

	fake_open(&f, "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
	assert_int_equal(post(&f, &options, &status, &err), 0);
	assert_int_equal(status, 302);
	fake_close(&f);
}

TEST(a_long_answer_is_cut_and_still_an_answer)
{
	struct outbound_post options = {.allow_private = true};
	AUTO(buf_done) struct buf answer = BUF(1 << 20);
	struct error err = {0};
	struct fake f;
	int status = 0;

	buf_add_text(&answer, "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n");
	while (answer.size < 300000)
		buf_add_text(&answer, "0123456789abcdef");
	fake_open(&f, buf_text(&answer));
	assert_int_equal(post(&f, &options, &status, &err), 0);
	assert_int_equal(status, 200);
	fake_close(&f);
}

TEST(a_private_address_is_refused_before_it_is_connected_to)
{
	struct outbound_post options = {.allow_private = false};
	struct error err = {0};
	struct fake f;
	int status = 0;

	fake_open(&f, NULL);
	assert_int_equal(post(&f, &options, &status, &err), -1);
	assert_int_equal(err.code, ERROR_FORBIDDEN);
	assert_int_equal(f.request.size, 0);
	fake_close(&f);
}

TEST(one_who_does_not_answer_is_given_up)
{
	struct outbound_post options = {.allow_private = true, .timeout_ms = 100};
	int64_t begun = clock_monotonic_ms();
	struct error err = {0};
	struct fake f;
	int status = 0;

	fake_open(&f, NULL);
	assert_int_equal(post(&f, &options, &status, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_true(clock_monotonic_ms() - begun < 5000);
	fake_close(&f);
}

TEST(a_post_that_is_cancelled_ends)
{
	atomic_bool cancelled = true;
	struct outbound_post options = {.allow_private = true, .cancelled = &cancelled};
	struct error err = {0};
	struct fake f;
	int status = 0;

	fake_open(&f, NULL);
	assert_int_equal(post(&f, &options, &status, &err), -1);
	fake_close(&f);
}

int main(void)
{
	return RUN(CASE(urls_are_of_http_and_name_a_host_of_the_internet),
	           CASE(a_url_has_a_length_that_it_may_not_exceed),
	           CASE(a_post_sends_headers_and_body_past_any_proxy_and_tells_the_status),
	           CASE(an_answer_says_how_long_to_wait),
	           CASE(a_redirect_is_an_answer_and_not_followed),
	           CASE(a_long_answer_is_cut_and_still_an_answer),
	           CASE(a_private_address_is_refused_before_it_is_connected_to),
	           CASE(one_who_does_not_answer_is_given_up), CASE(a_post_that_is_cancelled_ends));
}
