/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait for a change without a thread, and replies that are taken back. */
#include <poll.h>
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
#include "http/server/parked.h"
#include "http/server/shares.h"
#include "loop/loop.h"
#include "unit.h"

#define REQUEST(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define KEY "door"
#define NEVER_MS 600000

static atomic_bool is_open, opens_meanwhile;
static atomic_uint calls, refusals, undone;
static atomic_int again_ms;
static struct http_server *the_server;
static sem_t begun, let_go;
static struct answer answer;

static int enter(struct request *rq, UNUSED const void *body, struct reply *reply,
                 struct error *err)
{
	unsigned call = atomic_fetch_add(&calls, 1) + 1;

	(void)arena_alloc(rq->arena, (size_t)64 * 1024);
	if (!atomic_load(&is_open)) {
		atomic_fetch_add(&refusals, 1);
		reply_header(reply, "X-Tried", "yes");
		(void)FAIL(err, ERROR_UNAVAILABLE, "the door is shut");
		error_hint(err, "knock");
		error_await(err, KEY, atomic_load(&again_ms), (int)call);
		if (atomic_load(&opens_meanwhile)) {
			atomic_store(&is_open, true);
			server_wake(the_server, KEY);
		}
		return -1;
	}
	reply_text(reply, "application/json", SPAN("{\"room\":1}"));
	return 0;
}

static int pass(UNUSED struct request *rq, UNUSED const void *body, struct reply *reply,
                UNUSED struct error *err)
{
	reply_status(reply, 204);
	return 0;
}

static void take_back(struct request *rq, void *context)
{
	(void)rq;
	if (strcmp(context, "made") == 0)
		atomic_fetch_add(&undone, 1);
	sem_post(&begun);
}

static int make(struct request *rq, UNUSED const void *body, struct reply *reply,
                UNUSED struct error *err)
{
	sem_post(&begun);
	sem_wait(&let_go);
	reply_undo(reply, take_back, arena_text(rq->arena, "made"));
	reply_text(reply, "text/plain", SPAN("made"));
	return 0;
}

static const struct route routes[] = {
        {HTTP_GET, "/enter", .flags = ROUTE_PUBLIC | ROUTE_SLOW | ROUTE_PROGRESS, .handle = enter},
        {HTTP_GET, "/enter-quick", .flags = ROUTE_PUBLIC | ROUTE_QUICK, .handle = enter},
        {HTTP_GET, "/enter-loud", .flags = ROUTE_PUBLIC | ROUTE_SLOW, .handle = enter},
        {HTTP_GET, "/pass", .flags = ROUTE_PUBLIC | ROUTE_SLOW, .handle = pass},
        {HTTP_GET, "/make", .flags = ROUTE_PUBLIC, .handle = make},
        {0},
};

static void open_server_with(struct fixture *f, const struct server_options *options)
{
	atomic_store(&is_open, false);
	atomic_store(&opens_meanwhile, false);
	atomic_store(&calls, 0);
	atomic_store(&refusals, 0);
	atomic_store(&undone, 0);
	atomic_store(&again_ms, NEVER_MS);
	sem_init(&begun, 0, 0);
	sem_init(&let_go, 0, 0);
	fixture_open(f, routes, options);
	the_server = f->server;
}

static void open_server(struct fixture *f)
{
	open_server_with(f, NULL);
}

static void close_server(struct fixture *f)
{
	fixture_close(f);
	sem_destroy(&begun);
	sem_destroy(&let_go);
}

static bool await_number(const atomic_uint *number, unsigned wanted)
{
	int64_t deadline = deadline_after(30000);

	while (atomic_load(number) < wanted && clock_monotonic_ms() < deadline)
		usleep(1000);
	return atomic_load(number) == wanted;
}

static void open_door(struct fixture *f)
{
	atomic_store(&is_open, true);
	server_wake(f->server, KEY);
}

TEST(requests_that_wait_hold_no_worker_and_are_answered_when_woken)
{
	int fds[20];
	struct fixture f;

	open_server(&f);
	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		fds[i] = client_connect(&f);
		client_send(fds[i], i % 2 ? REQUEST("/enter") : REQUEST("/enter-quick"));
	}
	assert_true(await_number(&refusals, COUNT_OF(fds)));
	client_ask(&f, REQUEST("/pass"), &answer);
	assert_int_equal(answer.status, 204);
	server_wake(f.server, "window");
	open_door(&f);
	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		client_receive(fds[i], &answer);
		assert_int_equal(answer.status, 200);
		assert_string_equal(answer.body, "{\"room\":1}");
		assert_false(answer_has(&answer, "X-Tried: yes"));
		close(fds[i]);
	}
	assert_int_equal(atomic_load(&calls), 2 * COUNT_OF(fds));
	close_server(&f);
}

TEST(a_change_that_comes_before_the_request_is_parked_is_not_missed)
{
	struct fixture f;

	open_server(&f);
	atomic_store(&opens_meanwhile, true);
	client_ask(&f, REQUEST("/enter"), &answer);
	assert_int_equal(answer.status, 200);
	assert_int_equal(atomic_load(&calls), 2);
	close_server(&f);
}

TEST(a_change_that_is_not_announced_is_found_in_time)
{
	struct fixture f;
	int fd;

	open_server(&f);
	atomic_store(&again_ms, 50);
	fd = client_connect(&f);
	client_send(fd, REQUEST("/enter"));
	assert_true(await_number(&calls, 1));
	atomic_store(&is_open, true);
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 200);
	close(fd);
	close_server(&f);
}

TEST(a_client_that_hangs_up_ends_its_parked_request)
{
	struct fixture f;
	int fd, other;

	open_server(&f);
	fd = client_connect(&f);
	other = client_connect(&f);
	client_send(fd, REQUEST("/enter"));
	assert_true(await_number(&calls, 1));
	client_send(other, REQUEST("/enter"));
	assert_true(await_number(&calls, 2));
	client_ask(&f, REQUEST("/pass"), &answer);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_true(client_is_closed(fd));
	open_door(&f);
	client_receive(other, &answer);
	assert_int_equal(answer.status, 200);
	assert_int_equal(atomic_load(&calls), 3);
	close(fd);
	close(other);
	close_server(&f);
}

TEST(a_request_that_has_waited_long_is_answered_with_what_it_waits_for)
{
	struct fixture f;

	open_server(&f);
	server_limit_parked(f.server, &(struct parked_limits){.wait_max_ms = 200});
	atomic_store(&again_ms, 20);
	client_ask(&f, REQUEST("/enter"), &answer);
	assert_int_equal(answer.status, 503);
	assert_non_null(strstr(answer.body, "the door is shut"));
	assert_non_null(strstr(answer.body, "knock"));
	assert_true(atomic_load(&calls) > 1);
	close_server(&f);
}

TEST(more_requests_than_may_be_parked_are_refused)
{
	struct fixture f;
	int fd;

	open_server(&f);
	server_limit_parked(f.server, &(struct parked_limits){.parked_max = 1});
	fd = client_connect(&f);
	client_send(fd, REQUEST("/enter"));
	assert_true(await_number(&calls, 1));
	client_ask(&f, REQUEST("/pass"), &answer);
	client_ask(&f, REQUEST("/enter"), &answer);
	assert_int_equal(answer.status, 503);
	open_door(&f);
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 200);
	close(fd);
	close_server(&f);
}

/* A request's project is its path's last letter. */
static void find_project(const struct request *rq, uint64_t ret[WORKER_SHARES])
{
	ret[WORKER_PROJECT] = (uint64_t)rq->path[strlen(rq->path) - 1];
}

struct park_task {
	struct loop_task task;
	struct fixture *f;
	uint64_t parked;
	sem_t done;
};

static void take_count(struct loop_task *task)
{
	struct park_task *t = CONTAINER_OF(task, struct park_task, task);

	t->parked = parked_counts_get(t->f->server).parked;
	sem_post(&t->done);
}

static void await_parked(struct fixture *f, uint64_t count)
{
	struct park_task t = {.task = {.run = take_count}, .f = f};
	int64_t deadline = deadline_after(20000);

	sem_init(&t.done, 0, 0);
	while (t.parked != count) {
		assert_true(clock_monotonic_ms() < deadline);
		loop_post(f->loop, &t.task);
		sem_wait(&t.done);
	}
	sem_destroy(&t.done);
}

TEST(one_project_never_has_all_places)
{
	const struct server_shares shares = {.find = find_project};
	const struct server_options options = {.shares = &shares};
	int loud[2], quiet;
	struct fixture f;

	open_server_with(&f, &options);
	server_limit_parked(f.server, &(struct parked_limits){.parked_max = 8});
	for (size_t i = 0; i < COUNT_OF(loud); i++) {
		loud[i] = client_connect(&f);
		client_send(loud[i], REQUEST("/enter-loud"));
	}
	await_parked(&f, COUNT_OF(loud));
	client_ask(&f, REQUEST("/enter-loud"), &answer);
	assert_int_equal(answer.status, 503);
	quiet = client_connect(&f);
	client_send(quiet, REQUEST("/enter"));
	await_parked(&f, COUNT_OF(loud) + 1);
	open_door(&f);
	client_receive(quiet, &answer);
	assert_int_equal(answer.status, 200);
	close(quiet);
	for (size_t i = 0; i < COUNT_OF(loud); i++) {
		client_receive(loud[i], &answer);
		assert_int_equal(answer.status, 200);
		close(loud[i]);
	}
	close_server(&f);
}

/* Appends to the text until it contains `end`; NULL: to the end of the connection. */
static void receive_until(int fd, char *text, size_t size, const char *end)
{
	size_t at = strlen(text);
	ssize_t got;

	while (at + 1 < size && (!end || !strstr(text, end)) &&
	       (got = read(fd, text + at, size - at - 1)) > 0) {
		at += (size_t)got;
		text[at] = '\0';
	}
}

TEST(a_client_that_accepts_events_hears_what_it_waits_for_and_then_the_result)
{
	static char text[4096];
	struct fixture f;
	int fd;

	open_server(&f);
	atomic_store(&again_ms, 10);
	fd = client_connect(&f);
	client_send(fd, "GET /enter HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n");
	receive_until(fd, text, sizeof(text), "\"percent\":1}\n\n");
	open_door(&f);
	receive_until(fd, text, sizeof(text), NULL);
	assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"));
	assert_non_null(strstr(text, "\r\n\r\nevent: progress\ndata: {\"message\":"
	                             "\"the door is shut\",\"percent\":1}\n\n"
	                             "event: result\ndata: {\"room\":1}\n\n"));
	close(fd);
	close_server(&f);
}

TEST(a_wait_that_fails_ends_its_events_with_the_error)
{
	static char text[4096];
	struct fixture f;
	int fd;

	open_server(&f);
	server_limit_parked(f.server, &(struct parked_limits){.wait_max_ms = 100});
	atomic_store(&again_ms, 20);
	fd = client_connect(&f);
	client_send(fd, "GET /enter HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n");
	receive_until(fd, text, sizeof(text), NULL);
	assert_non_null(strstr(text, "event: progress\n"));
	assert_non_null(strstr(text, "event: error\ndata: {\"error\":{\"code\":\"unavailable\""));
	close(fd);
	close_server(&f);
}

TEST(a_client_that_accepts_events_gets_one_for_what_does_not_wait)
{
	struct fixture f;
	static char text[4096];
	int fd;

	open_server(&f);
	atomic_store(&is_open, true);
	fd = client_connect(&f);
	client_send(fd, "GET /enter HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n");
	receive_until(fd, text, sizeof(text), NULL);
	assert_non_null(strstr(text, "\r\n\r\nevent: result\ndata: {\"room\":1}\n\n"));
	close(fd);
	close_server(&f);
}

TEST(what_was_made_for_a_client_that_has_left_is_taken_back)
{
	static const bool resets[] = {false, true};

	for (size_t i = 0; i < COUNT_OF(resets); i++) {
		const struct linger reset = {.l_onoff = 1};
		struct fixture f;
		int fd;

		open_server(&f);
		fd = client_connect(&f);
		client_send(fd, REQUEST("/make"));
		sem_wait(&begun);
		if (resets[i])
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fd);
		sem_post(&let_go);
		sem_wait(&begun);
		assert_int_equal(atomic_load(&undone), 1);
		close_server(&f);
	}
}

TEST(what_was_made_for_a_client_that_is_there_stays)
{
	struct fixture f;

	open_server(&f);
	sem_post(&let_go);
	client_ask(&f, REQUEST("/make"), &answer);
	assert_int_equal(answer.status, 200);
	assert_int_equal(atomic_load(&undone), 0);
	close_server(&f);
	assert_int_equal(atomic_load(&undone), 0);
}

/* Lets the handler go on once the server has ended the connection. */
static void *let_go_late(void *argument)
{
	struct pollfd p = {.fd = *(const int *)argument, .events = POLLRDHUP};

	(void)poll(&p, 1, 10000);
	sem_post(&let_go);
	return NULL;
}

TEST(what_a_server_made_and_could_not_tell_before_it_ended_is_taken_back)
{
	struct fixture f;
	pthread_t late;
	int fd;

	open_server(&f);
	fd = client_connect(&f);
	client_send(fd, REQUEST("/make"));
	sem_wait(&begun);
	assert_int_equal(pthread_create(&late, NULL, let_go_late, &fd), 0);
	close_server(&f);
	assert_int_equal(atomic_load(&undone), 1);
	pthread_join(late, NULL);
	close(fd);
}

int main(void)
{
	return RUN(CASE(requests_that_wait_hold_no_worker_and_are_answered_when_woken),
	           CASE(a_change_that_comes_before_the_request_is_parked_is_not_missed),
	           CASE(a_change_that_is_not_announced_is_found_in_time),
	           CASE(a_client_that_hangs_up_ends_its_parked_request),
	           CASE(a_request_that_has_waited_long_is_answered_with_what_it_waits_for),
	           CASE(more_requests_than_may_be_parked_are_refused),
	           CASE(one_project_never_has_all_places),
	           CASE(a_client_that_accepts_events_hears_what_it_waits_for_and_then_the_result),
	           CASE(a_wait_that_fails_ends_its_events_with_the_error),
	           CASE(a_client_that_accepts_events_gets_one_for_what_does_not_wait),
	           CASE(what_was_made_for_a_client_that_has_left_is_taken_back),
	           CASE(what_was_made_for_a_client_that_is_there_stays),
	           CASE(what_a_server_made_and_could_not_tell_before_it_ended_is_taken_back));
}
