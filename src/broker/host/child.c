/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

#define NICE_MOST 19
/* ioprio_set(2) has no header. Class 3 gets the disk when no other process wants it. */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_IDLE (3 << 13)

/* ---- jobs ---- */

static void on_child_end(struct fd_watch *watch)
{
	struct broker_child *child = CONTAINER_OF(watch, struct broker_child, watch);
	siginfo_t info = {0};
	bool is_reaped = waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED) == 0;
	bool has_exited = is_reaped && info.si_code == CLD_EXITED;
	bool well = has_exited && info.si_status == 0;

	/* The child could not report this itself: out of memory, or a forbidden system call. */
	if (is_reaped && !has_exited)
		log_error("a child of the broker was killed", NUMBER("pid", child->pid),
		          NUMBER("signal", info.si_status));
	watch_stop(child->events, watch);
	fd_forget(&child->pidfd);
	child->pid = 0;
	child->on_end(child, well ? 0 : -1);
}

/* A child that outlived its broker would work against the next broker's sweep. */
static void become_child(struct events *events, pid_t broker)
{
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != broker)
		_exit(1);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (events->on_child)
		events->on_child(events);
}

int child_start(struct events *events, struct broker_child *child, int (*run)(void *context),
                void *context, struct error *err)
{
	pid_t broker = getpid(), pid = fork();

	if (pid < 0)
		return FAIL_ERRNO(err, "fork");
	if (pid == 0) {
		become_child(events, broker);
		_exit(run(context) == 0 ? 0 : 1);
	}
	child->pid = pid;
	child->events = events;
	child->watch = (struct fd_watch){.fd = -1, .on_ready = on_child_end};
	if (pidfd_open_of(pid, &child->pidfd, err) == 0 &&
	    watch_start(events, &child->watch, child->pidfd, err) == 0)
		return 0;
	fd_forget(&child->pidfd);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return -1;
}

void child_give_way(void)
{
	(void)setpriority(PRIO_PROCESS, 0, NICE_MOST);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE);
}

void child_cancel(struct broker_child *child)
{
	struct error ignored = {0};

	if (!child->pid)
		return;
	watch_stop(child->events, &child->watch);
	(void)!pidfd_signal(child->pidfd, SIGKILL, &ignored);
	(void)waitid(P_PIDFD, (id_t)child->pidfd, &(siginfo_t){0}, WEXITED);
	fd_forget(&child->pidfd);
	child->pid = 0;
}
