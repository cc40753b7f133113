/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "unit.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "http/relay.h"

#define HOST "Host: a\r\n"

/* The upstream's language in these tests: a byte that says what, a 32-bit size, the bytes. */
enum frame_kind { FRAME_BEGIN = 'b', FRAME_DATA = 'd', FRAME_TEXT = 't', FRAME_END = 'e' };

/* One relay at a time: the test has the other end of its upstream. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int upstream; /* the test's end; -1 before the handler has run */
	int started, released, ticks;
	bool clean, client_last;
	int returned_fd;
	size_t client_bytes;
	struct relay_options options; /* what the handler adds to */
	int64_t length;               /* of the reply */
	bool with_pipe, without_upstream;
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int on_frame(struct relay *relay, char kind, struct span payload, struct error *err)
{
	switch (kind) {
	case FRAME_BEGIN:
		relay_begin_header(relay, "X-Frame", "begin");
		relay_begin(relay, 200, "text/plain", shared.length);
		return 0;
	case FRAME_DATA:
		relay_write(relay, payload);
		return 0;
	case FRAME_TEXT:
		relay_write_text_message(relay, payload);
		return 0;
	case FRAME_END:
		relay_finish(relay);
		return 0;
	case 'h':
		relay_begin_header(relay, "X-Bad", "a\r\nSet-Cookie: b");
		return 0;
	default:
		return FAIL(err, ERROR_UNAVAILABLE, "an unknown frame");
	}
}

static int on_upstream(void *state, struct relay *relay, struct span *in, struct error *err)
{
	(void)state;
	while (in->size >= 5) {
		uint32_t size;
		char kind = in->data[0];
		struct span payload;

		memcpy(&size, in->data + 1, 4);
		if (in->size - 5 < size)
			return 0;
		payload = (struct span){in->data + 5, size};
		*in = (struct span){in->data + 5 + size, in->size - 5 - size};
		if (on_frame(relay, kind, payload, err) < 0)
			return -1;
	}
	return 0;
}

static int on_upstream_end(void *state, struct relay *relay, struct error *err)
{
	(void)state;
	(void)relay;
	return FAIL(err, ERROR_UNAVAILABLE, "the upstream went away");
}

static int on_client(void *state, struct relay *relay, struct span bytes, bool last,
                     struct error *err)
{
	(void)state;
	(void)err;
	pthread_mutex_lock(&shared.mutex);
	shared.client_bytes += bytes.size;
	shared.client_last |= last;
	pthread_cond_signal(&shared.changed);
	pthread_mutex_unlock(&shared.mutex);
	relay_to_upstream(relay, bytes);
	return 0;
}

static void on_tick(void *state, struct relay *relay)
{
	char text[8];

	(void)state;
	if (shared.ticks == 0)
		relay_begin(relay, 200, "text/event-stream", -1);
	snprintf(text, sizeof(text), "%d", shared.ticks++);
	relay_write(relay, span_of(text));
	if (shared.ticks == 3)
		relay_finish(relay);
}

static void on_release(void *state, int upstream_fd, bool clean)
{
	(void)state;
	pthread_mutex_lock(&shared.mutex);
	shared.released++;
	shared.clean = clean;
	shared.returned_fd = upstream_fd;
	pthread_cond_signal(&shared.changed);
	pthread_mutex_unlock(&shared.mutex);
}

static const struct relay_ops frame_ops = {.on_upstream = on_upstream,
                                           .on_upstream_end = on_upstream_end,
                                           .on_client = on_client,
                                           .release = on_release};
static const struct relay_ops tick_ops = {.on_tick = on_tick, .release = on_release};

/* Opens the upstream; the relay gets one end, the test the other. */
static struct relay_options make_options(void)
{
	struct relay_options options = shared.options;
	int fds[2];

	if (!options.ops)
		options.ops = &frame_ops;
	if (shared.with_pipe)
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	else
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	options.upstream_fd = shared.without_upstream ? -1 : fds[0];
	if (shared.without_upstream)
		close(fds[0]);
	pthread_mutex_lock(&shared.mutex);
	shared.upstream = fds[1];
	shared.started++;
	pthread_cond_signal(&shared.changed);
	pthread_mutex_unlock(&shared.mutex);
	return options;
}

static int start_relay(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct relay_options options = make_options();

	(void)rq;
	(void)body;
	(void)err;
	reply_relay(reply, &options);
	return 0;
}

static int start_and_fail(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	(void)start_relay(rq, body, reply, err);
	return FAIL(err, ERROR_LIMIT, "not now");
}

static int start_websocket(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	struct relay_options options = make_options();

	(void)body;
	return reply_websocket(rq, reply, "test", &options, err);
}

static int answer_next(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	(void)rq;
	(void)body;
	(void)err;
	reply_text(reply, "text/plain", SPAN("next"));
	return 0;
}

static const struct route routes[] = {
        {HTTP_GET, "/relay", .flags = ROUTE_PUBLIC, .handle = start_relay},
        {HTTP_GET, "/inline", .flags = ROUTE_PUBLIC | ROUTE_INLINE, .handle = start_relay},
        {HTTP_PUT, "/upload", .flags = ROUTE_PUBLIC | ROUTE_STREAM_BODY, .handle = start_relay},
        {HTTP_PUT, "/small", .flags = ROUTE_PUBLIC | ROUTE_STREAM_BODY, .body_max = 10,
         .handle = start_relay},
        {HTTP_GET, "/fail", .flags = ROUTE_PUBLIC, .handle = start_and_fail},
        {HTTP_GET, "/socket", .flags = ROUTE_PUBLIC | ROUTE_WEBSOCKET, .handle = start_websocket},
        {HTTP_GET, "/next", .flags = ROUTE_PUBLIC, .handle = answer_next},
        {0},
};

/* ---- the test's side ---- */

static struct answer answer;
static struct fixture f;

static void open_all(const struct server_options *limits)
{
	shared.upstream = shared.returned_fd = -1;
	shared.started = shared.released = shared.ticks = 0;
	shared.clean = shared.client_last = shared.with_pipe = shared.without_upstream = false;
	shared.client_bytes = 0;
	shared.length = -1;
	shared.options = (struct relay_options){0};
	fixture_open(&f, routes, limits);
}

static void close_all(int client)
{
	if (client >= 0)
		close(client);
	fixture_close(&f);
	assert_int_equal(shared.started, shared.released);
	if (shared.upstream >= 0)
		close(shared.upstream);
	if (shared.clean && shared.returned_fd >= 0)
		close(shared.returned_fd);
}

static int await_upstream(void)
{
	pthread_mutex_lock(&shared.mutex);
	while (shared.upstream < 0)
		pthread_cond_wait(&shared.changed, &shared.mutex);
	pthread_mutex_unlock(&shared.mutex);
	return shared.upstream;
}

static bool await_release(void)
{
	bool clean;

	pthread_mutex_lock(&shared.mutex);
	while (!shared.released)
		pthread_cond_wait(&shared.changed, &shared.mutex);
	clean = shared.clean;
	pthread_mutex_unlock(&shared.mutex);
	return clean;
}

static int ask(const char *request)
{
	int fd = client_connect(&f);

	client_send(fd, request);
	return fd;
}

static void send_frame(enum frame_kind kind, struct span payload)
{
	char head[5] = {(char)kind};
	uint32_t size = (uint32_t)payload.size;
	int fd = await_upstream();

	memcpy(head + 1, &size, 4);
	assert_int_equal(write(fd, head, 5), 5);
	if (size)
		assert_int_equal(write(fd, payload.data, size), size);
}

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
	send_frame('?', none);
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
	send_frame('?', none);
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
	send_frame('h', none);
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
	while (shared.released == 0) {
		struct pollfd p = {.fd = await_upstream(), .events = POLLOUT};
		char head[5] = {FRAME_DATA, 0x40, 0x0d, 0x03, 0};

		assert_int_equal(fcntl(p.fd, F_SETFL, O_NONBLOCK), 0);
		if (poll(&p, 1, 20) == 1 && send(p.fd, head, 5, MSG_NOSIGNAL) == 5) {
			assert_int_equal(fcntl(p.fd, F_SETFL, 0), 0);
			(void)send(p.fd, block, 200000, MSG_NOSIGNAL);
		}
		pthread_mutex_lock(&shared.mutex);
		pthread_mutex_unlock(&shared.mutex);
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
	fixture_close(&f);
	assert_int_equal(shared.released, 1);
	assert_false(shared.clean);
	assert_true(client_is_closed(fd));
	close(fd);
	close(shared.upstream);
}

/* ---- WebSockets ---- */

#define UPGRADE                                                                                    \
	"GET /socket HTTP/1.1\r\n" HOST "Connection: keep-alive, Upgrade\r\n"                      \
	"Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n"                                      \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

static int open_socket(void)
{
	int fd = ask(UPGRADE);

	client_receive_head(fd, &answer);
	assert_int_equal(answer.status, 101);
	assert_true(answer_has(&answer, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
	assert_true(answer_has(&answer, "Sec-WebSocket-Protocol: test"));
	assert_true(answer_has(&answer, "Upgrade: websocket"));
	return fd;
}

/* Frames whose mask is zero, so that the payload is legible. */
#define MASKED(first, size) first size "\0\0\0\0"

TEST(messages_go_both_ways)
{
	char room[16];
	int fd;

	open_all(NULL);
	fd = open_socket();
	client_send_bytes(fd, MASKED("\x81", "\x82") "hi", 8);
	client_receive_bytes(await_upstream(), room, 2);
	assert_memory_equal(room, "hi", 2);
	send_frame(FRAME_DATA, SPAN("\x00\x01"));
	client_receive_bytes(fd, room, 4);
	assert_memory_equal(room, "\x82\x02\x00\x01", 4);
	send_frame(FRAME_TEXT, SPAN("ok"));
	client_receive_bytes(fd, room, 4);
	assert_memory_equal(room, "\x81\x02ok", 4);
	client_send_bytes(fd, MASKED("\x89", "\x81") "p", 7);
	client_receive_bytes(fd, room, 3);
	assert_memory_equal(room, "\x8a\x01p", 3);
	send_frame(FRAME_END, none);
	client_receive_bytes(fd, room, 4);
	assert_memory_equal(room, "\x88\x02\x03\xe8", 4);
	assert_true(client_is_closed(fd));
	assert_true(await_release());
	close_all(fd);
}

TEST(frames_may_come_with_the_upgrade)
{
	static const char early[] = UPGRADE MASKED("\x81", "\x82") "hi";
	char room[2];
	int fd;

	open_all(NULL);
	fd = client_connect(&f);
	client_send_bytes(fd, early, sizeof(early) - 1);
	client_receive_head(fd, &answer);
	client_receive_bytes(await_upstream(), room, 2);
	assert_memory_equal(room, "hi", 2);
	close_all(fd);
}

TEST(a_client_may_close_its_websocket_or_break_it)
{
	static const struct {
		const char *frame;
		size_t size;
		int code;
		bool last;
	} cases[] = {
	        {MASKED("\x88", "\x82") "\x03\xe8", 8, 1000, true},
	        {MASKED("\x81", "\x81") "\xff", 7, 1007, false},
	        {"\x81\x01x", 3, 1002, false},
	        {MASKED("\x82", "\xff\0\0\0\0\0\x10\0\x01") "x", 15, 1009, false},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		unsigned char head[4];
		int fd;

		open_all(NULL);
		fd = open_socket();
		client_send_bytes(fd, cases[i].frame, cases[i].size);
		client_receive_bytes(fd, head, 4);
		assert_int_equal(head[0], 0x88);
		assert_int_equal(head[2] << 8 | head[3], cases[i].code);
		assert_false(await_release());
		assert_int_equal(shared.client_last, cases[i].last);
		close_all(fd);
	}
}

TEST(a_failed_websocket_says_why)
{
	char room[64] = "";
	int fd;

	open_all(NULL);
	fd = open_socket();
	send_frame('?', none);
	client_receive_bytes(fd, room, 4 + strlen("an unknown frame"));
	assert_memory_equal(room,
	                    "\x88\x12\x03\xf3"
	                    "an unknown frame",
	                    20);
	assert_true(client_is_closed(fd));
	assert_false(await_release());
	close_all(fd);
}

TEST(requests_that_are_no_upgrade_are_refused)
{
	static const char *const requests[] = {
	        "GET /socket HTTP/1.1\r\n" HOST "\r\n",
	        "GET /socket HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
	        "GET /socket HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n"
	        "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
	        "GET /socket HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n"
	        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n",
	};

	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		int fd;

		open_all(NULL);
		fd = ask(requests[i]);
		client_receive(fd, &answer);
		assert_int_equal(answer.status, 400);
		assert_false(await_release());
		close_all(fd);
	}
}

int main(void)
{
	return RUN(
	        CASE(frames_become_chunks_and_the_connection_goes_on),
	        CASE(a_length_is_kept_to_the_byte),
	        CASE(too_few_and_too_many_bytes_cut_the_connection),
	        CASE(a_failure_before_the_reply_is_an_error_and_after_it_a_cut),
	        CASE(an_upstream_that_goes_away_is_an_error),
	        CASE(a_header_of_the_upstream_cannot_be_injected),
	        CASE(a_handler_that_fails_after_all_releases_the_relay),
	        CASE(a_client_that_leaves_ends_the_relay),
	        CASE(head_and_http_1_0_are_served_by_relays_too),
	        CASE(a_pipe_is_an_upstream_and_first_bytes_are_sent),
	        CASE(ticks_drive_a_relay_without_an_upstream), CASE(an_idle_relay_is_ended),
	        CASE(a_fast_upstream_waits_for_a_slow_client_in_bounded_memory),
	        CASE(a_client_that_stops_reading_is_cut),
	        CASE(an_upload_waits_for_a_slow_upstream_in_bounded_memory),
	        CASE(a_chunked_upload_is_passed_on_and_the_connection_goes_on),
	        CASE(bad_large_slow_and_broken_uploads_end_unclean),
	        CASE(an_empty_upload_is_told_to_be_over), CASE(closing_the_server_cuts_every_relay),
	        CASE(messages_go_both_ways), CASE(frames_may_come_with_the_upgrade),
	        CASE(a_client_may_close_its_websocket_or_break_it),
	        CASE(a_failed_websocket_says_why), CASE(requests_that_are_no_upgrade_are_refused));
}
