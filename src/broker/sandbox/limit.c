/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_LIMIT: changes the limits of a running sandbox. The kernel keeps them, and the next broker
 * reads them from there. ERROR_CONFLICT: the sandbox uses more memory than the new limit. A failure
 * leaves the limits as they were. */
#include "broker/sandbox/limit.h"

#include <limits.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/disk_folder.h"
#include "broker/host/options.h"
#include "broker/network/link.h"
#include "broker/sandbox/disk.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "isolation/ids.h"
#include "isolation/project_quota.h"
#include "isolation/views.h"
#include "wire/broker_kind.h"
#include "wire/broker_sandbox.h"

/* The kernel counts the threads of gVisor: some of its own, and about two for each process inside.
 * gVisor ends when it gets none. */
#define GVISOR_PIDS 256
#define GVISOR_PIDS_EACH 3

static uint64_t group_pids(uint32_t kind, uint64_t pids)
{
	return kind == BROKER_GVISOR ? GVISOR_PIDS + GVISOR_PIDS_EACH * pids : pids;
}

static uint64_t pids_of_group(uint32_t kind, uint64_t pids)
{
	if (kind != BROKER_GVISOR || pids < GVISOR_PIDS)
		return pids;
	return (pids - GVISOR_PIDS) / GVISOR_PIDS_EACH;
}

struct cgroup_limits sandbox_limits_of(const struct broker_create *request)
{
	return (struct cgroup_limits){.cpu_milli = request->cpu_milli,
	                              .memory_bytes = request->memory_bytes,
	                              .pids = group_pids(request->kind, request->pids),
	                              .background = request->background != 0};
}

/* The kernel would free memory by killing processes. */
static int check_memory(struct sandbox *sandbox, const char *group, uint64_t bytes,
                        struct error *err)
{
	struct cgroup_host *cgroups = sandbox->sandboxes->host->cgroups;
	struct cgroup_usage usage;

	if (cgroups->ops->usage(cgroups, group, &usage, err) < 0)
		return -1;
	if (usage.memory_bytes <= bytes)
		return 0;
	return FAIL(err, ERROR_CONFLICT, "sandbox '%s' uses %llu MiB of memory already",
	            sandbox->id, (unsigned long long)((usage.memory_bytes + (1 << 20) - 1) >> 20));
}

/* Shows the new size inside: the processors of its tasks, and the limits that its agent reports.
 * This does not change what the kernel grants. */
static void show_limits(const struct sandbox *sandbox, const char *group)
{
	struct cgroup_host *cgroups = sandbox->sandboxes->host->cgroups;
	unsigned cpus = (unsigned)((sandbox->limits.cpu_milli + 999) / 1000);
	struct error err = {0};

	/* A background sandbox has no quota, and so all processors. */
	if (sandbox->limits.background)
		cpus = UINT_MAX;
	if (cgroup_set_cpus(cgroups, group, cpus ? cpus : 1, sandbox->pid, &err) < 0 ||
	    pidfd_signal(sandbox->pidfd, VIEWS_SIGNAL, &err) < 0)
		log_warning("a sandbox is not told of its new limits", TEXT("sandbox", sandbox->id),
		            FAILURE(&err));
}

int sandboxes_limit(struct sandboxes *b, const char *id, const struct cgroup_limits *wanted,
                    struct error *err)
{
	struct cgroup_limits limits = *wanted;
	struct cgroup_host *cgroups = b->host->cgroups;
	struct sandbox *sandbox = sandboxes_find(b, id);
	char group[GROUP_NAME_SIZE];
	struct error ignored = {0};

	if (!sandbox || sandbox->phase != SANDBOX_RUNNING)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' does not run", id);
	if (!broker_kind_is_isolated(sandbox->kind))
		return FAIL(err, ERROR_UNSUPPORTED, "a sandbox without isolation has no limits");
	host_group_name(sandbox->slot, group);
	limits.background = sandbox->limits.background;
	limits.pids = group_pids(sandbox->kind, limits.pids);
	if (check_memory(sandbox, group, limits.memory_bytes, err) < 0)
		return -1;
	if (cgroups->ops->limit(cgroups, group, &limits, err) < 0) {
		if (sandbox->limits.memory_bytes > 0 &&
		    cgroups->ops->limit(cgroups, group, &sandbox->limits, &ignored) < 0)
			log_warning("limits are half changed", TEXT("sandbox", id),
			            FAILURE(&ignored));
		return -1;
	}
	fault_point("broker", "limits-changed");
	sandbox->limits = limits;
	show_limits(sandbox, group);
	return 0;
}

int sandboxes_usage(struct sandboxes *b, const char *id, struct broker_usage *ret,
                    struct error *err)
{
	struct sandbox *sandbox = sandboxes_find(b, id);
	struct cgroup_usage usage;
	struct error ignored = {0};
	char group[GROUP_NAME_SIZE];

	if (!sandbox || sandbox->slot == SLOT_NONE)
		return FAIL(err, ERROR_NOT_FOUND, "sandbox '%s' does not run", id);
	host_group_name(sandbox->slot, group);
	if (b->host->cgroups->ops->usage(b->host->cgroups, group, &usage, err) < 0)
		return -1;
	sandbox->oom_kills_seen = usage.oom_kills;
	*ret = (struct broker_usage){
	        .uptime_ms = (uint64_t)(clock_unix_ms() - sandbox->created_unix_ms),
	        .cpu_us = usage.cpu_us,
	        .memory_bytes = usage.memory_bytes,
	        .memory_limit = usage.memory_limit,
	        .disk_bytes = sandbox_disk_used(sandbox),
	        .disk_limit = sandbox->disk_bytes,
	        .pids = usage.pids,
	        .pids_limit = pids_of_group(sandbox->kind, usage.pids_limit),
	        .oom_kills = usage.oom_kills,
	};
	if (sandbox->internet)
		(void)!network_counters(sandbox->slot, &ret->network_in, &ret->network_out,
		                        &ignored);
	return 0;
}

uint64_t sandbox_sent_bytes(const struct sandbox *sandbox)
{
	struct error ignored = {0};
	uint64_t in, out;

	if (!sandbox->internet || sandbox->slot == SLOT_NONE ||
	    network_counters(sandbox->slot, &in, &out, &ignored) < 0)
		return UINT64_MAX;
	return out;
}

struct disk_amount disk_limit(uint64_t bytes, uint64_t inodes_per_gib)
{
	uint64_t gib = (bytes + (UINT64_C(1) << 30) - 1) >> 30;

	return (struct disk_amount){bytes, inodes_per_gib * (gib ? gib : 1)};
}

int sandbox_limit_folder(const struct sandbox *sandbox, enum host_folder which, const char *name,
                         struct error *err)
{
	const struct host *host = sandbox->sandboxes->host;
	const struct disk_amount limit =
	        disk_limit(sandbox->disk_bytes, host->options->disk_inodes);
	const struct project_amount most = {limit.bytes, limit.inodes};

	if (sandbox->disk_bytes == 0 || !broker_kind_is_isolated(sandbox->kind))
		return 0;
	return disk_folder_limit(host, which, name, &most, err);
}
