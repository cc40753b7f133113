/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway as a process, with guests on loopback. */
#include "egress/egress.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "unit.h"

#define WAIT_MS 15000
#define GUESTS 4

struct running {
	pid_t pid;
	int log_fd;
	uint16_t http_port;
};

static int open_socket(int kind, uint16_t *ret_port)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
	                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size = sizeof(here);

	assert_int_equal(bind(fd, (const struct sockaddr *)&here, sizeof(here)), 0);
	assert_true(kind == SOCK_DGRAM || listen(fd, 16) == 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&here, &size), 0);
	*ret_port = ntohs(here.sin_port);
	return fd;
}

/* From now on there is one descriptor. */
static int leave_one(UNUSED const void *context, UNUSED struct error *err)
{
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct rlimit limit = {(rlim_t)next + 1, (rlim_t)next + 1};

	(void)close(next);
	return setrlimit(RLIMIT_NOFILE, &limit);
}

static struct running start(void)
{
	uint16_t port, ignored;
	struct egress_options options = {.handover_fd = -1,
	                                 .sources_fd = -1,
	                                 .reports_fd = -1,
	                                 .subnet = "127.0.0.0/8",
	                                 .allow = "",
	                                 .nameservers = "127.0.0.1",
	                                 .confine = leave_one};
	struct running r;
	struct error err;
	int log[2];

	options.http_fd = open_socket(SOCK_STREAM, &port);
	options.tls_fd = open_socket(SOCK_STREAM, &ignored);
	options.dns_fd = open_socket(SOCK_DGRAM, &ignored);
	/* Where no guest has rules. */
	options.rules_fd = open("/proc/self/fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(pipe2(log, O_CLOEXEC), 0);
	r = (struct running){.pid = fork(), .log_fd = log[0], .http_port = port};
	if (r.pid == 0) {
		(void)dup2(log[1], STDERR_FILENO);
		(void)!egress_run(&options, &err);
		_exit(1);
	}
	(void)close(log[1]);
	(void)close(options.http_fd);
	(void)close(options.tls_fd);
	(void)close(options.dns_fd);
	(void)close(options.rules_fd);
	return r;
}

static int connect_to(uint16_t port)
{
	const struct sockaddr_in there = {.sin_family = AF_INET,
	                                  .sin_port = htons(port),
	                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&there, sizeof(there)), 0);
	return fd;
}

static void read_until(int fd, const char *word)
{
	AUTO(buf_done) struct buf text = BUF(1 << 20);
	int64_t deadline = deadline_after(WAIT_MS);
	struct error err = {0};
	char piece[4096];

	while (!strstr(buf_text(&text), word)) {
		ssize_t got = fd_wait(fd, POLLIN, deadline, &err) > 0
		                      ? read(fd, piece, sizeof(piece))
		                      : 0;

		if (got <= 0)
			fail_msg("no '%s' in '%s'", word, buf_text(&text));
		buf_add(&text, piece, (size_t)got);
	}
}

/* Each takes the only descriptor, until it is refused: the others are not lost, and it pauses in
 * place of asking again and again. */
TEST(guests_wait_when_there_are_no_descriptors)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n";
	struct running r = start();
	int fds[GUESTS];

	for (unsigned i = 0; i < GUESTS; i++)
		fds[i] = connect_to(r.http_port);
	read_until(r.log_fd, "cannot accept, pausing");
	for (unsigned i = 0; i < GUESTS; i++) {
		assert_int_equal(write(fds[i], request, sizeof(request) - 1), sizeof(request) - 1);
		read_until(fds[i], "no rule allows it");
		(void)close(fds[i]);
	}
	(void)kill(r.pid, SIGKILL);
	assert_int_equal(waitpid(r.pid, NULL, 0), r.pid);
	(void)close(r.log_fd);
}

int main(void)
{
	return RUN(CASE(guests_wait_when_there_are_no_descriptors));
}
