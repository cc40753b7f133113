/* SPDX-License-Identifier: Apache-2.0 */
/* provider/host_limits.h — limits of the server's own processes that an operator or a service
 * manager has set: address space (RLIMIT_AS) and tasks (pids.max of a control group). The api
 * process and the broker have the same ones, so the api process reads its own. Any thread. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

/* The control group with the least room for tasks, of the own group and those above it. */
struct task_room {
	uint64_t used, max; /* max 0: no group limits tasks */
	char group[160];    /* the folder below /sys/fs/cgroup; its end when it is longer */
};

/* Private to the folder and its tests: `root` is /sys/fs/cgroup, `own` is /proc/self/cgroup. */
void task_room_find(const char *root, struct span own, struct task_room *ret);

/* ERROR_UNAVAILABLE with its cure: programs have less address space than runtimes like to reserve,
 * inside of sandboxes as well. */
MUST_CHECK int host_limits_check_address_space(struct error *err);
/* ERROR_UNAVAILABLE with its cure: the group is close to its limit of tasks. */
MUST_CHECK int host_limits_check_tasks(struct error *err);
/* Gives an error of EAGAIN or ENOMEM that has no hint yet the limit that is the likely reason. */
void host_limits_explain(struct error *err);
