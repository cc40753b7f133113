/* SPDX-License-Identifier: Apache-2.0 */
/* The maker: a child of the broker that makes some prewarmed sandboxes and ends. Only the agent
 * itself enters the sandbox's cgroups: memory for folders and mounts that was charged to them would
 * keep the cgroups in the kernel long after the sandbox. All agents of a batch enter their cgroups
 * at once: in cgroup v1 the first one waits for a grace period, which also blocks every fork on the
 * host, and those right behind it do not. */
#include "broker/prewarm/maker.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "broker/host/disk_folder.h"
#include "broker/layers/root.h"
#include "broker/network/link.h"
#include "wire/wire.h"

#define LISTEN_FD 3
#define SETUP_FD 4
#define EVENTS_FD 5 /* and the next: in the order of enum cgroup_events */
#define LISTEN_BACKLOG 256
/* The weight of nine commands. More would take from the sandbox itself: the kernel gives each
 * processor the part of the sandbox's share that its tasks have of the sandbox's whole weight. */
#define AGENT_NICE (-10)

struct making {
	struct prewarm *prewarm;
	struct host *host;
	char name[GROUP_NAME_SIZE];
	int home_fd; /* the host's network namespace */
	int proc_fd; /* see network_options_open */
	int listen_fd, group_fd;
	int events[CGROUP_EVENTS_COUNT]; /* for the agent, which tells why commands end */
	int ready[2];                    /* closed by the maker when the maps are written */
	struct wire_fds sent;
	struct maker_report report;
};

static int make_group(struct making *m, struct error *err)
{
	struct cgroup_host *cgroups = &m->host->cgroups;
	char kept[GROUP_NAME_SIZE];

	if (m->prewarm->kept != SLOT_NONE) {
		host_kept_name(m->prewarm->kept, kept);
		cgroups->ops->reuse(cgroups, kept, m->name);
	}
	if (cgroups->ops->make(cgroups, m->name, err) < 0)
		return -1;
	if (m->host->io.bytes_per_s &&
	    cgroups->ops->limit_io(cgroups, m->name, &m->host->io, err) < 0)
		return -1;
	return cgroups->ops->open ? cgroups->ops->open(cgroups, m->name, &m->group_fd, err) : 0;
}

/* On disk the files of a sandbox have ids that no user has. */
static int make_folders(struct making *m, struct error *err)
{
	static const char *const parts[] = {"", "/upper", "/work"};
	int prewarm_pool = m->host->folders[FOLDER_PREWARMS];

	for (unsigned i = 0; i < COUNT_OF(parts); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "%s%s", m->name, parts[i]);
		if (mkdirat(prewarm_pool, path, 0755) < 0)
			return FAIL_ERRNO(err, "make the folder 'cells/%s'", path);
		if (i == 0 && disk_folder_begin(m->host, FOLDER_PREWARMS, m->name, err) < 0)
			return -1;
		if (fchownat(prewarm_pool, path, ID_STORED, ID_STORED, AT_SYMLINK_NOFOLLOW) < 0)
			return FAIL_ERRNO(err, "give away the folder 'cells/%s'", path);
	}
	return 0;
}

/* The address of a socket is short, and the run folder's path may be long. */
static int make_socket(struct making *m, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct broker_options *options = &m->host->options;
	AUTO_CLOSE int folder = -1;
	char path[64];

	if (mkdirat(m->host->folders[FOLDER_RUN_PREWARMS], m->name, 0711) < 0)
		return FAIL_ERRNO(err, "make the folder 'run/cells/%s'", m->name);
	folder = openat(m->host->folders[FOLDER_RUN_PREWARMS], m->name,
	                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	m->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (folder < 0 || m->listen_fd < 0)
		return FAIL_ERRNO(err, "make the agent's socket");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/agent.sock", folder);
	memcpy(address.sun_path, path, sizeof(path));
	if (bind(m->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(m->listen_fd, LISTEN_BACKLOG) < 0)
		return FAIL_ERRNO(err, "listen on the agent's socket");
	if (fchownat(folder, "agent.sock", options->uid, options->gid, 0) < 0 ||
	    fchmodat(folder, "agent.sock", 0600, 0) < 0)
		return FAIL_ERRNO(err, "give away the agent's socket");
	return 0;
}

/* Returns from the network namespace of the sandbox made before. One end of a link is in the host's
 * namespace; and a socket keeps the namespace in which it was made, so the agent's socket would
 * keep its neighbour's alive. */
static int return_home(const struct making *m, struct error *err)
{
	if (m->home_fd < 0 || setns(m->home_fd, CLONE_NEWNET) < 0)
		return FAIL_ERRNO(err, "return to the host's network namespace");
	return 0;
}

static int make_network(struct making *m, struct error *err)
{
	const struct host_network *n =
	        m->prewarm->kind == PREWARM_INTERNET ? &m->host->network : NULL;

	return network_enter_new(n, m->prewarm->slot, m->proc_fd, err);
}

/* ---- the agent-to-be ---- */

static void move_fd(int from, int to)
{
	if (dup2(from, to) < 0)
		_exit(126);
}

/* Runs between clone and exec, so it makes system calls only. Any failure ends the process; the
 * broker notices the end of the set-up socket. */
static NORETURN void become_agent(struct making *m)
{
	const char *argv[] = {
	        "atoll-agent", "--listen-fd",      "3", "--setup-fd", "4", "--memory-events-fd",
	        "5",           "--pids-events-fd", "6", NULL};
	const char *const envp[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/"
	                            "sbin:/bin",
	                            fault_entry("agent"), NULL};
	int null, agent, listen_fd, setup_fd, events[CGROUP_EVENTS_COUNT];
	bool has_events = m->events[0] >= 0 && m->events[1] >= 0;
	char byte;

	(void)close(m->ready[1]);
	if (read(m->ready[0], &byte, 1) != 1)
		_exit(126);
	if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		_exit(126);
	/* Not by clone: the root of the namespace is the process's cgroup at this moment. */
	if (unshare(CLONE_NEWCGROUP) < 0)
		_exit(126);
	(void)setsid();
	(void)umask(022);
	/* Moves the descriptors away from the numbers that are assigned below. */
	listen_fd = fcntl(m->listen_fd, F_DUPFD_CLOEXEC, 16);
	setup_fd = fcntl(m->prewarm->setup_far_fd, F_DUPFD_CLOEXEC, 16);
	for (unsigned i = 0; i < CGROUP_EVENTS_COUNT; i++)
		events[i] = fcntl(m->events[i], F_DUPFD_CLOEXEC, 16);
	agent = fcntl(m->host->agent_fd, F_DUPFD_CLOEXEC, 16);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		move_fd(null, i);
	move_fd(listen_fd, LISTEN_FD);
	move_fd(setup_fd, SETUP_FD);
	(void)close_range(SETUP_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	for (unsigned i = 0; has_events && i < CGROUP_EVENTS_COUNT; i++)
		move_fd(events[i], EVENTS_FD + (int)i);
	if (!has_events)
		argv[5] = NULL;
	(void)syscall(SYS_execveat, agent, "", argv, envp, AT_EMPTY_PATH);
	_exit(127);
}

static int clone_agent(struct making *m, struct error *err)
{
	struct clone_args args = {
	        .flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
	                 CLONE_PARENT | CLONE_PIDFD,
	        .pidfd = (uint64_t)(uintptr_t)&m->sent.fds[0],
	};
	long pid;

	if (m->group_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)m->group_fd;
	}
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return FAIL_ERRNO(err, "clone the agent into new namespaces");
	if (pid == 0)
		become_agent(m);
	m->sent.count = 1;
	m->report.pid = (pid_t)pid;
	return 0;
}

static int open_namespace(struct making *m, const char *kind, struct error *err)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", m->report.pid, kind);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return FAIL_ERRNO(err, "open the agent's namespace '%s'", kind);
	m->sent.fds[m->sent.count++] = fd;
	return 0;
}

static int open_namespaces(struct making *m, struct error *err)
{
	if (open_namespace(m, "user", err) < 0 ||
	    id_map_open(m->prewarm->slot, &m->sent.fds[m->sent.count], err) < 0)
		return -1;
	m->sent.count++;
	if (open_namespace(m, "mnt", err) < 0)
		return -1;
	return open_namespace(m, "net", err);
}

/* Made on a guess: that costs nothing here, and a third of a millisecond in a request. */
static void make_root(struct making *m)
{
	const struct root_options options = {.template_name = m->prewarm->root_template,
	                                     .stack = &m->prewarm->root_stack,
	                                     .upper_fd = m->host->folders[FOLDER_PREWARMS],
	                                     .upper_name = m->name,
	                                     .ids_fd = m->sent.fds[1],
	                                     .stored_fd = m->sent.fds[2]};
	struct error ignored = {0};

	/* A sandbox's own disk is made when its size is known. */
	if (*m->prewarm->root_template && !m->host->can_limit_disk &&
	    host_root_open(m->host, &options, &m->sent.fds[m->sent.count], &ignored) == 0)
		m->sent.count++;
}

static int enter_group(struct making *m, struct error *err)
{
	struct cgroup_host *cgroups = &m->host->cgroups;

	return cgroups->ops->enter ? cgroups->ops->enter(cgroups, m->name, m->report.pid, err) : 0;
}

/* Only the agent holds the listening socket, so that it ends with the agent, not when the batch is
 * done or later agents have executed their program. A client that connects to a sandbox that has
 * just died would be accepted and never served. */
static int start_agent(struct making *m, struct error *err)
{
	if (pipe2(m->ready, O_CLOEXEC) < 0)
		return FAIL_ERRNO(err, "make a pipe");
	cgroup_open_events(&m->host->cgroups, m->name, m->events);
	if (clone_agent(m, err) < 0)
		return -1;
	fd_forget(&m->listen_fd);
	for (unsigned i = 0; i < CGROUP_EVENTS_COUNT; i++)
		fd_forget(&m->events[i]);
	return 0;
}

static int release_agent(struct making *m, struct error *err)
{
	/* The agent runs before the rest of its sandbox, within the sandbox's share; its commands
	 * get the normal priority. Without CAP_SYS_NICE it has the normal priority, too. */
	(void)setpriority(PRIO_PROCESS, (id_t)m->report.pid, AGENT_NICE);
	if (id_map_write(m->report.pid, m->prewarm->slot, err) < 0 || open_namespaces(m, err) < 0 ||
	    process_start_time(m->report.pid, &m->report.start_time, err) < 0)
		return -1;
	if (write(m->ready[1], "", 1) != 1)
		return FAIL_ERRNO(err, "let the agent go");
	return 0;
}

/* A failure here is the request's matter, which sets the limits again; the next request may need
 * others. */
static void limit_group(struct making *m)
{
	struct cgroup_host *cgroups = &m->host->cgroups;
	const struct cgroup_limits *limits = &m->prewarm->limits;
	struct error ignored = {0};

	m->report.limited = limits->memory_bytes > 0 &&
	                    cgroups->ops->limit(cgroups, m->name, limits, &ignored) == 0;
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Otherwise each new agent would inherit, and close, what the broker holds of all other sandboxes.
 */
static void close_other_fds(const struct maker *maker)
{
	int own[MAKER_BATCH + 1] = {maker->report_fd}, from = host_fd_end(maker->pool->host);
	unsigned count = 1;

	for (unsigned i = 0; i < maker->count; i++)
		own[count++] = maker->prewarms[i]->setup_far_fd;
	qsort(own, count, sizeof(own[0]), compare_fds);
	for (unsigned i = 0; i < count; i++) {
		if (own[i] > from)
			(void)close_range((unsigned)from, (unsigned)own[i] - 1, 0);
		if (own[i] >= from)
			from = own[i] + 1;
	}
	(void)close_range((unsigned)from, ~0u, 0);
}

/* ---- the phases of a batch ---- */

static int begin_agent(struct making *m, struct error *err)
{
	if (return_home(m, err) < 0 || make_group(m, err) < 0)
		return -1;
	fault_point("broker", "cell-group");
	if (make_folders(m, err) < 0 || make_socket(m, err) < 0)
		return -1;
	fault_point("broker", "cell-folders");
	if (make_network(m, err) < 0)
		return -1;
	fault_point("broker", "cell-network");
	return start_agent(m, err);
}

static int finish_agent(struct making *m, struct error *err)
{
	fault_point("broker", "cell-entered");
	if (release_agent(m, err) < 0)
		return -1;
	make_root(m);
	limit_group(m);
	return 0;
}

static void run_phase(struct making *all, unsigned count,
                      int (*phase)(struct making *m, struct error *err))
{
	for (unsigned i = 0; i < count; i++)
		if (all[i].report.err.code == ERROR_NONE)
			(void)!phase(&all[i], &all[i].report.err);
}

/* The report is a struct, because both ends are the same program. */
static int send_report(struct making *m, int report_fd)
{
	struct span text = {(const char *)&m->report, sizeof(m->report)};
	struct error err = {0};
	int status;

	if (m->report.err.code != ERROR_NONE && m->report.pid > 0)
		(void)kill(m->report.pid, SIGKILL);
	status = wire_send_packet(report_fd, text, &m->sent, DEADLINE_NEVER, &err);
	wire_fds_close(&m->sent);
	fd_forget(&m->prewarm->setup_far_fd);
	return status;
}

int maker_run(void *context)
{
	struct maker *maker = context;
	struct making all[MAKER_BATCH];
	int home, proc = -1, status = 0;
	struct error err = {0};

	close_other_fds(maker);
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	(void)umask(0);
	(void)!network_options_open(&proc, &err);
	for (unsigned i = 0; i < maker->count; i++) {
		all[i] = (struct making){.prewarm = maker->prewarms[i],
		                         .host = maker->pool->host,
		                         .home_fd = home,
		                         .proc_fd = proc,
		                         .report.err = err,
		                         .listen_fd = -1,
		                         .events = {-1, -1},
		                         .group_fd = -1,
		                         .ready = {-1, -1}};
		host_group_name(maker->prewarms[i]->slot, all[i].name);
	}
	run_phase(all, maker->count, begin_agent);
	run_phase(all, maker->count, enter_group);
	for (unsigned i = 0; status == 0 && i < maker->count; i++) {
		run_phase(&all[i], 1, finish_agent);
		status = send_report(&all[i], maker->report_fd);
		fault_point("broker", "cell-reported");
	}
	return status; /* the child exits, which closes the descriptors */
}
