/* SPDX-License-Identifier: Apache-2.0 */
/* Code that has become process 1 of a sandbox, met by every call that the server makes to an agent:
 * each kind of request and each HTTP call below, in each mode of hostile.h. The call ends by its
 * deadline, the server hangs up on the agent, and goes on. */
#include "edge/api.h"
#include "unit.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <arpa/inet.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "escape/hostile/hostile.h"
#include "provider/agent_reader.h"
#include "provider/provider.h"
#include "unit/api/harness.h"
#include "wire/agent.h"

#define DEADLINE_MS 400
/* Two processors may run much else; the sanitizers take their share. */
#define SLACK_MS (UNIT_WITH_ASAN ? 4000 : 1500)
#define LEAVE_MS 200 /* a client of a stream hangs up after so long */
#define LANES 8
#define MEMORY_MAX_MB 1024 /* with what ASan keeps of freed memory */

static unsigned seed;

/* ---- every kind of request ---- */

/* What an agent sends, and what the broker sends to it: no request of the server. */
static bool is_no_request(uint16_t type)
{
	static const uint16_t types[] = {
	        AGENT_NONE,          AGENT_FAILED,    AGENT_DONE,       AGENT_READY,
	        AGENT_PONG,          AGENT_STARTED,   AGENT_OUTPUT,     AGENT_EXIT,
	        AGENT_STDIN,         AGENT_STDIN_END, AGENT_RESIZE,     AGENT_DETACH,
	        AGENT_PROCESS,       AGENT_STOP,      AGENT_FILE,       AGENT_CHANGE,
	        AGENT_DATA,          AGENT_DATA_END,  AGENT_SETUP,      AGENT_PREPARE,
	        AGENT_CLAIM,         AGENT_ENTRY,     AGENT_DIFFERENCE, AGENT_TERMINAL_STATE,
	        AGENT_SERVICE_STATE, AGENT_BEAT,      AGENT_PORT,       AGENT_HELLO,
	        AGENT_OPEN,
	};

	for (unsigned i = 0; i < COUNT_OF(types); i++)
		if (types[i] == type)
			return true;
	return false;
}

/* Whether a reader takes the message `end` as the end of the answer to a request. */
static bool ends_answer(struct provider *p, uint16_t request, uint16_t end)
{
	const struct agent_limits limits = {.deadline = deadline_after(DEADLINE_MS)};
	AUTO(agent_reader_done) struct agent_reader r;
	AUTO(buf_done) struct buf frame = BUF(64);
	struct error err = {0};
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	agent_reader_init(&r, p, "x", &limits);
	agent_reader_adopt(&r, ends[0], request);
	wire_add_frame(&frame, end, (struct span){0});
	assert_int_equal(wire_send(ends[1], buf_span(&frame), limits.deadline, &err), 0);
	(void)close(ends[1]);
	return agent_reader_next(&r, &err) == 0 && r.has_ended;
}

TEST(every_message_is_a_request_with_an_order_or_no_request)
{
	struct provider *p = fake_provider_open();

	for (uint16_t type = 0; type < AGENT_TYPE_COUNT; type++)
		if ((ends_answer(p, type, AGENT_DONE) || ends_answer(p, type, AGENT_PONG)) ==
		    is_no_request(type))
			fail_msg("message %u: give it a row in provider/agent_reader.c, or name it "
			         "in is_no_request",
			         type);
	fake_provider_close(p);
}

struct meeting {
	int fd;
	uint16_t type;
	enum hostile_mode mode;
};

static void *meet(void *context)
{
	struct meeting *m = context;

	hostile_answer(m->fd, m->type, m->mode, seed + m->type);
	(void)shutdown(m->fd, SHUT_RDWR);
	return NULL;
}

static void read_to_the_end(struct meeting *m)
{
	struct provider *p = fake_provider_open();
	const struct agent_limits limits = {.deadline = deadline_after(DEADLINE_MS)};
	AUTO(agent_reader_done) struct agent_reader r;
	int64_t begun = clock_monotonic_ms(), took;
	struct error err = {0};
	pthread_t thread;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	m->fd = ends[1];
	assert_int_equal(pthread_create(&thread, NULL, meet, m), 0);
	agent_reader_init(&r, p, "x", &limits);
	agent_reader_adopt(&r, ends[0], m->type);
	while (!r.has_ended && agent_reader_next(&r, &err) == 0)
		;
	took = clock_monotonic_ms() - begun;
	agent_reader_done(&r);
	pthread_join(thread, NULL);
	close(ends[1]);
	fake_provider_close(p);
	if (took > DEADLINE_MS + SLACK_MS)
		fail_msg("request %u, agent '%s': %lld ms", m->type, hostile_mode_names[m->mode],
		         (long long)took);
}

struct sweep {
	struct meeting *meetings;
	size_t count;
	atomic_size_t next;
};

static void *sweep_on(void *context)
{
	struct sweep *s = context;
	size_t at;

	while ((at = atomic_fetch_add(&s->next, 1)) < s->count)
		read_to_the_end(&s->meetings[at]);
	return NULL;
}

static void run_in_lanes(void *(*run)(void *), void *context, size_t step)
{
	pthread_t threads[LANES];

	for (unsigned i = 0; i < LANES; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, (char *)context + i * step),
		                 0);
	for (unsigned i = 0; i < LANES; i++)
		pthread_join(threads[i], NULL);
}

TEST(every_request_ends_by_its_deadline_whatever_the_agent_sends)
{
	static struct meeting meetings[AGENT_TYPE_COUNT * HOSTILE_MODE_COUNT];
	struct sweep sweep = {.meetings = meetings};

	for (uint16_t type = 0; type < AGENT_TYPE_COUNT; type++)
		for (enum hostile_mode mode = 0; mode < HOSTILE_MODE_COUNT; mode++)
			if (!is_no_request(type))
				meetings[sweep.count++] = (struct meeting){-1, type, mode};
	run_in_lanes(sweep_on, &sweep, 0);
}

/* ---- HTTP calls ---- */

#define I "/api/sandbox/instances/"
#define D "/daytona/toolbox/"
struct row {
	const char *method, *place, *path, *body;
	bool is_stream; /* has no deadline: its client hangs up */
};
static const struct row rows[] = {
        {"GET", I, "/files?path=.&depth=2", NULL, false},
        {"GET", I, "/files/stat?path=f", NULL, false},
        {"GET", I, "/files/content?path=f", NULL, true},
        {"GET", I, "/files/tar?path=d", NULL, true},
        {"GET", I, "/files/watch?path=.", NULL, true},
        {"PUT", I, "/files/content?path=f", "some bytes", true},
        {"POST", I, "/files/tar?path=d", "some bytes", true},
        {"POST", I, "/files/mkdir", "{\"path\":\"d\"}", false},
        {"POST", I, "/files/rename", "{\"path\":\"a\",\"target\":\"b\"}", false},
        {"POST", I, "/files/copy", "{\"path\":\"a\",\"target\":\"b\"}", true},
        {"POST", I, "/files/remove", "{\"path\":\"a\"}", true},
        {"POST", I, "/files/read", "{\"path\":\"f\"}", true},
        {"POST", I, "/files/write", "{\"path\":\"f\",\"content\":\"abcd\"}", true},
        {"GET", I, "/processes", NULL, false},
        {"GET", I, "/processes/1", NULL, false},
        {"DELETE", I, "/processes/1", NULL, false},
        {"POST", I, "/processes/1/signal", "{\"signal\":\"TERM\"}", false},
        {"POST", I, "/processes/1/stdin", "bytes", true},
        {"GET", I, "/processes/1/wait", NULL, true},
        {"GET", I, "/processes/1/stream", NULL, true},
        {"GET", I, "/logs", NULL, true},
        {"POST", I, "/exec", "{\"command\":\"hello\"}", true},
        {"POST", I, "/code", "{\"language\":\"python\",\"code\":\"1\"}", true},
        {"GET", I, "/git/status?path=.", NULL, false},
        {"GET", I, "/windows", NULL, false},
        {"GET", I, "/code/contexts", NULL, false},
        {"GET", D, "/files?path=.", NULL, false},
        {"GET", D, "/files/info?path=f", NULL, false},
        {"GET", D, "/files/find?path=.&pattern=x", NULL, false},
        {"POST", D, "/files/replace",
         "{\"files\":[\"f\"],\"pattern\":\"one\",\"newValue\":\"two\"}", false},
        {"GET", D, "/process/session", NULL, false},
};

/* One sandbox, and how its agent is just now. */
struct lane {
	char name[16], id[ID_SIZE + 1];
	atomic_uint victim; /* type of the request that is answered with hostility */
	atomic_uint mode;
	atomic_uint open;       /* hostile connections */
	_Atomic uint64_t asked; /* bit of each type that came */
};
static struct lane lanes[LANES];
static struct harness harness;

static bool on_request(const char *sandbox, int fd, uint16_t type)
{
	struct lane *lane = NULL;

	for (unsigned i = 0; i < LANES; i++)
		if (strcmp(lanes[i].id, sandbox) == 0)
			lane = &lanes[i];
	if (!lane || type >= AGENT_TYPE_COUNT)
		return false;
	atomic_fetch_or(&lane->asked, UINT64_C(1) << type);
	if (atomic_load(&lane->victim) != type)
		return false;
	atomic_fetch_add(&lane->open, 1);
	hostile_answer(fd, type, atomic_load(&lane->mode), seed + type);
	atomic_fetch_sub(&lane->open, 1);
	return true;
}

static int dial(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_port = htons(harness.port),
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static int send_call(const struct lane *lane, const struct row *row)
{
	AUTO(buf_done) struct buf request = BUF(16 * 1024);
	struct error err = {0};
	int fd = dial();

	buf_addf(&request, "%s %s%s%s HTTP/1.0\r\nHost: test\r\nAuthorization: Bearer %s\r\n",
	         row->method, row->place, lane->name, row->path, harness.admin);
	if (row->body)
		buf_addf(&request, "Content-Type: %s\r\nContent-Length: %zu\r\n",
		         row->body[0] == '{' ? "application/json" : "application/x-tar",
		         strlen(row->body));
	buf_add_text(&request, "\r\n");
	if (row->body)
		buf_add_text(&request, row->body);
	assert_int_equal(fd_write_all(fd, request.data, request.size, &err), 0);
	return fd;
}

/* Reads and drops until the server ends the connection. False: not within `ms`. */
static bool read_until_end(int fd, int64_t ms)
{
	int64_t deadline = deadline_after(ms);
	struct error err = {0};
	char bytes[64 * 1024];

	while (fd_wait(fd, POLLIN, deadline, &err) > 0 && deadline_poll_ms(deadline) != 0)
		if (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
			return true;
	return false;
}

static bool await_hang_up(const struct lane *lane)
{
	int64_t deadline = deadline_after(SLACK_MS);

	while (atomic_load(&lane->open) > 0 && clock_monotonic_ms() < deadline)
		(void)usleep(5000);
	return atomic_load(&lane->open) == 0;
}

struct attack {
	const struct row *row;
	uint16_t type;
	enum hostile_mode mode;
};
static struct attack attacks[COUNT_OF(rows) * 6 * HOSTILE_MODE_COUNT];
static size_t attack_count;
static atomic_size_t attack_next;

static void run_attack(struct lane *lane, const struct attack *a)
{
	AUTO_CLOSE int fd = -1;
	bool has_ended;

	atomic_store(&lane->mode, a->mode);
	atomic_store(&lane->victim, a->type);
	fd = send_call(lane, a->row);
	has_ended = read_until_end(fd, a->row->is_stream ? LEAVE_MS : DEADLINE_MS + SLACK_MS);
	if (!has_ended && !a->row->is_stream)
		fail_msg("%s %s, request %u, agent '%s': no answer by the deadline", a->row->method,
		         a->row->path, a->type, hostile_mode_names[a->mode]);
	fd_forget(&fd);
	if (!await_hang_up(lane))
		fail_msg("%s %s, request %u, agent '%s': the server keeps the agent's connection",
		         a->row->method, a->row->path, a->type, hostile_mode_names[a->mode]);
	atomic_store(&lane->victim, AGENT_NONE);
}

static void *attack_on(void *context)
{
	struct lane *lane = context;
	size_t at;

	while ((at = atomic_fetch_add(&attack_next, 1)) < attack_count)
		run_attack(lane, &attacks[at]);
	return NULL;
}

/* With an honest agent: which requests a call makes. */
static void add_attacks(const struct row *row)
{
	uint64_t asked;

	atomic_store(&lanes[0].asked, 0);
	AUTO_CLOSE int fd = send_call(&lanes[0], row);
	assert_true(read_until_end(fd, 10000));
	asked = atomic_load(&lanes[0].asked);
	if (asked == 0)
		fail_msg("%s %s asks the agent for nothing: the row is wrong", row->method,
		         row->path);
	for (uint16_t type = 0; type < AGENT_TYPE_COUNT; type++)
		for (enum hostile_mode mode = 0; mode < HOSTILE_MODE_COUNT; mode++)
			if (asked & UINT64_C(1) << type && !is_no_request(type)) {
				assert_true(attack_count < COUNT_OF(attacks));
				attacks[attack_count++] = (struct attack){row, type, mode};
			}
}

static void make_sandbox(struct lane *lane, unsigned number)
{
	AUTO(buf_done) struct buf body = BUF(128);
	struct call call = {.method = "POST", .path = "/api/sandbox/instances"};
	const char *id;

	(void)snprintf(lane->name, sizeof(lane->name), "box%u", number);
	buf_addf(&body, "{\"name\":\"%s\"}", lane->name);
	call.key = harness.admin;
	call.body = buf_span(&body);
	AUTO(answer_done) struct answer a = harness_call(&harness, &call);
	assert_int_equal(a.status, 201);
	id = strstr(a.body, "\"id\":\"");
	assert_non_null(id);
	memcpy(lane->id, id + 6, ID_SIZE);
}

TEST(every_call_ends_by_its_deadline_whatever_the_agent_sends)
{
	struct rusage usage;

	fake_agent_hook = on_request;
	for (unsigned i = 0; i < LANES; i++)
		make_sandbox(&lanes[i], i);
	for (unsigned i = 0; i < COUNT_OF(rows); i++)
		add_attacks(&rows[i]);
	run_in_lanes(attack_on, lanes, sizeof(lanes[0]));
	fake_agent_hook = NULL;
	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	assert_true(usage.ru_maxrss < MEMORY_MAX_MB * 1024L);
}

/* With deadlines that are far away: only the client's leaving can end these. */
TEST(a_client_that_hangs_up_ends_its_call)
{
	static const struct {
		struct row row;
		uint16_t victim;
		enum hostile_mode mode;
	} calls[] = {
	        {{"GET", I, "/processes", NULL, false}, AGENT_PROCESSES, HOSTILE_SILENCE},
	        {{"GET", I, "/processes/1", NULL, false}, AGENT_PROCESSES, HOSTILE_PART_OF_A_FRAME},
	        {{"DELETE", I, "/processes/1", NULL, false}, AGENT_ATTACH, HOSTILE_SILENCE},
	        {{"DELETE", I, "/processes/1", NULL, false}, AGENT_ATTACH, HOSTILE_FLOOD},
	        {{"GET", I, "/git/status?path=.", NULL, false}, AGENT_EXEC, HOSTILE_DRIP},
	        {{"GET", D, "/files/find?path=.&pattern=x", NULL, false},
	         AGENT_EXEC,
	         HOSTILE_FLOOD},
	};
	struct lane *lane = &lanes[0];

	harness_close(&harness);
	harness_open_with(&harness, &(struct harness_options){4, 60000});
	make_sandbox(lane, 0);
	fake_agent_hook = on_request;
	for (unsigned i = 0; i < COUNT_OF(calls); i++) {
		atomic_store(&lane->mode, calls[i].mode);
		atomic_store(&lane->victim, calls[i].victim);
		AUTO_CLOSE int fd = send_call(lane, &calls[i].row);
		if (read_until_end(fd, LEAVE_MS) || atomic_load(&lane->open) != 1)
			fail_msg("call %u does not wait for the agent", i);
		fd_forget(&fd);
		if (!await_hang_up(lane))
			fail_msg("call %u goes on for a client that has left", i);
		atomic_store(&lane->victim, AGENT_NONE);
	}
	fake_agent_hook = NULL;
}

int main(void)
{
	const char *text = getenv("HOSTILE_SEED");
	int failed;

	seed = text ? (unsigned)strtoul(text, NULL, 10) : 1;
	harness_open_with(&harness, &(struct harness_options){2 * LANES, DEADLINE_MS});
	failed = RUN(CASE(every_message_is_a_request_with_an_order_or_no_request),
	             CASE(every_request_ends_by_its_deadline_whatever_the_agent_sends),
	             CASE(every_call_ends_by_its_deadline_whatever_the_agent_sends),
	             CASE(a_client_that_hangs_up_ends_its_call));
	harness_close(&harness);
	return failed;
}
