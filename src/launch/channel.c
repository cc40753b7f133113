/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that serve channels of their own. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "launch/server.h"

#define WORKERS_MAX 1024
#define ORPHAN_CHECK_MS 1000 /* the kernel looks at every agent */

static pid_t workers[WORKERS_MAX];
static unsigned worker_count;

/* Only workers: agents and tasks are waited for when the broker asks. */
static void reap_workers(void)
{
	for (unsigned i = 0; i < worker_count;) {
		if (waitpid(workers[i], NULL, WNOHANG) == 0)
			i++;
		else
			workers[i] = workers[--worker_count];
	}
}

void launch_reap_orphan(int64_t now_ms)
{
	static int64_t next_ms, since_ms;
	static pid_t ended;
	siginfo_t info = {0};

	if (now_ms < next_ms)
		return;
	next_ms = now_ms + ORPHAN_CHECK_MS;
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid != ended) {
		ended = info.si_pid;
		since_ms = now_ms;
	} else if (ended > 0 && now_ms - since_ms >= LAUNCH_ORPHAN_MS) {
		(void)waitpid(ended, NULL, WNOHANG);
		ended = 0;
	}
}

static NORETURN void run_worker(struct launch_server *l, int fd, pid_t parent)
{
	struct error err = {0};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	(void)close(l->channel_fd);
	l->channel_fd = fd;
	l->is_worker = true;
	if (launch_serve(l, &err) == 0)
		_exit(EXIT_SUCCESS);
	log_error("a channel ends", FAILURE(&err));
	_exit(EXIT_FAILURE);
}

int serve_channel(struct launch_server *l, UNUSED const struct launch_call *call,
                  struct launch_reply *ret, struct error *err)
{
	pid_t self = getpid(), pid;
	int ends[2];

	reap_workers();
	launch_reap_orphan(clock_monotonic_ms());
	if (worker_count == WORKERS_MAX)
		return FAIL(err, ERROR_LIMIT, "%u channels are open", worker_count);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	pid = fork();
	if (pid == 0) {
		(void)close(ends[0]);
		run_worker(l, ends[1], self);
	}
	(void)close(ends[1]);
	launch_reply_add(ret, ends[0]);
	if (pid < 0)
		return FAIL_ERRNO(err, "fork");
	workers[worker_count++] = pid;
	return 0;
}

/* The next broker waits for this lock, so that nothing of this one works beside it. */
int serve_hold(struct launch_server *l, const struct launch_call *call,
               UNUSED struct launch_reply *ret, struct error *err)
{
	fd_forget(&l->held_fd);
	l->held_fd = fcntl(call->fds[0], F_DUPFD_CLOEXEC, 0);
	return l->held_fd < 0 ? FAIL_ERRNO(err, "hold a descriptor") : 0;
}
