/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "provider/agent_reverse.h"
#include "wire/agent.h"
#include "wire/agent_reverse.h"

#define SANDBOX "abcdefghijklmnopqrst"
#define OTHER "bcdefghijklmnopqrstu"
#define TOKEN "0123456789abcdef"

struct fixture {
	char dir[128];
	struct agent_reverse *reverse;
	int gone[2]; /* a pipe that gets a byte for each broken control connection */
};

static void on_gone(void *context, const char *id)
{
	struct fixture *f = context;

	assert_string_equal(id, SANDBOX);
	assert_int_equal(write(f->gone[1], "x", 1), 1);
}

static void start(struct fixture *f)
{
	struct error err = {0};

	*f = (struct fixture){.reverse = NULL};
	unit_folder(f->dir, sizeof(f->dir), "reverse");
	assert_int_equal(pipe(f->gone), 0);
	const struct agent_reverse_options options = {f->dir, on_gone, f};
	assert_int_equal(agent_reverse_open(&options, &f->reverse, &err), 0);
	assert_int_equal(agent_reverse_listen(f->reverse, SANDBOX, TOKEN, &err), 0);
}

static void stop(struct fixture *f)
{
	agent_reverse_close(f->reverse);
	close(f->gone[0]);
	close(f->gone[1]);
	unit_remove_folder(f->dir);
}

/* What an agent does; `token` NULL: says nothing. */
static int call_host(const struct fixture *f, const char *token, uint64_t stream)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO(buf_done) struct buf frame = BUF(1024);
	const struct agent_hello hello = {AGENT_PROTOCOL, stream, token};
	struct error err = {0};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%.60s/" SANDBOX "/agent.sock",
	               f->dir);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	if (token) {
		assert_int_equal(wire_encode(&frame, AGENT_HELLO, agent_hello_shape, &hello, &err),
		                 0);
		assert_int_equal(wire_send(fd, buf_span(&frame), deadline_after(5000), &err), 0);
	}
	return fd;
}

/* Waits until the host has closed it. */
static void assert_closed(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char byte;

	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
}

static uint64_t take_open(int control)
{
	AUTO(buf_done) struct buf payload = BUF(64);
	AUTO(arena_done) struct arena arena = {0};
	struct agent_open message;
	struct error err = {0};
	uint16_t type;

	assert_int_equal(wire_receive(control, deadline_after(5000), &type, &payload, &err), 0);
	assert_int_equal(type, AGENT_OPEN);
	assert_int_equal(wire_decode(&arena, buf_span(&payload), agent_open_shape, &message,
	                             sizeof(message), &err),
	                 0);
	return message.stream;
}

struct connecting {
	struct fixture *fixture;
	pthread_t thread;
	int64_t deadline;
	const struct cancel *cancel;
	int fd, status;
	struct error err;
};

static void *run_connect(void *argument)
{
	struct connecting *c = argument;

	cancel_set_current(c->cancel);
	c->status =
	        agent_reverse_connect(c->fixture->reverse, SANDBOX, c->deadline, &c->fd, &c->err);
	return NULL;
}

static void begin_connect(struct connecting *c, struct fixture *f, int64_t wait_ms)
{
	*c = (struct connecting){.fixture = f, .fd = -1, .deadline = deadline_after(wait_ms)};
	assert_int_equal(pthread_create(&c->thread, NULL, run_connect, c), 0);
}

static void assert_same_stream(int ours, int theirs)
{
	char byte = 0;

	assert_int_equal(send(theirs, "y", 1, 0), 1);
	assert_int_equal(recv(ours, &byte, 1, 0), 1);
	assert_int_equal(byte, 'y');
	close(ours);
	close(theirs);
}

TEST(an_agent_is_asked_on_its_line_and_connects_again)
{
	struct connecting connecting;
	struct error err = {0};
	struct fixture f;

	start(&f);
	int control = call_host(&f, TOKEN, 0);
	assert_int_equal(agent_reverse_await(f.reverse, SANDBOX, deadline_after(5000), &err), 0);
	assert_true(agent_reverse_is_connected(f.reverse, SANDBOX));
	begin_connect(&connecting, &f, 5000);
	int stream = call_host(&f, TOKEN, take_open(control));
	pthread_join(connecting.thread, NULL);
	assert_int_equal(connecting.status, 0);
	assert_same_stream(connecting.fd, stream);
	close(control);
	stop(&f);
}

TEST(a_call_waits_for_an_agent_that_comes_later_and_for_its_next_connection)
{
	struct connecting connecting;
	struct fixture f;

	start(&f);
	begin_connect(&connecting, &f, 5000);
	int control = call_host(&f, TOKEN, 0);
	uint64_t first = take_open(control);
	close(control); /* the agent lost it before it could connect */
	control = call_host(&f, TOKEN, 0);
	uint64_t second = take_open(control);
	assert_true(second != first);
	int stream = call_host(&f, TOKEN, second);
	pthread_join(connecting.thread, NULL);
	assert_int_equal(connecting.status, 0);
	assert_same_stream(connecting.fd, stream);
	close(control);
	stop(&f);
}

TEST(a_wrong_token_a_wrong_number_and_nonsense_are_refused)
{
	struct error err = {0};
	struct fixture f;

	start(&f);
	assert_closed(call_host(&f, "0123456789abcdeF", 0));
	assert_closed(call_host(&f, "", 0));
	assert_closed(call_host(&f, TOKEN "0", 0));
	assert_closed(call_host(&f, TOKEN, 77));
	int fd = call_host(&f, NULL, 0);
	assert_int_equal(send(fd, "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
	assert_closed(fd);
	assert_false(agent_reverse_is_connected(f.reverse, SANDBOX));
	assert_int_equal(agent_reverse_await(f.reverse, SANDBOX, deadline_after(20), &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	stop(&f);
}

TEST(a_message_in_pieces_is_understood_and_an_endless_one_is_not)
{
	AUTO(buf_done) struct buf frame = BUF(1024);
	const struct agent_hello hello = {AGENT_PROTOCOL, 0, TOKEN};
	char much[4096] = {0};
	struct error err = {0};
	struct fixture f;

	start(&f);
	assert_int_equal(wire_encode(&frame, AGENT_HELLO, agent_hello_shape, &hello, &err), 0);
	int control = call_host(&f, NULL, 0);
	for (size_t i = 0; i < frame.size; i++)
		assert_int_equal(send(control, frame.data + i, 1, 0), 1);
	assert_int_equal(agent_reverse_await(f.reverse, SANDBOX, deadline_after(5000), &err), 0);
	int fd = call_host(&f, NULL, 0);
	much[2] = 1; /* a frame of 64 KiB */
	(void)!send(fd, much, sizeof(much), MSG_NOSIGNAL);
	assert_closed(fd);
	close(control);
	stop(&f);
}

TEST(silent_peers_are_closed_oldest_first_and_do_not_keep_the_agent_out)
{
	struct error err = {0};
	struct fixture f;
	int silent[20];

	start(&f);
	for (size_t i = 0; i < COUNT_OF(silent); i++)
		silent[i] = call_host(&f, NULL, 0);
	for (size_t i = 0; i < 4; i++)
		assert_closed(silent[i]);
	int control = call_host(&f, TOKEN, 0);
	assert_int_equal(agent_reverse_await(f.reverse, SANDBOX, deadline_after(5000), &err), 0);
	for (size_t i = 4; i < COUNT_OF(silent); i++)
		close(silent[i]);
	close(control);
	stop(&f);
}

TEST(a_broken_line_is_reported_once)
{
	struct pollfd p = {.events = POLLIN};
	struct error err = {0};
	struct fixture f;
	char bytes[8];

	start(&f);
	p.fd = f.gone[0];
	int control = call_host(&f, TOKEN, 0);
	assert_int_equal(agent_reverse_await(f.reverse, SANDBOX, deadline_after(5000), &err), 0);
	close(control);
	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_int_equal(read(f.gone[0], bytes, sizeof(bytes)), 1);
	assert_false(agent_reverse_is_connected(f.reverse, SANDBOX));
	/* An agent may not send on its control connection either. */
	control = call_host(&f, TOKEN, 0);
	assert_int_equal(agent_reverse_await(f.reverse, SANDBOX, deadline_after(5000), &err), 0);
	assert_int_equal(send(control, "x", 1, MSG_NOSIGNAL), 1);
	assert_closed(control);
	assert_int_equal(poll(&p, 1, 5000), 1);
	stop(&f);
}

TEST(a_cancelled_call_ends_early_and_asks_the_agent_once)
{
	struct connecting connecting = {.fd = -1, .deadline = deadline_after(20000)};
	struct pollfd p = {.events = POLLIN};
	struct cancel cancel;
	struct error err = {0};
	struct fixture f;

	start(&f);
	assert_int_equal(cancel_init(&cancel, &err), 0);
	p.fd = call_host(&f, TOKEN, 0);
	connecting.fixture = &f;
	connecting.cancel = &cancel;
	assert_int_equal(pthread_create(&connecting.thread, NULL, run_connect, &connecting), 0);
	(void)take_open(p.fd);
	assert_int_equal(poll(&p, 1, 500), 0); /* it waits on without another question */
	cancel_say(&cancel);
	pthread_join(connecting.thread, NULL);
	assert_int_equal(connecting.status, -1);
	assert_int_equal(connecting.err.code, ERROR_UNAVAILABLE);
	assert_true(deadline_poll_ms(connecting.deadline) > 10000);
	close(p.fd);
	cancel_done(&cancel);
	stop(&f);
}

TEST(a_forgotten_sandbox_ends_the_calls_that_wait_for_it)
{
	struct connecting connecting;
	struct error err = {0};
	struct fixture f;
	char path[256];
	int fd;

	start(&f);
	int control = call_host(&f, TOKEN, 0);
	begin_connect(&connecting, &f, 20000);
	(void)take_open(control);
	agent_reverse_forget(f.reverse, SANDBOX);
	pthread_join(connecting.thread, NULL);
	assert_int_equal(connecting.status, -1);
	assert_int_equal(connecting.err.code, ERROR_UNAVAILABLE);
	assert_closed(control);
	assert_int_equal(agent_reverse_connect(f.reverse, SANDBOX, deadline_after(10), &fd, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	(void)snprintf(path, sizeof(path), "%s/" SANDBOX, f.dir);
	assert_int_equal(access(path, F_OK), 0);
	agent_reverse_remove_folder(f.reverse, SANDBOX);
	assert_int_equal(access(path, F_OK), -1);
	stop(&f);
}

TEST(a_socket_of_an_earlier_run_is_replaced_and_a_bad_id_is_refused)
{
	struct error err = {0};
	struct fixture f;

	start(&f);
	agent_reverse_forget(f.reverse, SANDBOX);
	assert_int_equal(agent_reverse_listen(f.reverse, SANDBOX, TOKEN, &err), 0);
	assert_int_equal(agent_reverse_listen(f.reverse, SANDBOX, "another", &err), 0);
	int control = call_host(&f, TOKEN, 0);
	assert_int_equal(agent_reverse_await(f.reverse, SANDBOX, deadline_after(5000), &err), 0);
	close(control);
	assert_int_equal(agent_reverse_listen(f.reverse, "../../etc", TOKEN, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(agent_reverse_listen(f.reverse, OTHER, "", &err), -1);
	assert_false(agent_reverse_listens(f.reverse, OTHER));
	stop(&f);
}

int main(void)
{
	return RUN(CASE(an_agent_is_asked_on_its_line_and_connects_again),
	           CASE(a_call_waits_for_an_agent_that_comes_later_and_for_its_next_connection),
	           CASE(a_wrong_token_a_wrong_number_and_nonsense_are_refused),
	           CASE(a_message_in_pieces_is_understood_and_an_endless_one_is_not),
	           CASE(silent_peers_are_closed_oldest_first_and_do_not_keep_the_agent_out),
	           CASE(a_broken_line_is_reported_once),
	           CASE(a_cancelled_call_ends_early_and_asks_the_agent_once),
	           CASE(a_forgotten_sandbox_ends_the_calls_that_wait_for_it),
	           CASE(a_socket_of_an_earlier_run_is_replaced_and_a_bad_id_is_refused));
}
