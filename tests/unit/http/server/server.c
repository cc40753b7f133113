/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "json/json.h"
#include "loop/loop.h"
#include "unit.h"

#include "http/server/exchange.h"

#define HOST "Host: a\r\n"

struct thing {
	const char *name;
	int64_t count;
};
static const struct json_member thing_shape_members[] = {
        JSON_TEXT_MEMBER(thing, name, .flags = JSON_REQUIRED, .max = 10),
        JSON_WHOLE_MEMBER(thing, count, .min = 0, .max = 9),
};
static JSON_SHAPE(thing_shape, "Thing", thing, "a thing");

static int answer_path(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	(void)body;
	(void)err;
	reply_text(reply, "text/plain", span_of(rq->path));
	return 0;
}

static int answer_thing(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	struct thing answer = *(const struct thing *)body;
	const struct thing *query = rq->query;

	(void)err;
	answer.count += query->count;
	reply_status(reply, 201);
	reply_header(reply, "X-Thing", "yes");
	reply_json(reply, &thing_shape, &answer);
	return 0;
}

static int answer_body(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	(void)body;
	(void)err;
	reply_text(reply, "text/plain", rq->body);
	return 0;
}

static int answer_param(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const char *accept = request_header(rq, "accept");

	(void)body;
	(void)err;
	buf_addf(reply_buf(reply, "text/plain"), "%s %s %s %d", rq->method_name,
	         request_param(rq, "id"), accept ? accept : "-", rq->caller != NULL);
	return 0;
}

static int fail_always(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	(void)rq;
	(void)body;
	reply_header(reply, "X-Dropped", "yes");
	error_set(err, ERROR_CONFLICT, 0, HERE, "it is \"%s\"", "busy");
	error_hint(err, "wait");
	return -1;
}

static int answer_nothing(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	(void)rq;
	(void)body;
	(void)err;
	reply_status(reply, 204);
	return 0;
}

static int answer_much(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	char *room = buf_reserve(reply_buf(reply, "application/octet-stream"), 8 << 20);

	(void)rq;
	(void)body;
	(void)err;
	memset(room, 'm', 8 << 20);
	buf_commit(reply_buf(reply, "application/octet-stream"), 8 << 20);
	return 0;
}

/* Lets a test hold a handler. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static int wait_at_gate(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return answer_path(rq, body, reply, err);
}

static const struct route routes[] = {
        {HTTP_GET, "/inline", .flags = ROUTE_PUBLIC | ROUTE_INLINE, .handle = answer_path},
        {HTTP_GET, "/worker", .flags = ROUTE_PUBLIC, .handle = answer_path},
        {HTTP_GET, "/slow", .flags = ROUTE_PUBLIC | ROUTE_SLOW, .handle = wait_at_gate},
        {HTTP_POST, "/things", .flags = ROUTE_PUBLIC, .query = &thing_shape, .body = &thing_shape,
         .handle = answer_thing},
        {HTTP_POST, "/echo", .flags = ROUTE_PUBLIC | ROUTE_RAW_BODY, .body_max = 1000,
         .handle = answer_body},
        {HTTP_POST, "/stream", .flags = ROUTE_PUBLIC | ROUTE_STREAM_BODY, .handle = answer_nothing},
        {HTTP_ANY, "/any/:id", .handle = answer_param},
        {HTTP_GET, "/fail", .flags = ROUTE_PUBLIC, .handle = fail_always},
        {HTTP_GET, "/nothing", .flags = ROUTE_PUBLIC, .handle = answer_nothing},
        {HTTP_GET, "/much", .flags = ROUTE_PUBLIC, .handle = answer_much},
        {0},
};

static void ask(const char *request, const struct server_options *limits, struct answer *ret)
{
	struct fixture f;

	fixture_open(&f, routes, limits);
	client_ask(&f, request, ret);
	fixture_close(&f);
}

static struct answer answer;

TEST(inline_and_worker_routes_answer)
{
	ask("GET /inline HTTP/1.1\r\n" HOST "\r\n", NULL, &answer);
	assert_int_equal(answer.status, 200);
	assert_string_equal(answer.body, "/inline");
	assert_true(answer_has(&answer, "Content-Type: text/plain"));
	ask("GET /worker?x HTTP/1.1\r\n" HOST "\r\n", NULL, &answer);
	assert_int_equal(answer.status, 200);
	assert_string_equal(answer.body, "/worker");
}

TEST(query_and_body_are_parsed_and_the_reply_is_json)
{
	ask("POST /things?name=q&count=4 HTTP/1.1\r\n" HOST
	    "Content-Type: application/json; charset=utf-8\r\nContent-Length: 24\r\n\r\n"
	    "{\"name\":\"n\",\"count\": 3 }",
	    NULL, &answer);
	assert_int_equal(answer.status, 201);
	assert_string_equal(answer.body, "{\"name\":\"n\",\"count\":7}");
	assert_true(answer_has(&answer, "X-Thing: yes"));
	assert_true(answer_has(&answer, "Content-Type: application/json"));
}

TEST(bad_input_is_an_error_with_a_code)
{
	ask("POST /things?name=q HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", NULL, &answer);
	assert_int_equal(answer.status, 400);
	assert_non_null(strstr(answer.body, "\"code\":\"invalid_request\",\"message\":\"name: "));
	ask("POST /things HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", NULL, &answer);
	assert_int_equal(answer.status, 400);
	ask("POST /things?name=q HTTP/1.1\r\n" HOST
	    "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
	    NULL, &answer);
	assert_int_equal(answer.status, 415);
}

TEST(a_failure_has_code_message_hint_and_request_id)
{
	ask("GET /fail HTTP/1.1\r\n" HOST "X-Request-Id: My-1._z\r\n\r\n", NULL, &answer);
	assert_int_equal(answer.status, 409);
	assert_string_equal(answer.body,
	                    "{\"error\":{\"code\":\"conflict\",\"message\":\"it is \\\"busy\\\"\","
	                    "\"hint\":\"wait\",\"request_id\":\"My-1._z\"}}");
	assert_true(answer_has(&answer, "X-Request-Id: My-1._z"));
	assert_null(strstr(answer.head, "X-Dropped"));
}

TEST(a_request_id_that_is_not_one_is_replaced)
{
	static const char *const ids[] = {
	        "", "a b", "a\"b", "a<b",
	        "12345678901234567890123456789012345678901234567890123456789012345"};

	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		char request[256], line[128];

		snprintf(request, sizeof(request),
		         "GET /inline HTTP/1.1\r\n" HOST "X-Request-Id: %s\r\n\r\n", ids[i]);
		snprintf(line, sizeof(line), "X-Request-Id: %s", ids[i]);
		ask(request, NULL, &answer);
		assert_int_equal(answer.status, 200);
		assert_false(answer_has(&answer, line));
		assert_non_null(strstr(answer.head, "X-Request-Id: "));
	}
}

TEST(head_has_the_length_but_no_body)
{
	struct fixture f;
	int fd;

	fixture_open(&f, routes, NULL);
	fd = client_connect(&f);
	client_send(fd, "HEAD /inline HTTP/1.1\r\n" HOST "\r\nGET /nothing HTTP/1.1\r\n" HOST
	                "\r\nGET /inline HTTP/1.1\r\n" HOST "\r\n");
	client_receive_head(fd, &answer);
	assert_int_equal(answer.status, 200);
	assert_true(answer_has(&answer, "Content-Length: 7"));
	client_receive_head(fd, &answer);
	assert_int_equal(answer.status, 204);
	assert_null(strstr(answer.head, "Content-Length"));
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "/inline");
	close(fd);
	fixture_close(&f);
}

TEST(unknown_paths_and_methods_are_told)
{
	ask("GET /nowhere HTTP/1.1\r\n" HOST "\r\n", NULL, &answer);
	assert_int_equal(answer.status, 404);
	ask("DELETE /inline HTTP/1.1\r\n" HOST "\r\n", NULL, &answer);
	assert_int_equal(answer.status, 405);
	assert_true(answer_has(&answer, "Allow: GET, HEAD, OPTIONS"));
	ask("OPTIONS /inline HTTP/1.1\r\n" HOST "\r\n", NULL, &answer);
	assert_int_equal(answer.status, 204);
	assert_true(answer_has(&answer, "Allow: GET, HEAD, OPTIONS"));
	ask("OPTIONS * HTTP/1.1\r\n" HOST "\r\n", NULL, &answer);
	assert_int_equal(answer.status, 204);
	ask("GET /a/%2e%2e/b HTTP/1.1\r\n" HOST "\r\n", NULL, &answer);
	assert_int_equal(answer.status, 400);
}

TEST(pipelined_requests_are_answered_in_order)
{
	struct fixture f;
	int fd;

	fixture_open(&f, routes, NULL);
	fd = client_connect(&f);
	client_send(fd, "GET /worker HTTP/1.1\r\n" HOST "\r\nGET /inline HTTP/1.1\r\n" HOST
	                "\r\nPOST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc"
	                "POST /echo HTTP/1.1\r\n" HOST
	                "Transfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n"
	                "GET /worker HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n"
	                "GET /inline HTTP/1.1\r\n" HOST "\r\n");
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "/worker");
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "/inline");
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "abc");
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "def");
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "/worker");
	assert_true(answer_has(&answer, "Connection: close"));
	assert_true(client_is_closed(fd));
	close(fd);
	fixture_close(&f);
}

TEST(a_thousand_pipelined_requests_are_all_answered)
{
	static const char request[] = "GET /inline HTTP/1.1\r\n" HOST "\r\n";
	struct fixture f;
	int fd;

	fixture_open(&f, routes, NULL);
	fd = client_connect(&f);
	for (int i = 0; i < 1000; i++)
		client_send_bytes(fd, request, sizeof(request) - 1);
	for (int i = 0; i < 1000; i++) {
		client_receive(fd, &answer);
		assert_int_equal(answer.status, 200);
	}
	close(fd);
	fixture_close(&f);
}

TEST(requests_may_come_byte_by_byte)
{
	static const char request[] = "POST /echo HTTP/1.1\r\n" HOST
	                              "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
	struct fixture f;
	int fd;

	fixture_open(&f, routes, NULL);
	fd = client_connect(&f);
	for (size_t i = 0; i < sizeof(request) - 1; i++) {
		client_send_bytes(fd, request + i, 1);
		(void)fixture_counts(&f); /* lets the loop take it */
	}
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "abc");
	close(fd);
	fixture_close(&f);
}

TEST(http_1_0_is_spoken)
{
	struct fixture f;
	int fd;

	fixture_open(&f, routes, NULL);
	fd = client_connect(&f);
	client_send(fd, "GET /inline HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	client_receive(fd, &answer);
	assert_true(answer_has(&answer, "Connection: keep-alive"));
	client_send(fd, "GET /inline HTTP/1.0\r\n\r\n");
	client_receive(fd, &answer);
	assert_true(answer_has(&answer, "Connection: close"));
	assert_true(client_is_closed(fd));
	close(fd);
	fixture_close(&f);
}

TEST(a_body_is_awaited_after_100_continue)
{
	struct fixture f;
	int fd;

	fixture_open(&f, routes, NULL);
	fd = client_connect(&f);
	client_send(fd, "POST /echo HTTP/1.1\r\n" HOST
	                "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
	client_receive_head(fd, &answer);
	assert_int_equal(answer.status, 100);
	client_send(fd, "abc");
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "abc");
	client_send(fd, "POST /echo HTTP/1.1\r\n" HOST
	                "Expect: 100-continue\r\nContent-Length: 3000\r\n\r\n");
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 413);
	assert_true(client_is_closed(fd));
	close(fd);
	fixture_close(&f);
}

TEST(sizes_are_limited)
{
	const struct server_options limits = {.head_max = 400, .body_max = 10};
	char request[10000];

	ask("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1001\r\n\r\n", NULL, &answer);
	assert_int_equal(answer.status, 413);
	ask("POST /things?name=q HTTP/1.1\r\n" HOST
	    "Transfer-Encoding: chunked\r\n\r\nb\r\n{\"name\":\"n\"\r\n",
	    &limits, &answer);
	assert_int_equal(answer.status, 413);
	snprintf(request, sizeof(request), "GET /inline HTTP/1.1\r\n" HOST "X: %0500d\r\n\r\n", 0);
	ask(request, &limits, &answer);
	assert_int_equal(answer.status, 431);
	snprintf(request, sizeof(request), "GET /inline HTTP/1.1\r\n" HOST "X: %0500d", 0);
	ask(request, &limits, &answer);
	assert_int_equal(answer.status, 431);
	snprintf(request, sizeof(request), "GET /%09000d HTTP/1.1\r\n" HOST "\r\n", 0);
	ask(request, NULL, &answer);
	assert_int_equal(answer.status, 414);
	snprintf(request, sizeof(request), "GET /%09000d", 0);
	ask(request, NULL, &answer);
	assert_int_equal(answer.status, 414);
}

TEST(a_refused_head_ends_the_connection)
{
	struct fixture f;
	int fd;

	fixture_open(&f, routes, NULL);
	fd = client_connect(&f);
	client_send(fd,
	            "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 3\r\n\r\n"
	            "GET /inline HTTP/1.1\r\n" HOST "\r\n");
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 400);
	assert_true(client_is_closed(fd));
	close(fd);
	ask("GET /inline HTTP/2.0\r\n" HOST "\r\n", NULL, &answer);
	assert_int_equal(answer.status, 505);
	ask("POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nzz\r\n", NULL,
	    &answer);
	assert_int_equal(answer.status, 400);
	fixture_close(&f);
}

TEST(slow_heads_and_bodies_and_idle_clients_are_ended)
{
	const struct server_options limits = {
	        .head_timeout_ms = 30, .body_timeout_ms = 30, .idle_timeout_ms = 60};
	struct fixture f;
	int fd;

	ask("GET /inl", &limits, &answer);
	assert_int_equal(answer.status, 408);
	ask("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\na", &limits, &answer);
	assert_int_equal(answer.status, 408);
	fixture_open(&f, routes, &limits);
	fd = client_connect(&f);
	client_send(fd, "GET /inline HTTP/1.1\r\n" HOST "\r\n");
	client_receive(fd, &answer);
	assert_true(client_is_closed(fd));
	close(fd);
	fixture_close(&f);
}

static bool nobody_is_connected(const struct server_counts *counts)
{
	return counts->connections_total > 0 && counts->connections_open == 0;
}

TEST(a_client_that_does_not_read_is_ended)
{
	const struct server_options limits = {.write_timeout_ms = 50};
	struct fixture f;
	int fd;

	fixture_open(&f, routes, &limits);
	fd = client_connect(&f);
	client_send(fd, "GET /much HTTP/1.1\r\n" HOST "\r\n");
	fixture_await(&f, nobody_is_connected);
	close(fd);
	fixture_close(&f);
}

TEST(a_large_reply_arrives_whole_and_the_next_request_after_it)
{
	enum { SIZE = 8 << 20 };
	char *room = malloc(SIZE);
	struct fixture f;
	int fd;

	fixture_open(&f, routes, NULL);
	fd = client_connect(&f);
	client_send(fd, "GET /much HTTP/1.1\r\n" HOST "\r\nGET /inline HTTP/1.1\r\n" HOST "\r\n");
	client_receive_head(fd, &answer);
	client_receive_bytes(fd, room, SIZE);
	for (size_t i = 0; i < SIZE; i += 4096)
		assert_int_equal(room[i], 'm');
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "/inline");
	free(room);
	close(fd);
	fixture_close(&f);
}

TEST(connections_are_counted_and_limited)
{
	const struct server_options limits = {.connections_max = 1};
	struct fixture f;
	int first, second;

	fixture_open(&f, routes, &limits);
	first = client_connect(&f);
	client_send(first, "GET /inline HTTP/1.1\r\n" HOST "\r\n");
	client_receive(first, &answer);
	/* An idle connection gives way, one with a request does not. */
	pthread_mutex_lock(&gate);
	client_send(first, "GET /slow HTTP/1.1\r\n" HOST "\r\n");
	second = client_connect(&f);
	client_receive(second, &answer);
	assert_int_equal(answer.status, 503);
	assert_true(client_is_closed(second));
	pthread_mutex_unlock(&gate);
	client_receive(first, &answer);
	assert_int_equal(fixture_counts(&f).connections_open, 1);
	assert_int_equal(fixture_counts(&f).requests_total, 2);
	assert_int_equal(fixture_counts(&f).refused_by_table, 1);
	close(first);
	close(second);
	fixture_close(&f);
}

TEST(a_full_lane_is_told_to_come_again)
{
	struct fixture f;
	int fds[80], refused = 0;

	fixture_open(&f, routes, NULL);
	pthread_mutex_lock(&gate);
	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		fds[i] = client_connect(&f);
		client_send(fds[i], "GET /slow HTTP/1.1\r\n" HOST "\r\n");
	}
	/* The slow lane is full, and still the fast one moves. */
	client_ask(&f, "GET /worker HTTP/1.1\r\n" HOST "\r\n", &answer);
	assert_int_equal(answer.status, 200);
	pthread_mutex_unlock(&gate);
	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		client_receive(fds[i], &answer);
		refused += answer.status == 503 && answer_has(&answer, "Retry-After: 1");
		close(fds[i]);
	}
	assert_in_range(refused, 1, 80 - 64);
	fixture_close(&f);
}

TEST(a_client_may_go_while_its_handler_runs)
{
	struct fixture f;
	int fd;

	fixture_open(&f, routes, NULL);
	pthread_mutex_lock(&gate);
	fd = client_connect(&f);
	client_send(fd, "GET /slow HTTP/1.1\r\n" HOST "\r\n");
	client_ask(&f, "GET /worker HTTP/1.1\r\n" HOST "\r\n", &answer);
	shutdown(fd, SHUT_RDWR);
	close(fd);
	pthread_mutex_unlock(&gate);
	fixture_await(&f, nobody_is_connected);
	fixture_close(&f);
}

TEST(a_half_closed_client_still_gets_its_answer)
{
	struct fixture f;
	int fd;

	fixture_open(&f, routes, NULL);
	fd = client_connect(&f);
	client_send(fd, "GET /worker HTTP/1.1\r\n" HOST "\r\n");
	shutdown(fd, SHUT_WR);
	client_receive(fd, &answer);
	assert_string_equal(answer.body, "/worker");
	assert_true(client_is_closed(fd));
	close(fd);
	fixture_close(&f);
}

TEST(a_streamed_body_that_nobody_wants_ends_the_connection)
{
	struct fixture f;
	int fd;

	fixture_open(&f, routes, NULL);
	fd = client_connect(&f);
	client_send(fd, "POST /stream HTTP/1.1\r\n" HOST "Content-Length: 1000000\r\n\r\nabc");
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 204);
	assert_true(answer_has(&answer, "Connection: close"));
	assert_true(client_is_closed(fd));
	close(fd);
	fixture_close(&f);
}

struct seen {
	int calls, last_status;
};
static int only_with_key(struct request *rq, const struct route *route, struct error *err)
{
	(void)route;
	if (!request_header(rq, "authorization"))
		return FAIL(err, ERROR_UNAUTHENTICATED, "no key");
	rq->caller = rq;
	return 0;
}

static void on_done(struct request *rq, int status, int64_t took_us)
{
	struct seen *seen = rq->context;

	assert_true(took_us >= 0);
	seen->calls++;
	seen->last_status = status;
}

TEST(callers_are_authorized_and_every_end_is_told)
{
	struct seen seen = {0};
	const struct server_options options = {
	        .authorize = only_with_key, .on_done = on_done, .context = &seen};

	ask("PROPFIND /any/%41b HTTP/1.1\r\n" HOST "\r\n", &options, &answer);
	assert_int_equal(answer.status, 401);
	assert_true(answer_has(&answer, "WWW-Authenticate: Bearer"));
	ask("PROPFIND /any/%41b HTTP/1.1\r\n" HOST "Authorization: x\r\nAccept: y\r\n\r\n",
	    &options, &answer);
	assert_string_equal(answer.body, "PROPFIND Ab y 1");
	ask("GET /inline HTTP/1.1\r\n" HOST "\r\n", &options, &answer);
	assert_int_equal(answer.status, 200);
	ask("GET /inline HTTP/1.1\r\n\r\n", &options, &answer);
	assert_int_equal(seen.calls, 4);
	assert_int_equal(seen.last_status, 400);
}

static void add_bad_header(const char *name, const char *value)
{
	struct http_exchange ex = {.reply.headers = BUF(100)};
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		close(STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		reply_header(&ex.reply, name, value);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(a_header_cannot_be_injected)
{
	add_bad_header("X", "a\r\nSet-Cookie: b");
	add_bad_header("X", "a\nb");
	add_bad_header("X\r\nY", "a");
	add_bad_header("X: Y", "a");
	add_bad_header("", "a");
	add_bad_header("Content-Length", "1");
	add_bad_header("transfer-encoding", "chunked");
}

TEST(a_path_is_known_by_its_aliases_too)
{
	static const struct path_alias aliases[] = {
	        {"/other/long/things", "/any"}, {"/other/long", ""}, {NULL, NULL}};
	static const struct {
		const char *target, *has;
		int status;
	} cases[] = {
	        {"/any/7", "GET 7", 200},
	        {"/other/long/things/7", "GET 7", 200},
	        {"/other/long/things/a%2Fb?x=1", "GET a/b", 200},
	        {"/other/long/any/8", "GET 8", 200},
	        {"/other/longer/any/8", "", 404},
	        {"/other/long/thingsany/8", "", 404},
	        {"/other/long/things/../any/8", "", 400},
	};
	struct server_options limits = {.aliases = aliases};
	struct fixture f;

	fixture_open(&f, routes, &limits);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct answer got;
		char request[128];

		snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HOST "\r\n",
		         cases[i].target);
		client_ask(&f, request, &got);
		assert_int_equal(got.status, cases[i].status);
		assert_non_null(strstr(got.body, cases[i].has));
	}
	fixture_close(&f);
}

int main(void)
{
	return RUN(CASE(inline_and_worker_routes_answer), CASE(a_path_is_known_by_its_aliases_too),
	           CASE(query_and_body_are_parsed_and_the_reply_is_json),
	           CASE(bad_input_is_an_error_with_a_code),
	           CASE(a_failure_has_code_message_hint_and_request_id),
	           CASE(a_request_id_that_is_not_one_is_replaced),
	           CASE(head_has_the_length_but_no_body), CASE(unknown_paths_and_methods_are_told),
	           CASE(pipelined_requests_are_answered_in_order),
	           CASE(a_thousand_pipelined_requests_are_all_answered),
	           CASE(requests_may_come_byte_by_byte), CASE(http_1_0_is_spoken),
	           CASE(a_body_is_awaited_after_100_continue), CASE(sizes_are_limited),
	           CASE(a_refused_head_ends_the_connection),
	           CASE(slow_heads_and_bodies_and_idle_clients_are_ended),
	           CASE(a_client_that_does_not_read_is_ended),
	           CASE(a_large_reply_arrives_whole_and_the_next_request_after_it),
	           CASE(connections_are_counted_and_limited),
	           CASE(a_full_lane_is_told_to_come_again),
	           CASE(a_client_may_go_while_its_handler_runs),
	           CASE(a_half_closed_client_still_gets_its_answer),
	           CASE(a_streamed_body_that_nobody_wants_ends_the_connection),
	           CASE(callers_are_authorized_and_every_end_is_told),
	           CASE(a_header_cannot_be_injected));
}
