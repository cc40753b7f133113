/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/cgroups.h — cgroups: what limits a sandbox and holds its processes. One table of calls
 * for cgroup v1 and v2. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct cgroup_limits {
	uint64_t cpu_milli, memory_bytes, pids;
	/* Only processor time that no other group wants, without a quota; cpu_milli is not
	 * enforced. */
	bool background;
};
/* The disk that sandboxes write to, and how much of it one sandbox may read and write each second.
 */
struct cgroup_io {
	unsigned major, minor;
	uint64_t bytes_per_s; /* 0 = no limit but an equal share */
};
struct cgroup_usage {
	uint64_t cpu_us, memory_bytes, memory_limit, pids, pids_limit, oom_kills;
};

/* FREEZING: requested, and something inside still runs. */
enum cgroup_rest { CGROUP_THAWED, CGROUP_FREEZING, CGROUP_FROZEN };

struct cgroup_host;
/* The calls for one kind of tree. A group is named after its sandbox's slot: "s17". */
struct cgroup_ops {
	const char *name;          /* "v1", "v2", "hybrid-v1" */
	const char *memory_events; /* the file that counts "oom_kill" */
	int (*prepare)(struct cgroup_host *h,
	               struct error *err); /* makes our part of the tree, once */
	int (*make)(struct cgroup_host *h, const char *group, struct error *err);
	/* Puts a process into the group; 0: the caller. NULL for v2, where `open` is for clone3. */
	int (*enter)(struct cgroup_host *h, const char *group, pid_t pid, struct error *err);
	int (*open)(struct cgroup_host *h, const char *group, int *ret_fd, struct error *err);
	int (*limit)(struct cgroup_host *h, const char *group, const struct cgroup_limits *limits,
	             struct error *err);
	/* Sets the burst of a group that an older broker limited. Does nothing when it has no
	 * quota. */
	int (*allow_burst)(struct cgroup_host *h, const char *group, struct error *err);
	int (*limit_io)(struct cgroup_host *h, const char *group, const struct cgroup_io *io,
	                struct error *err);
	int (*usage)(struct cgroup_host *h, const char *group, struct cgroup_usage *ret,
	             struct error *err);
	/* Requests the freeze; processes come to rest a little later, see `rest`. A thaw is done
	 * when the call returns. Succeeds when the group is in that state already. */
	int (*freeze)(struct cgroup_host *h, const char *group, bool frozen, struct error *err);
	int (*rest)(struct cgroup_host *h, const char *group, enum cgroup_rest *ret,
	            struct error *err);
	/* Kills all processes inside, frozen or not, then removes the group. Does nothing when it
	 * is missing. May block for a while. */
	int (*remove)(struct cgroup_host *h, const char *group, struct error *err);
	/* Puts an empty group aside under another name, without limits and with its counters at
	 * zero. False when it cannot be reused, because something in it counts still: then both
	 * names must be removed. NULL where counters cannot be reset (v2). */
	bool (*keep)(struct cgroup_host *h, const char *group, const char *kept);
	/* Gives a kept group a sandbox's name; `make` makes the parts that are missing. NULL as
	 * `keep`. */
	void (*reuse)(struct cgroup_host *h, const char *kept, const char *group);
};

enum cgroup_controller {
	CGROUP_MEMORY,
	CGROUP_CPU,
	CGROUP_PIDS,
	CGROUP_CPUACCT,
	CGROUP_FREEZER,
	CGROUP_DEVICES,
	CGROUP_BLKIO,
	CGROUP_CONTROLLER_COUNT,
};
struct cgroup_host {
	const struct cgroup_ops *ops;
	bool can_freeze; /* without it `freeze` fails, and nothing is ever frozen */
	/* Linux 5.14: a group saves what idle periods leave of its quota, up to one quota, so that
	 * a short command does not wait for the next period. Without it groups have only a quota.
	 */
	bool can_burst;
	uint64_t kept_bytes; /* may be charged to a group that `keep` puts aside; v1 */
	struct cgroup_io io; /* of each sandbox; the caller sets it */
	int roots[CGROUP_CONTROLLER_COUNT]; /* folders CTRL/atoll; -1 = not on this host. v2: [0] */
};
/* Finds out which kind of tree is mounted at `root` (/sys/fs/cgroup; a fake tree in tests) and
 * prepares it. */
MUST_CHECK int cgroup_open(const char *root, struct cgroup_host *ret, struct error *err);
void cgroup_close(struct cgroup_host *h);
/* The files in which the kernel counts what it has refused a group: memory ("oom_kill N") and
 * processes ("max N"). -1 for a file that this host does not have. */
enum cgroup_events { CGROUP_MEMORY_EVENTS, CGROUP_PIDS_EVENTS, CGROUP_EVENTS_COUNT };
void cgroup_open_events(const struct cgroup_host *h, const char *group,
                        int ret_fds[CGROUP_EVENTS_COUNT]);
/* Removes our part of the trees, with empty groups that a killed broker left; false when a group is
 * in use. Only the last broker may call it: a new group of another broker has no process, either.
 */
bool cgroup_remove_ours(struct cgroup_host *h);
/* Sets the number of processors that each task of a group may use: those that follow its first
 * present one. The process `agent` keeps all, so that the kernel can wake it anywhere. */
MUST_CHECK int cgroup_set_cpus(const struct cgroup_host *h, const char *group, unsigned cpus,
                               pid_t agent, struct error *err);
/* The disk that a folder is on. ERROR_UNSUPPORTED when it is not on a single one (btrfs, tmpfs). */
MUST_CHECK int cgroup_io_find(int folder, struct cgroup_io *ret, struct error *err);
/* Calls back with each group that exists, in use or kept: "s17", "k17". */
MUST_CHECK int cgroup_each(const struct cgroup_host *h,
                           void (*on_group)(void *context, const char *group), void *context,
                           struct error *err);
