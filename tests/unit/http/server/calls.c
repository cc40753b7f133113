/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that call into sandboxes: in a lane of their own, under shares, or not at all. */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "harness.h"
#include "http/server/shares.h"
#include "unit.h"

#define HOST "Host: a\r\n"

static atomic_uint called, begun;
static sem_t held, let_go;
static struct answer answer;

/* GET /SANDBOX/hangs and /SANDBOX/answers */
static int call(struct request *rq, struct reply *reply, struct error *err)
{
	const struct request_sandbox sandbox = {"project", request_param(rq, "sandbox")};

	atomic_fetch_add(&begun, 1);
	reply_header(reply, "X-Once", "once");
	if (request_may_call(rq, &sandbox, err) < 0)
		return -1;
	atomic_fetch_add(&called, 1);
	reply_status(reply, 204);
	return 0;
}

static int hang(struct request *rq, UNUSED const void *body, struct reply *reply, struct error *err)
{
	if (call(rq, reply, err) < 0)
		return -1;
	sem_post(&held);
	sem_wait(&let_go);
	return 0;
}

static int reply_at_once(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	return call(rq, reply, err);
}

static const struct route routes[] = {
        {HTTP_GET, "/:sandbox/hangs", .handle = hang},
        {HTTP_GET, "/:sandbox/answers", .handle = reply_at_once},
        {HTTP_GET, "/:sandbox/long", .flags = ROUTE_SLOW, .handle = reply_at_once},
        {0},
};

static void open_server(struct fixture *f)
{
	atomic_store(&called, 0);
	atomic_store(&begun, 0);
	sem_init(&held, 0, 0);
	sem_init(&let_go, 0, 0);
	fixture_open_workers(f, routes, NULL,
	                     &(struct worker_options){.threads = 2,
	                                              .queue_max = 64,
	                                              .agent_threads = 8,
	                                              .long_threads = 4,
	                                              .agent_share_max = {4, 3, 2},
	                                              .agent_wait_ms = 50});
}

static int get(const struct fixture *f, const char *path)
{
	int fd = client_connect(f);
	char head[256];

	snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\n" HOST "\r\n", path);
	client_send(fd, head);
	return fd;
}

static void receive(int fd, int status)
{
	client_receive(fd, &answer);
	assert_int_equal(answer.status, status);
	close(fd);
}

static void await_agents(struct fixture *f, unsigned running, unsigned waiting)
{
	int64_t deadline = deadline_after(10000);
	struct worker_load load;

	do {
		load = worker_load_get(f->workers);
		assert_true(clock_monotonic_ms() < deadline);
		usleep(1000);
	} while (load.running[WORKER_AGENT] != running || load.waiting[WORKER_AGENT] != waiting);
}

/* Four of them on two threads: without the lane no other call would be answered. */
TEST(calls_that_hang_leave_the_workers_to_others)
{
	struct fixture f;
	int fds[4];

	open_server(&f);
	for (unsigned i = 0; i < COUNT_OF(fds); i++)
		fds[i] = get(&f, "/hung/hangs");
	await_agents(&f, 2, 2);
	receive(get(&f, "/other/answers"), 204);
	/* calls that may take minutes have shares of their own */
	receive(get(&f, "/hung/long"), 204);
	for (unsigned i = 0; i < COUNT_OF(fds); i++)
		sem_post(&let_go);
	for (unsigned i = 0; i < COUNT_OF(fds); i++) {
		receive(fds[i], 204);
		assert_true(answer_has(&answer, "X-Once: once"));
	}
	/* two were run twice, and called once */
	assert_int_equal(atomic_load(&called), 6);
	assert_int_equal(atomic_load(&begun), 8);
	fixture_close(&f);
}

TEST(a_call_that_waits_for_too_long_is_refused)
{
	struct fixture f;
	int fds[3];

	open_server(&f);
	for (unsigned i = 0; i < COUNT_OF(fds); i++)
		fds[i] = get(&f, "/hung/hangs");
	await_agents(&f, 2, 1);
	while (worker_load_get(f.workers).expired[WORKER_AGENT] == 0) {
		usleep(1000);
		worker_expire(f.workers);
	}
	sem_post(&let_go);
	sem_post(&let_go);
	for (unsigned i = 0; i < COUNT_OF(fds); i++) {
		client_receive(fds[i], &answer);
		if (answer.status == 503)
			assert_true(answer_has(&answer, "Retry-After: 1"));
		close(fds[i]);
	}
	assert_int_equal(atomic_load(&called), 2);
	fixture_close(&f);
}

TEST(a_client_that_hangs_up_takes_its_call_along)
{
	struct fixture f;
	int fds[3];

	open_server(&f);
	for (unsigned i = 0; i < 2; i++) {
		fds[i] = get(&f, "/hung/hangs");
		sem_wait(&held);
	}
	fds[2] = get(&f, "/hung/hangs");
	await_agents(&f, 2, 1);
	close(fds[2]);
	await_agents(&f, 2, 0);
	sem_post(&let_go);
	sem_post(&let_go);
	receive(fds[0], 204);
	receive(fds[1], 204);
	assert_int_equal(atomic_load(&called), 2);
	fixture_close(&f);
}

int main(void)
{
	return RUN(CASE(calls_that_hang_leave_the_workers_to_others),
	           CASE(a_call_that_waits_for_too_long_is_refused),
	           CASE(a_client_that_hangs_up_takes_its_call_along));
}
