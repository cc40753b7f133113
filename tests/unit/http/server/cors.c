/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "unit.h"

#include <string.h>

#define HOST "Host: x\r\n"
#define OURS "Origin: https://app.example\r\n"
#define PREFLIGHT "Access-Control-Request-Method: POST\r\n"

static int answer_ok(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	(void)rq;
	(void)body;
	(void)err;
	reply_text(reply, "text/plain", SPAN("ok"));
	return 0;
}

static int answer_none(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	(void)rq;
	(void)body;
	(void)reply;
	return FAIL(err, ERROR_NOT_FOUND, "there is none");
}

static const struct route routes[] = {
        {HTTP_POST, "/ours", .flags = ROUTE_PUBLIC | ROUTE_INLINE, .handle = answer_ok},
        {HTTP_GET, "/fail", .flags = ROUTE_PUBLIC, .handle = answer_none},
        {HTTP_ANY, "/theirs", .flags = ROUTE_PUBLIC, .handle = answer_ok},
        {0},
};

static const char *allow_one(void *context, const char *origin)
{
	(void)context;
	return strcmp(origin, "https://app.example") == 0 ? origin : NULL;
}

static const char *allow_any(void *context, const char *origin)
{
	(void)context;
	(void)origin;
	return "*";
}

static struct answer answer;

static void ask(const char *request, const char *(*allow)(void *context, const char *origin))
{
	const struct server_options options = {.allow_origin = allow};
	struct fixture f;

	fixture_open(&f, routes, &options);
	client_ask(&f, request, &answer);
	fixture_close(&f);
}

static bool says_nothing(void)
{
	return !strstr(answer.head, "Access-Control");
}

TEST(a_page_of_an_allowed_origin_may_read_answers_and_failures)
{
	ask("POST /ours HTTP/1.1\r\n" HOST OURS "\r\n", allow_one);
	assert_int_equal(answer.status, 200);
	assert_true(answer_has(&answer, "Access-Control-Allow-Origin: https://app.example"));
	assert_true(answer_has(&answer, "Access-Control-Expose-Headers: *"));
	assert_true(answer_has(&answer, "Vary: Origin"));
	assert_null(strstr(answer.head, "Allow-Credentials"));
	ask("GET /fail HTTP/1.1\r\n" HOST OURS "\r\n", allow_one);
	assert_int_equal(answer.status, 404);
	assert_true(answer_has(&answer, "Access-Control-Allow-Origin: https://app.example"));
	ask("GET /nowhere HTTP/1.1\r\n" HOST OURS "\r\n", allow_one);
	assert_int_equal(answer.status, 404);
	assert_true(answer_has(&answer, "Access-Control-Allow-Origin: https://app.example"));
	ask("POST /ours HTTP/1.1\r\n" HOST OURS "\r\n", allow_any);
	assert_true(answer_has(&answer, "Access-Control-Allow-Origin: *"));
	assert_null(strstr(answer.head, "Vary"));
}

TEST(nobody_else_may_and_nobody_at_all_unless_it_is_configured)
{
	ask("POST /ours HTTP/1.1\r\n" HOST "Origin: https://app.example.evil\r\n\r\n", allow_one);
	assert_int_equal(answer.status, 200);
	assert_true(says_nothing());
	ask("POST /ours HTTP/1.1\r\n" HOST "Origin: null\r\n\r\n", allow_one);
	assert_true(says_nothing());
	ask("POST /ours HTTP/1.1\r\n" HOST "\r\n", allow_one);
	assert_true(says_nothing());
	ask("POST /ours HTTP/1.1\r\n" HOST OURS "\r\n", NULL);
	assert_true(says_nothing());
	ask("OPTIONS /ours HTTP/1.1\r\n" HOST OURS PREFLIGHT "\r\n", NULL);
	assert_int_equal(answer.status, 204);
	assert_true(says_nothing());
}

TEST(a_preflight_is_answered_wherever_it_leads)
{
	ask("OPTIONS /ours HTTP/1.1\r\n" HOST OURS PREFLIGHT
	    "Access-Control-Request-Headers: x-api-key, content-type\r\n\r\n",
	    allow_one);
	assert_int_equal(answer.status, 204);
	assert_true(answer_has(&answer, "Access-Control-Allow-Origin: https://app.example"));
	assert_true(answer_has(
	        &answer, "Access-Control-Allow-Methods: GET, HEAD, POST, PUT, PATCH, DELETE"));
	assert_true(answer_has(&answer, "Access-Control-Allow-Headers: x-api-key, content-type"));
	assert_true(answer_has(&answer, "Access-Control-Max-Age: 7200"));
	ask("OPTIONS /ours HTTP/1.1\r\n" HOST OURS PREFLIGHT
	    "Access-Control-Request-Headers: a;b\r\n\r\n",
	    allow_one);
	assert_null(strstr(answer.head, "Allow-Headers"));
	/* The headers that make it a request for a sandbox are only asked for. */
	ask("OPTIONS /process.Process/List HTTP/1.1\r\n" HOST OURS PREFLIGHT "\r\n", allow_one);
	assert_int_equal(answer.status, 204);
	assert_true(answer_has(&answer, "Access-Control-Allow-Origin: https://app.example"));
	ask("OPTIONS /process.Process/List HTTP/1.1\r\n" HOST PREFLIGHT "\r\n", allow_one);
	assert_int_equal(answer.status, 404);
	/* A plain OPTIONS is no preflight. */
	ask("OPTIONS /ours HTTP/1.1\r\n" HOST OURS "\r\n", allow_one);
	assert_int_equal(answer.status, 204);
	assert_null(strstr(answer.head, "Allow-Methods"));
}

TEST(servers_behind_us_speak_for_themselves)
{
	ask("GET /theirs HTTP/1.1\r\n" HOST OURS "\r\n", allow_one);
	assert_int_equal(answer.status, 200);
	assert_true(says_nothing());
	ask("OPTIONS /theirs HTTP/1.1\r\n" HOST OURS PREFLIGHT "\r\n", allow_any);
	assert_int_equal(answer.status, 200);
	assert_true(says_nothing());
}

int main(void)
{
	return RUN(CASE(a_page_of_an_allowed_origin_may_read_answers_and_failures),
	           CASE(nobody_else_may_and_nobody_at_all_unless_it_is_configured),
	           CASE(a_preflight_is_answered_wherever_it_leads),
	           CASE(servers_behind_us_speak_for_themselves));
}
