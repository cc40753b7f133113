/* SPDX-License-Identifier: Apache-2.0 */
/* The child of the gateway that makes sockets with a source address: egress/sources.h. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "daemon/identity.h"
#include "daemon/names.h"
#include "daemon/seccomp.h"
#include "egress/sources.h"

/* The child waits for nothing but the gateway, so only a fault takes so long. */
#define ANSWER_S 10

/* The child keeps nothing of the gateway's but its end of the pair, and its log. */
static int close_others(int fd, struct error *err)
{
	const unsigned own = (unsigned)fd, first = STDERR_FILENO + 1;

	if ((own > first && close_range(first, own - 1, 0) < 0) || close_range(own + 1, ~0u, 0) < 0)
		return FAIL_ERRNO(err, "close the descriptors of the gateway");
	return 0;
}

static int confine_child(int fd, const struct identity *identity, pid_t parent, struct error *err)
{
	(void)prctl(PR_SET_NAME, "names-sources", 0, 0, 0);
	if (identity_become(identity, err) < 0)
		return -1;
	/* After the change of user, which clears it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return FAIL_ERRNO(err, "tie to the gateway");
	if (getppid() != parent)
		return FAIL(err, ERROR_UNAVAILABLE, "the gateway has gone");
	if (close_others(fd, err) < 0)
		return -1;
	/* A sanitizer needs system calls of its own. */
	return ATOLL_SANITIZED ? seccomp_confine(err) : names_sources_filter(fd, err);
}

static NORETURN void run_child(int fd, const struct identity *identity, pid_t parent)
{
	struct error err = {0};

	if (confine_child(fd, identity, parent, &err) == 0)
		sources_serve(fd);
	else
		log_error("no connection can leave by a source address", FAILURE(&err));
	_exit(1);
}

int names_sources_start(const struct identity *identity, int *ret_fd, struct error *err)
{
	const struct timeval most = {.tv_sec = ANSWER_S};
	pid_t parent = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return FAIL_ERRNO(err, "make a pair of sockets");
	if (setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)) < 0)
		pid = -1;
	else
		pid = fork();
	if (pid == 0)
		run_child(pair[1], identity, parent);
	(void)close(pair[1]);
	if (pid < 0) {
		(void)FAIL_ERRNO(err, "start the process for source addresses");
		(void)close(pair[0]);
		return -1;
	}
	*ret_fd = pair[0];
	return 0;
}
