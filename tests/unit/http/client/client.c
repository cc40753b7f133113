/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "http/client/client.h"
#include "http/message/websocket.h"

/* A server on a unix socket that takes one connection, reads what the test expects of the client
 * and answers what the test wants to be answered. */
struct fake {
	char folder[64], path[96];
	int listener, peer;
	pthread_t thread;
	const char *answer;   /* after the head */
	size_t body_expected; /* bytes to read after the head before answering */
	bool websocket;       /* compute the upgrade before `answer` */
	struct buf request;
};

static void read_until(struct fake *f, const char *end, size_t more)
{
	char room[4096];

	for (;;) {
		const char *at = strstr(buf_text(&f->request), end);
		ssize_t size;

		if (at && f->request.size >= (size_t)(at - f->request.data) + strlen(end) + more)
			return;
		size = read(f->peer, room, sizeof(room));
		if (size <= 0)
			return;
		buf_add(&f->request, room, (size_t)size);
	}
}

static void answer_upgrade(struct fake *f)
{
	AUTO(buf_done) struct buf head = BUF(1024);
	const char *at = strstr(buf_text(&f->request), "Sec-WebSocket-Key: ");
	char key[32] = "";
	struct error err;

	if (at)
		(void)sscanf(at, "Sec-WebSocket-Key: %31[^\r]", key);
	buf_add_text(&head, "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n"
	                    "Connection: Upgrade\r\nsec-websocket-accept:");
	websocket_write_accept(&head, key);
	buf_add_text(&head, "\r\n\r\n");
	if (fd_write_all(f->peer, head.data, head.size, &err) < 0)
		abort();
}

static void *serve(void *context)
{
	struct fake *f = context;
	struct error err;

	f->peer = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
	read_until(f, "\r\n\r\n", f->body_expected);
	if (f->websocket)
		answer_upgrade(f);
	if (f->answer && fd_write_all(f->peer, f->answer, strlen(f->answer), &err) < 0)
		abort();
	if (!f->websocket)
		(void)shutdown(f->peer, SHUT_WR);
	return NULL;
}

static void fake_start(struct fake *f)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memcpy(f->folder, "/tmp/atoll-client-XXXXXX", sizeof("/tmp/atoll-client-XXXXXX"));
	if (!mkdtemp(f->folder))
		abort();
	snprintf(f->path, sizeof(f->path), "%s/s", f->folder);
	memcpy(address.sun_path, f->path, sizeof(f->path));
	f->request = BUF(1 << 24);
	f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(f->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(f->listener, 1) < 0 || pthread_create(&f->thread, NULL, serve, f) != 0)
		abort();
}

static void fake_join(struct fake *f)
{
	pthread_join(f->thread, NULL);
}

static void fake_done(struct fake *f)
{
	(void)close(f->peer);
	(void)close(f->listener);
	(void)unlink(f->path);
	(void)rmdir(f->folder);
	buf_done(&f->request);
}

static int call_fake(struct fake *f, const struct http_call *call, struct http_answer *answer,
                     struct error *err)
{
	struct http_client_options options = {
	        .unix_socket = f->path, .bearer = "key1", .user_agent = "test/1"};
	struct http_client *client = NULL;
	int result;

	fake_start(f);
	assert_int_equal(http_client_open(&options, &client, err), 0);
	result = http_client_call(client, call, answer, err);
	http_client_close(client);
	fake_join(f);
	return result;
}

static void assert_requested(const struct fake *f, const char *part)
{
	if (!strstr(buf_text(&f->request), part))
		fail_msg("no '%s' in '%s'", part, buf_text(&f->request));
}

TEST(a_call_sends_its_body_and_collects_the_answer)
{
	AUTO(fake_done) struct fake f = {
	        .body_expected = 7,
	        .answer = "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
	                  "X-Request-Id: r1\r\nContent-Length: 2\r\n\r\n{}"};
	struct http_call call = {
	        .method = "POST", .path = "/a/../b?c=%20", .body = SPAN("{\"x\":1}")};
	struct http_answer answer;
	struct error err = {0};

	assert_int_equal(call_fake(&f, &call, &answer, &err), 0);
	assert_int_equal(answer.status, 201);
	assert_string_equal(buf_text(&answer.body), "{}");
	assert_string_equal(answer.content_type, "application/json");
	assert_string_equal(answer.request_id, "r1");
	assert_requested(&f, "POST /a/../b?c=%20 HTTP/1.1\r\n");
	assert_requested(&f, "Authorization: Bearer key1\r\n");
	assert_requested(&f, "User-Agent: test/1\r\n");
	assert_requested(&f, "Content-Type: application/json\r\n");
	assert_requested(&f, "\r\n\r\n{\"x\":1}");
	buf_done(&answer.body);
}

TEST(an_error_body_becomes_the_error)
{
	AUTO(fake_done) struct fake f = {
	        .answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 70\r\n\r\n"
	                  "{\"error\":{\"code\":\"not_found\",\"message\":\"no such thing\","
	                  "\"hint\":\"look\"}}    "};
	struct http_call call = {.method = "GET", .path = "/x"};
	struct http_answer answer = {.status = -7};
	struct error err = {0};

	assert_int_equal(call_fake(&f, &call, &answer, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_string_equal(err.text, "no such thing");
	assert_string_equal(err.hint, "look");
	assert_int_equal(answer.status, -7);
}

TEST(a_foreign_error_code_is_judged_by_the_status)
{
	AUTO(fake_done) struct fake f = {
	        .answer = "HTTP/1.1 413 Large\r\nContent-Length: 41\r\n\r\n"
	                  "{\"error\":{\"code\":\"huge\",\"message\":\"big\"}}"};
	struct http_call call = {.method = "DELETE", .path = "/x"};
	struct http_answer answer;
	struct error err = {0};

	assert_int_equal(call_fake(&f, &call, &answer, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_requested(&f, "DELETE /x HTTP/1.1\r\n");
}

TEST(an_error_page_of_somebody_else_is_an_answer)
{
	AUTO(fake_done) struct fake f = {
	        .answer = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\n<p>"};
	struct http_call call = {.method = "GET", .path = "/x"};
	struct http_answer answer;
	struct error err = {0};

	assert_int_equal(call_fake(&f, &call, &answer, &err), 0);
	assert_int_equal(answer.status, 502);
	buf_done(&answer.body);
}

static bool collect(void *context, struct span piece)
{
	struct buf *out = context;

	buf_add_span(out, piece);
	return out->size < 8;
}

TEST(a_streamed_answer_goes_to_its_taker)
{
	AUTO(fake_done) struct fake f = {
	        .answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	                  "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"};
	AUTO(buf_done) struct buf taken = BUF(64);
	struct http_call call = {
	        .method = "GET", .path = "/x", .on_body = collect, .context = &taken};
	struct http_answer answer;
	struct error err = {0};

	assert_int_equal(call_fake(&f, &call, &answer, &err), 0);
	assert_string_equal(buf_text(&taken), "abcde");
	assert_int_equal(answer.body.size, 0);
}

TEST(the_taker_may_cut_the_answer)
{
	AUTO(fake_done) struct fake f = {
	        .answer = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n0123456789"};
	AUTO(buf_done) struct buf taken = BUF(64);
	struct http_call call = {
	        .method = "GET", .path = "/x", .on_body = collect, .context = &taken};
	struct http_answer answer;
	struct error err = {0};

	assert_int_equal(call_fake(&f, &call, &answer, &err), 0);
	assert_int_equal(answer.status, 200);
	assert_string_equal(buf_text(&taken), "0123456789");
}

TEST(an_answer_that_is_cut_short_is_an_error)
{
	AUTO(fake_done) struct fake f = {
	        .answer = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n0123456789"};
	struct http_call call = {.method = "GET", .path = "/x"};
	struct http_answer answer;
	struct error err = {0};

	assert_int_equal(call_fake(&f, &call, &answer, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
}

static void note_progress(void *context, int64_t sent, int64_t received)
{
	int64_t *most = context;

	(void)received;
	*most = sent > *most ? sent : *most;
}

TEST(a_file_is_streamed_with_its_length)
{
	AUTO_CLOSE int fd = memfd_create("body", MFD_CLOEXEC);
	AUTO(fake_done) struct fake f = {.body_expected = 300000,
	                                 .answer = "HTTP/1.1 204 No Content\r\n\r\n"};
	int64_t most = 0;
	struct http_call call = {.method = "PUT",
	                         .path = "/x",
	                         .content_type = "application/octet-stream",
	                         .has_body_fd = true,
	                         .body_fd = fd,
	                         .body_fd_size = 300000,
	                         .on_progress = note_progress,
	                         .context = &most};
	struct http_answer answer;
	struct error err = {0};

	assert_int_equal(ftruncate(fd, 300000), 0);
	assert_int_equal(call_fake(&f, &call, &answer, &err), 0);
	assert_int_equal(answer.status, 204);
	assert_int_equal(most, 300000);
	assert_requested(&f, "Content-Length: 300000\r\n");
	assert_requested(&f, "Content-Type: application/octet-stream\r\n");
	buf_done(&answer.body);
}

TEST(a_body_of_unknown_length_is_chunked)
{
	AUTO_CLOSE int read_end = -1;
	AUTO(fake_done) struct fake f = {.body_expected = 13,
	                                 .answer = "HTTP/1.1 204 No Content\r\n\r\n"};
	struct http_call call = {
	        .method = "POST", .path = "/x", .has_body_fd = true, .body_fd_size = -1};
	struct http_answer answer;
	struct error err = {0};
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	read_end = call.body_fd = ends[0];
	assert_int_equal(write(ends[1], "abc", 3), 3);
	close(ends[1]);
	assert_int_equal(call_fake(&f, &call, &answer, &err), 0);
	assert_requested(&f, "Transfer-Encoding: chunked\r\n");
	assert_requested(&f, "3\r\nabc\r\n0\r\n\r\n");
	buf_done(&answer.body);
}

TEST(what_cannot_be_sent_is_refused)
{
	struct http_client_options good = {.unix_socket = "/nonexistent/socket"};
	struct http_client *client = NULL;
	struct http_answer answer;
	struct error err = {0};

	assert_int_equal(http_client_open(&(struct http_client_options){.base_url = "ftp://x"},
	                                  &client, &err),
	                 -1);
	assert_int_equal(
	        http_client_open(&(struct http_client_options){.bearer = "a\r\nb"}, &client, &err),
	        -1);
	assert_int_equal(http_client_open(&good, &client, &err), 0);
	assert_int_equal(http_client_call(client,
	                                  &(struct http_call){.method = "GET", .path = "/a b"},
	                                  &answer, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(http_client_call(client,
	                                  &(struct http_call){.method = "GET", .path = "/a"},
	                                  &answer, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	http_client_close(client);
}

TEST(a_late_answer_is_a_timeout)
{
	AUTO(fake_done) struct fake f = {.websocket = false, .body_expected = 1};
	struct http_call call = {.method = "GET", .path = "/x", .timeout_ms = 20};
	struct http_answer answer;
	struct error err = {0};

	assert_int_equal(call_fake(&f, &call, &answer, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
}

TEST(everything_but_plain_characters_is_escaped)
{
	AUTO(buf_done) struct buf out = BUF(64);

	http_escape(&out, "aZ09-._~/?&=+ %\xc3\xa9");
	assert_string_equal(buf_text(&out), "aZ09-._~%2F%3F%26%3D%2B%20%25%C3%A9");
}

/* ---- WebSocket ---- */

static void note_message(void *context, bool text, struct span message)
{
	buf_addf(context, "%c%.*s;", text ? 't' : 'b', (int)message.size, message.data);
}

/* Receives until a message came or the connection is over. */
static int receive_one(struct http_websocket *ws, struct buf *out, struct error *err)
{
	size_t before = out->size;

	for (;;) {
		int result = http_websocket_receive(ws, note_message, out, err);

		if (result != 1 || out->size > before)
			return result;
		assert_int_equal(fd_wait(http_websocket_fd(ws), POLLIN, deadline_after(5000), err),
		                 1);
	}
}

static int open_fake(struct fake *f, struct http_websocket **ret, struct error *err)
{
	struct http_client_options options = {
	        .base_url = "http://localhost/under/", .unix_socket = f->path, .bearer = "key1"};
	int result;

	fake_start(f);
	result = http_websocket_open(&options, "/tty?cols=80", ret, err);
	fake_join(f);
	return result;
}

/* Reads one short masked frame of the client and unmasks it. */
static unsigned read_frame(int fd, char *out, size_t *ret_size)
{
	unsigned char head[6];

	assert_int_equal(recv(fd, head, sizeof(head), MSG_WAITALL), sizeof(head));
	assert_true(head[1] & 0x80);
	*ret_size = head[1] & 0x7f;
	assert_int_equal(recv(fd, out, *ret_size, MSG_WAITALL), *ret_size);
	for (size_t i = 0; i < *ret_size; i++)
		out[i] = (char)(out[i] ^ head[2 + i % 4]);
	return head[0];
}

TEST(messages_go_both_ways_over_a_websocket)
{
	AUTO(fake_done) struct fake f = {.websocket = true, .answer = "\x81\x02hi\x82\x01z"};
	AUTO(buf_done) struct buf got = BUF(256);
	struct http_websocket *ws = NULL;
	struct error err = {0};
	char frame[128];
	size_t size;

	assert_int_equal(open_fake(&f, &ws, &err), 0);
	assert_requested(&f, "GET /under/tty?cols=80 HTTP/1.1\r\nHost: localhost\r\n");
	assert_requested(&f, "Authorization: Bearer key1\r\n");
	while (got.size < 6)
		assert_int_equal(receive_one(ws, &got, &err), 1);
	assert_string_equal(buf_text(&got), "thi;bz;");
	assert_int_equal(http_websocket_send(ws, true, SPAN("resize"), &err), 0);
	assert_int_equal(read_frame(f.peer, frame, &size), 0x81);
	assert_int_equal(size, 6);
	assert_memory_equal(frame, "resize", 6);
	http_websocket_close(ws);
	assert_int_equal(read_frame(f.peer, frame, &size), 0x88);
}

TEST(a_ping_is_answered)
{
	AUTO(fake_done) struct fake f = {.websocket = true, .answer = "\x89\x01p\x81\x01x"};
	AUTO(buf_done) struct buf got = BUF(256);
	struct http_websocket *ws = NULL;
	struct error err = {0};
	char frame[128];
	size_t size;

	assert_int_equal(open_fake(&f, &ws, &err), 0);
	assert_int_equal(receive_one(ws, &got, &err), 1);
	assert_int_equal(read_frame(f.peer, frame, &size), 0x8a);
	assert_memory_equal(frame, "p", 1);
	http_websocket_close(ws);
}

TEST(the_ends_of_a_websocket_are_told_apart)
{
	AUTO(fake_done) struct fake closed = {.websocket = true, .answer = "\x88\x02\x03\xe8"};
	AUTO(fake_done) struct fake broken = {.websocket = true, .answer = "\xff\x01x"};
	AUTO(fake_done) struct fake lost = {.websocket = true};
	AUTO(buf_done) struct buf got = BUF(256);
	struct http_websocket *ws = NULL;
	struct error err = {0};

	assert_int_equal(open_fake(&closed, &ws, &err), 0);
	assert_int_equal(receive_one(ws, &got, &err), 0);
	http_websocket_close(ws);
	assert_int_equal(open_fake(&broken, &ws, &err), 0);
	assert_int_equal(receive_one(ws, &got, &err), -1);
	assert_string_equal(err.text, "the server broke the WebSocket protocol");
	http_websocket_close(ws);
	assert_int_equal(open_fake(&lost, &ws, &err), 0);
	(void)shutdown(lost.peer, SHUT_RDWR);
	assert_int_equal(receive_one(ws, &got, &err), -1);
	assert_string_equal(err.text, "the connection was lost");
	http_websocket_close(ws);
}

TEST(a_refused_upgrade_says_why)
{
	AUTO(fake_done) struct fake refusing = {
	        .answer = "HTTP/1.1 403 Forbidden\r\nContent-Length: 45\r\n\r\n"
	                  "{\"error\":{\"code\":\"forbidden\",\"message\":\"no\"}}"};
	AUTO(fake_done) struct fake plain = {.answer = "HTTP/1.1 200 OK\r\n\r\n"};
	AUTO(fake_done) struct fake wrong = {
	        .answer = "HTTP/1.1 101 Go\r\nSec-WebSocket-Accept: x\r\n\r\n"};
	AUTO(fake_done) struct fake empty = {.answer = ""};
	struct http_websocket *ws = NULL;
	struct error err = {0};

	assert_int_equal(open_fake(&refusing, &ws, &err), -1);
	assert_int_equal(err.code, ERROR_FORBIDDEN);
	assert_string_equal(err.text, "open /tty?cols=80: no");
	assert_int_equal(open_fake(&plain, &ws, &err), -1);
	assert_string_equal(err.text, "open /tty?cols=80: the server answers with status 200");
	assert_int_equal(open_fake(&wrong, &ws, &err), -1);
	assert_string_equal(err.text, "open /tty?cols=80: the server speaks no WebSocket");
	assert_int_equal(open_fake(&empty, &ws, &err), -1);
	assert_string_equal(err.text, "open /tty?cols=80: the server hung up");
}

int main(void)
{
	return RUN(CASE(a_call_sends_its_body_and_collects_the_answer),
	           CASE(an_error_body_becomes_the_error),
	           CASE(a_foreign_error_code_is_judged_by_the_status),
	           CASE(an_error_page_of_somebody_else_is_an_answer),
	           CASE(a_streamed_answer_goes_to_its_taker), CASE(the_taker_may_cut_the_answer),
	           CASE(an_answer_that_is_cut_short_is_an_error),
	           CASE(a_file_is_streamed_with_its_length),
	           CASE(a_body_of_unknown_length_is_chunked), CASE(what_cannot_be_sent_is_refused),
	           CASE(a_late_answer_is_a_timeout),
	           CASE(everything_but_plain_characters_is_escaped),
	           CASE(messages_go_both_ways_over_a_websocket), CASE(a_ping_is_answered),
	           CASE(the_ends_of_a_websocket_are_told_apart), CASE(a_refused_upgrade_says_why));
}
