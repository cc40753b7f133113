/* SPDX-License-Identifier: Apache-2.0 */
/* The maker: a child of the broker that makes some prewarmed sandboxes and ends. Only the agent
 * itself enters the sandbox's cgroups: memory for folders and mounts that was charged to them would
 * keep the cgroups in the kernel long after the sandbox. All agents of a batch enter their cgroups
 * at once: in cgroup v1 the first one waits for a grace period, which also blocks every fork on the
 * host, and those right behind it do not. */
#include "broker/prewarm/maker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "broker/host/disk_folder.h"
#include "broker/host/launcher.h"
#include "broker/host/options.h"
#include "broker/network/link.h"
#include "broker/network/network.h"
#include "broker/network/uplink6.h"

#define LISTEN_BACKLOG 256
#define AGENT_FDS 6 /* of the answer to LAUNCH_AGENT */

struct making {
	struct prewarm *prewarm;
	struct host *host;
	char name[GROUP_NAME_SIZE];
	int listen_fd, group_fd;
	int events[CGROUP_EVENTS_COUNT]; /* for the agent, which tells why commands end */
	int go_fd;                       /* the agent starts when a byte is written here */
	struct wire_fds sent;
	struct maker_report report;
};

static int make_group(struct making *m, struct error *err)
{
	struct cgroup_host *cgroups = m->host->cgroups;
	char kept[GROUP_NAME_SIZE];

	if (m->prewarm->kept != SLOT_NONE) {
		host_kept_name(m->prewarm->kept, kept);
		cgroups->ops->reuse(cgroups, kept, m->name);
	}
	if (cgroups->ops->make(cgroups, m->name, err) < 0)
		return -1;
	if (cgroups->io.bytes_per_s &&
	    cgroups->ops->limit_io(cgroups, m->name, &cgroups->io, err) < 0)
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
	const struct broker_options *options = m->host->options;
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

/* Returns whether it has one. */
static bool set_address6(const struct host_network *n, struct launch_agent *request)
{
	struct address6 address;

	if (!n->ipv6 || !network_links_get_ipv6())
		return false;
	network_address6(n, request->slot, &address);
	memcpy(request->address6, address.bytes, sizeof(request->address6));
	return true;
}

/* Only the agent holds the listening socket, so that it ends with the agent, not when the batch is
 * done. A client that connects to a sandbox that has just died would be accepted and never served.
 */
static int make_agent(struct making *m, struct error *err)
{
	struct launch_agent request = {.slot = m->prewarm->slot,
	                               .has_group = m->group_fd >= 0,
	                               .has_ipv6 = m->host->network->has_ipv6};
	struct wire_fds fds = {.fds = {m->listen_fd, m->prewarm->setup_far_fd, m->group_fd},
	                       .count = 2 + request.has_group};
	struct launcher_result got;
	bool has_ipv6 = false;

	cgroup_open_events(m->host->cgroups, m->name, m->events);
	request.has_events = m->events[0] >= 0 && m->events[1] >= 0;
	for (unsigned i = 0; request.has_events && i < CGROUP_EVENTS_COUNT; i++)
		fds.fds[fds.count++] = m->events[i];
	if (m->prewarm->kind == PREWARM_INTERNET) {
		if (network_address(m->host->network, request.slot, &request.address, err) < 0)
			return -1;
		has_ipv6 = set_address6(m->host->network, &request);
		network_link_clear(request.slot);
	}
	if (launcher_call(m->host, LAUNCH_AGENT, &request, &fds, &got, err) < 0)
		return -1;
	m->sent = got.fds;
	assert(m->sent.count == AGENT_FDS);
	m->go_fd = m->sent.fds[--m->sent.count];
	m->report.pid = got.answer.pid;
	m->report.start_time = got.answer.start_time;
	fd_forget(&m->listen_fd);
	for (unsigned i = 0; i < CGROUP_EVENTS_COUNT; i++)
		fd_forget(&m->events[i]);
	return has_ipv6 ? network_link_forward6(request.slot, err) : 0;
}

/* Made on a guess: that costs nothing here, and a third of a millisecond in a request. */
static void make_root(struct making *m)
{
	const struct root_options options = {
	        .template_name = m->prewarm->root_template,
	        .stack = &m->prewarm->root_stack,
	        .upper_fd = -1,
	        .upper_folder = FOLDER_PREWARMS,
	        .upper_name = m->name,
	        .ids_fd = m->sent.fds[1],
	        .stored_fd = m->sent.fds[2],
	        .layers = host_root_layers(m->host, m->prewarm->root_template)};
	struct error ignored = {0};
	struct root_mounts mounts;

	/* A sandbox's own disk is made when its size is known. */
	if (*m->prewarm->root_template && !m->host->can_limit_disk &&
	    host_root_open(m->host, &options, &mounts, &ignored) == 0)
		m->sent.count += root_mounts_list(&mounts, &m->sent.fds[m->sent.count]);
}

static int enter_group(struct making *m, struct error *err)
{
	struct cgroup_host *cgroups = m->host->cgroups;

	return cgroups->ops->enter ? cgroups->ops->enter(cgroups, m->name, m->report.pid, err) : 0;
}

static int release_agent(struct making *m, struct error *err)
{
	return write(m->go_fd, "", 1) != 1 ? FAIL_ERRNO(err, "let the agent go") : 0;
}

/* A failure here is the request's matter, which sets the limits again; the next request may need
 * others. */
static void limit_group(struct making *m)
{
	struct cgroup_host *cgroups = m->host->cgroups;
	const struct cgroup_limits *limits = &m->prewarm->limits;
	struct error ignored = {0};

	m->report.limited = limits->memory_bytes > 0 &&
	                    cgroups->ops->limit(cgroups, m->name, limits, &ignored) == 0;
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Otherwise the maker could be the last to close what the broker holds of other sandboxes, which
 * takes the kernel time. */
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

static int begin_agent(struct making *m, struct error *err)
{
	if (make_group(m, err) < 0)
		return -1;
	fault_point("broker", "cell-group");
	if (make_folders(m, err) < 0 || make_socket(m, err) < 0)
		return -1;
	fault_point("broker", "cell-folders");
	return make_agent(m, err);
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
	int status = 0;

	close_other_fds(maker);
	(void)umask(0);
	for (unsigned i = 0; i < maker->count; i++) {
		all[i] = (struct making){.prewarm = maker->prewarms[i],
		                         .host = maker->pool->host,
		                         .listen_fd = -1,
		                         .events = {-1, -1},
		                         .group_fd = -1,
		                         .go_fd = -1};
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
