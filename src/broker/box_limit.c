/* SPDX-License-Identifier: Apache-2.0 */
/* BROKER_LIMIT: other limits for one that runs, which are the kernel's to keep: the next broker
 * reads them from there. ERROR_CONFLICT for less memory than it uses; what fails leaves the limits
 * as they were. */
#include <limits.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/box.h"

struct cgroup_limits box_limits_of(const struct broker_create *request)
{
	return (struct cgroup_limits){.cpu_milli = request->cpu_milli,
	                              .memory_bytes = request->memory_bytes,
	                              .pids = request->pids,
	                              .background = request->background != 0};
}

/* The kernel would make room by killing. */
static int check_memory(struct box *box, const char *group, uint64_t bytes, struct error *err)
{
	struct cgroup_host *cgroups = &box->boxes->host->cgroups;
	struct cgroup_usage usage;

	if (cgroups->ops->usage(cgroups, group, &usage, err) < 0)
		return -1;
	if (usage.memory_bytes <= bytes)
		return 0;
	return FAIL(err, ERROR_CONFLICT, "sandbox '%s' uses %llu MiB of memory already", box->id,
	            (unsigned long long)((usage.memory_bytes + (1 << 20) - 1) >> 20));
}

/* What runs inside sees its new size: its processors, and what its agent shows of its limits. None
 * of it changes what the kernel grants. */
static void show_limits(const struct box *box, const char *group)
{
	struct cgroup_host *cgroups = &box->boxes->host->cgroups;
	unsigned cpus = (unsigned)((box->limits.cpu_milli + 999) / 1000);
	struct error err = {0};

	/* Work in the background has no quota, and so all processors. */
	if (box->limits.background)
		cpus = UINT_MAX;
	if (cgroup_set_cpus(cgroups, group, cpus ? cpus : 1, box->pid, &err) < 0 ||
	    pidfd_signal(box->pidfd, VIEWS_SIGNAL, &err) < 0)
		log_warning("a sandbox is not told of its new limits", TEXT("sandbox", box->id),
		            FAILURE(&err));
}

int boxes_limit(struct boxes *b, const char *id, const struct cgroup_limits *wanted,
                struct error *err)
{
	struct cgroup_limits limits = *wanted;
	struct cgroup_host *cgroups = &b->host->cgroups;
	struct box *box = boxes_find(b, id);
	char group[GROUP_NAME_SIZE];
	struct error ignored = {0};

	if (!box || box->state != BOX_RUNNING)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' does not run", id);
	if (box->kind != BROKER_NATIVE)
		return FAIL(err, ERROR_UNSUPPORTED, "a sandbox without isolation has no limits");
	host_group_name(box->slot, group);
	limits.background = box->limits.background;
	if (check_memory(box, group, limits.memory_bytes, err) < 0)
		return -1;
	if (cgroups->ops->limit(cgroups, group, &limits, err) < 0) {
		if (box->limits.memory_bytes > 0 &&
		    cgroups->ops->limit(cgroups, group, &box->limits, &ignored) < 0)
			log_warning("limits are half changed", TEXT("sandbox", id),
			            FAILURE(&ignored));
		return -1;
	}
	fault_point("broker", "limits-changed");
	box->limits = limits;
	show_limits(box, group);
	return 0;
}

int boxes_usage(struct boxes *b, const char *id, struct broker_usage *ret, struct error *err)
{
	struct box *box = boxes_find(b, id);
	struct cgroup_usage usage;
	struct error ignored = {0};
	char group[GROUP_NAME_SIZE];

	if (!box || box->slot == SLOT_NONE)
		return FAIL(err, ERROR_NOT_FOUND, "sandbox '%s' does not run", id);
	host_group_name(box->slot, group);
	if (b->host->cgroups.ops->usage(&b->host->cgroups, group, &usage, err) < 0)
		return -1;
	box->oom_kills_seen = usage.oom_kills;
	*ret = (struct broker_usage){
	        .uptime_ms = (uint64_t)(clock_unix_ms() - box->created_unix_ms),
	        .cpu_us = usage.cpu_us,
	        .memory_bytes = usage.memory_bytes,
	        .memory_limit = usage.memory_limit,
	        .disk_bytes = box_disk_used(box),
	        .disk_limit = box->disk_bytes,
	        .pids = usage.pids,
	        .pids_limit = usage.pids_limit,
	        .oom_kills = usage.oom_kills,
	};
	if (box->internet)
		(void)!network_counters(box->slot, &ret->network_in, &ret->network_out, &ignored);
	return 0;
}
