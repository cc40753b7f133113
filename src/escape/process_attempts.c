/* SPDX-License-Identifier: Apache-2.0 */
/* Other processes, namespaces, signals, terminals, descriptors and limits. */
#include "escape/attempt.h"

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

static enum escape_status unshare_namespaces(const char *argument UNUSED)
{
	static const struct {
		int flag;
		const char *name;
	} kinds[] = {{CLONE_NEWUSER, "user"},     {CLONE_NEWNS, "mount"},
	             {CLONE_NEWPID, "pid"},       {CLONE_NEWNET, "net"},
	             {CLONE_NEWIPC, "ipc"},       {CLONE_NEWUTS, "uts"},
	             {CLONE_NEWCGROUP, "cgroup"}, {CLONE_NEWUSER | CLONE_NEWNS, "user and mount"}};
	enum escape_status outcomes[8];

	for (unsigned i = 0; i < 8; i++)
		outcomes[i] = expect_refused(unshare(kinds[i].flag), kinds[i].name);
	return worst_of(outcomes, 8);
}

static enum escape_status clone_namespaces(const char *argument UNUSED)
{
	struct clone_args args = {.flags = CLONE_NEWUSER | CLONE_NEWNS, .exit_signal = SIGCHLD};
	enum escape_status outcomes[2];
	long pid;

	pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		_exit(0);
	outcomes[0] = expect_refused(pid, "clone with a user namespace");
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		_exit(0);
	outcomes[1] = expect_refused(pid, "clone3 with a user namespace");
	return worst_of(outcomes, 2);
}

static enum escape_status join_namespaces(const char *argument UNUSED)
{
	static const char *const names[] = {"/proc/1/ns/mnt", "/proc/1/ns/user", "/proc/1/ns/net",
	                                    "/proc/self/ns/user", "/proc/self/ns/mnt"};
	enum escape_status outcomes[5];

	for (unsigned i = 0; i < 5; i++) {
		int fd = open(names[i], O_RDONLY | O_CLOEXEC);

		outcomes[i] = fd < 0 ? expect_refused(fd, names[i])
		                     : expect_refused(setns(fd, 0), names[i]);
	}
	return worst_of(outcomes, 5);
}

/* What was attached stops: it is let go at once. */
static enum escape_status ptrace_the_agent(const char *argument UNUSED)
{
	enum escape_status outcomes[2];
	long result = ptrace(PTRACE_ATTACH, 1, NULL, NULL);

	outcomes[0] = expect_refused(result, "ptrace attach of 1");
	if (result == 0) {
		(void)waitpid(1, NULL, __WALL);
		(void)ptrace(PTRACE_DETACH, 1, NULL, NULL);
		return outcomes[0];
	}
	outcomes[1] = expect_refused(ptrace(PTRACE_SEIZE, 1, NULL, NULL), "ptrace seize of 1");
	return worst_of(outcomes, 2);
}

static enum escape_status read_the_agent(const char *argument UNUSED)
{
	static const char *const files[] = {"/proc/1/mem",    "/proc/1/environ", "/proc/1/maps",
	                                    "/proc/1/fd/3",   "/proc/1/auxv",    "/proc/1/stack",
	                                    "/proc/1/syscall"};
	enum escape_status outcomes[9];
	char byte;
	struct iovec local = {&byte, 1}, remote = {(void *)0x400000, 1};

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
	return worst_of(outcomes, 9);
}

static enum escape_status take_agent_descriptors(const char *argument UNUSED)
{
	long pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

	if (pidfd < 0)
		return report_held("pidfd_open: %s", strerror(errno));
	for (int fd = 0; fd < 64; fd++)
		if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
			return report_escape("took descriptor %d of the agent", fd);
	return report_held("pidfd_getfd: %s", strerror(errno));
}

static enum escape_status signal_the_agent(const char *argument UNUSED)
{
	for (int signo = 1; signo < 32; signo++)
		kill(1, signo);
	usleep(50 * 1000);
	if (kill(1, 0) < 0 && errno == ESRCH)
		return report_escape("process 1 is gone");
	return report_held("process 1 took 31 signals and lives");
}

static enum escape_status signal_host_processes(const char *host_pid)
{
	pid_t pid = (pid_t)strtol(host_pid, NULL, 10);

	if (kill(pid, 0) == 0)
		return report_escape("process %d of the host can be signalled", (int)pid);
	return report_held("kill %d: %s", (int)pid, strerror(errno));
}

/* Whether the process of an entry of /proc has this name. */
static bool is_process_named(const char *entry, const char *name)
{
	char path[64], found[64] = "";
	int fd;

	if (entry[0] < '1' || entry[0] > '9')
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%.20s/comm", entry);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	(void)!read(fd, found, sizeof(found) - 1);
	(void)close(fd);
	found[strcspn(found, "\n")] = '\0';
	return strcmp(found, name) == 0;
}

static enum escape_status find_process_named(const char *name)
{
	DIR *proc = opendir("/proc");
	unsigned count = 0;
	bool is_found = false;

	for (struct dirent *entry; proc && (entry = readdir(proc));) {
		count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
		is_found |= is_process_named(entry->d_name, name);
	}
	if (proc)
		(void)closedir(proc);
	return is_found ? report_escape("process '%s' is visible", name)
	                : report_held("none of %u visible processes is '%s'", count, name);
}

static enum escape_status find_inherited_descriptors(const char *argument UNUSED)
{
	char path[64], target[256];

	for (int fd = 3; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t size = readlink(path, target, sizeof(target) - 1);

		target[size > 0 ? size : 0] = '\0';
		return report_escape("descriptor %d is open: %s", fd, target);
	}
	for (int fd = 0; fd < 3; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d/../../..", fd);
		if (access(path, F_OK) == 0)
			return report_escape("descriptor %d is a folder", fd);
	}
	return report_held("only 0, 1 and 2 are open");
}

static enum escape_status find_capabilities(const char *argument UNUSED)
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

	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (prctl(PR_CAPBSET_READ, wanted[i], 0, 0, 0) == 1)
			return report_escape("capability %d is in the bounding set", wanted[i]);
	return report_held("none of %zu dangerous capabilities can be had",
	                   sizeof(wanted) / sizeof(wanted[0]));
}

static enum escape_status run_without_filter(const char *argument UNUSED)
{
	char text[8192];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[size > 0 ? size : 0] = '\0';
	if (!strstr(text, "Seccomp:\t2"))
		return report_escape("no system-call filter is on");
	return report_held("Seccomp: 2");
}

static enum escape_status inject_terminal_input(const char *argument UNUSED)
{
	static const char command[] = "id\n";

	for (int fd = 0; fd < 3; fd++)
		if (ioctl(fd, TIOCSTI, command) == 0)
			return report_escape("TIOCSTI on descriptor %d", fd);
	/* TIOCLINUX subcommand 2 pastes into the console. */
	if (ioctl(0, TIOCLINUX, "\2") == 0)
		return report_escape("TIOCLINUX");
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (tty >= 0 && ioctl(tty, TIOCSTI, command) == 0)
		return report_escape("TIOCSTI on /dev/tty");
	/* A flag in the upper half of the request is cut off by the kernel: the filter must look at
	 * the lower 32 bits only (CVE-2019-10063). */
	if (syscall(SYS_ioctl, 0, (unsigned long)TIOCSTI | (1UL << 32), command) == 0)
		return report_escape("TIOCSTI with a high bit");
	return report_held("TIOCSTI: %s", strerror(errno));
}

static enum escape_status raise_limits(const char *argument UNUSED)
{
	struct rlimit core = {RLIM_INFINITY, RLIM_INFINITY}, lock = {1UL << 40, 1UL << 40};
	enum escape_status outcomes[2];

	outcomes[0] = expect_refused(setrlimit(RLIMIT_CORE, &core), "raise the core limit");
	outcomes[1] =
	        expect_refused(setrlimit(RLIMIT_MEMLOCK, &lock), "raise the locked-memory limit");
	return worst_of(outcomes, 2);
}

static enum escape_status take_realtime_priority(const char *argument UNUSED)
{
	struct sched_param param = {.sched_priority = 50};
	enum escape_status outcomes[2];

	outcomes[0] = expect_refused(sched_setscheduler(0, SCHED_FIFO, &param), "SCHED_FIFO");
	outcomes[1] = expect_refused(setpriority(PRIO_PROCESS, 0, -20), "nice -20");
	return worst_of(outcomes, 2);
}

static enum escape_status protect_from_oom(const char *argument UNUSED)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return report_held("oom_score_adj: %s", strerror(errno));
	return expect_refused(write(fd, "-1000", 5), "oom_score_adj -1000");
}

/* Root inside has the agent's user id: each of these would stop its work, or slow it down. */
static enum escape_status limit_the_agent(const char *argument UNUSED)
{
	static const int resources[] = {RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_AS, RLIMIT_CPU,
	                                RLIMIT_FSIZE};
	enum escape_status outcomes[5];

	for (unsigned i = 0; i < 5; i++) {
		struct rlimit limit;

		/* The same again, so that an agent that is not protected goes on. */
		if (getrlimit(resources[i], &limit) < 0)
			return ESCAPE_NOT_TRIED;
		outcomes[i] =
		        expect_refused(prlimit(1, resources[i], &limit, NULL), "prlimit of 1");
	}
	return worst_of(outcomes, 5);
}

static enum escape_status slow_the_agent(const char *argument UNUSED)
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
	enum escape_status outcomes[10];

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
	return worst_of(outcomes, 10);
}

static enum escape_status write_to_the_agent(const char *argument UNUSED)
{
	static const struct {
		const char *file, *text;
	} rows[] = {{"oom_score_adj", "1000"}, {"oom_adj", "15"},     {"clear_refs", "1"},
	            {"timerslack_ns", "9999"}, {"mem", "x"},          {"coredump_filter", "0x7f"},
	            {"comm", "gone"},          {"autogroup", "19"},   {"sched", "0"},
	            {"loginuid", "0"},         {"setgroups", "deny"}, {"uid_map", "0 0 1"},
	            {"attr/current", "x"},     {"attr/exec", "x"},    {"task/1/comm", "gone"}};
	enum escape_status outcomes[sizeof(rows) / sizeof(rows[0])];

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
	return worst_of(outcomes, sizeof(rows) / sizeof(rows[0]));
}

static enum escape_status change_the_agents_memory(const char *argument UNUSED)
{
	char byte = 0;
	struct iovec local = {&byte, 1}, remote = {(void *)0x400000, 4096};
	unsigned long nodes = 1;
	int node = 0, status, pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
	void *page = (void *)0x400000;
	enum escape_status outcomes[5];

	outcomes[0] = expect_refused(process_vm_writev(1, &local, 1, &remote, 1, 0), "vm_writev");
	outcomes[1] = expect_refused(
	        syscall(SYS_process_madvise, pidfd, &remote, 1, 21 /* PAGEOUT */, 0), "madvise");
	outcomes[2] = expect_refused(syscall(SYS_move_pages, 1, 1, &page, &node, &status, 0),
	                             "move_pages");
	outcomes[3] =
	        expect_refused(syscall(SYS_migrate_pages, 1, 1, &nodes, &nodes), "migrate_pages");
	outcomes[4] = expect_refused(syscall(SYS_process_mrelease, pidfd, 0), "process_mrelease");
	return worst_of(outcomes, 5);
}

const struct attempt_function process_attempts[] = {
        {"unshare_namespaces", unshare_namespaces},
        {"clone_namespaces", clone_namespaces},
        {"join_namespaces", join_namespaces},
        {"ptrace_the_agent", ptrace_the_agent},
        {"read_the_agent", read_the_agent},
        {"take_agent_descriptors", take_agent_descriptors},
        {"see_neighbour_processes", find_process_named},
        {"signal_the_agent", signal_the_agent},
        {"signal_host_processes", signal_host_processes},
        {"see_host_processes", find_process_named},
        {"find_inherited_descriptors", find_inherited_descriptors},
        {"find_capabilities", find_capabilities},
        {"run_without_filter", run_without_filter},
        {"inject_terminal_input", inject_terminal_input},
        {"raise_limits", raise_limits},
        {"take_realtime_priority", take_realtime_priority},
        {"limit_the_agent", limit_the_agent},
        {"slow_the_agent", slow_the_agent},
        {"write_to_the_agent", write_to_the_agent},
        {"change_the_agents_memory", change_the_agents_memory},
        {"protect_from_oom", protect_from_oom},
        {0},
};
