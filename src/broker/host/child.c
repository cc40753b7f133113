/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "broker/host/launcher.h"

/* Waits for the end. */
static siginfo_t reap_child(const struct broker_child *child)
{
	siginfo_t info = {0};

	if (child->is_program)
		launcher_reap(child->host, child->pidfd, &info);
	else
		(void)waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED);
	return info;
}

static void on_child_end(struct fd_watch *watch)
{
	struct broker_child *child = CONTAINER_OF(watch, struct broker_child, watch);
	siginfo_t info = reap_child(child);
	bool has_exited = info.si_pid != 0 && info.si_code == CLD_EXITED;
	bool well = has_exited && info.si_status == 0;

	/* The child could not report this itself: out of memory, or a forbidden system call. */
	if (info.si_pid != 0 && !has_exited)
		log_error("a child of the broker was killed", NUMBER("pid", child->pid),
		          NUMBER("signal", info.si_status));
	watch_stop(child->events, watch);
	fd_forget(&child->pidfd);
	child->pid = 0;
	child->on_end(child, well ? 0 : -1);
}

static void kill_and_reap(struct broker_child *child)
{
	struct error ignored = {0};

	(void)!pidfd_signal(child->pidfd, SIGKILL, &ignored);
	(void)reap_child(child);
	fd_forget(&child->pidfd);
	child->pid = 0;
}

/* A child that outlived its broker would work against the next broker's sweep. */
static void become_child(struct events *events, const struct broker_child *child, int channel_fd,
                         pid_t broker)
{
	struct error err = {0};
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != broker)
		_exit(1);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (events->on_child)
		events->on_child(events);
	if (child->host && launcher_use(child->host, channel_fd, &err) < 0)
		_exit(1);
}

static int watch_child(struct events *events, struct broker_child *child, struct error *err)
{
	child->events = events;
	child->watch = (struct fd_watch){.fd = -1, .on_ready = on_child_end};
	if (watch_start(events, &child->watch, child->pidfd, err) == 0)
		return 0;
	kill_and_reap(child);
	return -1;
}

int child_start(struct events *events, struct broker_child *child, int (*run)(void *context),
                void *context, struct error *err)
{
	pid_t broker = getpid();
	AUTO_CLOSE int channel_fd = -1;

	child->is_program = false;
	if (child->host && launcher_channel(child->host, &channel_fd, err) < 0)
		return -1;
	child->pid = fork();
	if (child->pid == 0) {
		become_child(events, child, channel_fd, broker);
		_exit(run(context) == 0 ? 0 : 1);
	}
	if (child->pid > 0 && pidfd_open_of(child->pid, &child->pidfd, err) == 0)
		return watch_child(events, child, err);
	if (child->pid < 0)
		(void)FAIL_ERRNO(err, "fork");
	else {
		(void)kill(child->pid, SIGKILL);
		(void)waitpid(child->pid, NULL, 0);
	}
	child->pid = 0;
	return -1;
}

int child_start_program(struct events *events, struct broker_child *child,
                        const struct program *program, struct error *err)
{
	child->is_program = true;
	if (program_start(child->host, program, &child->pid, &child->pidfd, err) < 0)
		return -1;
	return watch_child(events, child, err);
}

void child_cancel(struct broker_child *child)
{
	if (!child->pid)
		return;
	watch_stop(child->events, &child->watch);
	kill_and_reap(child);
}
