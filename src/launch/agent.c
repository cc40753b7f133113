/* SPDX-License-Identifier: Apache-2.0 */
/* The first process of a sandbox, in namespaces of its own. */
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fault.h"
#include "isolation/ids.h"
#include "launch/link.h"
#include "launch/server.h"

#define LISTEN_FD 3
#define SETUP_FD 4
#define EVENTS_FD 5 /* and the next: in the order of enum cgroup_events */
#define EVENTS_COUNT 2
/* The weight of nine commands. More would take from the sandbox itself: the kernel gives each
 * processor the part of the sandbox's share that its tasks have of the sandbox's whole weight. */
#define AGENT_NICE (-10)

struct new_agent {
	const struct launch_server *launch;
	const struct launch_agent *request;
	int listen_fd, setup_fd, group_fd;
	int events[EVENTS_COUNT];
	int ready[2];
	pid_t pid;
};

static int take_request(struct new_agent *a, const struct launch_call *call, struct error *err)
{
	unsigned next = 2;

	a->request = call->request;
	a->listen_fd = call->fds[0];
	a->setup_fd = call->fds[1];
	if (a->request->slot >= SLOTS_MAX ||
	    call->fd_count != next + (a->request->has_group ? 1 : 0) +
	                              (a->request->has_events ? EVENTS_COUNT : 0))
		return FAIL(err, ERROR_INVALID, "a request for an agent is malformed");
	if (a->request->has_group)
		a->group_fd = call->fds[next++];
	for (unsigned i = 0; a->request->has_events && i < EVENTS_COUNT; i++)
		a->events[i] = call->fds[next++];
	return 0;
}

static void move_fd(int from, int to)
{
	if (dup2(from, to) < 0)
		_exit(126);
}

/* Runs between clone and exec. Any failure ends the process; the broker notices the end of the
 * set-up socket. */
static NORETURN void become_agent(struct new_agent *a)
{
	const char *argv[] = {
	        "atoll-agent", "--listen-fd",      "3", "--setup-fd", "4", "--memory-events-fd",
	        "5",           "--pids-events-fd", "6", NULL};
	const char *const envp[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/"
	                            "sbin:/bin",
	                            fault_entry("agent"), NULL};
	int null, agent, listen_fd, setup_fd, events[EVENTS_COUNT];
	char byte;

	(void)close(a->ready[1]);
	/* Else the broker would not notice the end of the process that serves the channel. */
	(void)close(a->launch->channel_fd);
	if (read(a->ready[0], &byte, 1) != 1)
		_exit(126);
	if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		_exit(126);
	/* Not by clone: the root of the namespace is the process's cgroup at this moment. */
	if (unshare(CLONE_NEWCGROUP) < 0)
		_exit(126);
	(void)setsid();
	(void)umask(022);
	/* Moves the descriptors away from the numbers that are assigned below. */
	listen_fd = fcntl(a->listen_fd, F_DUPFD_CLOEXEC, 16);
	setup_fd = fcntl(a->setup_fd, F_DUPFD_CLOEXEC, 16);
	for (unsigned i = 0; i < EVENTS_COUNT; i++)
		events[i] = fcntl(a->events[i], F_DUPFD_CLOEXEC, 16);
	agent = fcntl(a->launch->agent_fd, F_DUPFD_CLOEXEC, 16);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		move_fd(null, i);
	move_fd(listen_fd, LISTEN_FD);
	move_fd(setup_fd, SETUP_FD);
	(void)close_range(SETUP_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	for (unsigned i = 0; a->request->has_events && i < EVENTS_COUNT; i++)
		move_fd(events[i], EVENTS_FD + (int)i);
	if (!a->request->has_events)
		argv[5] = NULL;
	(void)syscall(SYS_execveat, agent, "", argv, envp, AT_EMPTY_PATH);
	_exit(127);
}

/* With CLONE_PARENT it is a child of the server of the main channel, which answers LAUNCH_WAIT. */
static int clone_agent(struct new_agent *a, struct launch_reply *ret, struct error *err)
{
	int pidfd = -1;
	struct clone_args args = {
	        .flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
	                 CLONE_PARENT | CLONE_PIDFD,
	        .pidfd = (uint64_t)(uintptr_t)&pidfd,
	};
	long pid;

	if (a->group_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)a->group_fd;
	}
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return FAIL_ERRNO(err, "clone the agent into new namespaces");
	if (pid == 0)
		become_agent(a);
	launch_reply_add(ret, pidfd);
	a->pid = (pid_t)pid;
	return 0;
}

static int add_namespace(const struct new_agent *a, const char *kind, struct launch_reply *ret,
                         struct error *err)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", a->pid, kind);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return FAIL_ERRNO(err, "open the agent's namespace '%s'", kind);
	launch_reply_add(ret, fd);
	return 0;
}

static int add_namespaces(const struct new_agent *a, struct launch_reply *ret, struct error *err)
{
	int stored;

	if (add_namespace(a, "user", ret, err) < 0 ||
	    id_map_open(a->request->slot, &stored, err) < 0)
		return -1;
	launch_reply_add(ret, stored);
	if (add_namespace(a, "mnt", ret, err) < 0)
		return -1;
	return add_namespace(a, "net", ret, err);
}

static int make_agent(struct new_agent *a, struct launch_reply *ret, struct error *err)
{
	if (link_enter_new(a->request, a->launch->proc_fd, err) < 0)
		return -1;
	fault_point("launch", "cell-network");
	if (pipe2(a->ready, O_CLOEXEC) < 0)
		return FAIL_ERRNO(err, "make a pipe");
	if (clone_agent(a, ret, err) < 0)
		return -1;
	/* The agent runs before the rest of its sandbox, within the sandbox's share; its commands
	 * get the normal priority. Without CAP_SYS_NICE it has the normal priority, too. */
	(void)setpriority(PRIO_PROCESS, (id_t)a->pid, AGENT_NICE);
	if (id_map_write(a->pid, a->request->slot, err) < 0 || add_namespaces(a, ret, err) < 0)
		return -1;
	launch_reply_add(ret, TAKE_FD(a->ready[1]));
	ret->answer.pid = a->pid;
	return process_start_time(a->pid, &ret->answer.start_time, err);
}

/* Afterwards the process is in the host's network namespace again: one end of the next link is
 * there. */
int serve_agent(struct launch_server *l, const struct launch_call *call, struct launch_reply *ret,
                struct error *err)
{
	struct new_agent a = {
	        .launch = l, .group_fd = -1, .events = {-1, -1}, .ready = {-1, -1}, .pid = 0};
	int status;

	if (take_request(&a, call, err) < 0 ||
	    (l->proc_fd < 0 && link_options_open(&l->proc_fd, err) < 0))
		return -1;
	status = make_agent(&a, ret, err);
	fd_forget(&a.ready[0]);
	fd_forget(&a.ready[1]);
	if (setns(l->network_fd, CLONE_NEWNET) < 0)
		abort();
	return status;
}
