/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pod.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/log.h"

#define OWN_PROGRAM "/proc/self/exe"
#define PIECE 65536

static int copy_bytes(int from, int to, struct error *err)
{
	struct stat st;

	if (fstat(from, &st) < 0)
		return FAIL_ERRNO(err, "look at the agent's program");
	for (off_t at = 0; at < st.st_size;) {
		ssize_t moved = sendfile(to, from, &at, (size_t)(st.st_size - at));

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved <= 0)
			return FAIL_ERRNO(err, "copy the agent's program");
	}
	return 0;
}

/* A second run of the container replaces the file of the first. */
static int copy_program(const char *path, struct error *err)
{
	char draft[4096];
	AUTO_CLOSE int from = open(OWN_PROGRAM, O_RDONLY | O_CLOEXEC);

	if (from < 0)
		return FAIL_ERRNO(err, "open '%s'", OWN_PROGRAM);
	if (snprintf(draft, sizeof(draft), "%s.new", path) >= (int)sizeof(draft))
		return FAIL(err, ERROR_INVALID, "the path is too long");
	AUTO_CLOSE int to = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (to < 0)
		return FAIL_ERRNO(err, "open '%s'", draft);
	if (copy_bytes(from, to, err) < 0)
		return -1;
	if (fchmod(to, 0755) < 0 || rename(draft, path) < 0)
		return FAIL_ERRNO(err, "make '%s'", path);
	return 0;
}

int pod_copy(const char *path)
{
	struct error err = {0};

	if (copy_program(path, &err) == 0)
		return 0;
	log_error("the agent's program is not copied", FAILURE(&err));
	return 1;
}

int pod_sync(const char *folder, struct error *err)
{
	AUTO_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd) < 0)
		return FAIL_ERRNO(err, "write the files of '%s' to their disk", folder);
	return 0;
}

static int connect_agent(const char *port, int *ret_fd, struct error *err)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int64_t number;
	int on = 1;

	if (span_parse_whole(span_of(port), 1, UINT16_MAX, &number, err) < 0)
		return FAIL_CONTEXT(err, POD_JOIN_OPTION);
	address.sin_port = htons((uint16_t)number);
	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return FAIL_ERRNO(err, "connect to port %s", port);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int move_bytes(int from, int to, struct error *err)
{
	char bytes[PIECE];

	for (;;) {
		ssize_t got = read(from, bytes, sizeof(bytes));

		if (got == 0)
			return 0;
		if (got < 0 && errno != EINTR)
			return FAIL_ERRNO(err, "read");
		if (got > 0 && fd_write_all(to, bytes, (size_t)got, err) < 0)
			return -1;
	}
}

/* A process for each direction: a side that does not read stops its own direction alone. */
static int join_agent(int fd, struct error *err)
{
	pid_t sender = fork();

	if (sender < 0)
		return FAIL_ERRNO(err, "start a process");
	if (sender == 0) {
		int status = move_bytes(STDIN_FILENO, fd, err);

		(void)shutdown(fd, SHUT_WR);
		_exit(status < 0);
	}
	int status = move_bytes(fd, STDOUT_FILENO, err);
	(void)kill(sender, SIGKILL);
	return status;
}

int pod_join(const char *port)
{
	struct error err = {0};
	AUTO_CLOSE int fd = -1;

	if (connect_agent(port, &fd, &err) == 0 && join_agent(fd, &err) == 0)
		return 0;
	log_error("an exec does not reach the agent", FAILURE(&err));
	return 1;
}
