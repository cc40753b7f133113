/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are tried on the loop's thread and go to a worker as soon as something would block. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "harness.h"
#include "loop/loop.h"
#include "unit.h"

#define HOST "Host: a\r\n"

static pthread_t loop_thread;
static atomic_uint calls, admissions;
static atomic_bool authorize_blocks;
static struct answer answer;
static sem_t held, let_go;

static const char *where(void)
{
	return pthread_equal(pthread_self(), loop_thread) ? "loop" : "worker";
}

static int note_loop(UNUSED struct request *rq, UNUSED const void *body, struct reply *reply,
                     UNUSED struct error *err)
{
	loop_thread = pthread_self();
	reply_status(reply, 204);
	return 0;
}

static int answer_where(UNUSED struct request *rq, UNUSED const void *body, struct reply *reply,
                        UNUSED struct error *err)
{
	atomic_fetch_add(&calls, 1);
	buf_addf(reply_buf(reply, "text/plain"), "%s %d", where(),
	         deadline_poll_ms(rq->deadline) > 0);
	return 0;
}

static int block(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	atomic_fetch_add(&calls, 1);
	reply_header(reply, "X-Once", where());
	if (request_may_block(rq, err) < 0)
		return -1;
	return answer_where(rq, body, reply, err);
}

static int refuse(UNUSED struct request *rq, UNUSED const void *body, UNUSED struct reply *reply,
                  struct error *err)
{
	atomic_fetch_add(&calls, 1);
	return FAIL(err, ERROR_CONFLICT, "%s", where());
}

static int authorize(struct request *rq, UNUSED const struct route *route, struct error *err)
{
	if (atomic_load(&authorize_blocks) && request_may_block(rq, err) < 0)
		return -1;
	atomic_fetch_add(&admissions, 1);
	rq->caller = rq;
	return 0;
}

/* Which thread it is cannot tell the lanes apart: how often it was called does. */
static int wait_long(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	atomic_fetch_add(&calls, 1);
	reply_header(reply, "X-Once", "once");
	if (request_may_wait(rq, err) < 0)
		return -1;
	return answer_where(rq, body, reply, err);
}

/* Keeps a thread of the slow lane until the test lets it go. */
static int hold(UNUSED struct request *rq, UNUSED const void *body, struct reply *reply,
                UNUSED struct error *err)
{
	sem_post(&held);
	sem_wait(&let_go);
	reply_status(reply, 204);
	return 0;
}

static const struct route routes[] = {
        {HTTP_GET, "/loop", .flags = ROUTE_PUBLIC | ROUTE_INLINE, .handle = note_loop},
        {HTTP_POST, "/quick", .flags = ROUTE_TRY | ROUTE_RAW_BODY, .handle = answer_where},
        {HTTP_POST, "/blocks", .flags = ROUTE_TRY | ROUTE_RAW_BODY, .handle = block},
        {HTTP_POST, "/quick-lane", .flags = ROUTE_QUICK | ROUTE_RAW_BODY, .handle = answer_where},
        {HTTP_POST, "/waits", .flags = ROUTE_QUICK | ROUTE_RAW_BODY, .handle = wait_long},
        {HTTP_POST, "/holds", .flags = ROUTE_SLOW | ROUTE_RAW_BODY, .handle = hold},
        {HTTP_POST, "/waits-slowly", .flags = ROUTE_SLOW | ROUTE_RAW_BODY, .handle = wait_long},
        {HTTP_POST, "/refused", .flags = ROUTE_TRY | ROUTE_RAW_BODY, .handle = refuse},
        {0},
};

struct expected {
	int status;
	const char *body; /* a part of it */
	unsigned calls;
};

static void ask(const char *path, size_t body_size, const struct expected *expected)
{
	static char body[32 * 1024 + 1];
	char head[256];
	struct fixture f;
	int fd;

	atomic_store(&calls, 0);
	atomic_store(&admissions, 0);
	fixture_open(&f, routes, &(struct server_options){.authorize = authorize});
	client_ask(&f, "GET /loop HTTP/1.1\r\n" HOST "\r\n", &answer);
	fd = client_connect(&f);
	memset(body, 'b', body_size);
	snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n",
	         path, body_size);
	client_send(fd, head);
	client_send_bytes(fd, body, body_size);
	client_receive(fd, &answer);
	assert_int_equal(answer.status, expected->status);
	assert_non_null(strstr(answer.body, expected->body));
	assert_int_equal(atomic_load(&calls), expected->calls);
	assert_int_equal(atomic_load(&admissions), 1);
	close(fd);
	fixture_close(&f);
}

TEST(what_does_not_block_is_done_on_the_loop_with_no_time_to_wait)
{
	ask("/quick", 3, &(struct expected){200, "loop 0", 1});
}

TEST(what_would_block_is_done_again_on_a_worker_with_time)
{
	ask("/blocks", 3, &(struct expected){200, "worker 1", 3});
	assert_true(answer_has(&answer, "X-Once: worker"));
	assert_false(answer_has(&answer, "X-Once: loop"));
}

TEST(what_would_take_long_goes_over_to_the_slow_lane)
{
	ask("/quick-lane", 3, &(struct expected){200, "worker 1", 1});
	ask("/waits", 3, &(struct expected){200, "worker 1", 2});
	assert_true(answer_has(&answer, "X-Once: once"));
	ask("/waits-slowly", 3, &(struct expected){200, "worker 1", 2});
}

static void ask_for(int fd, const char *path)
{
	char head[256];

	snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", path);
	client_send(fd, head);
}

/* Of the fixture's two threads one is the slow lane's at most. How often it was called tells that
 * it had to come back. */
TEST(what_would_take_long_is_done_again_when_the_slow_lane_was_full)
{
	struct fixture f;
	int holder, fd;

	sem_init(&held, 0, 0);
	sem_init(&let_go, 0, 0);
	atomic_store(&calls, 0);
	fixture_open(&f, routes, &(struct server_options){.authorize = authorize});
	client_ask(&f, "GET /loop HTTP/1.1\r\n" HOST "\r\n", &answer);
	holder = client_connect(&f);
	ask_for(holder, "/holds");
	sem_wait(&held);
	fd = client_connect(&f);
	ask_for(fd, "/waits");
	while (worker_load_get(f.workers).waiting[WORKER_SLOW] == 0)
		usleep(1000);
	assert_int_equal(atomic_load(&calls), 1);
	sem_post(&let_go);
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 200);
	assert_int_equal(atomic_load(&calls), 3);
	assert_true(answer_has(&answer, "X-Once: once"));
	close(fd);
	close(holder);
	fixture_close(&f);
}

TEST(a_failure_that_nothing_blocked_is_the_answer)
{
	ask("/refused", 3, &(struct expected){409, "loop", 1});
}

TEST(a_long_body_is_a_workers)
{
	ask("/quick", 32 * 1024, &(struct expected){200, "worker 1", 1});
}

TEST(a_caller_who_has_to_be_looked_up_is_let_in_once_and_on_a_worker)
{
	/* the handler then begins on the loop as ever */
	atomic_store(&authorize_blocks, true);
	ask("/quick", 3, &(struct expected){200, "loop 0", 1});
	atomic_store(&authorize_blocks, false);
}

int main(void)
{
	return RUN(CASE(what_does_not_block_is_done_on_the_loop_with_no_time_to_wait),
	           CASE(what_would_block_is_done_again_on_a_worker_with_time),
	           CASE(what_would_take_long_goes_over_to_the_slow_lane),
	           CASE(what_would_take_long_is_done_again_when_the_slow_lane_was_full),
	           CASE(a_failure_that_nothing_blocked_is_the_answer),
	           CASE(a_long_body_is_a_workers),
	           CASE(a_caller_who_has_to_be_looked_up_is_let_in_once_and_on_a_worker));
}
