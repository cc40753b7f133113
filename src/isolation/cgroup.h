/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/cgroup.h — what cgroup.c, cgroup_v1.c and cgroup_v2.c share. */
#pragma once

#include "isolation/cgroups.h"

#define CGROUP_ALL "atoll" /* our part of each tree */
#define CGROUP_CPU_PERIOD_US 100000
#define CGROUP_PARKED "parked" /* in v1's freezer; always empty */

extern const struct cgroup_ops cgroup_v1_ops, cgroup_v1_hybrid_ops, cgroup_v2_ops;
/* Names of the controllers' folders and mounts in version 1, by enum cgroup_controller. */
extern const char *const cgroup_controllers[CGROUP_CONTROLLER_COUNT];

/* Reads "key value" or a bare value from a group's file. A missing key leaves *ret alone. */
MUST_CHECK int cgroup_read(int root, const char *group, const char *file, uint64_t *ret,
                           struct error *err);
MUST_CHECK int cgroup_read_key(int root, const char *group, const char *file, const char *key,
                               uint64_t *ret, struct error *err);
MUST_CHECK int cgroup_write(int root, const char *group, const char *file, uint64_t value,
                            struct error *err);
/* The files of processor time in one kind of tree. */
struct cgroup_cpu_files {
	const char *quota, *burst, *weight;
	const char *no_quota;   /* the text that takes a quota away */
	uint64_t lowest_weight; /* for kernels without cpu.idle (Linux 5.15) */
	bool with_period;       /* the quota is written as "QUOTA PERIOD" */
};
/* Writes the quota of `cpu_milli` thousandths of a processor, and the same as burst if the kernel
 * can. A background group gets no quota but the lowest weight. A group that was in the background
 * cannot leave it. */
MUST_CHECK int cgroup_limit_cpu(const struct cgroup_host *h, const char *group,
                                const struct cgroup_cpu_files *files,
                                const struct cgroup_limits *limits, struct error *err);
/* Writes the quota that the group has as its burst. */
MUST_CHECK int cgroup_allow_burst(const struct cgroup_host *h, const char *group,
                                  const struct cgroup_cpu_files *files, struct error *err);
/* Kills the processes in cgroup.procs until there are none, then removes the folder. */
MUST_CHECK int cgroup_empty_and_remove(int root, const char *group, struct error *err);
