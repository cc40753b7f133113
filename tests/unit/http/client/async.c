/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "http/client/async.h"
#include "unit/loopback.h"

/* Answers each connection with the same text, or never. */
struct echo_server {
	int listener;
	uint16_t port;
	const char *answer; /* NULL: silence */
	pthread_t thread;
	char asked[4096]; /* the last request */
};

static void *serve(void *argument)
{
	struct echo_server *s = argument;

	for (;;) {
		AUTO_CLOSE int fd = accept(s->listener, NULL, NULL);
		ssize_t got = fd < 0 ? -1 : recv(fd, s->asked, sizeof(s->asked) - 1, 0);

		if (got <= 0 && fd < 0)
			return NULL;
		s->asked[got > 0 ? got : 0] = '\0';
		if (s->answer)
			(void)!send(fd, s->answer, strlen(s->answer), MSG_NOSIGNAL);
		else
			(void)!recv(fd, s->asked, 1, 0); /* until the client closes */
	}
}

static void start_server(struct echo_server *s, const char *answer)
{
	s->answer = answer;
	s->listener = loopback_listen(&s->port);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop_server(struct echo_server *s)
{
	(void)shutdown(s->listener, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->listener);
}

static int call(struct http_async *a, uint16_t port, int64_t deadline, size_t answer_max,
                struct http_async_answer *ret, struct error *err)
{
	char url[64];
	const struct http_async_call c = {.method = "POST",
	                                  .url = url,
	                                  .headers = (const char *const[]){"X-Own: yes", NULL},
	                                  .body = SPAN("body"),
	                                  .has_body = true,
	                                  .timeout_ms = 10000,
	                                  .answer_max = answer_max,
	                                  .wanted = "X-Next"};

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/path", port);
	return http_async_wait(a, &c, deadline, ret, err);
}

#define ANSWER                                                                                     \
	"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nx-next: more\r\nContent-Length: 5\r\n"             \
	"Connection: close\r\n\r\nhello"

TEST(an_answer_comes_with_its_headers)
{
	struct echo_server server = {.port = 0};
	struct http_async_answer answer;
	struct http_async *a;
	struct error err = {0};

	start_server(&server, ANSWER);
	assert_int_equal(http_async_open("test", &a, &err), 0);
	assert_int_equal(call(a, server.port, deadline_after(5000), 0, &answer, &err), 0);
	assert_int_equal(answer.status, 429);
	assert_int_equal(answer.retry_after_s, 7);
	assert_string_equal(answer.wanted, "more");
	assert_string_equal(buf_text(&answer.body), "hello");
	assert_non_null(strstr(server.asked, "POST /path HTTP/1.1\r\n"));
	assert_non_null(strstr(server.asked, "X-Own: yes\r\n"));
	buf_done(&answer.body);
	http_async_close(a);
	stop_server(&server);
}

TEST(an_answer_that_is_too_large_fails)
{
	struct echo_server server = {.port = 0};
	struct http_async_answer answer;
	struct http_async *a;
	struct error err = {0};

	start_server(&server, ANSWER);
	assert_int_equal(http_async_open("test", &a, &err), 0);
	assert_int_equal(call(a, server.port, deadline_after(5000), 3, &answer, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	http_async_close(a);
	stop_server(&server);
}

TEST(a_silent_server_costs_the_deadline)
{
	struct echo_server server = {.port = 0};
	struct http_async_answer answer;
	struct http_async *a;
	struct error err = {0};
	int64_t began = clock_monotonic_ms();

	start_server(&server, NULL);
	assert_int_equal(http_async_open("test", &a, &err), 0);
	assert_int_equal(call(a, server.port, deadline_after(200), 0, &answer, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_true(clock_monotonic_ms() - began < 5000);
	http_async_close(a);
	stop_server(&server);
}

TEST(half_an_answer_and_no_server_are_unavailable)
{
	struct echo_server server = {.port = 0};
	struct http_async_answer answer;
	struct http_async *a;
	struct error err = {0};

	start_server(&server, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf");
	assert_int_equal(http_async_open("test", &a, &err), 0);
	assert_int_equal(call(a, server.port, deadline_after(5000), 0, &answer, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	stop_server(&server);
	error_clear(&err);
	assert_int_equal(call(a, server.port, deadline_after(5000), 0, &answer, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	http_async_close(a);
}

static void note_failure(void *context, struct http_async_answer *answer, const struct error *err)
{
	assert_null(answer);
	*(enum error_code *)context = err->code;
}

TEST(a_close_fails_what_is_in_flight)
{
	struct echo_server server = {.port = 0};
	enum error_code code = ERROR_NONE;
	struct http_async *a;
	struct error err = {0};
	char url[64];

	start_server(&server, NULL);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", server.port);
	assert_int_equal(http_async_open("test", &a, &err), 0);
	const struct http_async_call c = {.method = "GET", .url = url, .timeout_ms = 10000};
	http_async_call(a, &c, note_failure, &code);
	http_async_close(a);
	assert_int_equal(code, ERROR_UNAVAILABLE);
	stop_server(&server);
}

int main(void)
{
	return RUN(CASE(an_answer_comes_with_its_headers), CASE(an_answer_that_is_too_large_fails),
	           CASE(a_silent_server_costs_the_deadline),
	           CASE(half_an_answer_and_no_server_are_unavailable),
	           CASE(a_close_fails_what_is_in_flight));
}
