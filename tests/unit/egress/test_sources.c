/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/sources.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "unit.h"

#define OWN 0x7f000005u     /* 127.0.0.5 */
#define MISSING 0xc633644du /* 198.51.100.77 */

static pid_t start(int *ret_fd)
{
	int pair[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(pair[0]);
		sources_serve(pair[1]);
		_exit(0);
	}
	(void)close(pair[1]);
	*ret_fd = pair[0];
	return pid;
}

static void wait_end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(a_socket_has_the_address_and_no_port_yet)
{
	struct sockaddr_in own = {.sin_family = AF_UNSPEC};
	socklen_t size = sizeof(own), kind_size = sizeof(int);
	struct error err = {0};
	int asks, kind = 0;
	pid_t pid = start(&asks);

	for (unsigned i = 0; i < 100; i++) {
		AUTO_CLOSE int fd = -1;

		assert_int_equal(sources_ask(asks, OWN, &fd, &err), 0);
		assert_true(fd >= 0);
		assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &size), 0);
		assert_int_equal(ntohl(own.sin_addr.s_addr), OWN);
		assert_int_equal(own.sin_port, 0);
		assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &kind_size), 0);
		assert_int_equal(kind, SOCK_STREAM);
		assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	(void)close(asks);
	wait_end(pid);
}

TEST(an_address_that_the_host_does_not_have_gives_no_socket_and_others_still_do)
{
	struct error err = {0};
	int asks, fd = -1;
	pid_t pid = start(&asks);

	assert_int_equal(sources_ask(asks, MISSING, &fd, &err), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(sources_ask(asks, OWN, &fd, &err), 0);
	assert_true(fd >= 0);
	(void)close(fd);
	(void)close(asks);
	wait_end(pid);
}

TEST(without_the_child_it_fails)
{
	struct error err = {0};
	int asks, fd = -1, status;
	pid_t pid = start(&asks);

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(sources_ask(asks, OWN, &fd, &err), -1);
	assert_int_equal(fd, -1);
	(void)close(asks);
}

int main(void)
{
	return RUN(CASE(a_socket_has_the_address_and_no_port_yet),
	           CASE(an_address_that_the_host_does_not_have_gives_no_socket_and_others_still_do),
	           CASE(without_the_child_it_fails));
}
