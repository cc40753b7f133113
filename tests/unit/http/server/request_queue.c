/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are authorized by their head alone, that wait for a turn, and that are refused in
 * the middle of their bodies. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "harness.h"
#include "http/server/shares.h"
#include "loop/loop.h"
#include "unit.h"

#define HOST "Host: a\r\n"
#define QUEUE "key"

static atomic_uint running, running_most, handled;
static atomic_bool by_worker, refuses;
static unsigned running_max;
static struct http_server **turn_server;
static sem_t held, let_go;
static struct answer answer;

static bool take_place(void)
{
	unsigned now = atomic_load(&running);

	while (now < running_max)
		if (atomic_compare_exchange_weak(&running, &now, now + 1)) {
			if (now + 1 > atomic_load(&running_most))
				atomic_store(&running_most, now + 1);
			return true;
		}
	return false;
}

static int authorize(struct request *rq, UNUSED const struct route *route, struct error *err)
{
	if (atomic_load(&by_worker) && request_may_block(rq, err) < 0)
		return -1;
	if (atomic_load(&refuses))
		return FAIL(err, ERROR_FORBIDDEN, "not you");
	if (request_has_others_before(rq, QUEUE) || !take_place()) {
		(void)FAIL(err, ERROR_LIMIT, "%u run already", running_max);
		return request_wait_in_queue(rq, QUEUE, err);
	}
	rq->caller = rq;
	return 0;
}

static bool has_place(UNUSED void *context, UNUSED const char *queue)
{
	return atomic_load(&running) < running_max;
}

static void on_done(struct request *rq, UNUSED int status, UNUSED int64_t took_us)
{
	if (!rq->caller)
		return;
	atomic_fetch_sub(&running, 1);
	server_advance_queue(*turn_server, QUEUE);
}

static int answer_size(struct request *rq, UNUSED const void *body, struct reply *reply,
                       UNUSED struct error *err)
{
	atomic_fetch_add(&handled, 1);
	buf_addf(reply_buf(reply, "text/plain"), "%zu", rq->body.size);
	return 0;
}

static int hold(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	sem_post(&held);
	sem_wait(&let_go);
	return answer_size(rq, body, reply, err);
}

/* As surfaces do that let callers in by themselves. */
static int let_in(struct request *rq, UNUSED const void *body, struct reply *reply,
                  struct error *err)
{
	reply_header(reply, "X-Tried", "yes");
	buf_add_text(reply_buf(reply, "text/plain"), "tried ");
	return authorize(rq, rq->route, err) < 0 ? -1 : answer_size(rq, NULL, reply, err);
}

static const struct route routes[] = {
        {HTTP_POST, "/lets-in", .flags = ROUTE_PUBLIC | ROUTE_RAW_BODY, .handle = let_in},
        {HTTP_POST, "/size", .flags = ROUTE_RAW_BODY, .body_max = (size_t)64 << 20,
         .handle = answer_size},
        {HTTP_POST, "/tried", .flags = ROUTE_RAW_BODY | ROUTE_TRY, .handle = answer_size},
        {HTTP_POST, "/holds", .flags = ROUTE_RAW_BODY, .handle = hold},
        {0},
};

static void open_with(struct fixture *f, unsigned max, const struct server_shares *more)
{
	struct server_shares shares = more ? *more : (struct server_shares){0};
	const struct server_options options = {
	        .authorize = authorize, .on_done = on_done, .shares = &shares};

	shares.has_place = has_place;
	atomic_store(&running, 0);
	atomic_store(&running_most, 0);
	atomic_store(&handled, 0);
	atomic_store(&by_worker, false);
	atomic_store(&refuses, false);
	running_max = max;
	turn_server = &f->server;
	sem_init(&held, 0, 0);
	sem_init(&let_go, 0, 0);
	fixture_open(f, routes, &options);
}

static int post(const struct fixture *f, const char *path, size_t size, const char *headers)
{
	int fd = client_connect(f);
	char head[256];

	snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\n" HOST "%sContent-Length: %zu\r\n\r\n",
	         path, headers, size);
	client_send(fd, head);
	return fd;
}

struct turn_task {
	struct loop_task task;
	struct fixture *f;
	struct queue_counts counts;
	sem_t done;
};

static void take_counts(struct loop_task *task)
{
	struct turn_task *t = CONTAINER_OF(task, struct turn_task, task);

	t->counts = server_queue_counts(t->f->server);
	sem_post(&t->done);
}

static struct queue_counts counts_of(struct fixture *f)
{
	struct turn_task t = {.task = {.run = take_counts}, .f = f};

	sem_init(&t.done, 0, 0);
	loop_post(f->loop, &t.task);
	sem_wait(&t.done);
	sem_destroy(&t.done);
	return t.counts;
}

static void await_waiting(struct fixture *f, uint64_t count)
{
	int64_t deadline = deadline_after(10000);

	while (counts_of(f).waiting != count)
		assert_true(clock_monotonic_ms() < deadline);
}

static void many_take_turns(const char *path, bool workers)
{
	/* the fixture's workers have a queue of 64 */
	unsigned count = workers ? 40 : 100;
	struct fixture f;
	int fds[100];

	open_with(&f, 3, NULL);
	atomic_store(&by_worker, workers);
	for (unsigned i = 0; i < count; i++) {
		fds[i] = post(&f, path, 3, "");
		client_send(fds[i], "abc");
	}
	for (unsigned i = 0; i < count; i++) {
		client_receive(fds[i], &answer);
		assert_int_equal(answer.status, 200);
		close(fds[i]);
	}
	assert_int_equal(atomic_load(&handled), count);
	assert_true(atomic_load(&running_most) <= 3);
	fixture_close(&f);
}

TEST(more_requests_than_may_run_wait_their_turn)
{
	many_take_turns("/size", false);
	many_take_turns("/tried", false);
}

TEST(those_that_a_worker_has_to_authorize_wait_as_well)
{
	many_take_turns("/size", true);
}

TEST(turns_come_in_the_order_of_arrival_and_before_the_body_is_read)
{
	struct fixture f;
	int first, second, third;

	open_with(&f, 1, NULL);
	first = post(&f, "/holds", 0, "");
	sem_wait(&held);
	second = post(&f, "/size", 5, "Expect: 100-continue\r\n");
	await_waiting(&f, 1);
	third = post(&f, "/size", 0, "");
	await_waiting(&f, 2);
	sem_post(&let_go);
	client_receive(first, &answer);
	/* the second is next, and only now is told to send its body; the third waits on */
	client_receive_head(second, &answer);
	assert_int_equal(answer.status, 100);
	assert_int_equal(counts_of(&f).waiting, 1);
	client_send(second, "abcde");
	client_receive(second, &answer);
	assert_string_equal(answer.body, "5");
	client_receive(third, &answer);
	assert_int_equal(answer.status, 200);
	close(first);
	close(second);
	close(third);
	fixture_close(&f);
}

TEST(a_full_queue_refuses_and_so_does_a_long_wait)
{
	struct fixture f;
	int first, second, third;

	open_with(&f, 1, &(struct server_shares){.waiting_max = 1, .wait_ms = 300});
	first = post(&f, "/holds", 0, "");
	sem_wait(&held);
	second = post(&f, "/size", 0, "");
	await_waiting(&f, 1);
	third = post(&f, "/size", 0, "");
	client_receive(third, &answer);
	assert_int_equal(answer.status, 429);
	assert_true(answer_has(&answer, "Retry-After: 1"));
	client_receive(second, &answer);
	assert_int_equal(answer.status, 429);
	assert_non_null(strstr(answer.body, "1 run already"));
	assert_int_equal(counts_of(&f).refused_full, 1);
	assert_int_equal(counts_of(&f).refused_late, 1);
	sem_post(&let_go);
	client_receive(first, &answer);
	assert_int_equal(atomic_load(&handled), 1);
	close(first);
	close(second);
	close(third);
	fixture_close(&f);
}

TEST(what_was_written_before_a_request_waits_is_not_written_twice)
{
	struct fixture f;
	int first, second;

	open_with(&f, 1, NULL);
	first = post(&f, "/holds", 0, "");
	sem_wait(&held);
	second = post(&f, "/lets-in", 0, "");
	await_waiting(&f, 1);
	sem_post(&let_go);
	client_receive(first, &answer);
	client_receive(second, &answer);
	assert_int_equal(answer.status, 200);
	assert_string_equal(answer.body, "tried 0");
	close(first);
	close(second);
	fixture_close(&f);
}

TEST(a_client_that_hangs_up_leaves_its_queue)
{
	struct fixture f;
	int first, second;

	open_with(&f, 1, NULL);
	first = post(&f, "/holds", 0, "");
	sem_wait(&held);
	second = post(&f, "/size", 0, "");
	await_waiting(&f, 1);
	close(second);
	await_waiting(&f, 0);
	assert_int_equal(counts_of(&f).left, 1);
	sem_post(&let_go);
	client_receive(first, &answer);
	close(first);
	fixture_close(&f);
	assert_int_equal(atomic_load(&handled), 1);
}

/* Sends all of a body before it reads anything, as most clients do. */
static void upload_refused(bool workers, bool is_chunked)
{
	static char block[1 << 20];
	struct fixture f;
	int fd;

	open_with(&f, 1, NULL);
	atomic_store(&refuses, true);
	atomic_store(&by_worker, workers);
	fd = client_connect(&f);
	client_send(fd, "POST /size HTTP/1.1\r\n" HOST);
	client_send(fd, is_chunked ? "Transfer-Encoding: chunked\r\n\r\n3000000\r\n"
	                           : "Content-Length: 50331648\r\n\r\n");
	for (unsigned i = 0; i < 48; i++)
		client_send_bytes(fd, block, sizeof(block));
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 403);
	assert_true(answer_has(&answer, "Connection: close"));
	assert_true(client_is_closed(fd));
	assert_int_equal(atomic_load(&handled), 0);
	close(fd);
	fixture_close(&f);
}

TEST(a_client_that_is_refused_in_its_body_gets_the_answer)
{
	upload_refused(false, false);
	upload_refused(true, false);
	upload_refused(false, true);
}

TEST(a_refusal_takes_the_place_of_100_continue)
{
	struct fixture f;
	int fd;

	open_with(&f, 1, NULL);
	atomic_store(&refuses, true);
	fd = post(&f, "/size", 50 << 20, "Expect: 100-continue\r\n");
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 403);
	close(fd);
	fixture_close(&f);
}

TEST(a_refusal_of_a_small_request_keeps_its_connection)
{
	struct fixture f;
	int fd;

	open_with(&f, 1, NULL);
	atomic_store(&refuses, true);
	fd = post(&f, "/size", 3, "");
	client_send(fd, "abc");
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 403);
	atomic_store(&refuses, false);
	client_send(fd, "POST /size HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab");
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 200);
	assert_string_equal(answer.body, "2");
	close(fd);
	fixture_close(&f);
}

int main(void)
{
	return RUN(CASE(more_requests_than_may_run_wait_their_turn),
	           CASE(those_that_a_worker_has_to_authorize_wait_as_well),
	           CASE(turns_come_in_the_order_of_arrival_and_before_the_body_is_read),
	           CASE(a_full_queue_refuses_and_so_does_a_long_wait),
	           CASE(what_was_written_before_a_request_waits_is_not_written_twice),
	           CASE(a_client_that_hangs_up_leaves_its_queue),
	           CASE(a_client_that_is_refused_in_its_body_gets_the_answer),
	           CASE(a_refusal_takes_the_place_of_100_continue),
	           CASE(a_refusal_of_a_small_request_keeps_its_connection));
}
