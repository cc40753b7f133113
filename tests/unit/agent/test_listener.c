/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/listener.h"
#include "base/clock.h"
#include "base/fd.h"

#define FILES 128

/* ---- an agent that may open so many files ---- */

static struct box start_with_files(rlim_t files)
{
	struct rlimit before, few;
	struct box b;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){files, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	b = box_start(BOX_HOST);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	return b;
}

/* Whether a new connection gets an answer to a ping; else the agent says why not, perhaps before
 * it was asked. */
static bool ping(struct box *b, int *ret_fd)
{
	AUTO(buf_done) struct buf frame = BUF(64);
	struct agent_failed failed;
	struct error err;
	uint16_t type;

	*ret_fd = box_connect(b);
	assert_int_equal(wire_encode(&frame, AGENT_PING, NULL, NULL, &err), 0);
	(void)!send(*ret_fd, frame.data, frame.size, MSG_NOSIGNAL);
	type = hear_any(b, *ret_fd);
	if (type == AGENT_PONG)
		return true;
	assert_int_equal(type, AGENT_FAILED);
	assert_int_equal(wire_decode(&b->arena, buf_span(&b->payload), agent_failed_shape, &failed,
	                             sizeof(failed), &err),
	                 0);
	assert_int_equal(failed.sys_errno, EMFILE);
	assert_string_equal(failed.text, "the agent has no descriptors left");
	assert_true(strlen(failed.hint) > 0);
	return false;
}

TEST(connections_past_the_last_descriptor_are_told_so_and_closed)
{
	struct box b = start_with_files(FILES);
	int fds[FILES + 20];
	unsigned served = 0;

	for (unsigned i = 0; i < COUNT_OF(fds); i++)
		served += ping(&b, &fds[i]);
	assert_in_range(served, FILES / 2, FILES);
	for (unsigned i = 0; i < COUNT_OF(fds); i++)
		close(fds[i]);
	/* It takes its time to see that they have gone. */
	for (int64_t deadline = deadline_after(PATIENCE_MS);;) {
		bool is_served = ping(&b, &fds[0]);

		close(fds[0]);
		if (is_served)
			break;
		assert_true(clock_monotonic_ms() < deadline);
	}
	box_end(&b);
}

TEST(commands_leave_descriptors_for_calls_that_end_them)
{
	struct box b = start_with_files(FILES);
	const char *args[] = {"sleep", "1000", NULL}, *nothing[] = {"true", NULL};
	const struct agent_exec sleeper = {.args = args, .cwd = "", .flags = AGENT_EXEC_DETACH};
	AUTO_CLOSE int fd = box_connect(&b), other = -1;
	struct agent_process process;
	struct agent_failed failed;
	unsigned count = 0;
	struct error err;
	uint16_t type;

	do {
		say(&b, fd, AGENT_EXEC, agent_exec_shape, &sleeper);
		type = hear_any(&b, fd);
		if (type == AGENT_STARTED)
			assert_int_equal(hear_done(&b, fd), 0);
		count += type == AGENT_STARTED;
		assert_true(count < FILES);
	} while (type == AGENT_STARTED);
	assert_int_equal(type, AGENT_FAILED);
	assert_int_equal(wire_decode(&b.arena, buf_span(&b.payload), agent_failed_shape, &failed,
	                             sizeof(failed), &err),
	                 0);
	assert_int_equal(failed.code, ERROR_LIMIT);
	assert_non_null(strstr(failed.text, "64 of which are kept for calls"));
	assert_true(count >= 8);

	assert_true(ping(&b, &other));
	say(&b, other, AGENT_PROCESSES, NULL, NULL);
	for (unsigned i = 0; i < count; i++)
		HEAR(&b, other, AGENT_PROCESS, agent_process, &process);
	assert_int_equal(hear_done(&b, other), count);
	for (unsigned i = 1; i <= count; i++) {
		const struct agent_signal end = {.process = i, .signal = SIGKILL, .whole_tree = 1};

		say(&b, other, AGENT_SIGNAL, agent_signal_shape, &end);
		(void)hear_done(&b, other);
	}
	box_wait_for_children(&b, 0);
	AUTO(ran_done)
	struct ran ran = exec(&b, fd, &(struct agent_exec){.args = nothing, .cwd = ""});
	assert_int_equal(ran.process.exit_code, 0);
	box_end(&b);
}

/* ---- a kernel that refuses ---- */

static unsigned asked;
static int failure; /* of accept, with the spare descriptor as without it */

static int accept_nothing(int listener)
{
	(void)listener;
	asked++;
	errno = failure;
	return -1;
}

static struct agent make_agent(int *ret_client)
{
	struct agent a = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
	int pair[2];

	/* Something that is always ready to read. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(write(pair[1], "x", 1), 1);
	listener_init(&a.listener, pair[0]);
	a.listener.accept = accept_nothing;
	watch_set(&a, &a.listener.watch, EPOLLIN);
	asked = 0;
	*ret_client = pair[1];
	return a;
}

static void end_agent(struct agent *a, int client)
{
	watch_close(a, &a->listener.watch);
	close(a->listener.spare);
	close(a->epoll);
	close(client);
}

static bool is_ready(struct agent *a)
{
	struct epoll_event event;

	return epoll_wait(a->epoll, &event, 1, 0) == 1;
}

TEST(a_full_table_of_files_of_the_host_rests_the_listener_and_keeps_the_spare)
{
	static const int failures[] = {ENFILE, EMFILE, ENOMEM, ENOBUFS};

	for (unsigned i = 0; i < COUNT_OF(failures); i++) {
		int client;
		struct agent a = make_agent(&client);

		failure = failures[i];
		assert_true(is_ready(&a));
		assert_int_equal(listener_accept(&a, &a.listener), -1);
		assert_in_range(asked, 1, 2);
		assert_true(a.listener.spare >= 0);
		/* No event, although the connection is still there: the loop sleeps. */
		assert_false(is_ready(&a));
		assert_true(listener_next_deadline(&a.listener) <=
		            deadline_after(LISTENER_REST_MS));
		listener_run_timer(&a, &a.listener, listener_next_deadline(&a.listener) - 1);
		assert_false(is_ready(&a));
		listener_run_timer(&a, &a.listener, listener_next_deadline(&a.listener));
		assert_true(is_ready(&a));
		assert_true(listener_next_deadline(&a.listener) == DEADLINE_NEVER);
		end_agent(&a, client);
	}
}

TEST(a_connection_that_has_gone_meanwhile_is_no_reason_to_rest)
{
	static const int failures[] = {EAGAIN, ECONNABORTED, EINTR};

	for (unsigned i = 0; i < COUNT_OF(failures); i++) {
		int client;
		struct agent a = make_agent(&client);

		failure = failures[i];
		assert_int_equal(listener_accept(&a, &a.listener), -1);
		assert_int_equal(asked, 1);
		assert_true(is_ready(&a));
		end_agent(&a, client);
	}
}

int main(void)
{
	return RUN(CASE(connections_past_the_last_descriptor_are_told_so_and_closed),
	           CASE(commands_leave_descriptors_for_calls_that_end_them),
	           CASE(a_full_table_of_files_of_the_host_rests_the_listener_and_keeps_the_spare),
	           CASE(a_connection_that_has_gone_meanwhile_is_no_reason_to_rest));
}
