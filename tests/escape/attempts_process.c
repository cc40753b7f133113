/* SPDX-License-Identifier: Apache-2.0 */
/* Other processes, namespaces, signals, terminals, descriptors and limits. */
#include "attempt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static enum outcome new_namespaces(const char *argument)
{
	static const struct {
		int flag;
		const char *name;
	} kinds[] = {{CLONE_NEWUSER, "user"},     {CLONE_NEWNS, "mount"},
	             {CLONE_NEWPID, "pid"},       {CLONE_NEWNET, "net"},
	             {CLONE_NEWIPC, "ipc"},       {CLONE_NEWUTS, "uts"},
	             {CLONE_NEWCGROUP, "cgroup"}, {CLONE_NEWUSER | CLONE_NEWNS, "user and mount"}};
	enum outcome outcomes[8];

	(void)argument;
	for (unsigned i = 0; i < 8; i++)
		outcomes[i] = expect_refused(unshare(kinds[i].flag), kinds[i].name);
	return worst(outcomes, 8);
}

static enum outcome clone_namespaces(const char *argument)
{
	struct clone_args args = {.flags = CLONE_NEWUSER | CLONE_NEWNS, .exit_signal = SIGCHLD};
	enum outcome outcomes[2];
	long pid;

	(void)argument;
	pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		_exit(0);
	outcomes[0] = expect_refused(pid, "clone with a user namespace");
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		_exit(0);
	outcomes[1] = expect_refused(pid, "clone3 with a user namespace");
	return worst(outcomes, 2);
}

static enum outcome join_namespaces(const char *argument)
{
	static const char *const names[] = {"/proc/1/ns/mnt", "/proc/1/ns/user", "/proc/1/ns/net",
	                                    "/proc/self/ns/user", "/proc/self/ns/mnt"};
	enum outcome outcomes[5];

	(void)argument;
	for (unsigned i = 0; i < 5; i++) {
		int fd = open(names[i], O_RDONLY | O_CLOEXEC);

		outcomes[i] = fd < 0 ? expect_refused(fd, names[i])
		                     : expect_refused(setns(fd, 0), names[i]);
	}
	return worst(outcomes, 5);
}

static enum outcome ptrace_the_agent(const char *argument)
{
	enum outcome outcomes[2];

	(void)argument;
	outcomes[0] = expect_refused(ptrace(PTRACE_ATTACH, 1, NULL, NULL), "ptrace attach of 1");
	outcomes[1] = expect_refused(ptrace(PTRACE_SEIZE, 1, NULL, NULL), "ptrace seize of 1");
	return worst(outcomes, 2);
}

static enum outcome read_the_agent(const char *argument)
{
	static const char *const files[] = {"/proc/1/mem",    "/proc/1/environ", "/proc/1/maps",
	                                    "/proc/1/fd/3",   "/proc/1/auxv",    "/proc/1/stack",
	                                    "/proc/1/syscall"};
	enum outcome outcomes[9];
	char byte;
	struct iovec local = {&byte, 1}, remote = {(void *)0x400000, 1};

	(void)argument;
	for (unsigned i = 0; i < 7; i++) {
		int fd = open(files[i], O_RDONLY | O_CLOEXEC);

		/* Some of them may be opened by anybody; the check is at the read. */
		outcomes[i] = expect_refused(fd < 0                   ? fd
		                             : read(fd, &byte, 1) > 0 ? 0
		                                                      : -1,
		                             files[i]);
	}
	outcomes[7] =
	        expect_refused(process_vm_readv(1, &local, 1, &remote, 1, 0), "process_vm_readv");
	outcomes[8] = expect_refused(syscall(SYS_kcmp, 1, getpid(), 0, 3, 0), "kcmp with 1");
	return worst(outcomes, 9);
}

static enum outcome take_agent_descriptors(const char *argument)
{
	long pidfd = syscall(SYS_pidfd_open, 1, 0);

	(void)argument;
	if (pidfd < 0)
		return held("pidfd_open: %s", strerror(errno));
	for (int fd = 0; fd < 64; fd++)
		if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
			return broke_out("took descriptor %d of the agent", fd);
	return held("pidfd_getfd: %s", strerror(errno));
}

static enum outcome signal_the_agent(const char *argument)
{
	(void)argument;
	for (int signo = 1; signo < 32; signo++)
		kill(1, signo);
	usleep(50 * 1000);
	if (kill(1, 0) < 0 && errno == ESRCH)
		return broke_out("process 1 is gone");
	return held("process 1 took 31 signals and lives");
}

static enum outcome signal_host_processes(const char *host_pid)
{
	pid_t pid = (pid_t)strtol(host_pid, NULL, 10);

	if (kill(pid, 0) == 0)
		return broke_out("process %d of the host can be signalled", (int)pid);
	return held("kill %d: %s", (int)pid, strerror(errno));
}

static enum outcome see_host_processes(const char *argument)
{
	DIR *proc = opendir("/proc");
	unsigned count = 0;

	(void)argument;
	for (struct dirent *entry; proc && (entry = readdir(proc));)
		count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
	if (proc)
		closedir(proc);
	/* The agent, this program, perhaps a shell and a keeper. */
	if (count > 12)
		return broke_out("%u processes are visible", count);
	return held("%u processes are visible, all ours", count);
}

static enum outcome inherited_descriptors(const char *argument)
{
	char path[64], target[256];

	(void)argument;
	for (int fd = 3; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t size = readlink(path, target, sizeof(target) - 1);

		target[size > 0 ? size : 0] = '\0';
		return broke_out("descriptor %d is open: %s", fd, target);
	}
	for (int fd = 0; fd < 3; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d/../../..", fd);
		if (access(path, F_OK) == 0)
			return broke_out("descriptor %d is a folder", fd);
	}
	return held("only 0, 1 and 2 are open");
}

static enum outcome dangerous_capabilities(const char *argument)
{
	static const int wanted[] = {CAP_SYS_ADMIN,
	                             CAP_SYS_PTRACE,
	                             CAP_SYS_MODULE,
	                             CAP_SYS_RAWIO,
	                             CAP_SYS_BOOT,
	                             CAP_SYS_TIME,
	                             CAP_NET_ADMIN,
	                             CAP_MKNOD,
	                             CAP_SYSLOG,
	                             CAP_MAC_ADMIN,
	                             CAP_BPF,
	                             CAP_PERFMON,
	                             CAP_CHECKPOINT_RESTORE,
	                             CAP_DAC_READ_SEARCH,
	                             CAP_SYS_RESOURCE};

	(void)argument;
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (prctl(PR_CAPBSET_READ, wanted[i], 0, 0, 0) == 1)
			return broke_out("capability %d is in the bounding set", wanted[i]);
	return held("none of %zu dangerous capabilities can be had",
	            sizeof(wanted) / sizeof(wanted[0]));
}

static enum outcome filter_is_on(const char *argument)
{
	char text[8192];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	(void)argument;
	text[size > 0 ? size : 0] = '\0';
	if (!strstr(text, "Seccomp:\t2"))
		return broke_out("no system-call filter is on");
	return held("Seccomp: 2");
}

static enum outcome terminal_injection(const char *argument)
{
	static const char command[] = "id\n";

	(void)argument;
	for (int fd = 0; fd < 3; fd++)
		if (ioctl(fd, TIOCSTI, command) == 0)
			return broke_out("TIOCSTI on descriptor %d", fd);
	/* TIOCLINUX subcommand 2 pastes into the console. */
	if (ioctl(0, TIOCLINUX, "\2") == 0)
		return broke_out("TIOCLINUX");
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (tty >= 0 && ioctl(tty, TIOCSTI, command) == 0)
		return broke_out("TIOCSTI on /dev/tty");
	/* A flag in the upper half of the request is cut off by the kernel: the filter must look at
	 * the lower 32 bits only (CVE-2019-10063). */
	if (syscall(SYS_ioctl, 0, (unsigned long)TIOCSTI | (1UL << 32), command) == 0)
		return broke_out("TIOCSTI with a high bit");
	return held("TIOCSTI: %s", strerror(errno));
}

static enum outcome raise_limits(const char *argument)
{
	struct rlimit core = {RLIM_INFINITY, RLIM_INFINITY}, lock = {1UL << 40, 1UL << 40};
	enum outcome outcomes[2];

	(void)argument;
	outcomes[0] = expect_refused(setrlimit(RLIMIT_CORE, &core), "raise the core limit");
	outcomes[1] =
	        expect_refused(setrlimit(RLIMIT_MEMLOCK, &lock), "raise the locked-memory limit");
	return worst(outcomes, 2);
}

static enum outcome realtime_scheduling(const char *argument)
{
	struct sched_param param = {.sched_priority = 50};
	enum outcome outcomes[2];

	(void)argument;
	outcomes[0] = expect_refused(sched_setscheduler(0, SCHED_FIFO, &param), "SCHED_FIFO");
	outcomes[1] = expect_refused(setpriority(PRIO_PROCESS, 0, -20), "nice -20");
	return worst(outcomes, 2);
}

static enum outcome protect_from_oom(const char *argument)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	(void)argument;
	if (fd < 0)
		return held("oom_score_adj: %s", strerror(errno));
	return expect_refused(write(fd, "-1000", 5), "oom_score_adj -1000");
}

/* Root inside has the agent's user id: each of these would stop its work, or slow it down. */
static enum outcome limit_the_agent(const char *argument)
{
	static const int resources[] = {RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_AS, RLIMIT_CPU,
	                                RLIMIT_FSIZE};
	enum outcome outcomes[5];

	(void)argument;
	for (unsigned i = 0; i < 5; i++) {
		struct rlimit limit;

		/* The same again, so that an agent that is not protected goes on. */
		if (getrlimit(resources[i], &limit) < 0)
			return NOT_TRIED;
		outcomes[i] =
		        expect_refused(prlimit(1, resources[i], &limit, NULL), "prlimit of 1");
	}
	return worst(outcomes, 5);
}

static enum outcome slow_the_agent(const char *argument)
{
	struct sched_param none = {0};
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attributes = {.size = 48, .nice = 19};
	cpu_set_t cpus;
	enum outcome outcomes[10];

	(void)argument;
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	outcomes[0] = expect_refused(setpriority(PRIO_PROCESS, 1, 19), "nice of process 1");
	outcomes[1] = expect_refused(setpriority(PRIO_PGRP, 1, 19), "nice of group 1");
	outcomes[2] = expect_refused(setpriority(PRIO_USER, 0, 19), "nice of user 0");
	outcomes[3] = expect_refused(sched_setaffinity(1, sizeof(cpus), &cpus), "affinity of 1");
	outcomes[4] = expect_refused(sched_setscheduler(1, SCHED_IDLE, &none), "SCHED_IDLE for 1");
	outcomes[5] = expect_refused(sched_setparam(1, &none), "sched_setparam of 1");
	outcomes[6] = expect_refused(syscall(SYS_sched_setattr, 1, &attributes, 0), "attr of 1");
	for (int who = 1; who <= 3; who++) /* process, group, user; 3 << 13: idle */
		outcomes[6 + who] = expect_refused(
		        syscall(SYS_ioprio_set, who, who == 3 ? 0 : 1, 3 << 13), "ioprio of 1");
	return worst(outcomes, 10);
}

static enum outcome write_to_the_agent(const char *argument)
{
	static const struct {
		const char *file, *text;
	} rows[] = {{"oom_score_adj", "1000"}, {"oom_adj", "15"},     {"clear_refs", "1"},
	            {"timerslack_ns", "9999"}, {"mem", "x"},          {"coredump_filter", "0x7f"},
	            {"comm", "gone"},          {"autogroup", "19"},   {"sched", "0"},
	            {"loginuid", "0"},         {"setgroups", "deny"}, {"uid_map", "0 0 1"},
	            {"attr/current", "x"},     {"attr/exec", "x"},    {"task/1/comm", "gone"}};
	enum outcome outcomes[sizeof(rows) / sizeof(rows[0])];

	(void)argument;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/proc/1/%s", rows[i].file);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		outcomes[i] = expect_refused(
		        fd < 0 ? fd : write(fd, rows[i].text, strlen(rows[i].text)), path);
		if (fd >= 0)
			close(fd);
	}
	return worst(outcomes, sizeof(rows) / sizeof(rows[0]));
}

static enum outcome change_the_agents_memory(const char *argument)
{
	char byte = 0;
	struct iovec local = {&byte, 1}, remote = {(void *)0x400000, 4096};
	unsigned long nodes = 1;
	int node = 0, status, pidfd = syscall(SYS_pidfd_open, 1, 0);
	void *page = (void *)0x400000;
	enum outcome outcomes[5];

	(void)argument;
	outcomes[0] = expect_refused(process_vm_writev(1, &local, 1, &remote, 1, 0), "vm_writev");
	outcomes[1] = expect_refused(
	        syscall(SYS_process_madvise, pidfd, &remote, 1, 21 /* PAGEOUT */, 0), "madvise");
	outcomes[2] = expect_refused(syscall(SYS_move_pages, 1, 1, &page, &node, &status, 0),
	                             "move_pages");
	outcomes[3] =
	        expect_refused(syscall(SYS_migrate_pages, 1, 1, &nodes, &nodes), "migrate_pages");
	outcomes[4] = expect_refused(syscall(SYS_process_mrelease, pidfd, 0), "process_mrelease");
	return worst(outcomes, 5);
}

const struct attempt process_attempts[] = {
        {"new_namespaces", new_namespaces, "unshare of each namespace"},
        {"clone_namespaces", clone_namespaces, "clone and clone3 with namespaces"},
        {"join_namespaces", join_namespaces, "setns"},
        {"ptrace_the_agent", ptrace_the_agent, "ptrace of process 1"},
        {"read_the_agent", read_the_agent, "memory, environment and maps of process 1"},
        {"take_agent_descriptors", take_agent_descriptors, "pidfd_getfd from process 1"},
        {"signal_the_agent", signal_the_agent, "31 signals to process 1"},
        {"signal_host_processes", signal_host_processes, "kill a process of the host"},
        {"see_host_processes", see_host_processes, "the host's processes in /proc"},
        {"inherited_descriptors", inherited_descriptors, "descriptors that leaked in"},
        {"dangerous_capabilities", dangerous_capabilities, "the capability bounding set"},
        {"filter_is_on", filter_is_on, "the system-call filter"},
        {"terminal_injection", terminal_injection, "TIOCSTI and TIOCLINUX"},
        {"raise_limits", raise_limits, "raise hard limits"},
        {"realtime_scheduling", realtime_scheduling, "starve the host by priority"},
        {"limit_the_agent", limit_the_agent, "limits of process 1"},
        {"slow_the_agent", slow_the_agent, "priority and processors of process 1"},
        {"write_to_the_agent", write_to_the_agent, "files of /proc/1"},
        {"change_the_agents_memory", change_the_agents_memory, "memory of process 1"},
        {"protect_from_oom", protect_from_oom, "hide from the OOM killer"},
        {0},
};
