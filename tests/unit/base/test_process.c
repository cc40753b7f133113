/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

/* A child that waits to be killed, and dies with its parent. */
static pid_t start_child(const char *name)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)prctl(PR_SET_NAME, name);
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0);
	return pid;
}

TEST(a_pidfd_signals_its_process_and_ends_with_it)
{
	pid_t pid = start_child("plain");
	struct error err;
	int pidfd;

	assert_int_equal(pidfd_open_of(pid, &pidfd, &err), 0);
	assert_int_equal(fcntl(pidfd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(pidfd_signal(pidfd, 0, &err), 0);
	assert_true(pidfd_is_alive(pidfd));
	assert_int_equal(pidfd_signal(pidfd, SIGKILL, &err), 0);
	assert_int_equal(fd_wait(pidfd, POLLIN, DEADLINE_NEVER, &err), 1);
	assert_int_equal(pidfd_signal(pidfd, 0, &err), 0);
	assert_false(pidfd_is_alive(pidfd));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(pidfd_is_alive(pidfd));
	assert_int_equal(pidfd_signal(pidfd, SIGKILL, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(close(pidfd), 0);
	assert_int_equal(pidfd_open_of(pid, &pidfd, &err), -1);
}

TEST(the_start_time_is_read_past_any_process_name)
{
	pid_t pid = start_child(") 1 2 (x) S");
	uint64_t mine = 0, first = 0, second = 1;
	struct error err;

	assert_int_equal(process_start_time(getpid(), &mine, &err), 0);
	assert_int_equal(process_start_time(pid, &first, &err), 0);
	assert_int_equal(process_start_time(pid, &second, &err), 0);
	assert_true(first == second);
	assert_true(first >= mine && mine > 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(process_start_time(pid, &first, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

int main(void)
{
	return RUN(CASE(a_pidfd_signals_its_process_and_ends_with_it),
	           CASE(the_start_time_is_read_past_any_process_name));
}
