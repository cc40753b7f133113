/* SPDX-License-Identifier: Apache-2.0 */
/* What a handler refuses because another server has it is that server's to answer. The test holds
 * that server's end. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "http/proxy/proxy.h"
#include "http/server/host.h"
#include "http/server/relay.h"
#include "unit.h"
#include "unit/http/server/harness.h"

#define PATIENCE_S 10

static struct fixture fixture;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int server_fd;
static struct answer answer;
static const char *host; /* in place of the client's */

static void answer_failure(void *state, struct relay *relay, int status, const struct error *err)
{
	(void)state;
	relay_answer(relay, status, "text/plain", span_of(err->text));
}

static void release(void *state)
{
	(void)state;
}

static const struct proxy_ops ops = {.fail = answer_failure, .release = release};

static int refuse(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	(void)rq;
	(void)body;
	reply_status(reply, 201);
	reply_header(reply, "X-Begun", "here");
	buf_add_text(reply_buf(reply, "text/plain"), "half of it");
	(void)FAIL(err, ERROR_CONFLICT, "it is on node 'other'");
	error_elsewhere(err, "other");
	return -1;
}

static int forward(struct request *rq, struct reply *reply, struct error *err)
{
	int fds[2];

	if (request_header(rq, PROXY_HOP_HEADER))
		return -1;
	if (request_may_wait(rq, err) < 0)
		return -1;
	assert_string_equal(err->node, "other");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	reply_proxy(rq, reply,
	            &(struct proxy_options){
	                    .hop = "other", .host = host, .upstream_fd = fds[0], .ops = &ops});
	pthread_mutex_lock(&mutex);
	server_fd = fds[1];
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
	return 0;
}

static const struct route routes[] = {
        {HTTP_POST, "/read", .flags = ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_TRY, .handle = refuse},
        {HTTP_POST, "/streamed", .flags = ROUTE_PUBLIC | ROUTE_STREAM_BODY, .handle = refuse},
        {HTTP_GET, "/socket", .flags = ROUTE_PUBLIC | ROUTE_WEBSOCKET | ROUTE_QUICK,
         .handle = refuse},
        {0},
};

static struct http_host find_host(void *context, const struct request *rq)
{
	const char *hop = request_header(rq, PROXY_HOP_HEADER);

	(void)context;
	return (struct http_host){.is_elsewhere = hop && strcmp(hop, "here") != 0};
}

static void open_fixture(void)
{
	server_fd = -1;
	fixture_open(&fixture, routes,
	             &(struct server_options){.forward = forward, .find_host = find_host});
}

/* The client's end; the server's has sent the head, which is in answer.head. */
static int ask(const char *request, int *ret_server)
{
	struct timeval patience = {.tv_sec = PATIENCE_S};
	size_t size = 0;
	int fd;

	open_fixture();
	fd = client_connect(&fixture);
	client_send(fd, request);
	pthread_mutex_lock(&mutex);
	while (server_fd < 0)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	assert_int_equal(
	        setsockopt(server_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	memset(&answer, 0, sizeof(answer));
	while (size < 4 || memcmp(answer.head + size - 4, "\r\n\r\n", 4) != 0) {
		assert_true(size + 1 < sizeof(answer.head));
		client_receive_bytes(server_fd, answer.head + size++, 1);
	}
	*ret_server = server_fd;
	return fd;
}

static void end(int client, int server)
{
	close(client);
	close(server);
	fixture_close(&fixture);
}

static void expect(int fd, const char *text)
{
	char room[256] = "";

	assert_true(strlen(text) < sizeof(room));
	client_receive_bytes(fd, room, strlen(text));
	assert_string_equal(room, text);
}

static void assert_lines(const char *const *lines)
{
	for (; *lines; lines++)
		if (!strstr(answer.head, *lines))
			fail_msg("'%s' is not in %s", *lines, answer.head);
}

TEST(a_request_goes_as_it_came_and_so_does_the_answer)
{
	int server, client = ask("POST /read?x=%2F&y HTTP/1.1\r\nHost: 3000-box.example:80\r\n"
	                         "Authorization: Bearer key\r\nCookie: a=b; atoll_c=d\r\n"
	                         "X-Request-Id: one\r\nOrigin: http://page\r\n"
	                         "Connection: X-Hidden\r\nX-Hidden: 1\r\n"
	                         "Content-Length: 5\r\n\r\nhello",
	                         &server);

	assert_lines((const char *const[]){
	        "POST /read?x=%2F&y HTTP/1.1\r\n", "\r\nHost: 3000-box.example:80\r\n",
	        "\r\nAuthorization: Bearer key\r\n", "\r\nCookie: a=b; atoll_c=d\r\n",
	        "\r\nX-Request-Id: one\r\n", "\r\nOrigin: http://page\r\n",
	        "\r\nX-Forwarded-For: 127.0.0.1\r\n", "\r\nAtoll-Hop: other\r\n",
	        "\r\nContent-Length: 5\r\n", NULL});
	assert_null(strstr(answer.head, "X-Hidden"));
	expect(server, "hello");
	client_send(server, "HTTP/1.1 302 Found\r\nLocation: http://localhost:8000/x\r\n"
	                    "Set-Cookie: c=d; Domain=a; Path=/\r\nContent-Type: text/html\r\n"
	                    "Content-Length: 18\r\n\r\n<a href=\"/x\">x</a>");
	client_receive_head(client, &answer);
	assert_int_equal(answer.status, 302);
	assert_true(answer_has(&answer, "Location: http://localhost:8000/x"));
	assert_true(answer_has(&answer, "Set-Cookie: c=d; Domain=a; Path=/"));
	assert_true(answer_has(&answer, "X-Request-Id: one"));
	assert_false(answer_has(&answer, "X-Begun: here"));
	expect(client, "<a href=\"/x\">x</a>");
	end(client, server);
}

TEST(a_body_that_was_read_has_a_length_by_then)
{
	int server, client = ask("POST /read HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
	                         "Transfer-Encoding: chunked\r\n\r\n"
	                         "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
	                         &server);

	assert_lines((const char *const[]){"\r\nContent-Length: 5\r\n", NULL});
	assert_null(strstr(answer.head, "chunked"));
	assert_null(strstr(answer.head, "Expect"));
	expect(server, "hello");
	end(client, server);
}

TEST(a_body_that_streams_goes_on_as_it_comes)
{
	int server, client = ask("POST /streamed HTTP/1.1\r\nHost: a\r\n"
	                         "Transfer-Encoding: chunked\r\n\r\n",
	                         &server);

	assert_lines((const char *const[]){"\r\nTransfer-Encoding: chunked\r\n", NULL});
	client_send(client, "2\r\nhe\r\n");
	expect(server, "2\r\nhe\r\n");
	client_send(client, "3\r\nllo\r\n0\r\n\r\n");
	expect(server, "3\r\nllo\r\n0\r\n\r\n");
	client_send(server, "HTTP/1.1 204 No Content\r\n\r\n");
	client_receive_head(client, &answer);
	assert_int_equal(answer.status, 204);
	end(client, server);
}

TEST(an_upgrade_becomes_a_tunnel)
{
	int server, client = ask("GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
	                         "Upgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n",
	                         &server);

	assert_lines((const char *const[]){"\r\nConnection: Upgrade\r\n",
	                                   "\r\nUpgrade: websocket\r\n",
	                                   "\r\nSec-WebSocket-Key: k\r\n", NULL});
	client_send(server, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
	                    "Upgrade: websocket\r\nSec-WebSocket-Accept: s\r\n\r\nfirst");
	client_receive_head(client, &answer);
	assert_int_equal(answer.status, 101);
	assert_true(answer_has(&answer, "Sec-WebSocket-Accept: s"));
	expect(client, "first");
	client_send(client, "second");
	expect(server, "second");
	end(client, server);
}

TEST(one_that_says_nothing_is_a_bad_gateway)
{
	int server, client = ask("POST /read HTTP/1.1\r\nHost: a\r\n\r\n", &server);

	close(server);
	client_receive(client, &answer);
	assert_int_equal(answer.status, 502);
	assert_non_null(strstr(answer.body, "the server that has it"));
	close(client);
	fixture_close(&fixture);
}

TEST(a_name_that_says_nothing_to_others_is_replaced)
{
	int server, client;

	host = "localhost";
	client = ask(
	        "POST /read HTTP/1.1\r\nHost: this-one:80\r\nOrigin: http://this-one:80\r\n\r\n",
	        &server);
	assert_lines((const char *const[]){"\r\nHost: localhost\r\n",
	                                   "\r\nOrigin: http://localhost\r\n", NULL});
	assert_null(strstr(answer.head, "this-one"));
	end(client, server);
	client = ask("POST /read HTTP/1.1\r\nHost: this-one\r\nOrigin: http://page\r\n\r\n",
	             &server);
	assert_lines((const char *const[]){"\r\nOrigin: http://page\r\n", NULL});
	end(client, server);
	host = NULL;
}

TEST(marks_of_the_clients_own_go_nowhere)
{
	static const char *const smuggled[] = {
	        "Atoll-Hop: here\r\nAtoll-Hop: other\r\n",
	        "Connection: Atoll-Hop\r\nAtoll-Hop: here\r\n",
	};

	open_fixture();
	for (unsigned i = 0; i < COUNT_OF(smuggled); i++) {
		char request[256];

		(void)snprintf(request, sizeof(request), "POST /read HTTP/1.1\r\nHost: a\r\n%s\r\n",
		               smuggled[i]);
		client_ask(&fixture, request, &answer);
		assert_int_equal(answer.status, 409);
		assert_int_equal(server_fd, -1);
	}
	fixture_close(&fixture);
}

TEST(what_came_by_another_server_is_refused)
{
	open_fixture();
	client_ask(&fixture, "POST /read HTTP/1.1\r\nHost: a\r\nAtoll-Hop: here\r\n\r\n", &answer);
	assert_int_equal(answer.status, 409);
	assert_non_null(strstr(answer.body, "it is on node 'other'"));
	assert_false(answer_has(&answer, "X-Begun: here"));
	assert_int_equal(server_fd, -1);
	fixture_close(&fixture);
}

TEST(what_is_for_another_server_is_refused_before_anything_is_done)
{
	open_fixture();
	client_ask(&fixture, "POST /read HTTP/1.1\r\nHost: a\r\nAtoll-Hop: third\r\n\r\n", &answer);
	assert_int_equal(answer.status, 421);
	assert_non_null(strstr(answer.body, "misdirected"));
	client_ask(&fixture, "POST /read HTTP/1.1\r\nHost: a\r\nAtoll-Hop:\r\n\r\n", &answer);
	assert_int_equal(answer.status, 421);
	assert_int_equal(server_fd, -1);
	fixture_close(&fixture);
}

int main(void)
{
	return RUN(CASE(a_request_goes_as_it_came_and_so_does_the_answer),
	           CASE(a_body_that_was_read_has_a_length_by_then),
	           CASE(a_body_that_streams_goes_on_as_it_comes), CASE(an_upgrade_becomes_a_tunnel),
	           CASE(one_that_says_nothing_is_a_bad_gateway),
	           CASE(a_name_that_says_nothing_to_others_is_replaced),
	           CASE(marks_of_the_clients_own_go_nowhere),
	           CASE(what_came_by_another_server_is_refused),
	           CASE(what_is_for_another_server_is_refused_before_anything_is_done));
}
