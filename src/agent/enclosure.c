/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/enclosure.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/plain_statx.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "isolation/plan.h"
#include "wire/wire.h"

#define READY_MS 8000
#define ID "sandbox"

/* Writes of runsc and of the agent inside never wait, and the outer agent reads them only when the
 * start fails. */
#define WORDS_MAX 400

/* With "host" gVisor passes socket calls to the kernel, in the network namespace of this agent: the
 * sandbox's own. */
static NORETURN void execute_runsc(int socket, int words, bool has_network)
{
	const char *const argv[] = {"runsc",
	                            "--root=" ENCLOSURE_STATE,
	                            "--platform=ptrace",
	                            has_network ? "--network=host" : "--network=none",
	                            "--ignore-cgroups",
	                            "--host-uds=none",
	                            "--log=/dev/null",
	                            "run",
	                            "--bundle=" ENCLOSURE_BUNDLE,
	                            ID,
	                            NULL};
	static const char *const envp[] = {"PATH=/", "TMPDIR=/tmp", NULL};
	sigset_t none;

	if (dup2(socket, STDIN_FILENO) < 0 || dup2(words, STDOUT_FILENO) < 0 ||
	    dup2(words, STDERR_FILENO) < 0)
		_exit(126);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)execve(ENCLOSURE_PROGRAM, (char *const *)(uintptr_t)argv,
	             (char *const *)(uintptr_t)envp);
	_exit(127);
}

/* A process that a signal ended wrote nothing, so the status is part of the error. */
static int report_end(pid_t runsc, int words, struct error *err)
{
	char text[WORDS_MAX];
	const char *line;
	ssize_t got;
	int status = 0;

	(void)waitpid(runsc, &status, 0); /* it holds the socket until it ends */
	got = read(words, text, sizeof(text) - 1);
	text[got > 0 ? got : 0] = '\0';
	line = text + strspn(text, "\r\n");
	return FAIL(err, ERROR_SYSTEM,
	            "runsc ended before the agent ran in it (exit code %d, signal %d): %.*s",
	            WIFEXITED(status) ? WEXITSTATUS(status) : 0,
	            WIFSIGNALED(status) ? WTERMSIG(status) : 0, (int)strcspn(line, "\r\n"), line);
}

/* runsc keeps the other end as long as it lives, so its end is an end of file. */
static int wait_until_ready(int fd, pid_t runsc, int words, struct error *err)
{
	ssize_t got;
	char byte;

	if (fd_wait(fd, POLLIN, deadline_after(READY_MS), err) < 0)
		return FAIL_CONTEXT(err, "wait for gVisor");
	got = recv(fd, &byte, 1, MSG_DONTWAIT);
	if (got < 0)
		return FAIL_ERRNO(err, "wait for gVisor");
	return got == 1 ? 0 : report_end(runsc, words, err);
}

int enclosure_start(bool has_network, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int near = -1, far = -1;
	int fds[2], words[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return FAIL_ERRNO(err, "make a socket for gVisor");
	near = fds[0];
	far = fds[1];
	/* It stays open as long as this agent: a write must not fail. */
	if (pipe2(words, O_CLOEXEC | O_NONBLOCK) < 0)
		return FAIL_ERRNO(err, "make a pipe for gVisor");
	pid = fork();
	if (pid < 0)
		return FAIL_ERRNO(err, "fork");
	if (pid == 0)
		execute_runsc(far, words[1], has_network);
	(void)close(words[1]);
	fd_forget(&far);
	if (wait_until_ready(near, pid, words[0], err) < 0)
		return -1;
	if (file_poke(AT_FDCWD, ENCLOSURE_NAMESPACES_FILE, "0", err) < 0)
		return FAIL_CONTEXT(err, "forbid more namespaces");
	*ret_fd = TAKE_FD(near);
	return 0;
}

/* A connection that cannot be handed over is closed, and its client sees that. */
static void hand_over_connection(int listener, int handed)
{
	AUTO_CLOSE int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	const struct wire_fds fds = {.fds = {fd}, .count = 1};
	struct error ignored = {0};

	if (fd >= 0)
		(void)!wire_send_packet(handed, SPAN("c"), &fds, deadline_after(0), &ignored);
}

/* As process 1 it also reaps what runsc leaves behind. True: runsc has ended. */
static bool reap_children(int handed)
{
	struct pollfd end = {.fd = handed, .events = POLLRDHUP};

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return poll(&end, 1, 0) > 0 && (end.revents & (POLLHUP | POLLRDHUP));
}

void enclosure_run(int listener, int handed)
{
	sigset_t signals;
	struct signalfd_siginfo info;
	AUTO_CLOSE int children = -1;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGCHLD);
	children = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (children < 0)
		return;
	for (;;) {
		struct pollfd entries[] = {{.fd = listener, .events = POLLIN},
		                           {.fd = children, .events = POLLIN},
		                           {.fd = handed, .events = POLLRDHUP}};

		(void)poll(entries, COUNT_OF(entries), -1);
		(void)!read(children, &info, sizeof(info));
		if (reap_children(handed))
			return;
		if (entries[0].revents)
			hand_over_connection(listener, handed);
	}
}

int enclosure_take_socket(int fd, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int socket = fcntl(fd, F_DUPFD_CLOEXEC, 3), null = -1;

	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (socket < 0 || null < 0 || dup2(null, fd) < 0)
		return FAIL_ERRNO(err, "take descriptor %d", fd);
	*ret_fd = TAKE_FD(socket);
	return 0;
}

int enclosure_tell_ready(int handed, struct error *err)
{
	if (plain_statx_install(err) < 0)
		return -1;
	return send(handed, "r", 1, MSG_NOSIGNAL) == 1 ? 0
	                                               : FAIL_ERRNO(err, "say that the agent runs");
}

int enclosure_accept(int handed)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
	                         .msg_iovlen = 1,
	                         .msg_control = &control,
	                         .msg_controllen = sizeof(control)};
	struct cmsghdr *head;
	int fd;

	if (recvmsg(handed, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return -1;
	head = CMSG_FIRSTHDR(&message);
	if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof(int))) {
		errno = EAGAIN;
		return -1;
	}
	memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}
