/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/sockios.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "wire/agent.h"
#include "wire/agent_files.h"
#include "wire/wire.h"

#define DEADLINE_MS 200
/* 200,000 messages take a sanitizer, or a loaded machine, some seconds. */
#define SLACK_MS 15000

/* A provider whose agent repeats one run of frames for as long as the other side reads. */
struct provider {
	const struct provider_ops *ops;
	struct buf once, again;
	int64_t pause_ms; /* between repetitions */
	int fd;
	atomic_bool is_over;
	atomic_bool is_read; /* the other side has read all of `once`, or gets `again` */
	pthread_t thread;
	bool has_thread;
	unsigned given_back;
};

static bool has_unread(int fd)
{
	int size = 0;

	return ioctl(fd, SIOCOUTQ, &size) == 0 && size > 0;
}

static void *flood(void *context)
{
	struct provider *p = context;
	struct error err = {0};

	if (wire_send(p->fd, buf_span(&p->once), DEADLINE_NEVER, &err) < 0)
		return NULL;
	while (p->again.size == 0 && !atomic_load(&p->is_over) && has_unread(p->fd))
		(void)usleep(1000);
	atomic_store(&p->is_read, p->again.size == 0);
	while (!atomic_load(&p->is_over) && p->again.size > 0) {
		if (wire_send(p->fd, buf_span(&p->again), deadline_after(5000), &err) < 0)
			break;
		atomic_store(&p->is_read, true);
		if (p->pause_ms > 0)
			(void)usleep((useconds_t)p->pause_ms * 1000);
	}
	return NULL;
}

static int flood_connect(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                         struct error *err)
{
	int ends[2];

	(void)id;
	(void)deadline;
	(void)err;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	p->fd = ends[1];
	assert_int_equal(pthread_create(&p->thread, NULL, flood, p), 0);
	p->has_thread = true;
	*ret_fd = ends[0];
	return 0;
}

static void flood_give_back(struct provider *p, const char *id, int fd)
{
	(void)id;
	p->given_back++;
	close(fd);
}

static const struct compute_ops flood_compute = {.connect = flood_connect,
                                                 .give_back = flood_give_back};
static const struct provider_ops flood_ops = {.name = "flood", .compute = &flood_compute};

static struct provider agent(void)
{
	return (struct provider){
	        .ops = &flood_ops, .once = BUF(1 << 20), .again = BUF(1 << 20), .fd = -1};
}

static void agent_done(struct provider *p)
{
	atomic_store(&p->is_over, true);
	if (p->fd >= 0)
		(void)shutdown(p->fd, SHUT_RDWR);
	if (p->has_thread)
		pthread_join(p->thread, NULL);
	if (p->fd >= 0)
		close(p->fd);
	buf_done(&p->once);
	buf_done(&p->again);
}

static void say(struct buf *out, uint16_t type, const struct wire_member *shape,
                const void *message)
{
	struct error err = {0};

	assert_int_equal(wire_encode(out, type, shape, message, &err), 0);
}

static void say_output(struct buf *out, const char *text)
{
	say(out, AGENT_OUTPUT, agent_output_shape,
	    &(struct agent_output){.stream = AGENT_STDOUT, .bytes = {text, strlen(text)}});
}

static const struct agent_process process = {.label = "", .user = "", .cwd = ""};
static const struct agent_file file = {.path = "x", .link = ""};

/* Asks, and reads to the end of the answer, or to the failure that is in *err. */
static int read_all(struct provider *p, uint16_t type, const struct agent_limits *limits,
                    struct error *err)
{
	static const char *const args[] = {"true", NULL};
	const struct agent_exec exec = {.args = (const char **)(uintptr_t)args};
	const struct agent_path path = {.path = "/x"};
	const struct compute_request request =
	        type == AGENT_EXEC ? (struct compute_request){type, agent_exec_shape, &exec, NULL}
	                           : (struct compute_request){type, agent_path_shape, &path, NULL};
	AUTO(agent_reader_done) struct agent_reader r;

	agent_reader_init(&r, p, "x", limits);
	if (agent_reader_ask(&r, &request, err) < 0)
		return -1;
	while (!r.has_ended)
		if (agent_reader_next(&r, err) < 0)
			return -1;
	return 0;
}

static enum error_code fails(struct provider *p, uint16_t type, struct agent_limits limits)
{
	int64_t begun = clock_monotonic_ms();
	struct error err = {0};

	if (limits.deadline == 0)
		limits.deadline = deadline_after(DEADLINE_MS);
	assert_int_equal(read_all(p, type, &limits, &err), -1);
	assert_true(clock_monotonic_ms() - begun < DEADLINE_MS + SLACK_MS);
	assert_int_equal(p->given_back, 0);
	return err.code;
}

TEST(an_answer_in_order_is_read_and_its_connection_given_back)
{
	AUTO(agent_done) struct provider p = agent();
	struct error err = {0};

	say(&p.once, AGENT_STARTED, agent_process_shape, &process);
	say_output(&p.once, "hello");
	say(&p.once, AGENT_EXIT, agent_process_shape, &process);
	assert_int_equal(
	        read_all(&p, AGENT_EXEC, &(struct agent_limits){deadline_after(5000)}, &err), 0);
	assert_int_equal(p.given_back, 1);
}

TEST(a_deadline_holds_while_output_never_stops_coming)
{
	AUTO(agent_done) struct provider p = agent();

	say(&p.once, AGENT_STARTED, agent_process_shape, &process);
	say_output(&p.again, "more");
	assert_int_equal(fails(&p, AGENT_EXEC, (struct agent_limits){0}), ERROR_TIMEOUT);
}

TEST(a_deadline_holds_while_a_frame_comes_byte_by_byte)
{
	AUTO(agent_done) struct provider p = agent();
	unsigned char head[WIRE_HEAD_SIZE];

	say(&p.once, AGENT_STARTED, agent_process_shape, &process);
	wire_put_head(head, AGENT_OUTPUT, WIRE_PAYLOAD_MAX);
	buf_add(&p.once, head, sizeof(head));
	buf_add_text(&p.again, "x");
	p.pause_ms = 1;
	assert_int_equal(fails(&p, AGENT_EXEC, (struct agent_limits){0}), ERROR_TIMEOUT);
}

TEST(frames_without_content_are_counted_and_refused)
{
	AUTO(agent_done) struct provider p = agent();
	AUTO(agent_done) struct provider q = agent();

	say(&p.once, AGENT_STARTED, agent_process_shape, &process);
	say_output(&p.again, "");
	assert_int_equal(fails(&p, AGENT_EXEC, (struct agent_limits){deadline_after(60000)}),
	                 ERROR_LIMIT);
	say(&q.once, AGENT_FILE, agent_file_shape, &file);
	wire_add_frame(&q.again, AGENT_DATA, (struct span){NULL, 0});
	assert_int_equal(fails(&q, AGENT_READ, (struct agent_limits){deadline_after(60000)}),
	                 ERROR_LIMIT);
}

TEST(a_header_that_is_repeated_is_refused)
{
	AUTO(agent_done) struct provider p = agent();

	say(&p.again, AGENT_STARTED, agent_process_shape, &process);
	assert_int_equal(fails(&p, AGENT_EXEC, (struct agent_limits){deadline_after(60000)}),
	                 ERROR_SYSTEM);
}

TEST(a_message_out_of_order_or_unknown_is_refused)
{
	AUTO(agent_done) struct provider p = agent();
	AUTO(agent_done) struct provider q = agent();
	AUTO(agent_done) struct provider r = agent();

	wire_add_frame(&p.once, AGENT_DATA, SPAN("no file was named"));
	assert_int_equal(fails(&p, AGENT_READ, (struct agent_limits){0}), ERROR_SYSTEM);
	wire_add_frame(&q.once, 999, SPAN("?"));
	assert_int_equal(fails(&q, AGENT_EXEC, (struct agent_limits){0}), ERROR_SYSTEM);
	say(&r.once, AGENT_PONG, agent_pong_shape, &(struct agent_pong){.boot_id = ""});
	assert_int_equal(fails(&r, AGENT_STAT, (struct agent_limits){0}), ERROR_SYSTEM);
}

TEST(an_answer_that_is_no_stream_has_a_greatest_length)
{
	AUTO(agent_done) struct provider p = agent();

	for (unsigned i = 0; i < 1000; i++)
		say(&p.again, AGENT_FILE, agent_file_shape, &file);
	assert_int_equal(fails(&p, AGENT_LIST, (struct agent_limits){deadline_after(60000)}),
	                 ERROR_TOO_LARGE);
}

TEST(content_that_comes_too_slowly_ends_the_call_before_its_deadline)
{
	AUTO(agent_done) struct provider p = agent();

	say(&p.once, AGENT_FILE, agent_file_shape, &file);
	wire_add_frame(&p.again, AGENT_DATA, SPAN("drop"));
	p.pause_ms = 20;
	assert_int_equal(fails(&p, AGENT_READ,
	                       (struct agent_limits){.deadline = deadline_after(60000),
	                                             .rate_min = 1 << 20,
	                                             .grace_ms = 100}),
	                 ERROR_TIMEOUT);
}

struct canceller {
	struct provider *agent;
	struct cancel cancel;
};

static void *cancel_when_read(void *context)
{
	struct canceller *c = context;

	while (!atomic_load(&c->agent->is_read))
		(void)usleep(1000);
	cancel_say(&c->cancel);
	return NULL;
}

/* In the middle of a frame, too, where the agent owes only the rest. */
TEST(a_call_that_is_cancelled_ends_at_once)
{
	for (unsigned is_flood = 0; is_flood < 2; is_flood++) {
		AUTO(agent_done) struct provider p = agent();
		struct error err = {0};
		struct canceller c = {.agent = &p};
		pthread_t thread;

		assert_int_equal(cancel_init(&c.cancel, &err), 0);
		say(&p.once, AGENT_STARTED, agent_process_shape, &process);
		if (is_flood)
			say_output(&p.again, "more");
		else
			buf_add(&p.once, "\1\0\0", 3);
		assert_int_equal(pthread_create(&thread, NULL, cancel_when_read, &c), 0);
		assert_int_equal(fails(&p, AGENT_EXEC,
		                       (struct agent_limits){.deadline = deadline_after(60000),
		                                             .cancel = &c.cancel}),
		                 ERROR_UNAVAILABLE);
		pthread_join(thread, NULL);
		cancel_done(&c.cancel);
	}
}

TEST(a_wait_ends_at_its_time_although_bytes_are_there)
{
	AUTO(agent_done) struct provider p = agent();
	static const char *const args[] = {"true", NULL};
	const struct agent_exec exec = {.args = (const char **)(uintptr_t)args};
	const struct compute_request request = {AGENT_EXEC, agent_exec_shape, &exec, NULL};
	const struct agent_limits limits = {.deadline = deadline_after(5000)};
	AUTO(agent_reader_done) struct agent_reader r;
	struct error err = {0};

	say(&p.once, AGENT_STARTED, agent_process_shape, &process);
	agent_reader_init(&r, &p, "x", &limits);
	assert_int_equal(agent_reader_ask(&r, &request, &err), 0);
	assert_int_equal(agent_reader_wait(&r, deadline_after(5000), &err), 1);
	assert_int_equal(agent_reader_wait(&r, deadline_after(0), &err), 0);
	assert_int_equal(agent_reader_next(&r, &err), 0);
	assert_int_equal(agent_reader_wait(&r, deadline_after(10), &err), 0);
}

int main(void)
{
	return RUN(CASE(an_answer_in_order_is_read_and_its_connection_given_back),
	           CASE(a_deadline_holds_while_output_never_stops_coming),
	           CASE(a_deadline_holds_while_a_frame_comes_byte_by_byte),
	           CASE(frames_without_content_are_counted_and_refused),
	           CASE(a_header_that_is_repeated_is_refused),
	           CASE(a_message_out_of_order_or_unknown_is_refused),
	           CASE(an_answer_that_is_no_stream_has_a_greatest_length),
	           CASE(content_that_comes_too_slowly_ends_the_call_before_its_deadline),
	           CASE(a_call_that_is_cancelled_ends_at_once),
	           CASE(a_wait_ends_at_its_time_although_bytes_are_there));
}
