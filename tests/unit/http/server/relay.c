/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "relay_fixture.h"
#include "unit.h"

static struct answer answer;
static const struct span none;

TEST(frames_become_chunks_and_the_connection_goes_on)
{
	int fd;

	open_all(NULL);
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\nGET /next HTTP/1.1\r\n" HOST "\r\n");
	send_frame(FRAME_BEGIN, none);
	client_receive_head(fd, &answer);
	assert_int_equal(answer.status, 200);
	assert_true(answer_has(&answer, "Transfer-Encoding: chunked"));
	assert_true(answer_has(&answer, "X-Frame: begin"));
	send_frame(FRAME_DATA, SPAN("hello"));
	client_receive_bytes(fd, answer.body, 10);
	assert_memory_equal(answer.body, "5\r\nhello\r\n", 10);
	send_frame(FRAME_END, none);
	client_receive_bytes(fd, answer.body, 5);
	assert_memory_equal(answer.body, "0\r\n\r\n", 5);
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "next");
	assert_true(await_release());
	assert_true(shared.returned_fd >= 0);
	close_all(fd);
}

TEST(a_length_is_kept_to_the_byte)
{
	int fd;

	open_all(NULL);
	shared.length = 3;
	fd = ask("GET /inline HTTP/1.1\r\n" HOST "\r\nGET /next HTTP/1.1\r\n" HOST "\r\n");
	send_frame(FRAME_BEGIN, none);
	send_frame(FRAME_DATA, SPAN("abc"));
	send_frame(FRAME_END, none);
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "abc");
	assert_true(answer_has(&answer, "Content-Length: 3"));
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "next");
	assert_true(await_release());
	close_all(fd);
}

TEST(too_few_and_too_many_bytes_cut_the_connection)
{
	for (int i = 0; i < 2; i++) {
		int fd;

		open_all(NULL);
		shared.length = 3;
		fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
		send_frame(FRAME_BEGIN, none);
		client_receive_head(fd, &answer);
		send_frame(FRAME_DATA, i ? SPAN("abcd") : SPAN("ab"));
		if (i == 0)
			send_frame(FRAME_END, none);
		assert_false(await_release());
		while (!client_is_closed(fd))
			continue;
		close_all(fd);
	}
}

TEST(a_failure_before_the_reply_is_an_error_and_after_it_a_cut)
{
	int fd;

	open_all(NULL);
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\nGET /next HTTP/1.1\r\n" HOST "\r\n");
	send_frame(FRAME_UNKNOWN, none);
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 503);
	assert_non_null(strstr(answer.body, "an unknown frame"));
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "next");
	assert_false(await_release());
	close_all(fd);
	open_all(NULL);
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	send_frame(FRAME_BEGIN, none);
	client_receive_head(fd, &answer);
	send_frame(FRAME_UNKNOWN, none);
	assert_true(client_is_closed(fd));
	assert_false(await_release());
	close_all(fd);
}

TEST(an_upstream_that_goes_away_is_an_error)
{
	int fd;

	open_all(NULL);
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	shutdown(await_upstream(), SHUT_RDWR);
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 503);
	assert_non_null(strstr(answer.body, "the upstream went away"));
	close_all(fd);
}

TEST(a_header_of_the_upstream_cannot_be_injected)
{
	int fd;

	open_all(NULL);
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	send_frame(FRAME_BAD_HEADER, none);
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 503);
	assert_null(strstr(answer.head, "Set-Cookie"));
	close_all(fd);
}

TEST(a_handler_that_fails_after_all_releases_the_relay)
{
	int fd;

	open_all(NULL);
	fd = ask("GET /fail HTTP/1.1\r\n" HOST "\r\n");
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 429);
	assert_false(await_release());
	close_all(fd);
}

TEST(a_client_that_leaves_ends_the_relay)
{
	int fd;

	open_all(NULL);
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	send_frame(FRAME_BEGIN, none);
	client_receive_head(fd, &answer);
	close(fd);
	assert_false(await_release());
	assert_int_equal(shared.returned_fd, -1);
	close_all(-1);
}

TEST(head_and_http_1_0_are_served_by_relays_too)
{
	char rest[4];
	int fd;

	open_all(NULL);
	fd = ask("HEAD /relay HTTP/1.1\r\n" HOST "\r\nGET /next HTTP/1.1\r\n" HOST "\r\n");
	send_frame(FRAME_BEGIN, none);
	client_receive_head(fd, &answer);
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "next");
	assert_false(await_release());
	close_all(fd);
	open_all(NULL);
	fd = ask("GET /relay HTTP/1.0\r\n\r\n");
	send_frame(FRAME_BEGIN, none);
	send_frame(FRAME_DATA, SPAN("abc"));
	send_frame(FRAME_END, none);
	client_receive_head(fd, &answer);
	assert_true(answer_has(&answer, "Connection: close"));
	client_receive_bytes(fd, rest, 3);
	assert_memory_equal(rest, "abc", 3);
	assert_true(client_is_closed(fd));
	close_all(fd);
}

TEST(a_pipe_is_an_upstream_and_first_bytes_are_sent)
{
	char room[8];
	int fd;

	open_all(NULL);
	shared.with_pipe = true;
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	send_frame(FRAME_BEGIN, none);
	send_frame(FRAME_DATA, SPAN("x"));
	send_frame(FRAME_END, none);
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "x");
	assert_true(await_release());
	close_all(fd);
	open_all(NULL);
	shared.options.upstream_first = SPAN("first");
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	client_receive_bytes(await_upstream(), room, 5);
	assert_memory_equal(room, "first", 5);
	close_all(fd);
}

TEST(ticks_drive_a_relay_without_an_upstream)
{
	int fd;

	open_all(NULL);
	shared.without_upstream = true;
	shared.options = (struct relay_options){.ops = &tick_ops, .tick_ms = 5};
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "012");
	assert_true(await_release());
	close_all(fd);
}

TEST(a_relay_may_begin_by_itself)
{
	int fd;

	open_all(NULL);
	shared.without_upstream = true;
	shared.options = (struct relay_options){.ops = &start_ops, .tick_ms = 5};
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "started 012");
	assert_true(await_release());
	close_all(fd);
}

TEST(an_idle_relay_is_ended)
{
	int fd;

	open_all(NULL);
	shared.options.idle_timeout_ms = 20;
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 504);
	assert_false(await_release());
	close_all(fd);
}

TEST(an_upstream_that_says_nothing_at_all_ends_the_relay)
{
	int fd;

	open_all(NULL);
	shared.options.first_ms = 20;
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 504);
	assert_non_null(strstr(answer.body, "has not answered in 20 ms"));
	assert_false(await_release());
	close_all(fd);
}

TEST(an_upstream_that_has_begun_to_answer_may_take_its_time)
{
	int fd;

	open_all(NULL);
	shared.options.first_ms = 300;
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	await_upstream();
	send_frame(FRAME_BEGIN, SPAN(""));
	assert_false(is_released_within(400));
	send_frame(FRAME_DATA, SPAN("late"));
	send_frame(FRAME_END, SPAN(""));
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 200);
	assert_string_equal(answer.body, "late");
	assert_true(await_release());
	close_all(fd);
}

/* ---- back-pressure ---- */

/* Bytes written until nothing moves any more: what all buffers on the way hold. */
static size_t fill(int fd)
{
	static const char zeros[65536];
	size_t total = 0;
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	assert_true(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	while (poll(&p, 1, 100) == 1 && (p.revents & POLLOUT)) {
		ssize_t sent = send(fd, zeros, sizeof(zeros), MSG_NOSIGNAL);

		if (sent > 0)
			total += (size_t)sent;
		assert_true(total < (size_t)64 << 20);
	}
	return total;
}

/* One endless frame would be held back: many of 64 KiB, whose payload are frames themselves. */
TEST(a_fast_upstream_waits_for_a_slow_client_in_bounded_memory)
{
	enum { PAYLOAD = 65536, FRAMES = 1024 };
	static char frame[5 + PAYLOAD];
	uint32_t size = PAYLOAD;
	size_t written = 0, received = 0;
	bool stalled = false;
	int fd, upstream;

	open_all(NULL);
	shared.length = (int64_t)PAYLOAD * FRAMES;
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	send_frame(FRAME_BEGIN, none);
	client_receive_head(fd, &answer);
	upstream = await_upstream();
	assert_int_equal(fcntl(upstream, F_SETFL, O_NONBLOCK), 0);
	frame[0] = FRAME_DATA;
	memcpy(frame + 1, &size, 4);
	while (received < (size_t)shared.length) {
		static char room[1 << 20];
		struct pollfd p = {.fd = upstream, .events = POLLOUT};

		while (written < sizeof(frame) * FRAMES && poll(&p, 1, stalled ? 0 : 100) == 1) {
			size_t at = written % sizeof(frame);
			ssize_t sent = send(upstream, frame + at, sizeof(frame) - at, MSG_NOSIGNAL);

			assert_true(sent > 0 || errno == EAGAIN);
			written += sent > 0 ? (size_t)sent : 0;
		}
		/* Nobody has read yet: sockets and the relay's 256 KiB hold all that was taken. */
		if (!stalled)
			assert_true(written < (size_t)16 << 20);
		stalled = true;
		ssize_t got = recv(fd, room, sizeof(room), 0);

		assert_true(got > 0);
		received += (size_t)got;
	}
	assert_int_equal(received, shared.length);
	assert_int_equal(fcntl(upstream, F_SETFL, 0), 0);
	send_frame(FRAME_END, none);
	assert_true(await_release());
	close_all(fd);
}

TEST(a_client_that_stops_reading_is_cut)
{
	const struct server_options limits = {.write_timeout_ms = 50};
	char *block = calloc(1, 200000);
	int fd;

	open_all(&limits);
	shared.length = (int64_t)1 << 40;
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	send_frame(FRAME_BEGIN, none);
	while (!is_released()) {
		struct pollfd p = {.fd = await_upstream(), .events = POLLOUT};
		char head[5] = {FRAME_DATA, 0x40, 0x0d, 0x03, 0};

		assert_int_equal(fcntl(p.fd, F_SETFL, O_NONBLOCK), 0);
		if (poll(&p, 1, 20) == 1 && send(p.fd, head, 5, MSG_NOSIGNAL) == 5) {
			assert_int_equal(fcntl(p.fd, F_SETFL, 0), 0);
			(void)send(p.fd, block, 200000, MSG_NOSIGNAL);
		}
	}
	free(block);
	close_all(fd);
}

TEST(an_upload_waits_for_a_slow_upstream_in_bounded_memory)
{
	enum { SIZE = 32 << 20 };
	static char room[1 << 20];
	char request[256];
	size_t sent, received = 0;
	int fd, upstream;

	open_all(NULL);
	snprintf(request, sizeof(request),
	         "PUT /upload HTTP/1.1\r\n" HOST "Content-Length: %d\r\n\r\n", SIZE);
	fd = ask(request);
	upstream = await_upstream();
	sent = fill(fd);
	assert_true(sent < (size_t)16 << 20);
	while (received < SIZE) {
		ssize_t got = recv(upstream, room, sizeof(room), sent == SIZE ? 0 : MSG_DONTWAIT);

		assert_true(got > 0 || (got < 0 && errno == EAGAIN));
		received += got > 0 ? (size_t)got : 0;
		if (sent < SIZE) {
			size_t more = SIZE - sent < sizeof(room) ? SIZE - sent : sizeof(room);
			ssize_t result = send(fd, room, more, MSG_NOSIGNAL);

			sent += result > 0 ? (size_t)result : 0;
		}
	}
	assert_int_equal(received, SIZE);
	send_frame(FRAME_BEGIN, none);
	send_frame(FRAME_END, none);
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 200);
	assert_true(await_release());
	assert_true(shared.client_last);
	close_all(fd);
}

TEST(a_chunked_upload_is_passed_on_and_the_connection_goes_on)
{
	char room[16];
	int fd;

	open_all(NULL);
	fd = ask("PUT /upload HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
	         "Expect: 100-continue\r\n\r\n");
	client_receive_head(fd, &answer);
	assert_int_equal(answer.status, 100);
	client_send(fd, "3\r\nabc\r\n2\r\nde\r\n");
	client_receive_bytes(await_upstream(), room, 5);
	assert_memory_equal(room, "abcde", 5);
	client_send(fd, "0\r\n\r\nGET /next HTTP/1.1\r\n" HOST "\r\n");
	pthread_mutex_lock(&shared.mutex);
	while (!shared.client_last)
		pthread_cond_wait(&shared.changed, &shared.mutex);
	pthread_mutex_unlock(&shared.mutex);
	send_frame(FRAME_BEGIN, none);
	send_frame(FRAME_END, none);
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 200);
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "next");
	assert_true(await_release());
	close_all(fd);
}

TEST(bad_large_slow_and_broken_uploads_end_unclean)
{
	static const struct {
		const char *request;
		int status;
	} cases[] = {
	        {"PUT /upload HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
	        {"PUT /small HTTP/1.1\r\n" HOST
	         "Transfer-Encoding: chunked\r\n\r\nb\r\n01234567890",
	         413},
	        {"PUT /upload HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nabc", 408},
	};
	const struct server_options limits = {.body_timeout_ms = 50};
	int fd;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		open_all(&limits);
		fd = ask(cases[i].request);
		client_receive(fd, &answer);
		assert_int_equal(answer.status, cases[i].status);
		assert_false(await_release());
		assert_true(client_is_closed(fd));
		close_all(fd);
	}
	open_all(NULL);
	fd = ask("PUT /upload HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nabc");
	(void)await_upstream();
	close(fd);
	assert_false(await_release());
	assert_false(shared.client_last);
	close_all(-1);
}

TEST(an_upstream_that_gives_up_an_upload_is_heard_out)
{
	int fd;

	open_all(NULL);
	shared.upstream_gives_up = true;
	fd = ask("PUT /upload HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nabc");
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 503);
	assert_non_null(strstr(answer.body, "an unknown frame"));
	assert_false(await_release());
	assert_true(client_is_closed(fd));
	close_all(fd);
}

TEST(an_upstream_that_never_stops_talking_is_not_heard_out)
{
	int fd;

	open_all(NULL);
	shared.options.ops = &endless_ops;
	fd = ask("PUT /upload HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nabc");
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 503);
	assert_non_null(strstr(answer.body, "takes no more bytes"));
	assert_false(await_release());
	assert_in_range(shared.said, 2, 100);
	close_all(fd);
}

TEST(an_empty_upload_is_told_to_be_over)
{
	int fd;

	open_all(NULL);
	fd = ask("PUT /upload HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n");
	send_frame(FRAME_BEGIN, none);
	send_frame(FRAME_END, none);
	client_receive(fd, &answer);
	assert_true(shared.client_last);
	assert_true(await_release());
	close_all(fd);
}

TEST(closing_the_server_cuts_every_relay)
{
	int fd;

	open_all(NULL);
	fd = ask("GET /relay HTTP/1.1\r\n" HOST "\r\n");
	send_frame(FRAME_BEGIN, none);
	client_receive_head(fd, &answer);
	fixture_close(&shared.fixture);
	assert_int_equal(shared.released, 1);
	assert_false(shared.clean);
	assert_true(client_is_closed(fd));
	close(fd);
	close(shared.upstream);
}

int main(void)
{
	return RUN(CASE(frames_become_chunks_and_the_connection_goes_on),
	           CASE(a_length_is_kept_to_the_byte),
	           CASE(too_few_and_too_many_bytes_cut_the_connection),
	           CASE(a_failure_before_the_reply_is_an_error_and_after_it_a_cut),
	           CASE(an_upstream_that_goes_away_is_an_error),
	           CASE(a_header_of_the_upstream_cannot_be_injected),
	           CASE(a_handler_that_fails_after_all_releases_the_relay),
	           CASE(a_client_that_leaves_ends_the_relay),
	           CASE(head_and_http_1_0_are_served_by_relays_too),
	           CASE(a_pipe_is_an_upstream_and_first_bytes_are_sent),
	           CASE(ticks_drive_a_relay_without_an_upstream), CASE(a_relay_may_begin_by_itself),
	           CASE(an_idle_relay_is_ended),
	           CASE(an_upstream_that_says_nothing_at_all_ends_the_relay),
	           CASE(an_upstream_that_has_begun_to_answer_may_take_its_time),
	           CASE(a_fast_upstream_waits_for_a_slow_client_in_bounded_memory),
	           CASE(a_client_that_stops_reading_is_cut),
	           CASE(an_upload_waits_for_a_slow_upstream_in_bounded_memory),
	           CASE(a_chunked_upload_is_passed_on_and_the_connection_goes_on),
	           CASE(bad_large_slow_and_broken_uploads_end_unclean),
	           CASE(an_upstream_that_gives_up_an_upload_is_heard_out),
	           CASE(an_upstream_that_never_stops_talking_is_not_heard_out),
	           CASE(an_empty_upload_is_told_to_be_over),
	           CASE(closing_the_server_cuts_every_relay));
}
