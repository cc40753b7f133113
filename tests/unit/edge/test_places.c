/* SPDX-License-Identifier: Apache-2.0 */
/* A key's places among the requests that run at once: a request takes one, however often its
 * handler is run, and gives it back. */
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "edge/api.h"
#include "http/server/failure.h"
#include "http/server/http.h"
#include "http/server/shares.h"
#include "loop/loop.h"
#include "provider/agent_reader.h"
#include "unit.h"
#include "unit/api/harness.h"
#include "wire/agent.h"

#define I "/api/sandbox/instances"
#define UPGRADE                                                                                    \
	"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"               \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define WAIT_MS 20000

static struct harness harness;
static sem_t held, let_go;
static atomic_bool holds;

/* The next list of processes takes until the test lets it go. */
static bool on_request(UNUSED const char *sandbox, UNUSED int fd, uint16_t type)
{
	if (type == AGENT_PROCESSES && atomic_exchange(&holds, false)) {
		sem_post(&held);
		sem_wait(&let_go);
	}
	return false;
}

static void open_with(unsigned requests_max, unsigned calls_max)
{
	const struct harness_options options = {.deadline_ms = 3 * WAIT_MS,
	                                        .requests_per_key_max = requests_max,
	                                        .agent_threads = 4,
	                                        .agent_calls_per_sandbox_max = calls_max};
	const struct call make = {"POST", I, .body = SPAN("{\"name\":\"box\"}")};
	struct call call = make;
	struct answer made;

	sem_init(&held, 0, 0);
	sem_init(&let_go, 0, 0);
	agent_set_answer_ms(3 * WAIT_MS);
	harness_open_with(&harness, &options);
	call.key = harness.admin;
	made = harness_call(&harness, &call);
	assert_int_equal(made.status, 201);
	answer_done(&made);
	fake_agent_hook = on_request;
}

static void close_all(void)
{
	harness_close(&harness);
	fake_agent_hook = NULL;
	sem_destroy(&held);
	sem_destroy(&let_go);
}

struct asker {
	pthread_t thread;
	struct call call;
	struct answer answer;
};

static void *ask(void *context)
{
	struct asker *asker = context;

	asker->answer = harness_call(&harness, &asker->call);
	return NULL;
}

static void begin(struct asker *asker, const char *path, const char *headers)
{
	*asker = (struct asker){
	        .call = {"GET", path, .key = headers ? NULL : harness.admin, .headers = headers}};
	assert_int_equal(pthread_create(&asker->thread, NULL, ask, asker), 0);
}

/* One place of the key is taken, and the only call that the sandbox's share may have. */
static void begin_holder(struct asker *asker)
{
	atomic_store(&holds, true);
	begin(asker, I "/box/processes", NULL);
	sem_wait(&held);
}

static int end(struct asker *asker)
{
	int status;

	pthread_join(asker->thread, NULL);
	status = asker->answer.status;
	answer_done(&asker->answer);
	return status;
}

static void await_call_that_waits(void)
{
	int64_t deadline = deadline_after(WAIT_MS);

	while (worker_load_get(harness.workers).waiting[WORKER_AGENT] == 0) {
		assert_true(deadline_poll_ms(deadline) > 0);
		(void)poll(NULL, 0, 1);
	}
}

TEST(a_call_that_is_run_again_for_its_sandbox_takes_one_place)
{
	struct asker holder, again;

	open_with(2, 1);
	/* Were a place lost in each round, the third would find none. */
	for (unsigned i = 0; i < 3; i++) {
		begin_holder(&holder);
		begin(&again, "/daytona/toolbox/box/files/download?path=/tmp/a", NULL);
		await_call_that_waits();
		sem_post(&let_go);
		assert_int_equal(end(&holder), 200);
		assert_int_equal(end(&again), 200);
	}
	close_all();
}

struct look {
	struct loop_task task;
	uint64_t waiting;
	sem_t done;
};

static void look(struct loop_task *task)
{
	struct look *l = CONTAINER_OF(task, struct look, task);

	l->waiting = server_queue_counts(harness.server).waiting;
	sem_post(&l->done);
}

static void await_turn(void)
{
	int64_t deadline = deadline_after(WAIT_MS);
	struct look l = {.task = {.run = look}};

	sem_init(&l.done, 0, 0);
	while (l.waiting == 0) {
		assert_true(deadline_poll_ms(deadline) > 0);
		loop_post(harness.loop, &l.task);
		sem_wait(&l.done);
	}
	sem_destroy(&l.done);
}

static void open_terminal(char ret[256])
{
	const struct call call = {"POST", I "/box/terminal", .key = harness.admin,
	                          .body = SPAN("{}")};
	AUTO(answer_done) struct answer a = harness_call(&harness, &call);
	const char *path;

	assert_int_equal(a.status, 201);
	path = strstr(a.body, "\"path\":\"");
	assert_non_null(path);
	path += strlen("\"path\":\"");
	(void)snprintf(ret, 256, "%.*s", (int)strcspn(path, "\""), path);
}

TEST(a_ticket_is_not_used_up_before_its_request_has_a_place)
{
	struct asker holder, browser;
	char path[256];

	open_with(1, 0);
	open_terminal(path);
	begin_holder(&holder);
	begin(&browser, path, UPGRADE);
	await_turn();
	sem_post(&let_go);
	assert_int_equal(end(&holder), 200);
	/* The ticket was good: by HTTP/1.0 there are no WebSockets. */
	assert_int_equal(end(&browser), 400);
	/* And now it is used up. */
	begin(&browser, path, UPGRADE);
	assert_int_equal(end(&browser), 401);
	close_all();
}

int main(void)
{
	return RUN(CASE(a_call_that_is_run_again_for_its_sandbox_takes_one_place),
	           CASE(a_ticket_is_not_used_up_before_its_request_has_a_place));
}
